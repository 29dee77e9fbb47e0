package record

import (
	"cmp"
	"encoding/json"
	"unicode/utf8"

	"github.com/sotto-llm/sotto"
)

// A Payload is what an event says: one of the structs of this package, by value,
// or [Unknown].
type Payload interface {
	// Type is the event's type.
	Type() Type
	// facts returns what the index holds about it.
	facts() facts
	// guarded returns the payload as it may be recorded.
	guarded(*guard) Payload
}

// A Ref names a reply that another event holds.
type Ref struct {
	Seq    uint64 `json:"seq"`
	Choice int    `json:"choice"`
	// Digest is the reply's, as its event says it.
	Digest Digest `json:"digest"`
}

// A Span is a place in a reply as it came, End exclusive; [Content.Span] finds it
// in the recorded text.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// A Segment is a run of bytes of a reply on one channel, as [sotto.Segment].
type Segment struct {
	Channel sotto.Channel `json:"channel"`
	Block   int           `json:"block,omitempty"`
	Output  bool          `json:"output,omitempty"`
	Start   int           `json:"start"`
	End     int           `json:"end"`
}

// A Thought is reasoning that the provider sent separately from the text.
type Thought struct {
	Field string  `json:"field"` // the member or the kind of block that held it
	Text  Content `json:"text"`
	// Sealed says that the provider signed or encrypted it.
	Sealed bool `json:"sealed,omitempty"`
	// Raw is the JSON that it came in, if it can only go back in that form.
	Raw Content `json:"raw,omitzero"`
	// At is how many bytes of the content came before it.
	At int `json:"at,omitempty"`
}

// A Call is a call of a tool that the model asked for.
type Call struct {
	ID        string  `json:"id,omitempty"`
	Name      string  `json:"name"`
	Arguments Content `json:"arguments"`
	// Extra are further members that must go back with it: a JSON object.
	Extra Content `json:"extra,omitzero"`
}

// A Reply is one message of a model, as it came and as it was read.
type Reply struct {
	Choice  int             `json:"choice"`
	Dialect string          `json:"dialect,omitempty"`
	Start   sotto.Beginning `json:"start,omitempty"`
	End     sotto.Ending    `json:"end"`
	// Tools are the names of the tools that the model could call, if the reading knew
	// them: [sotto.Options].
	Tools       []string           `json:"tools,omitzero"`
	Diagnostics []sotto.Diagnostic `json:"diagnostics,omitempty"`
	// MoreDiagnostics is how many there are beyond those listed.
	MoreDiagnostics int `json:"more_diagnostics,omitempty"`
	// Segments are places in the reply as it came. If the caller has none and a
	// level needs them, the writer reads the reply itself.
	Segments []Segment `json:"segments,omitempty"`
	// Raw is the reply, byte for byte.
	Raw Content `json:"raw"`
	// Digest is the digest of the recorded Raw; the writer sets it.
	Digest Digest `json:"digest"`
	// Reasoning came in separate fields or blocks.
	Reasoning []Thought `json:"reasoning,omitempty"`
	ToolCalls []Call    `json:"tool_calls,omitempty"`
	// Finish is the finish reason in the provider's own word.
	Finish string `json:"finish,omitempty"`
	// Refusal is the text by which the model refused, if the API has a place of its
	// own for it.
	Refusal Content `json:"refusal,omitzero"`
}

// ReplyOf returns a reading in the form in which it is recorded.
func ReplyOf(r *sotto.Reply) Reply {
	segments := make([]Segment, len(r.Segments))
	for i, s := range r.Segments {
		segments[i] = Segment{s.Channel, s.Block, s.Output, s.Start, s.End}
	}
	return Reply{
		Dialect: r.Dialect, Start: r.Start, End: r.End, Tools: r.Tools, Segments: segments, Raw: Say(r.Raw),
		Diagnostics: r.Diagnostics, MoreDiagnostics: r.Counts.Total() - len(r.Diagnostics),
	}
}

// Options are those of a reading as the reply was read.
func (r *Reply) Options() sotto.Options {
	o := sotto.Options{Start: r.Start, Tools: r.Tools}
	if o.Start == "" {
		o.Start = sotto.BeginAuto
	}
	return o
}

// A Message is a message of a prompt.
type Message struct {
	Role      string    `json:"role"`
	Text      Content   `json:"text"`
	Reasoning []Thought `json:"reasoning,omitempty"`
	ToolCalls []Call    `json:"tool_calls,omitempty"`
	CallID    string    `json:"call_id,omitempty"` // of the call whose result it is
}

// A Tool is the definition of a tool that a request offers.
type Tool struct {
	Name string `json:"name"`
	// Definition is its JSON, as the request has it. It is empty if the definitions of
	// the request are too long to be recorded, or if the event holds only names.
	Definition Content `json:"definition,omitzero"`
	// Digest is the SHA-256 of a definition that is not recorded. There is
	// none unless the level of answers is [Full].
	Digest string `json:"digest,omitempty"`
}

// A Revision is what the history policy did at one place of the messages of a
// request. Together, the revisions turn the messages that were sent to the upstream
// back into those of the client.
type Revision struct {
	// Message is the index in [Exchange.Messages] of the message that was changed. If
	// Role is set, a message of that role was taken out before it.
	Message int    `json:"message"`
	Role    string `json:"role,omitempty"`
	// Field is the member or the kind of block that was changed; empty for the text.
	Field string `json:"field,omitempty"`
	// At is the byte of the text where it was changed, and Added is how many bytes from
	// there on the policy put in.
	At    int `json:"at,omitempty"`
	Added int `json:"added,omitempty"`
	// Removed is what the client had sent there. It counts as reasoning.
	Removed Content `json:"removed,omitzero"`
}

// A Usage counts tokens, as the provider does.
type Usage struct {
	Input     int64 `json:"input"` // all tokens of the prompt
	Output    int64 `json:"output"`
	Reasoning int64 `json:"reasoning,omitempty"`
	// CacheRead and CacheWrite are the parts of Input that the provider read from its
	// cache, and that it wrote to it.
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Estimated  bool  `json:"estimated,omitempty"` // Sotto estimated what the provider did not count
}

// An Exchange is one request to a model's route through the gateway, and its reply.
type Exchange struct {
	// ID is the gateway's name for the exchange: its log and its response to the client have
	// it too.
	ID     string `json:"exchange_id,omitempty"`
	API    string `json:"api"`
	Model  string `json:"model"`
	Caller string `json:"caller,omitempty"` // the name of the token that the client sent
	// ResponseID is the reply's id as the upstream knows it.
	ResponseID string `json:"response_id,omitempty"`
	// IDs are the identifiers that the client sent, by the names of the members and
	// headers that held them. See [Options.IDs].
	IDs      map[string]string `json:"ids,omitempty"`
	Path     string            `json:"path,omitempty"`     // without its query
	Upstream string            `json:"upstream,omitempty"` // without credentials
	// UpstreamAPI is the API in which the upstream was asked, if it is not API, which the
	// client speaks. Messages, Parameters, Tools and Revisions are of the upstream's API then, and
	// Asked and AskedParameters of the client's. LeftOut are the members of the client's
	// request that have no counterpart in the upstream's API, and were left out, and after "reply." those
	// of the reply that have none in the client's.
	UpstreamAPI string   `json:"upstream_api,omitempty"`
	LeftOut     []string `json:"left_out,omitempty"`
	// UpstreamName is its name in the gateway's settings; empty for the default. Retries
	// is how often the request was sent to it again before a response began.
	UpstreamName string `json:"upstream_name,omitempty"`
	Retries      int    `json:"retries,omitempty"`

	Status   int    `json:"status,omitempty"`
	Streamed bool   `json:"streamed,omitempty"`
	Outcome  string `json:"outcome"` // answered, refused, failed, canceled
	Millis   int64  `json:"ms"`
	// FirstThought and FirstAnswer are the times from the request to the first thought
	// and to the first visible text of a streamed reply, in milliseconds, rounded up.
	// They are 0 if none came, and for a reply that came whole.
	FirstThought int64  `json:"first_thought_ms,omitempty"`
	FirstAnswer  int64  `json:"first_answer_ms,omitempty"`
	History      string `json:"history,omitempty"` // what was done to earlier reasoning
	// HistoryDone is the same in one word: kept, removed or restored. It is empty if there
	// were no earlier replies.
	HistoryDone string `json:"history_done,omitempty"`
	// Leak says what became of reasoning that stood in the text of the reply: one of
	// [Thoughts], or passed if all of the reply passed unchanged. Older records have
	// corrected for what did not pass. LeakBytes is how much it was. Both are zero if there
	// was none.
	Leak      string `json:"leak,omitempty"`
	LeakBytes int    `json:"leak_bytes,omitempty"`
	// Route is the name of the gateway's route; empty for the default.
	Route    string    `json:"route,omitempty"`
	Error    string    `json:"error,omitempty"`
	Usage    *Usage    `json:"usage,omitempty"`
	Replies  []Reply   `json:"replies,omitempty"`
	Messages []Message `json:"messages,omitempty"` // as sent to the upstream
	// Parameters are the request's settings of the model, such as its temperature, in
	// a JSON object. Tools are the tools that it offers.
	Parameters Content `json:"parameters,omitzero"`
	Tools      []Tool  `json:"tools,omitempty"`
	// Revisions are what the history policy did to the messages of the client.
	Revisions []Revision `json:"revisions,omitempty"`
	// Asked are the messages as the client sent them, and AskedParameters its settings, if
	// the upstream speaks another API. They are empty otherwise.
	Asked           []Message `json:"asked,omitempty"`
	AskedParameters Content   `json:"asked_parameters,omitzero"`
	// Guard is what a guard decided about the reply before it was delivered. Replies has
	// all that the upstream sent, also what the guard kept from the client.
	Guard *Guarding `json:"guard,omitempty"`
	// Delivered is what the client got of the reply. It is nil in records of gateways that
	// did not note it.
	Delivered *Delivery `json:"delivered,omitempty"`
	// Switch is how the request's control of thinking was translated. Parameters has what
	// the upstream got.
	Switch *Switching `json:"switch,omitempty"`
}

// ModelAPI returns the API in which the upstream was asked.
func (x *Exchange) ModelAPI() string { return cmp.Or(x.UpstreamAPI, x.API) }

// A Switching is a translation of how a request controls thinking.
type Switching struct {
	Translated string  `json:"translated"`      // what was asked, from what to what, and how much was kept
	Client     Content `json:"client,omitzero"` // the members that changed, as the client sent them: a JSON object
}

// A Guarding is what a guard decided about the pieces of a reply.
type Guarding struct {
	ID         string      `json:"id"`     // the exchange, as the guard knows it
	Pieces     int         `json:"pieces"` // that were judged
	Judgements []Judgement `json:"judgements,omitempty"`
	More       int         `json:"more,omitempty"` // judgements that are not listed
}

// A Judgement is a guard's decision about one piece.
type Judgement struct {
	Choice  int    `json:"choice"`
	Channel string `json:"channel,omitempty"` // reasoning, answer or narration
	// Start and End are bytes of the channel's text, without markers.
	Start   int64   `json:"start"`
	End     int64   `json:"end"`
	Action  string  `json:"action"` // pass, cut, end or failed
	Reason  Content `json:"reason,omitzero"`
	Failure string  `json:"failure,omitempty"`
	Millis  int64   `json:"ms"`
}

// An Invocation is one call of a model by an agent.
type Invocation struct {
	Model    string `json:"model"`
	Provider string `json:"provider,omitempty"`
	Purpose  string `json:"purpose,omitempty"` // plan, act, judge, …
	Attempt  int    `json:"attempt,omitempty"`
	Millis   int64  `json:"ms"`
	// FirstThought and FirstAnswer are the times to the first thought and to the first
	// text of the reply, as in an [Exchange].
	FirstThought int64 `json:"first_thought_ms,omitempty"`
	FirstAnswer  int64 `json:"first_answer_ms,omitempty"`
	// IDs are the trace and the span of the invocation, which the model's server was told.
	// See [Options.IDs].
	IDs        map[string]string `json:"ids,omitempty"`
	Error      string            `json:"error,omitempty"`
	Final      bool              `json:"final,omitempty"` // the error is not worth retrying
	Usage      *Usage            `json:"usage,omitempty"`
	Replies    []Reply           `json:"replies,omitempty"`
	Messages   []Message         `json:"messages,omitempty"`
	Parameters Content           `json:"parameters,omitzero"` // as in an [Exchange]
	Tools      []Tool            `json:"tools,omitempty"`     // their names and digests
}

// A ToolCall is one use of a tool by an agent, and its result. An agent records it
// twice, before and after the use, so that a crash in between is visible.
type ToolCall struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Phase is "start" before the use, when there is no result yet, and "end" after
	// it.
	Phase string `json:"phase,omitempty"`
	// Number counts the run's uses of tools, from 1. Together with the run's name
	// it identifies the use.
	Number int `json:"number,omitempty"`
	// FromText says that the model wrote the call into its text.
	FromText  bool    `json:"from_text,omitempty"`
	Of        *Ref    `json:"of,omitempty"` // the reply that asked for it
	Arguments Content `json:"arguments"`
	Result    Content `json:"result"`
	// Reasoning is what the tool gave of the agent's earlier thoughts. If there is any,
	// Result is empty.
	Reasoning []Thought `json:"reasoning,omitempty"`
	// Child is the run of the agent that the tool is, if it is one.
	Child *Child `json:"child,omitempty"`
	// Peer is the task of an agent elsewhere that the tool is, if it is one.
	Peer *Peer `json:"peer,omitempty"`
	// IDs are the trace and the span of the call, which the tool's server was told. See
	// [Options.IDs].
	IDs    map[string]string `json:"ids,omitempty"`
	Millis int64             `json:"ms"`
	Error  string            `json:"error,omitempty"`
}

// A Child is the run of an agent that another agent called.
type Child struct {
	Run string `json:"run"`
	Of  *Ref   `json:"of,omitempty"` // the reply that its answer comes from
}

// A Peer is a task of an agent elsewhere, by the names that the agent gave it. The agent's
// record, if it has one, has a run of the task's name.
type Peer struct {
	Task    string `json:"task"`
	Context string `json:"context,omitempty"`
	// Spent is what the agent says that the task took so far; nil if it does not.
	Spent *Spent `json:"spent,omitempty"`
}

// A Spent is what an agent says that a task took, with the agents that it called.
type Spent struct {
	Calls     int64 `json:"model_calls"`
	Input     int64 `json:"input_tokens"`
	Output    int64 `json:"output_tokens"`
	Reasoning int64 `json:"reasoning_tokens"`              // of the output
	Estimated bool  `json:"reasoning_estimated,omitempty"` // some of the reasoning is
	Millis    int64 `json:"ms"`
	// Cost is in a currency that its prices are in, by the name that they give to it.
	// Unpriced says that not all of it is known.
	Cost     float64 `json:"cost,omitempty"`
	Currency string  `json:"currency,omitempty"`
	Unpriced bool    `json:"unpriced,omitempty"`
}

// An Extraction is the candidate answer that was extracted from a reply.
type Extraction struct {
	Of      Ref      `json:"of"`
	Task    string   `json:"task,omitempty"`
	Method  string   `json:"method"`
	Span    *Span    `json:"span"` // where Written is
	Status  string   `json:"status"`
	Rules   string   `json:"rules,omitempty"`
	Verdict *Verdict `json:"verdict,omitempty"`
	// FromReasoning says that the candidate was found in reasoning. The level of
	// reasoning then applies to it. The same holds if Method ends with
	// _in_reasoning.
	FromReasoning bool    `json:"from_reasoning,omitempty"`
	Candidate     Content `json:"candidate"`
	Written       Content `json:"written"` // as written in the reply
}

// A Verdict is what the validator said about a candidate.
type Verdict struct {
	OK     bool    `json:"ok"`
	Reason string  `json:"reason,omitempty"`
	By     string  `json:"by,omitempty"`
	Detail Content `json:"detail"`
}

// An Advisory is a remark of an adviser to an agent.
type Advisory struct {
	Code string  `json:"code,omitempty"`
	From string  `json:"from,omitempty"`
	Of   *Ref    `json:"of,omitempty"`
	Text Content `json:"text"`
}

// A Failure is an error.
type Failure struct {
	Code string `json:"code"`
	// Phase is set for an outage, which is recorded twice: "start" when it begins,
	// and "end" with what it took.
	Phase   string `json:"phase,omitempty"`
	Message string `json:"message,omitempty"`
	Of      *Ref   `json:"of,omitempty"`
	// Count is how many failures it stands for. With code "dropped", it counts
	// events that were never recorded.
	Count  uint64 `json:"count,omitempty"`
	Millis int64  `json:"ms,omitempty"`
}

// A RunStart begins a run, or resumes one that was suspended or is extended.
type RunStart struct {
	// ID distinguishes the run from every other one, of any name and in any record.
	ID      string `json:"id,omitempty"`
	Resumed bool   `json:"resumed,omitempty"`
	// Extended says that all cycles of the run were done, and more follow.
	Extended bool   `json:"extended,omitempty"`
	Agent    string `json:"agent,omitempty"`
	Model    string `json:"model,omitempty"`
	// Parent is the run that called this run as a tool.
	Parent string `json:"parent,omitempty"`
	// Caller is the name of the token that a client sent for it.
	Caller string `json:"caller,omitempty"`
	// IDs are the identifiers by which the client knows the run, by their names. See
	// [Options.IDs].
	IDs map[string]string `json:"ids,omitempty"`
	// Window is the model's context window in tokens; 0 if it is not known.
	Window int `json:"window,omitempty"`
	// Config holds settings. Values under a name such as key, token or password are
	// not recorded.
	Config map[string]string `json:"config,omitempty"`
	Goal   Content           `json:"goal"`
}

// A CycleStart begins a cycle of a run.
type CycleStart struct {
	// IDs are those of the message that begins the cycle, if the run began with another one.
	// See [Options.IDs].
	IDs  map[string]string `json:"ids,omitempty"`
	Goal Content           `json:"goal"`
}

// A CycleEnd ends a cycle.
type CycleEnd struct {
	Status string `json:"status"`
	// Bound is the bound that the cycle reached.
	Bound   string   `json:"bound,omitempty"`
	Millis  int64    `json:"ms"`
	Metrics *Metrics `json:"metrics,omitempty"`
	Of      *Ref     `json:"of,omitempty"` // the reply that the summary comes from
	Summary Content  `json:"summary"`
	// Reasoning is all that was thought in the cycle, in order, so that an event has the
	// whole thought beside what came of it. It is empty if the record keeps no reasoning, in
	// records of earlier versions, and beyond 16 MiB; the invocations have it in any case.
	Reasoning []Thought `json:"reasoning,omitempty"`
}

// A RunEnd ends a run, or suspends it.
type RunEnd struct {
	Status string `json:"status"`
	// Bound is the bound that ended the run.
	Bound   string   `json:"bound,omitempty"`
	Cycles  int      `json:"cycles,omitempty"`
	Millis  int64    `json:"ms"`
	Metrics *Metrics `json:"metrics,omitempty"`
	Result  Content  `json:"result"`
}

// Metrics are the counts of a cycle, or of a whole run.
type Metrics struct {
	Invocations int `json:"invocations"`
	// Unanswered are the invocations to which no reply came, not even a part of one.
	Unanswered int `json:"unanswered,omitempty"`
	Retries    int `json:"retries,omitempty"`
	ToolCalls  int `json:"tool_calls,omitempty"`
	ToolErrors int `json:"tool_errors,omitempty"`
	// TextCalls are the calls that were written into the text.
	TextCalls int `json:"text_calls,omitempty"`

	InputTokens  int64 `json:"input_tokens,omitempty"`
	OutputTokens int64 `json:"output_tokens,omitempty"`
	// LargestPrompt is how many tokens the largest prompt had, if the context window
	// is known.
	LargestPrompt int64 `json:"largest_prompt,omitempty"`

	// The bytes of all that came as replies, whole or cut, in the text and in members
	// and blocks of their own; and how many of them were visible and how many were
	// thoughts.
	ReplyBytes   int `json:"reply_bytes"`
	VisibleBytes int `json:"visible_bytes"`
	ThoughtBytes int `json:"thought_bytes"`

	// PromptBytes are the bytes of the prompts. SavedBytes is how much longer they
	// would have been with all thoughts in them, and SavedTokens is about how many
	// tokens that is. Policy is what saved them.
	PromptBytes int    `json:"prompt_bytes"`
	SavedBytes  int    `json:"saved_bytes"`
	SavedTokens int    `json:"saved_tokens"`
	Policy      string `json:"policy,omitempty"`

	// Similarity is the similarity to the most similar earlier summary, which is
	// that of cycle SimilarTo. A method measures it.
	Similarity float64 `json:"similarity,omitempty"`
	SimilarTo  int     `json:"similar_to,omitempty"`
	Method     string  `json:"method,omitempty"`
}

// An Unknown payload is of a type or a version that this package does not know. It
// is kept as it was read. It can be appended only if no level withholds anything,
// since it is unknown what in it is reasoning.
type Unknown struct {
	Name Type
	JSON json.RawMessage
}

// MarshalJSON returns the payload as it was read.
func (u Unknown) MarshalJSON() ([]byte, error) {
	if len(u.JSON) == 0 {
		return []byte("null"), nil
	}
	return u.JSON, nil
}

func (Exchange) Type() Type   { return TypeExchange }
func (Invocation) Type() Type { return TypeInvocation }
func (ToolCall) Type() Type   { return TypeToolCall }
func (Extraction) Type() Type { return TypeExtraction }
func (Advisory) Type() Type   { return TypeAdvisory }
func (Failure) Type() Type    { return TypeError }
func (RunStart) Type() Type   { return TypeRunStart }
func (CycleStart) Type() Type { return TypeCycleStart }
func (CycleEnd) Type() Type   { return TypeCycleEnd }
func (RunEnd) Type() Type     { return TypeRunEnd }
func (u Unknown) Type() Type  { return u.Name }

// facts are what the index holds about a payload.
type facts struct {
	model string
	codes []string // diagnostics of replies, codes of errors and advisories
}

// strings are the strings of the facts.
func (f *facts) strings() []*string {
	list := []*string{&f.model}
	for i := range f.codes {
		list = append(list, &f.codes[i])
	}
	return list
}

// asWritten makes the facts what the line has: a replacement character for each byte that
// is not UTF-8.
func (f *facts) asWritten() {
	f.model = replaced(f.model)
	for i, code := range f.codes {
		f.codes[i] = replaced(code)
	}
}

func replaced(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func (x Exchange) facts() facts   { return facts{x.Model, codesOf(x.Replies)} }
func (x Invocation) facts() facts { return facts{x.Model, codesOf(x.Replies)} }
func (ToolCall) facts() facts     { return facts{} }
func (Extraction) facts() facts   { return facts{} }
func (x Advisory) facts() facts   { return facts{codes: oneCode(x.Code)} }
func (x Failure) facts() facts    { return facts{codes: oneCode(x.Code)} }
func (x RunStart) facts() facts   { return facts{model: x.Model} }
func (CycleStart) facts() facts   { return facts{} }
func (CycleEnd) facts() facts     { return facts{} }
func (RunEnd) facts() facts       { return facts{} }
func (Unknown) facts() facts      { return facts{} }

func oneCode(code string) []string {
	if code == "" {
		return nil
	}
	return []string{code}
}

func codesOf(replies []Reply) []string {
	var codes []string
	for _, r := range replies {
		for _, d := range r.Diagnostics {
			codes = append(codes, string(d.Code))
		}
	}
	return codes
}
