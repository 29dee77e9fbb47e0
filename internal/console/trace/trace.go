// Package trace puts the events of a record into the order in which a reader follows them:
// question, thought, call, result, …, answer. An exchange, a session, a run and the task of
// an A2A server have the same steps. Each step has an address, its time, its tokens, and
// says what is missing. Whatever the events hold, the steps and their texts are bounded.
package trace

import (
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/recorded/eventtext"
	"github.com/sotto-llm/sotto/record"
)

// A Kind says what a step is.
type Kind string

// The kinds.
const (
	Question  Kind = "question"  // what a user asked
	Run       Kind = "run"       // a run begins, in a session
	Cycle     Kind = "cycle"     // a cycle of a run begins
	Model     Kind = "model"     // a model was asked; its reply follows
	Thought   Kind = "thought"   // what it thought
	Narration Kind = "narration" // what it said before a call
	Answer    Kind = "answer"    // what it said
	Call      Kind = "call"      // a call of a tool or of an agent, with its result
	Result    Kind = "result"    // a result whose call is not there
	Got       Kind = "got"       // what the client got
	Error     Kind = "error"     // something failed
	Note      Kind = "note"      // a remark: of an adviser, of the memory, of the validator
	End       Kind = "end"       // the end of a cycle or a run
	Gap       Kind = "gap"       // something is not in the record
)

// The bounds of a trace.
const (
	// MaxText is how much of one text a step has, in bytes, and MaxTexts how much all have.
	MaxText  = 8 << 10
	MaxTexts = 1 << 20
	// MaxSteps is how many steps a trace has, with those below them.
	MaxSteps = 2000
	// maxName bounds a name.
	maxName = 200
	// maxCalls bounds the calls of one reply.
	maxCalls = 200
)

// A Step is one step of a trace.
type Step struct {
	Kind Kind `json:"kind"`
	// ID is the step's place in its event; the address of the step ends in it.
	ID    string    `json:"id"`
	Event uint64    `json:"event"`
	Time  time.Time `json:"time"`
	// Offset is when it came, from the beginning of the trace, and Millis how long it took.
	Offset int64 `json:"offset_ms"`
	Millis int64 `json:"ms,omitempty"`
	Cycle  int   `json:"cycle,omitempty"`
	// Name is the tool's, the model's, or the code of a remark.
	Name   string        `json:"name,omitempty"`
	Status string        `json:"status,omitempty"`
	Usage  *record.Usage `json:"usage,omitempty"`
	// Text is what it says; of a call, its arguments.
	Text Text `json:"text,omitzero"`
	// Path is where the text stands in its event, to open the rest of it.
	Path string `json:"path,omitempty"`
	// At is the byte of that text where it begins.
	At int `json:"at,omitempty"`
	// Leads says that a call follows this thought or text in its reply.
	Leads bool `json:"leads,omitempty"`
	// Sealed says that the provider signed or encrypted the thought, and Field is the member
	// that held it.
	Sealed bool   `json:"sealed,omitempty"`
	Field  string `json:"field,omitempty"`
	// Failed says that the step failed.
	Failed bool `json:"failed,omitempty"`
	// Result is what a call gave, in the event ResultEvent, and State says what is known of
	// it.
	Result      Text   `json:"result,omitzero"`
	ResultEvent uint64 `json:"result_event,omitempty"`
	ResultPath  string `json:"result_path,omitempty"`
	// StartID and ResultID are the addresses of the events of the call itself: its start
	// and its result.
	StartID  string    `json:"start_id,omitempty"`
	ResultID string    `json:"result_id,omitempty"`
	State    CallState `json:"state,omitempty"`
	// Run is the run of the agent that a call is, and Steps are its steps. More says that it
	// has further ones.
	Run   string `json:"run,omitempty"`
	Steps []Step `json:"steps,omitempty"`
	More  bool   `json:"more,omitempty"`

	// Peer is the task of an agent elsewhere that a call is.
	Peer string `json:"peer,omitempty"`

	// Attempt is which attempt it is, from the second on.
	Attempt int `json:"attempt,omitempty"`

	callID string
	number int
	setup  setup
	of     *record.Ref
}

// A CallState says what the record knows of a call's result.
type CallState string

// The states of a call.
const (
	Done     CallState = "done"
	Open     CallState = "open"     // it began and has no end
	Unknown  CallState = "unknown"  // nothing in these events says what came of it
	Withheld CallState = "withheld" // it is done, and its result is not recorded
)

// A Text is a text, or its beginning, in pieces: what was recorded of it, and what not.
type Text struct {
	Pieces []Piece `json:"pieces,omitempty"`
	Bytes  int     `json:"bytes"` // of the whole
	// Cut says that it goes on.
	Cut bool `json:"cut,omitempty"`
}

// A Piece is a part of a text. Why is empty, or the reason why its bytes are not recorded.
type Piece struct {
	Text  record.Text `json:"text,omitempty"`
	Bytes int         `json:"bytes"`
	Why   string      `json:"why,omitempty"`
}

// Plain is what is recorded of a text.
func (t Text) Plain() string {
	var b strings.Builder
	for _, p := range t.Pieces {
		if p.Why == "" {
			b.WriteString(string(p.Text))
		}
	}
	return b.String()
}

// Missing are the bytes of a text that were not recorded.
func (t Text) Missing() (n int) {
	for _, p := range t.Pieces {
		if p.Why != "" {
			n += p.Bytes
		}
	}
	return n
}

// Empty reports whether there is nothing to show of a text.
func (t Text) Empty() bool { return t.Missing() == 0 && strings.TrimSpace(t.Plain()) == "" }

// text takes a text into the trace.
func (b *Builder) text(c record.Content) Text { return b.parts(c.Parts()) }

// say takes a text that is recorded whole.
func (b *Builder) say(s string) Text { return b.text(record.Say(s)) }

// parts takes the parts of a text, as far as there is room.
func (b *Builder) parts(parts []record.Part) (t Text) {
	room := min(b.most, b.room)
	for _, p := range parts {
		n := p.End - p.Start
		t.Bytes += n
		if p.Why != "" {
			t.Pieces = append(t.Pieces, Piece{Text: record.Text(shorttext.Cut(p.Text, maxName)), Bytes: n, Why: p.Why})
			continue
		}
		if t.Cut {
			continue
		}
		short := strings.Clone(shorttext.Cut(p.Text, room))
		t.Cut = len(short) < len(p.Text)
		room -= len(short)
		b.room -= len(short)
		if short != "" {
			t.Pieces = append(t.Pieces, Piece{Text: record.Text(short), Bytes: len(short)})
		}
	}
	if len(t.Pieces) > maxName { // a text that is cut at each of its words
		t.Pieces, t.Cut = t.Pieces[:maxName], true
	}
	return t
}

// Between returns the steps between a question and its answer: thoughts, calls, and what
// failed. What was said meanwhile is a part of the answer.
func Between(list []Step) []Step {
	out := []Step{}
	for _, s := range list {
		switch s.Kind {
		case Question, Run, Cycle, Model, Got, Answer:
		case End:
			if s.Failed {
				out = append(out, s)
			}
		default:
			out = append(out, s)
		}
	}
	return out
}

// Walk visits steps and those below them, in order.
func Walk(list []Step, visit func(*Step)) {
	for i := range list {
		visit(&list[i])
		Walk(list[i].Steps, visit)
	}
}

// Failures are the steps that failed, with those below them.
func Failures(list []Step) (failed []*Step) {
	Walk(list, func(s *Step) {
		if s.Failed && s.Kind != End {
			failed = append(failed, s)
		}
	})
	return failed
}

// stretch is a part of a reply on one channel.
type stretch = eventtext.Stretch
