package contreact

import (
	"encoding/json"
	"io"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

// A Line is an event as a log has it.
type Line struct {
	Timestamp   string `json:"timestamp"`
	RunID       string `json:"run_id"`
	CycleNumber int    `json:"cycle_number"`
	EventType   string `json:"event_type"`
	Payload     any    `json:"payload"`
}

type message struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"` // null if some of it was not recorded
	Thinking  string     `json:"thinking,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

// A toolMessage is the result of a tool in a prompt.
type toolMessage struct {
	message
	ToolCallID *string `json:"tool_call_id"`
}

type toolCall struct {
	ID       string   `json:"id,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type invocation struct {
	Prompt   []any           `json:"prompt_messages"`
	Response message         `json:"response_message"`
	Options  json.RawMessage `json:"model_options"`
}

type toolUse struct {
	Name       string          `json:"tool_name"`
	Parameters json.RawMessage `json:"parameters"`
	Output     *string         `json:"output"`
}

type cycleEnd struct {
	Reflection *string `json:"final_reflection"`
	Thinking   *string `json:"thinking,omitempty"` // of the whole cycle
	Metrics    metrics `json:"metrics"`
}

// metrics are the counts of a cycle, in characters as Python counts them.
type metrics struct {
	MemoryOps        int `json:"memory_ops_total"`
	OperatorMessages int `json:"messages_to_operator"`
	ResponseChars    int `json:"response_chars"`
	WrittenChars     int `json:"memory_write_chars"`
}

// memoryTools are the tools that memory_ops_total counts.
var memoryTools = map[string]bool{"write": true, "read": true, "list": true, "delete": true, "pattern_search": true}

type runKey struct {
	from *recordset.Source
	run  string
}

// An Exporter makes lines of events, in their order.
type Exporter struct{ runs map[runKey]*metrics }

// Types are the types of events of which lines are made.
var Types = []record.Type{record.TypeCycleStart, record.TypeInvocation, record.TypeToolCall, record.TypeCycleEnd}

// Lines returns the lines of an event: one for each reply of an invocation.
func (x *Exporter) Lines(e *recordset.Event) (list []Line) {
	add := func(payload any) {
		list = append(list, Line{stamp(e.When()), e.Run, e.Cycle, string(e.Type), payload})
	}
	switch p := e.Payload.(type) {
	case record.CycleStart:
		x.forget(e)
		add(struct{}{})
	case record.Invocation:
		for i := range p.Replies {
			x.counts(e).ResponseChars += utf8.RuneCountInString(string(p.Replies[i].Raw.Text))
			add(invocationOf(&p, &p.Replies[i]))
		}
	case record.ToolCall:
		if p.Phase == "start" {
			return nil
		}
		x.counts(e).count(&p)
		use := toolUse{p.Name, jsonOf(p.Arguments), textOf(p.Result)}
		if p.Error != "" && p.Result.Text == "" {
			use.Output = &p.Error
		}
		add(use)
	case record.CycleEnd:
		add(cycleEnd{textOf(p.Summary), thinkingOf(p.Reasoning), *x.counts(e)})
		x.forget(e)
	}
	return list
}

// stamp writes a time as Python does: six digits of a second, or none.
func stamp(t time.Time) string {
	if t = t.UTC().Truncate(time.Microsecond); t.Nanosecond() == 0 {
		return t.Format("2006-01-02T15:04:05Z")
	}
	return t.Format("2006-01-02T15:04:05.000000Z")
}

func (x *Exporter) counts(e *recordset.Event) *metrics {
	key := runKey{e.Source, e.Run}
	if x.runs == nil || len(x.runs) > maxRuns {
		x.runs = map[runKey]*metrics{}
	}
	if x.runs[key] == nil {
		x.runs[key] = &metrics{}
	}
	return x.runs[key]
}

func (x *Exporter) forget(e *recordset.Event) { delete(x.runs, runKey{e.Source, e.Run}) }

// count counts the use of a tool.
func (m *metrics) count(use *record.ToolCall) {
	if memoryTools[use.Name] {
		m.MemoryOps++
	}
	if use.Name == "send_message_to_operator" {
		m.OperatorMessages++
	}
	if use.Name != "write" {
		return
	}
	if arguments, err := foreignjson.Parse([]byte(use.Arguments.Text)); err == nil {
		m.WrittenChars += utf8.RuneCountInString(arguments.Get("value").String())
	}
}

func invocationOf(p *record.Invocation, r *record.Reply) invocation {
	out := invocation{Prompt: []any{}, Options: json.RawMessage("{}")}
	if p.Parameters.Text != "" || !p.Parameters.Whole() {
		out.Options = jsonOf(p.Parameters)
	}
	for i := range p.Messages {
		m := &p.Messages[i]
		said := message{Role: m.Role, Content: textOf(m.Text), ToolCalls: toolCalls(m.ToolCalls)}
		if m.Role != "tool" {
			out.Prompt = append(out.Prompt, said)
			continue
		}
		result := toolMessage{message: said}
		if m.CallID != "" {
			result.ToolCallID = &m.CallID
		}
		out.Prompt = append(out.Prompt, result)
	}
	out.Response = message{Role: "assistant", Content: textOf(r.Raw), ToolCalls: toolCalls(r.ToolCalls)}
	for _, t := range r.Reasoning {
		if t.Text.Whole() {
			out.Response.Thinking += string(t.Text.Text)
		}
	}
	return out
}

func toolCalls(list []record.Call) (out []toolCall) {
	for _, c := range list {
		out = append(out, toolCall{c.ID, function{c.Name, jsonOf(c.Arguments)}})
	}
	return out
}

// textOf returns a text, or nil if some of it was not recorded.
// thinkingOf joins thoughts; nil if there are none, or some of them was not recorded.
func thinkingOf(list []record.Thought) *string {
	var texts []string
	for _, t := range list {
		if !t.Text.Whole() {
			return nil
		}
		texts = append(texts, string(t.Text.Text))
	}
	if len(texts) == 0 {
		return nil
	}
	text := strings.Join(texts, "\n\n")
	return &text
}

func textOf(c record.Content) *string {
	if !c.Whole() {
		return nil
	}
	text := string(c.Text)
	return &text
}

// jsonOf returns a text that is JSON as it is, and any other as a string.
func jsonOf(c record.Content) json.RawMessage {
	if !c.Whole() {
		return json.RawMessage("null")
	}
	if foreignjson.Valid([]byte(c.Text)) {
		return json.RawMessage(c.Text)
	}
	text, _ := json.Marshal(string(c.Text))
	return text
}

// Write writes the lines of events. A failed reading is passed to failed; if it
// returns nil, the reading continues.
func Write(to io.Writer, events iter.Seq2[recordset.Event, error], failed func(error) error) error {
	var x Exporter
	return recordset.WriteLines(to, events, func(e *recordset.Event) []Line {
		if e == nil {
			return nil
		}
		return x.Lines(e)
	}, failed)
}
