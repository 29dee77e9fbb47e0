package otlp

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/tracecontext"
	"github.com/sotto-llm/sotto/internal/recorded/recordstats"
	"github.com/sotto-llm/sotto/record"
)

// An Exporter makes spans and log records from events, in order.
type Exporter struct {
	content bool
	runs    map[string]*exportedRun
}

// NewExporter returns an exporter. content says whether it exports texts as well as
// sizes, counts and names.
func NewExporter(content bool) *Exporter {
	return &Exporter{content: content, runs: map[string]*exportedRun{}}
}

// An exportedRun holds what later events need to know about a run.
type exportedRun struct {
	root   string // the run whose trace this run belongs to
	parent string
	// place is where the client of the run is in a trace, if it said so, and now where the
	// client of the cycle is, which may be another.
	place, now   tracecontext.Parent
	agent, model string
	start        time.Time
	extended     bool // after all its cycles were done
	cycle        int
	cycleStart   time.Time // zero outside a cycle
}

// run returns what is known about a run.
func (x *Exporter) run(name string) *exportedRun {
	r := x.runs[name]
	if r == nil {
		r = &exportedRun{root: name}
		x.runs[name] = r
	}
	return r
}

// identifier makes n bytes of an identifier, the same in every export.
func identifier(n int, parts ...any) string {
	sum := sha256.Sum256([]byte("sotto record" + fmt.Sprintln(parts...)))
	return hex.EncodeToString(sum[:n])
}

func traceOf(root string) string            { return identifier(16, "run", root) }
func runSpan(run string) string             { return identifier(8, "run", run) }
func cycleSpan(run string, n int) string    { return identifier(8, "cycle", run, n) }
func eventSpan(run string, n uint64) string { return identifier(8, "event", run, n) }

// Span returns the line of an event's span, or nil if it has none.
func (x *Exporter) Span(e *record.Event) *Line {
	if e.Payload == nil {
		return nil
	}
	s := Span{SpanID: eventSpan(e.Run, e.Seq), Kind: kindClient, End: nanoseconds(e.Time)}
	var a attributes
	took := int64(0)
	switch p := e.Payload.(type) {
	case record.Exchange:
		took = p.Millis
		x.call(&s, &a, callOf(p))
	case record.Invocation:
		took = p.Millis
		s.own(p.IDs)
		x.call(&s, &a, modelCall{
			model: p.Model, provider: p.Provider, failure: p.Error, usage: p.Usage, replies: p.Replies, messages: p.Messages,
			thought: p.FirstThought, answer: p.FirstAnswer, parameters: p.Parameters, tools: p.Tools,
		})
		a.text("sotto.purpose", p.Purpose)
	case record.ToolCall:
		if p.Phase == "start" {
			return nil
		}
		took = p.Millis
		s.own(p.IDs)
		x.tool(&s, &a, p)
	case record.RunStart:
		r := x.run(e.Run)
		switch {
		case p.Extended: // its span has ended: what follows has one of its own below it
			r.start, r.extended = e.Time, true
			return nil
		case p.Resumed: // its span has not ended
			return nil
		}
		r.agent, r.model, r.start, r.parent, r.cycleStart = p.Agent, p.Model, e.Time, p.Parent, time.Time{}
		if p.Parent != "" {
			r.root = x.run(p.Parent).root
		}
		r.place = placeIn(p.IDs)
		r.now = r.place
		return nil
	case record.CycleStart:
		r := x.run(e.Run)
		r.cycle, r.cycleStart = e.Cycle, e.Time
		if place := placeIn(p.IDs); place.Trace != "" {
			r.now = place
		}
		return nil
	case record.CycleEnd:
		took = p.Millis
		x.cycleEnd(&s, &a, e, p)
	case record.RunEnd:
		if p.Status == "suspended" { // its span ends later
			return nil
		}
		took = p.Millis
		x.runEnd(&s, &a, e, p)
	default:
		return nil
	}
	x.place(&s, e)
	if s.Start == "" {
		s.Start = nanoseconds(e.Time.Add(-time.Duration(took) * time.Millisecond))
	}
	a.number("sotto.record.seq", int64(e.Seq))
	s.Attributes = a
	return spanLine(s)
}

// place says which trace a span belongs to, and what its parent is.
func (x *Exporter) place(s *Span, e *record.Event) {
	if e.Run == "" {
		s.TraceID = identifier(16, "event", e.Seq, e.Time.UnixNano())
		if p, ok := e.Payload.(record.Exchange); ok && isID(p.IDs[record.IDTrace], 16) {
			s.TraceID = p.IDs[record.IDTrace]
			if span := p.IDs[record.IDSpan]; isID(span, 8) {
				s.SpanID = span
			}
			if parent := p.IDs[record.IDParentSpan]; isID(parent, 8) {
				s.Parent = parent
			}
		}
		return
	}
	r := x.run(e.Run)
	root := x.run(r.root)
	s.TraceID = cmp.Or(root.now.Trace, traceOf(r.root))
	switch {
	case s.SpanID == runSpan(e.Run):
		s.TraceID, s.Parent = cmp.Or(root.place.Trace, traceOf(r.root)), r.place.Span
		if r.parent != "" {
			s.Parent = runSpan(r.parent)
		}
	case s.SpanID == cycleSpan(e.Run, e.Cycle) && r.now != r.place: // a message of another trace
		s.Parent = r.now.Span
	case s.SpanID != cycleSpan(e.Run, e.Cycle) && r.cycle == e.Cycle && !r.cycleStart.IsZero():
		s.Parent = cycleSpan(e.Run, e.Cycle)
	default:
		s.Parent = runSpan(e.Run)
	}
}

// own gives a span the identifier that the server of the call was told.
func (s *Span) own(ids map[string]string) {
	if id := ids[record.IDSpan]; isID(id, 8) {
		s.SpanID = id
	}
}

// placeIn returns the place in a trace that identifiers name, if they were not recorded as
// digests.
func placeIn(ids map[string]string) tracecontext.Parent {
	return tracecontext.Within(ids[record.IDTrace], ids[record.IDParentSpan])
}

// isID reports whether a text is an identifier of n bytes. A record may have the
// digest of one in its place.
func isID(text string, n int) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == n
}

// A modelCall is what an EXCHANGE and an LLM_INVOCATION have in common.
type modelCall struct {
	operation       string
	model, provider string
	response        string // its id
	address         *url.URL
	streamed        bool
	class, failure  string // of an error
	usage           *record.Usage
	replies         []record.Reply
	messages        []record.Message
	session         string // its id
	thought, answer int64  // when the first of each came, in ms
	parameters      record.Content
	tools           []record.Tool
	exchange        *record.Exchange // nil if there is none
}

// CallOf returns the provider and the operation of an API such as openai.chat. The provider
// has its name in the API, which the conventions allow if they have no other.
func CallOf(api string) (provider, operation string) {
	provider, kind, _ := strings.Cut(api, ".")
	if kind == "completions" || kind == "generate" {
		return provider, OperationCompletion
	}
	return provider, OperationChat
}

func callOf(p record.Exchange) modelCall {
	c := modelCall{
		model: p.Model, response: p.ResponseID, streamed: p.Streamed, failure: p.Error, usage: p.Usage, replies: p.Replies, messages: p.Messages,
		thought: p.FirstThought, answer: p.FirstAnswer, parameters: p.Parameters, tools: p.Tools, exchange: &p,
	}
	_, c.session = p.Session()
	c.provider, c.operation = CallOf(p.ModelAPI())
	if u, err := url.Parse(p.Upstream); err == nil {
		c.address = u
	}
	switch {
	case p.Status >= 400:
		c.class = strconv.Itoa(p.Status)
	case p.Outcome != "answered":
		c.class = p.Outcome
	}
	return c
}

// call fills the span of a model's call.
func (x *Exporter) call(s *Span, a *attributes, c modelCall) {
	operation := cmp.Or(c.operation, OperationChat)
	s.Name = strings.TrimSpace(operation + " " + c.model)
	a.text(GenAIOperation, operation)
	a.text(GenAIProvider, cmp.Or(c.provider, "unknown"))
	a.text(GenAIModel, c.model)
	a.text(GenAIResponseID, c.response)
	a.flag(GenAIStream, c.streamed)
	if c.address != nil {
		a.text(ServerAddress, c.address.Hostname())
		if port, err := strconv.ParseInt(c.address.Port(), 10, 32); err == nil {
			a.number(ServerPort, port)
		}
	}
	if u := c.usage; u != nil {
		a.number(GenAIInputTokens, u.Input)
		a.number(GenAIOutputTokens, u.Output)
		if u.Reasoning > 0 {
			a.number(GenAIReasoningTokens, u.Reasoning)
		}
		if u.CacheRead > 0 {
			a.number(GenAICacheRead, u.CacheRead)
		}
		if u.CacheWrite > 0 {
			a.number(GenAICacheWrite, u.CacheWrite)
		}
	}
	c.first(a)
	c.settings(a)
	a.text(GenAIConversation, c.session)
	var f recordstats.Figures
	f.Diagnostics = map[string]int{}
	var reasons, codes []string
	for i := range c.replies {
		f.CountReply(&c.replies[i])
		reasons = append(reasons, finishReason(&c.replies[i]))
		for _, d := range c.replies[i].Diagnostics {
			codes = append(codes, string(d.Code))
		}
	}
	a.texts(GenAIFinishReasons, reasons)
	a.number("sotto.reply.bytes", int64(f.Bytes))
	a.number("sotto.reply.reasoning.bytes", int64(f.ReasoningBytes))
	a.flag("sotto.reply.leaked", f.Leaks > 0)
	a.texts("sotto.reply.diagnostics", codes)
	x.delivered(a, c.exchange)
	if x.content {
		a.json(GenAITools, toolDefinitions(c.tools))
		a.json(GenAIInputMessages, InputMessages(c.messages))
		a.json(GenAIOutputMessages, OutputMessages(c.replies))
	}
	x.failed(s, a, c.class, c.failure)
}

// delivered says what the client got.
func (x *Exporter) delivered(a *attributes, e *record.Exchange) {
	if e == nil || e.Delivered == nil {
		return
	}
	a.text("sotto.reply.thought", e.Thought(-1))
	var got []string
	bytes := 0
	for i := range e.Replies {
		text, _ := e.ClientText(i)
		got = append(got, text)
	}
	for _, d := range e.Delivered.Texts {
		if d.Place == record.PlaceText {
			bytes += d.Bytes
		}
	}
	a.number("sotto.reply.client_text.bytes", int64(bytes))
	if x.content {
		a.texts("sotto.reply.client_text", got)
	}
}

// failed marks a span as failed. The text of an error may quote a text.
func (x *Exporter) failed(s *Span, a *attributes, class, message string) {
	if class == "" && message == "" {
		return
	}
	a.text(ErrorType, cmp.Or(class, "_OTHER"))
	s.Status.Code = statusError
	if x.content {
		s.Status.Message = message
	}
}

func (x *Exporter) tool(s *Span, a *attributes, p record.ToolCall) {
	s.Name, s.Kind = strings.TrimSpace(operationTool+" "+p.Name), kindInternal
	a.text(GenAIOperation, operationTool)
	a.text(GenAITool, p.Name)
	a.text(GenAIToolCall, p.ID)
	if p.Peer != nil {
		a.text("sotto.peer.task", p.Peer.Task)
	}
	if x.content {
		a.text(GenAIToolArguments, string(p.Arguments.Text))
		a.text(GenAIToolResult, string(p.Result.Text))
	}
	x.failed(s, a, "", p.Error)
}

func (x *Exporter) cycleEnd(s *Span, a *attributes, e *record.Event, p record.CycleEnd) {
	r := x.run(e.Run)
	s.SpanID, s.Name, s.Kind = cycleSpan(e.Run, e.Cycle), "cycle", kindInternal
	if r.cycle == e.Cycle {
		s.Start = nanoseconds(r.cycleStart)
		r.cycleStart = time.Time{}
	}
	a.number("sotto.cycle", int64(e.Cycle))
	a.text("sotto.status", p.Status)
	metrics(a, p.Metrics)
}

func (x *Exporter) runEnd(s *Span, a *attributes, e *record.Event, p record.RunEnd) {
	r := x.run(e.Run)
	s.SpanID, s.Kind, s.Start = runSpan(e.Run), kindInternal, nanoseconds(r.start)
	if r.extended {
		s.SpanID = eventSpan(e.Run, e.Seq)
	}
	s.Name = strings.TrimSpace(operationAgent + " " + r.agent)
	a.text(GenAIOperation, operationAgent)
	a.text(GenAIAgent, r.agent)
	a.text(GenAIModel, r.model)
	a.text(GenAIConversation, e.Run)
	a.text("sotto.status", p.Status)
	metrics(a, p.Metrics)
}

func metrics(a *attributes, m *record.Metrics) {
	if m == nil {
		return
	}
	a.number(GenAIInputTokens, m.InputTokens)
	a.number(GenAIOutputTokens, m.OutputTokens)
	a.number("sotto.prompt.bytes", int64(m.PromptBytes))
	a.number("sotto.prompt.saved.bytes", int64(m.SavedBytes))
}

// Log returns the line of an event's log record, or nil if it has none.
func (x *Exporter) Log(e *record.Event) *Line {
	l := Log{Time: nanoseconds(e.Time), Severity: severityInfo, Text: "INFO"}
	var a attributes
	var of *record.Ref
	switch p := e.Payload.(type) {
	case record.Extraction:
		if p.Verdict == nil {
			return nil
		}
		of = &p.Of
		x.verdict(&l, &a, p)
	case record.Advisory:
		of, l.EventName = p.Of, "sotto.advisory"
		a.text("sotto.code", p.Code)
		x.body(&l, string(p.Text.Text))
	case record.Failure:
		of, l.EventName, l.Severity, l.Text = p.Of, "sotto.error", severityError, "ERROR"
		a.text(ErrorType, p.Code)
		x.body(&l, p.Message)
	case record.RunStart:
		x.Span(e) // for its trace
		return nil
	default:
		return nil
	}
	if e.Run != "" {
		l.TraceID = traceOf(x.run(e.Run).root)
		if of != nil {
			l.SpanID = eventSpan(e.Run, of.Seq)
		}
	}
	a.number("sotto.record.seq", int64(e.Seq))
	l.Attributes = a
	return logLine(l)
}

func (x *Exporter) body(l *Log, text string) {
	if x.content && text != "" {
		body := stringValue(text)
		l.Body = &body
	}
}

// verdict fills in the record of a validator's verdict.
func (x *Exporter) verdict(l *Log, a *attributes, p record.Extraction) {
	label, value := "fail", 0.0
	if p.Verdict.OK {
		label, value = "pass", 1
	}
	l.EventName = evaluationEvent
	a.text(GenAIEvaluation, cmp.Or(p.Task, "answer"))
	a.text(GenAIScoreLabel, label)
	a.double(GenAIScoreValue, value)
	a.text(GenAIExplanation, p.Verdict.Reason)
	a.text("sotto.extraction.method", p.Method)
	a.text("sotto.extraction.status", p.Status)
	if x.content {
		a.text("sotto.extraction.candidate", string(p.Candidate.Text))
	}
}

var exportResource = []Attribute{{"service.name", stringValue("sotto")}}

const exportScope = "github.com/sotto-llm/sotto/record"

func spanLine(s Span) *Line {
	scope := Scope{Spans: []Span{s}, Schema: SemconvSchema}
	scope.Scope.Name = exportScope
	r := Resource{ScopeSpans: []Scope{scope}, Schema: SemconvSchema}
	r.Resource.Attributes = exportResource
	return &Line{Spans: []Resource{r}}
}

func logLine(l Log) *Line {
	scope := Scope{Logs: []Log{l}, Schema: SemconvSchema}
	scope.Scope.Name = exportScope
	r := Resource{ScopeLogs: []Scope{scope}, Schema: SemconvSchema}
	r.Resource.Attributes = exportResource
	return &Line{Logs: []Resource{r}}
}
