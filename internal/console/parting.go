package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/console/trace"
	"github.com/sotto-llm/sotto/internal/console/view"
)

// A Parting is the place at which two traces part, as a page shows it: two runs, two
// exchanges, or two replies. It is empty if they do not part.
type Parting struct {
	*trace.Parting
	Left, Right PartSide
}

// A PartSide is one of the two at that place.
type PartSide struct {
	Name  string // of the trace
	Said  string
	Link  string // to the place; "" if there is none
	Trace Trace
}

// PartingOf returns what a page shows of the place where two traces part. link is the address
// of a step of a trace, or of the trace itself if the step is empty; it may be nil.
func PartingOf(p *trace.Parting, left, right string, common Trace, link func(name string, event uint64, id string) string) *Parting {
	out := &Parting{Parting: p}
	if p == nil {
		return out
	}
	side := func(s trace.Side, name, prefix string) PartSide {
		t := common
		t.Steps, t.Marked, t.Prefix = s.Steps, s.At, prefix
		one := PartSide{Name: name, Said: string(s.Said), Trace: t}
		if link != nil {
			one.Link = link(name, eventIn(s), s.At)
		}
		return one
	}
	out.Left, out.Right = side(p.A, left, "a-"), side(p.B, right, "b-")
	return out
}

// eventIn is the event of the step at which a side parts.
func eventIn(s trace.Side) (event uint64) {
	for _, x := range s.Steps {
		if x.ID == s.At {
			event = x.Event
		}
	}
	return event
}

// What says in what the two part; it is empty if they do not.
func (p *Parting) What() trace.Difference {
	if p.Parting == nil {
		return ""
	}
	return p.Parting.What
}

// Says says in what the two part.
func (p *Parting) Says() string {
	word := map[trace.Difference]string{
		trace.InQuestion: Word("part.question"), trace.InModel: Word("part.model"), trace.InSystem: Word("part.system"), trace.InParameters: Word("part.parameters"),
		trace.InTools: Word("part.tools"), trace.InCall: Word("part.call"), trace.InArguments: Word("part.arguments"), trace.InResult: Word("part.result"),
		trace.InError: Word("part.error"), trace.InThought: Word("part.thought"), trace.InAnswer: Word("part.answer"), trace.InEnd: Word("part.end"), trace.InLength: Word("part.length"),
	}[p.What()]
	if p.What() == trace.InArguments || p.What() == trace.InResult {
		return fmt.Sprintf(word, p.Parting.Name)
	}
	return cmp.Or(word, Word("part.note"))
}

// comparedData is what the page of two exchanges shows.
type comparedData struct {
	V       int            `json:"v"`
	A       *view.Exchange `json:"a"`
	B       *view.Exchange `json:"b"`
	Parts   *trace.Parting `json:"parting,omitempty"`
	Parting *Parting       `json:"-"`
	Sides   []comparedSide `json:"-"`
	Facts   []comparedFact `json:"-"`
	Now     time.Time      `json:"-"`
}

// A comparedSide is one of two exchanges in the head of the page.
type comparedSide struct{ Name, Link string }

// A comparedFact is a fact in which two exchanges differ.
type comparedFact struct{ Name, A, B string }

// compareExchanges puts two exchanges beside each other, at the first step in which they
// differ.
func compareExchanges(c *Console, r *http.Request) (Answer, error) {
	a, seq, _, err := c.exchange(r)
	if err != nil {
		return Answer{}, err
	}
	with, err := numberIn(r, "with")
	if err == nil && with == 0 && !WantsJSON(r) { // the reader has not chosen one yet
		return Answer{Redirect: "../" + strconv.FormatUint(seq, 10)}, nil
	}
	if err != nil || with == 0 {
		return Answer{}, BadRequest{errors.New("with: want the number of another exchange")}
	}
	b, err := c.source.Exchange(r.Context(), uint64(with), view.Reread{})
	if err != nil {
		return Answer{}, err
	}
	name := func(x *view.Exchange) string { return "#" + strconv.FormatUint(x.Event, 10) }
	d := comparedData{V: 1, A: a, B: b, Parts: trace.Part(a.Steps, b.Steps), Now: c.config.Now()}
	link := func(name string, _ uint64, id string) string {
		to := "../../exchanges/" + strings.TrimPrefix(name, "#")
		if id != "" {
			to += "#" + id
		}
		return to
	}
	d.Parting = PartingOf(d.Parts, name(a), name(b), Trace{Root: "../../", Runs: c.has("runs")}, link)
	d.Sides = []comparedSide{{name(a), link(name(a), 0, "")}, {name(b), link(name(b), 0, "")}}
	d.Facts = factsThatDiffer(a, b)
	return Answer{
		Template: "compared", Title: name(a) + " " + Word("compare.and") + " " + name(b), Data: d, JSON: d, Seen: []uint64{seq, uint64(with)},
		Crumbs: []Crumb{{Word("screen.exchanges"), "../../exchanges"}, {name(a), "../" + strconv.FormatUint(seq, 10)}, {Name: Word("run.compare")}},
	}, nil
}

// factsThatDiffer are the facts in which two exchanges differ.
func factsThatDiffer(a, b *view.Exchange) (list []comparedFact) {
	add := func(name, x, y string) {
		if x != y {
			list = append(list, comparedFact{name, x, y})
		}
	}
	tokens := func(x *view.Exchange) string {
		if x.Usage == nil {
			return ""
		}
		return number(x.Usage.Input) + " → " + number(x.Usage.Output)
	}
	add(Word("col.model"), a.Model, b.Model)
	add(Word("col.outcome"), a.Outcome, b.Outcome)
	add(Word("fact.error"), a.Error, b.Error)
	add(Word("fact.api"), a.API, b.API)
	add(Word("fact.upstream"), a.Upstream, b.Upstream)
	add(Word("fact.caller"), a.Caller, b.Caller)
	add(Word("fact.took"), millis(a.Millis), millis(b.Millis))
	add(Word("fact.first.thought"), millis(a.FirstThought), millis(b.FirstThought))
	add(Word("fact.first.answer"), millis(a.FirstAnswer), millis(b.FirstAnswer))
	add(Word("fact.tokens"), tokens(a), tokens(b))
	add(Word("fact.history"), a.History, b.History)
	add(Word("fact.got"), a.Got, b.Got)
	add(Word("fact.thought"), a.Thought, b.Thought)
	return list
}
