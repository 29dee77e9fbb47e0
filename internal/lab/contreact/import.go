// Package contreact reads and writes the logs of ContReAct-Ollama: JSON Lines with an
// event a line, of the types CYCLE_START, LLM_INVOCATION, TOOL_CALL and CYCLE_END.
package contreact

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/record"
)

// An Importer appends the events of logs to a record.
type Importer struct {
	To      *record.Writer
	Grammar *sotto.Grammar // by which replies are read
	Start   sotto.Beginning
	Model   string // if a log does not say it
	// MaxLine is how long a line may be, in bytes. If it is zero, it is batch.MaxLine.
	MaxLine int
	// Fault gets the faults of lines; the other lines are imported.
	Fault func(line int, err error)

	runs map[string]*run
}

// A run is what later events need to know about a run.
type run struct {
	model string
	calls int         // of tools
	reply *record.Ref // the last one
}

// maxRuns bounds the runs of an import.
const maxRuns = 10_000

// Import appends the events of a log. name is the run of events that do not say their
// run. The error means that reading or recording failed.
func (x *Importer) Import(ctx context.Context, log io.Reader, name string) error {
	r := bufio.NewReaderSize(log, 64<<10)
	for number := 1; ; number++ {
		line, err := batch.NextLine(r, x.MaxLine)
		var long *batch.LongLineError
		if errors.As(err, &long) {
			x.Fault(number, fmt.Errorf("%w%s", err, batch.Raise))
			continue
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if batch.BlankLine(line) {
			continue
		}
		err = x.line(ctx, line, name)
		var recording *recordError
		switch {
		case errors.As(err, &recording) && !errors.Is(err, record.ErrTooLarge):
			return recording.error
		case err != nil:
			x.Fault(number, err)
		}
	}
}

// A recordError is a failure to record, which ends the import.
type recordError struct{ error }

func (e *recordError) Unwrap() error { return e.error }

// line imports a line.
func (x *Importer) line(ctx context.Context, line []byte, name string) error {
	v, err := foreignjson.Parse(line)
	if err != nil {
		return fmt.Errorf("the line %w", err)
	}
	if !v.IsObject() {
		return errors.New("the line is not a JSON object")
	}
	e := record.Event{Run: name, Cycle: int(v.Get("cycle_number").Int())}
	if id := v.Get("run_id"); id.Exists() {
		e.Run = id.String()
	}
	if err := record.CheckRun(e.Run); err != nil || e.Run == "" {
		return fmt.Errorf("run_id %q: %w", e.Run, errors.Join(err, record.ErrRunName))
	}
	if e.Happened, err = timeOf(v.Get("timestamp").String()); err != nil {
		return err
	}
	state, err := x.run(ctx, &e, v)
	if err != nil {
		return err
	}
	payload := v.Get("payload")
	if e.Payload, err = x.payload(state, v.Get("event_type").String(), payload); err != nil || e.Payload == nil {
		return err
	}
	receipt, err := x.To.Append(ctx, e)
	if err != nil {
		return &recordError{err}
	}
	if len(receipt.Replies) > 0 {
		state.reply = &record.Ref{Seq: receipt.Seq, Digest: receipt.Replies[0]}
	}
	return nil
}

// timeOf reads a time; without a zone it is UTC.
func timeOf(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("timestamp %.40q: want a time such as 2025-01-08T10:00:05.123456Z", text)
}

// run returns the state of an event's run, which its first event begins.
func (x *Importer) run(ctx context.Context, e *record.Event, v gjson.Result) (*run, error) {
	if s := x.runs[e.Run]; s != nil {
		return s, nil
	}
	if len(x.runs) >= maxRuns {
		return nil, fmt.Errorf("more than %d runs", maxRuns)
	}
	if x.runs == nil {
		x.runs = map[string]*run{}
	}
	s := &run{model: x.Model}
	if model := v.Get("payload.model_name").String(); model != "" && s.model == "" {
		s.model = model
	}
	x.runs[e.Run] = s
	start := record.Event{Run: e.Run, Happened: e.Happened, Payload: record.RunStart{Agent: "contreact", Model: s.model}}
	if _, err := x.To.Append(ctx, start); err != nil {
		return nil, &recordError{err}
	}
	return s, nil
}

// payload returns what an event says; nil if it only begins its run.
func (x *Importer) payload(s *run, typ string, p gjson.Result) (record.Payload, error) {
	switch typ {
	case "EXPERIMENT_START":
		return nil, nil
	case "CYCLE_START":
		return record.CycleStart{}, nil
	case "LLM_INVOCATION":
		return x.invocation(s, p)
	case "TOOL_CALL":
		s.calls++
		return record.ToolCall{
			Name: p.Get("tool_name").String(), Phase: "end", Number: s.calls, Of: s.reply,
			Arguments: record.Say(rawOf(p.Get("parameters"))), Result: record.Say(p.Get("output").String()),
		}, nil
	case "CYCLE_END":
		end := record.CycleEnd{Status: "answered", Of: s.reply, Summary: record.Say(p.Get("final_reflection").String())}
		if text := p.Get("thinking").String(); text != "" {
			end.Reasoning = []record.Thought{{Field: "thinking", Text: record.Say(text)}}
		}
		return end, nil
	}
	return nil, fmt.Errorf("event_type %.40q: want CYCLE_START, LLM_INVOCATION, TOOL_CALL or CYCLE_END", typ)
}

func (x *Importer) invocation(s *run, p gjson.Result) (record.Payload, error) {
	message := p.Get("response_message")
	if !message.IsObject() {
		return nil, errors.New("payload.response_message is missing")
	}
	read, err := x.Grammar.Parse(message.Get("content").String(), x.Start, sotto.EndStopped)
	if err != nil {
		return nil, err
	}
	reply := record.ReplyOf(read)
	reply.ToolCalls = callsOf(message)
	if thinking := message.Get("thinking").String(); thinking != "" {
		reply.Reasoning = []record.Thought{{Field: "thinking", Text: record.Say(thinking)}}
	}
	call := record.Invocation{Model: s.model, Purpose: "act", Replies: []record.Reply{reply}}
	if options := p.Get("model_options"); options.IsObject() {
		call.Parameters = record.Say(options.Raw)
	}
	p.Get("prompt_messages").ForEach(func(_, m gjson.Result) bool {
		call.Messages = append(call.Messages, record.Message{
			Role: m.Get("role").String(), Text: record.Say(m.Get("content").String()), ToolCalls: callsOf(m), CallID: m.Get("tool_call_id").String(),
		})
		return true
	})
	return call, nil
}

// callsOf returns the tool calls of a message.
func callsOf(m gjson.Result) (list []record.Call) {
	m.Get("tool_calls").ForEach(func(_, c gjson.Result) bool {
		list = append(list, record.Call{ID: c.Get("id").String(), Name: c.Get("function.name").String(), Arguments: record.Say(rawOf(c.Get("function.arguments")))})
		return true
	})
	return list
}

// rawOf returns the JSON of a value, and the text of a string.
func rawOf(v gjson.Result) string {
	if v.Type == gjson.String {
		return v.String()
	}
	return v.Raw
}
