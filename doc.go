// Package sotto tells what a language model thinks from what it says, exactly,
// whole or streaming.
//
//	r := sotto.Parse("<think>6 × 7</think>Forty-two.", sotto.EndStopped)
//	fmt.Println(r.Visible())   // Forty-two.
//	fmt.Println(r.Reasoning()) // [6 × 7]
//
// # Vocabulary
//
// A reply is the raw text of one model message; any bytes are a valid reply. A
// marker is an open or close tag that a dialect names; a block is an opener, its
// body and its close. Every byte of a reply is on one [Channel]: text, reasoning,
// narration, tool, aside, or markup. A [Segment] is a longest run of bytes on one
// channel, of one block; each marker is a segment of its own. The visible text is
// made of the segments by [Reply.Visible]. A [Dialect] is data: which markers, on
// which channel, where they count, and how a reply of that model begins. A delta
// is a piece of a reply as it streams in.
//
// # Use
//
// [Parse] reads a whole reply of any model; [Named] and [ForModel] give the
// [Grammar] of a model family, which reads with [Grammar.Parse]. For streams
// there are three adapters: a [Filter] takes deltas and calls back with what they
// say, [Grammar.Events] is an iterator over typed events, and [Grammar.NewReader]
// and [Grammar.NewWriter] wrap a stream of bytes. Under all of them lies the
// [Splitter], which allocates nothing per delta: it gives [Piece] after piece in
// the order of the reply, each with the bytes that became visible with it.
// [Reply.VisibleSpans] has the places of the visible text in the raw reply.
//
// # Guarantees
//
// The laws hold for every dialect, every input and every chunking; package
// dialecttest holds a dialect of your own to them.
//
//  1. Conservation: the segments' bytes, joined, are the reply. No byte is on two channels.
//  2. Split invariance: where the deltas are cut means nothing, also inside a UTF-8
//     sequence. Parse is the splitter fed once and closed.
//  3. Earliest emission: what every continuation and end of the reply would agree on
//     has been given, and nothing else; what was given is never taken back. Filter and
//     Events complete UTF-8 sequences first, which holds at most 3 bytes.
//  4. Bounded hold: an unfinished marker holds at most MaxMarker bytes, a doubt that
//     only later text can settle at most MaxHold. More white space than that does
//     not wait for its place in the visible text.
//  5. Totality and linear time: no input panics, errors or costs more than a few
//     looks at each byte.
//  6. Idempotence: reading the visible text again gives it back, unless a literal tag
//     was kept or a removed block parted one. [Grammar.Strip] reads until nothing changes.
//  7. Monotony: visible deltas, joined, are Visible of the finished reply.
//
// # How a reply began and ended
//
// Both are inputs of the reading, not guesses.
//
// A prompt template may have opened the reasoning block itself. The reply then
// begins inside the block and shows only its close: its start is [StartInside]. Most
// replies begin [StartOutside]. [StartAuto] is for a reply of which nothing is
// known: the first close without an opener makes all before it reasoning. Pass the
// start in [Options] where you know it; [Grammar.StartOf] reads it off a rendered
// prompt. If you pass none, the dialect's holds:
//
//   - StartAuto where the family's templates open the block (pre_opens: yes).
//     Nothing leaks, but a stream shows nothing before the close, text without any
//     marker comes only at its end, and such text longer than MaxHold is withheld.
//   - StartOutside elsewhere, also in [Default]. Text comes at once, but a stream
//     cannot see a thought that the prompt opened: it gives the thought as text,
//     and can only report [CodeOrphanClose] when the close comes.
//
// An [End] of EndStopped, EndCut or EndAborted decides what an unclosed block was.
//
// # The reader
//
// Where the reader stands, and what takes it elsewhere (rules G1 to G14 of
// docs/design.md):
//
//	text       reasoning opener → reasoning   narration opener → narration
//	           output opener → body           tool opener → tool
//	           header → the body that it names
//	body       as text; its close → text      output opener → the next body
//	reasoning  close of its family → back     tool opener → tool
//	narration  close, blank line → text       reasoning opener → reasoning
//	tool       its close → text               tool opener → tool
//
// # Ownership and concurrency
//
// A Grammar and a Reply are safe for concurrent use; a Splitter, Filter, reader
// or writer serves one reply at a time, in one goroutine. The bytes of a [Piece]
// are valid until the next call; they may share the delta's memory. Nothing else
// is kept of what was handed out, except the open thought of a filter with
// OnThought.
//
// # Security
//
// A channel is the model's claim about its own text, not a trust boundary: a
// model can write its reasoning without any marker, and untagged reasoning cannot
// be told from prose. Visible text is untrusted text like any model output:
// escape it where it is shown. Marker strings from files and users are matched
// byte for byte and never compiled as patterns. Diagnostics name byte offsets,
// never contents.
package sotto

// Where to look, by the question that a file answers:
//
//	splitter.go         what goes in and comes out: deltas, pieces, the end
//	easy.go             which deltas need no more than a look
//	state.go            where the reader stands, and how it goes back
//	lexer.go tokens.go  where marker forms stand in the bytes, and which comes next
//	lookahead.go        what of the bytes to come decides a marker here
//	text.go coderuns.go which bytes of a text are code: lines, runs, fences
//	markers.go          whether a marker in text counts, and what it does
//	reasoning.go        what ends a reasoning block
//	blocks.go           what ends narration, an output body, a tool call
//	header.go           which channel a header names, and where it ends
//	holds.go            which bytes are undecided, and what happens when a hold expires
//	pads.go             whether a scratch pad holds the answer
//	view.go             which bytes are visible
//	splice.go           which marker in the visible text a removed block has made
//	diagnostics.go      what was remarkable
//
//	dialect.go          what a dialect says
//	dialectcheck.go dialectliterals.go  which dialects are refused
//	dialectfile.go jsonnode.go responsetemplate.go  what a file says
//	grammar.go          what a dialect is compiled to
//	dialects.go prompttail.go  which dialect a model has, and where its reply begins
//
//	channel.go          the words for channels, ends and starts
//	parse.go reply.go   a reply that is whole at hand
//	filter.go events.go readwrite.go  streams
