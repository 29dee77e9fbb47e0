// Package explore counts and sorts the events of a record by their facts: rates and
// quantities of each model over time, since when a rate holds, and which events have the
// most of something. It reads the sidecars of the record, and lines only where there are none.
package explore

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// A Measure is what is looked at.
type Measure string

// The measures. The first ones are shares of events, the others are quantities.
const (
	Leaks   Measure = "leaks"   // replies with a thought in their text
	Reached Measure = "reached" // … that the client got there
	Failed  Measure = "failed"  // exchanges without an answer
	Tools   Measure = "tools"   // uses of tools that failed
	Took    Measure = "took"    // how long a reply took
	First   Measure = "first"   // time to the first visible text
	Thought Measure = "thought" // how long the thought was, in bytes
)

// Measures are all measures.
func Measures() []Measure { return []Measure{Leaks, Reached, Failed, Tools, Took, First, Thought} }

// Share reports whether the measure is a share of events, and not a quantity.
func (m Measure) Share() bool { return slices.Index(Measures(), m) < 4 }

// A Key is the fact whose values have a series each.
type Key string

// The keys.
const (
	ByModel    Key = "model"
	ByTool     Key = "tool" // of measure Tools only
	ByCaller   Key = "caller"
	ByUpstream Key = "upstream"
	ByAPI      Key = "api"
)

// Keys are those of a measure. A use of a tool has no caller, and what a gateway passes on
// is not the use of a tool.
func (m Measure) Keys() []Key {
	if m == Tools {
		return []Key{ByModel, ByTool}
	}
	return []Key{ByModel, ByCaller, ByUpstream, ByAPI}
}

// A Query is a question. It is the query of a URL, and back.
type Query struct {
	Of Measure `json:"of"`
	By Key     `json:"by"`
	// Model, Tool and Caller select events; empty means all.
	Model  string `json:"model,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Caller string `json:"caller,omitempty"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
}

// maxValue bounds a value of a query, in bytes.
const maxValue = 512

// Parse reads a question from the query of a URL. The error says which value is not valid,
// and what is.
func Parse(v url.Values) (q Query, err error) {
	for name, into := range q.texts() {
		if *into = strings.TrimSpace(v.Get(name)); len(*into) > maxValue {
			return q, fmt.Errorf("%s: longer than %d bytes", name, maxValue)
		}
	}
	q.Of, q.By = Leaks, ByModel
	if text := v.Get("of"); text != "" {
		if q.Of = Measure(text); !slices.Contains(Measures(), q.Of) {
			return q, fmt.Errorf("of: %s: want %s", shorttext.Quote(text), words(Measures()))
		}
	}
	if text := v.Get("by"); text != "" {
		if q.By = Key(text); !q.Of.Has(q.By) {
			return q, fmt.Errorf("by: %s: want %s", shorttext.Quote(text), words(q.Of.Keys()))
		}
	}
	from, to, err := q.times()
	if err == nil && !from.IsZero() && !to.IsZero() && !from.Before(to) {
		err = errors.New("to: the range ends before it begins")
	}
	return q, err
}

func words[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, t := range list {
		texts[i] = string(t)
	}
	return strings.Join(texts, ", ")
}

func (q *Query) texts() map[string]*string {
	return map[string]*string{"model": &q.Model, "tool": &q.Tool, "caller": &q.Caller, "from": &q.From, "to": &q.To}
}

// Values returns the question as the query of a URL. What is the default is left out.
func (q Query) Values() url.Values {
	v := url.Values{}
	for name, value := range q.texts() {
		if *value != "" {
			v.Set(name, *value)
		}
	}
	if q.Of != Leaks {
		v.Set("of", string(q.Of))
	}
	if q.By != ByModel {
		v.Set("by", string(q.By))
	}
	return v
}

// Narrowed reports whether the question is about some events only.
func (q Query) Narrowed() bool {
	return q.Model != "" || q.Tool != "" || q.Caller != "" || q.From != "" || q.To != ""
}

func (q *Query) times() (from, to time.Time, err error) {
	if from, err = recording.ParseTime(q.From); err != nil {
		return from, to, fmt.Errorf("from: %w", err)
	}
	if to, err = recording.ParseTime(q.To); err != nil {
		return from, to, fmt.Errorf("to: %w", err)
	}
	return from, to, nil
}

// Absolute is the question with times in place of spans before now, so that it means the same
// at every console.
func (q Query) Absolute() Query {
	from, to, err := q.times()
	if err != nil {
		return q
	}
	for text, at := range map[*string]time.Time{&q.From: from, &q.To: to} {
		if !at.IsZero() {
			*text = at.UTC().Format(time.RFC3339Nano)
		}
	}
	return q
}

// events is what is read of the record.
func (q *Query) events() (e record.Query, err error) {
	e.From, e.To, err = q.times()
	e.Types = []record.Type{record.TypeExchange, record.TypeInvocation}
	if q.Of == Tools {
		e.Types = []record.Type{record.TypeInvocation, record.TypeToolCall}
	} else {
		e.Model = q.Model
	}
	return e, err
}

// want are the facts that the question needs.
func (q *Query) want() sidecar.Want {
	w := sidecar.Want{Numbers: []sidecar.Number{sidecar.Time}}
	numbers := func(n ...sidecar.Number) { w.Numbers = append(w.Numbers, n...) }
	words := func(n ...sidecar.Word) { w.Words = append(w.Words, n...) }
	switch q.Of {
	case Leaks:
		numbers(sidecar.Replies, sidecar.Leaks)
	case Reached:
		numbers(sidecar.Replies)
		words(sidecar.Leak, sidecar.Thought)
	case Failed:
		words(sidecar.Outcome)
	case Tools:
		numbers(sidecar.ToolFailures)
		words(sidecar.Type, sidecar.Run, sidecar.Model, sidecar.Tools, sidecar.Outcome)
		return w
	case Took:
		numbers(sidecar.Replies, sidecar.Millis)
	case First:
		numbers(sidecar.FirstAnswer)
	case Thought:
		numbers(sidecar.Replies, sidecar.ThoughtBytes)
	}
	if word := q.By.word(); q.Caller != "" && word != sidecar.Caller {
		words(sidecar.Caller)
	}
	words(q.By.word())
	return w
}

func (k Key) word() sidecar.Word {
	switch k {
	case ByTool:
		return sidecar.Tools
	case ByCaller:
		return sidecar.Caller
	case ByUpstream:
		return sidecar.Upstream
	case ByAPI:
		return sidecar.API
	}
	return sidecar.Model
}

// Has reports whether the events of a measure have a key.
func (m Measure) Has(k Key) bool { return slices.Contains(m.Keys(), k) }
