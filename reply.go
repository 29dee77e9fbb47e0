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
	Truncated         Code = "truncated"          // reasoning that never closed
	Rescued           Code = "rescued"            // an answer found inside a scratch pad
	Nested            Code = "nested"             // an opener inside reasoning of its family
	MismatchedClose   Code = "mismatched_close"   // a block ended by another name of its family
	OrphanClose       Code = "orphan_close"       // a close without an opener: the trace of a leak
	StrayClose        Code = "stray_close"        // a close with nothing to close, removed
	UnclosedOutput    Code = "unclosed_output"    // an output block that runs to the end
	UnclosedNarration Code = "unclosed_narration" // a narration that ended without its close
	AssumedUnclosed   Code = "assumed_unclosed"   // begun inside a block that never closed
	LiteralMarker     Code = "literal_marker"     // a marker kept as text, with a Reason
	SplicedMarker     Code = "spliced_marker"     // a marker in the visible text whose bytes a removed block parted
	HoldExpired       Code = "hold_expired"       // a doubt decided because MaxHold ran out
	UnknownChannel    Code = "unknown_channel"    // a header that names no known channel, read as reasoning
	NoVisibleAnswer   Code = "no_visible_answer"  // a reply that shows nothing
)

// A Reason says why a [LiteralMarker] is text.
type Reason string

const (
	Quoted     Reason = "quoted"
	InlineCode Reason = "inline_code"
	Fenced     Reason = "fence"
	LateOutput Reason = "late_output"
	Doubted    Reason = "doubt"
)

// A Diagnostic is a remark on the reading of a reply.
type Diagnostic struct {
	Code Code `json:"code"`
	// Offset is the byte offset of the marker that the remark is about; of
	// no_visible_answer the reply's length.
	Offset int    `json:"offset"`
	Reason Reason `json:"reason,omitempty"`
}

// A Reply is the reading of one finished reply.
type Reply struct {
	// Raw is the reply as it came; every segment is a span of it.
	Raw         string
	Segments    []Segment
	Diagnostics []Diagnostic // the first MaxDiagnostics, in the order of their offsets
	Counts      Counts       // of all diagnostics
	Dialect     string
	Start       Start // as it was read: Auto stays Auto
	End         End

	bodies string
}
