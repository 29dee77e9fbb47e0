// Package sotto separates what a language model thinks from what it says, exactly,
// in a whole reply or a stream.
//
//	r := sotto.Parse("<think>6 × 7</think>Forty-two.", sotto.EndStopped)
//	fmt.Println(r.Visible())   // Forty-two.
//	fmt.Println(r.Reasoning()) // [6 × 7]
//
// # Vocabulary
//
// A reply is the raw text of one model message; any bytes are a valid reply. A
// marker is an open or close tag that a dialect names. A block is an opener, its
// body and its close. Every byte of a reply is on one [Channel]: text, reasoning,
// narration, tool, aside, or markup. A [Segment] is a longest run of bytes on one
// channel, in one block; each marker is a segment of its own. [Reply.Visible]
// makes the visible text from the segments. A [dialect.Dialect] is data that says which
// markers there are, which channel each gives its block, where markers count, and
// how a reply of that model begins. A delta is a piece of a reply as it streams
// in.
//
// # Use
//
// [Parse] reads a whole reply with the tags that most models use. [Named] and
// [ForModel] give the [Grammar] of a model family, which reads with [Grammar.Parse],
// also where the markers are not tags. For streams
// there are three adapters: a [Filter] takes deltas and calls your functions with
// the text and reasoning in them, [Grammar.Events] is an iterator over typed
// events, and [Grammar.NewReader] and [Grammar.NewWriter] wrap a stream of bytes.
// All of them use the [Splitter], which allocates nothing per delta. It gives one
// [Piece] after another in the order of the reply, each with the bytes that became
// visible with it. [Reply.VisibleSpans] has the places of the visible text in the
// raw reply.
//
// # Guarantees
//
// The laws hold for every dialect, every input and every chunking. Package
// dialecttest checks a dialect of your own against them.
//
//  1. Conservation: the segments' bytes, joined, are the reply. No byte is on two channels.
//  2. Split invariance: a reply cut into deltas anywhere, also inside a UTF-8
//     sequence, gives the same segments. Parse is the splitter fed once and
//     closed.
//  3. Earliest emission: a byte is given as soon as every continuation and end of the
//     reply would agree on it, and not before. What was given is never taken back.
//     Filter and Events complete UTF-8 sequences first, which holds at most 3 bytes.
//  4. Bounded hold: an unfinished marker holds at most MaxMarker bytes. A doubt that
//     only later text can settle holds at most MaxHold. More white space than that does
//     not wait for its place in the visible text.
//  5. Totality and linear time: no input causes a panic or an error, and no byte
//     is scanned more than four times.
//  6. Idempotence: reading the visible text again gives the same text, unless a
//     literal tag was kept as text or a removed block stood in the middle of a
//     tag. [Grammar.Strip] reads until nothing changes.
//  7. Monotony: visible deltas, joined, are the Visible text of the finished reply.
//
// # How a reply began and ended
//
// The caller gives both.
//
// A prompt template may have opened the reasoning block itself. The reply then
// begins inside the block and shows only its close: its start is [BeginInside].
// Most replies begin [BeginOutside]. With [BeginAuto] you say that you do not
// know: the first close without an opener makes everything before it reasoning.
// Pass the start in [Options] if you know it; [Grammar.BeginningOf] finds it in a
// rendered prompt. If you pass none, the dialect decides:
//
//   - BeginAuto if the family's templates open the block (pre_opens: yes).
//     Nothing leaks, but a stream shows nothing before the close. Text without any
//     marker comes only at its end. It is withheld as reasoning if it is longer than
//     MaxHold, or if the reply was cut.
//   - BeginOutside otherwise, also in [Default]; [Grammar.Parse], which has the whole
//     reply, reads BeginAuto instead. Text comes at once, but a stream
//     cannot see a thought that the prompt opened: it gives the thought as text,
//     and can only report [CodeOrphanClose] when the close comes.
//
// How the reply ended decides how a block is read that never closed: see [Ending]. Pass
// [EndUnknown] if you do not know. After EndStopped, an unclosed opener in the middle of
// a line is text.
//
// # The reader
//
// This table says where the reader can be, and what takes it elsewhere (rules G1
// to G14 of docs/design.md):
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
// A Grammar and a Reply are safe for concurrent use. A Splitter, Filter, reader
// or writer serves one reply at a time, in one goroutine. The bytes of a [Piece]
// are valid until the next call; they may share the delta's memory. Nothing else
// that was delivered is kept, except the open thought of a filter with OnThought.
//
// # Security
//
// A channel is the model's claim about its own text, not a trust boundary. A
// model can write its reasoning without any marker, and untagged reasoning looks
// like any other prose. Visible text is untrusted text like any model output:
// escape it where you show it. Marker strings from files and users are matched
// byte for byte and never compiled as patterns. Diagnostics name byte offsets,
// never contents.
package sotto

// Where to look, by the question that a file answers:
//
//	splitter.go         what goes in and comes out: deltas, pieces, the end
//	easy.go             which deltas need only a quick check
//	state.go            where the reader stands, and how it goes back
//	lexer.go tokens.go  where marker forms stand in the bytes, and which comes next
//	lookahead.go        which later bytes decide a marker here
//	text.go coderuns.go which bytes of a text are code: lines, runs, fences
//	markers.go          whether a marker in text counts, and what it does
//	reasoning.go        what ends a reasoning block
//	blocks.go           what ends narration, an output body, a tool call
//	header.go           which channel a header names, and where it ends
//	holds.go            which bytes are undecided, and what happens when a hold expires
//	pads.go             whether a scratch pad holds the answer
//	view.go             which bytes are visible
//	splice.go           which marker in the visible text was made by removing a block
//	diagnostics.go      what was noticed during the reading
//
//	dialect.go          what a dialect says
//	dialectcheck.go dialectliterals.go  which dialects are refused
//	dialectfile.go jsonnode.go responsetemplate.go  what a file says
//	grammar.go          what a dialect is compiled to
//	dialects.go prompttail.go  which dialect a model has, and where its reply begins
//
//	channel.go          the words for channels, ends and starts
//	parse.go reply.go   a whole reply
//	filter.go events.go readwrite.go  streams
