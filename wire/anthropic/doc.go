// Package anthropic is the codec of Anthropic's Messages API, as Anthropic and
// compatible servers implement it.
//
// A reply of this API is a list of blocks. If the text of a text block turns out to
// hold reasoning, the block becomes several: thinking and text blocks, in the order
// of the reading. The indices of the blocks after it shift. A thinking block that
// is made here has an empty signature, which no block of the provider has; no
// signature is ever made up. Narration has no block of its own and stays text.
//
// # Blocks of the upstream
//
//	text               read; opened at its first text, closed when its end is known
//	thinking           as it came; opened at its first text or its signature
//	redacted_thinking  as it came
//	any other          as it came: tools, results, what is not known
//
// "As it came" means byte for byte, except for the index if that has shifted. If the
// client wants reasoning inside the text, a thinking block is dropped with its
// signature, and its text begins the text block that follows. A text block that gives
// nothing at all is dropped unless it was empty. A message of which nothing is left
// gets an empty text block.
//
// # Written replies
//
// A reply that is written, see [wire.Settings.Written], has the same blocks, but only of
// the types that shown.go names, and without blocks of text that are empty. If reasoning
// is hidden, a thinking block with a signature is written without its text, as the
// provider itself does it, so that the client can return it. One without a signature is
// dropped. The results of the server's own tools are texts: they are read.
//
// # Choices
//
// The first text block of a message is read as choice 0, each later one as the
// next, because each ends separately. Native reasoning is read as the choice of the
// text block that follows it. A block that another block follows counts as stopped.
// The last block ends as the message's stop reason says. So the end of a text block
// is held back until the next event that is neither a ping nor a comment, and its
// start until its first text. A ping may pass before them.
//
// # Ends
//
// If a stream breaks, it ends with the held text, the end of the open text or
// thinking block, and an error event. An unfinished tool call stays open: to end it
// would say that it is complete.
package anthropic
