package sotto

// A Segment is a longest run of bytes of a reply on one channel, of one block.
// Each marker is a segment of its own.
type Segment struct {
	Channel Channel
	// Block numbers the block that the bytes belong to, from 1 in the order in
	// which the blocks open; 0 is the text outside every block.
	Block int
	// Output says that the block is an output block: its text is the answer.
	Output bool
	// Start and End are byte offsets into the raw reply, End exclusive.
	Start, End int
}

// A Code names what a [Diagnostic] found.
type Code string

const (
	CodeTruncated         Code = "truncated"          // reasoning that never closed
	CodeRescued           Code = "rescued"            // an answer found inside a scratch pad
	CodeNested            Code = "nested"             // an opener inside reasoning of its family
	CodeMismatchedClose   Code = "mismatched_close"   // a block ended by another name of its family
	CodeOrphanClose       Code = "orphan_close"       // a close without an opener: the trace of a leak
	CodeStrayClose        Code = "stray_close"        // a close with nothing to close, removed
	CodeUnclosedOutput    Code = "unclosed_output"    // an output block that runs to the end
	CodeUnclosedNarration Code = "unclosed_narration" // a narration that ended without its close
	CodeAssumedUnclosed   Code = "assumed_unclosed"   // begun inside a block that never closed
	CodeLiteralMarker     Code = "literal_marker"     // a marker kept as text, with a Reason
	CodeSplicedMarker     Code = "spliced_marker"     // a marker in the visible text whose bytes a removed block parted
	CodeHoldExpired       Code = "hold_expired"       // a doubt decided because MaxHold ran out
	CodeUnknownChannel    Code = "unknown_channel"    // a header that names no known channel, read as reasoning
	// These are of dialects with [dialect.Dialect.Once].
	CodeMissingReasoning  Code = "missing_reasoning"  // no block of reasoning
	CodeLateReasoning     Code = "late_reasoning"     // the first block of reasoning came after something else
	CodeRepeatedReasoning Code = "repeated_reasoning" // a further block of reasoning

	CodeNoVisibleAnswer Code = "no_visible_answer" // a reply that shows nothing
)

// A Reason says why the marker of a [CodeLiteralMarker] is text.
type Reason string

const (
	ReasonQuoted     Reason = "quoted"
	ReasonInlineCode Reason = "inline_code"
	ReasonFenced     Reason = "fence"
	ReasonLateOutput Reason = "late_output"
	ReasonDoubt      Reason = "doubt"
)

// A Diagnostic is a remark on the reading of a reply.
type Diagnostic struct {
	Code Code `json:"code"`
	// Offset is the byte offset of the marker that the remark is about. For
	// no_visible_answer it is the reply's length, for missing_reasoning 0.
	Offset int    `json:"offset"`
	Reason Reason `json:"reason,omitempty"`
}

// A Reply is the reading of one finished reply.
type Reply struct {
	// Raw is the reply as received; every segment is a span of it.
	Raw         string
	Segments    []Segment
	Diagnostics []Diagnostic // the first MaxDiagnostics, in the order of their offsets
	Counts      Counts       // of all diagnostics
	Dialect     string
	Start       Beginning // as it was read: BeginAuto stays BeginAuto
	End         Ending
	Tools       []string // as it was read: those of the Options

	parted bool // the dialect has a header: a blank line separates bodies
}
