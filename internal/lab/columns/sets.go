package columns

// Strip is what sotto strip adds.
type Strip struct {
	Visible *string `json:"visible" parquet:"visible,optional"`
	Error   *string `json:"error" parquet:"error,optional"`
}

// Split is what sotto split adds.
type Split struct {
	Visible         *string      `json:"visible" parquet:"visible,optional"`
	Reasoning       []string     `json:"reasoning" parquet:"reasoning,list"`
	Narration       []string     `json:"narration" parquet:"narration,list"`
	Segments        []Segment    `json:"segments" parquet:"segments,list"`
	Diagnostics     []Diagnostic `json:"diagnostics" parquet:"diagnostics,list"`
	MoreDiagnostics *int64       `json:"more_diagnostics" parquet:"more_diagnostics,optional"`
	Dialect         *string      `json:"dialect" parquet:"dialect,optional"`
	Start           *string      `json:"start" parquet:"start,optional"`
	NativeReasoning *string      `json:"native_reasoning" parquet:"native_reasoning,optional"`
	Error           *string      `json:"error" parquet:"error,optional"`
}

// A Segment is a part of a reply.
type Segment struct {
	Channel string `json:"channel" parquet:"channel"`
	Start   int64  `json:"start" parquet:"start"`
	End     int64  `json:"end" parquet:"end"`
}

// A Diagnostic is a remark on a reply.
type Diagnostic struct {
	Code   string  `json:"code" parquet:"code"`
	Offset int64   `json:"offset" parquet:"offset"`
	Reason *string `json:"reason" parquet:"reason,optional"`
}

// Extract is what sotto extract adds.
type Extract struct {
	Candidate *string   `json:"candidate" parquet:"candidate,optional"`
	Method    *string   `json:"method" parquet:"method,optional"`
	Span      []int64   `json:"span" parquet:"span,list"`
	Status    *string   `json:"status" parquet:"status,optional"`
	Rules     *string   `json:"rules" parquet:"rules,optional"`
	Attempts  []Attempt `json:"attempts" parquet:"attempts,list"`
	Query     *string   `json:"query" parquet:"query,optional"`
	Trace     *string   `json:"trace" parquet:"trace,optional"`
	Error     *string   `json:"error" parquet:"error,optional"`
}

// A Reply is what sotto extract and score carry of a reply.
type Reply struct {
	Raw        *string  `json:"raw" parquet:"raw,optional"`
	RawBase64  *string  `json:"raw_base64" parquet:"raw_base64,optional"`
	RawOmitted *int64   `json:"raw_omitted" parquet:"raw_omitted,optional"`
	Reading    *Reading `json:"reading" parquet:"reading,optional"`
}

// A Reading is the reading of a reply.
type Reading struct {
	V               int64        `json:"v" parquet:"v"`
	Visible         string       `json:"visible" parquet:"visible"`
	Reasoning       []string     `json:"reasoning" parquet:"reasoning,list"`
	Narration       []string     `json:"narration" parquet:"narration,list"`
	Segments        []Segment    `json:"segments" parquet:"segments,list"`
	Diagnostics     []Diagnostic `json:"diagnostics" parquet:"diagnostics,list"`
	MoreDiagnostics *int64       `json:"more_diagnostics" parquet:"more_diagnostics,optional"`
	Dialect         string       `json:"dialect" parquet:"dialect"`
	Start           string       `json:"start" parquet:"start"`
	NativeReasoning *string      `json:"native_reasoning" parquet:"native_reasoning,optional"`
}

// An Attempt is a place at which an answer was looked for.
type Attempt struct {
	Method string  `json:"method" parquet:"method"`
	Found  int64   `json:"found" parquet:"found"`
	Span   []int64 `json:"span" parquet:"span,list"`
	Why    *string `json:"why" parquet:"why,optional"`
}

// Score is what sotto score adds.
type Score struct {
	Candidate *string   `json:"candidate" parquet:"candidate,optional"`
	Method    *string   `json:"method" parquet:"method,optional"`
	Span      []int64   `json:"span" parquet:"span,list"`
	Status    *string   `json:"status" parquet:"status,optional"`
	Rules     *string   `json:"rules" parquet:"rules,optional"`
	Attempts  []Attempt `json:"attempts" parquet:"attempts,list"`
	OK        *bool     `json:"ok" parquet:"ok,optional"`
	Reason    *string   `json:"reason" parquet:"reason,optional"`
	Detail    *string   `json:"detail" parquet:"detail,optional"`
	By        *string   `json:"by" parquet:"by,optional"`
	Error     *string   `json:"error" parquet:"error,optional"`
}
