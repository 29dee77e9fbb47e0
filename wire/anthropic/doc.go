// Package anthropic is the codec of Anthropic's Messages API, as Anthropic and
// the servers that are compatible with it speak it.
//
// A reply of this API is a list of blocks. A text block whose text turns out to
// hold reasoning becomes several: thinking and text blocks, in the order of the
// reading, and the indices of the blocks behind it shift. A thinking block that
// is made here has an empty signature, which no block of the provider has; no
// signature is ever made up. Narration has no block of its own and stays text.
//
// # Blocks of the upstream
//
//	text               read; opened at its first text, closed when its end is known
//	thinking           as it came; opened at its first text or its signature
//	redacted_thinking  as it came, also where reasoning is hidden
//	any other          as it came: tools, results, what is not known
//
// "As it came" is byte for byte but for the index, where that has shifted. Where
// reasoning is hidden a thinking block with a signature is left without its text,
// as the provider itself does it, for the client to return; one without is
// dropped. Where the client wants reasoning inside the text, a thinking block is
// dropped with its signature, and its text begins the text block that follows.
// A text block that gives nothing at all is dropped unless it had nothing; a
// message of which nothing is left gets an empty one.
//
// # Choices
//
// The first text block of a message is read as choice 0, each later one as the
// next, for each ends on its own; native reasoning is read as the choice of the
// text block that follows it. A block behind which another comes has stopped of
// itself, the last ends as the message's stop reason says. So the end of a text
// block is held back until the next event that is neither a ping nor a comment,
// and its start until its first text: a ping may pass before them.
//
// # Ends
//
// A stream that breaks ends with the held text, the end of the open text or
// thinking block, and an error event. An unfinished tool call stays open: to end
// it would say that it is whole.
package anthropic
