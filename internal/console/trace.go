package console

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/console/trace"
)

// A Trace is a list of steps on a page.
type Trace struct {
	Steps []trace.Step
	Root  string // the relative way to the console
	Runs  bool   // the console has pages of runs
	// Own is the event of the page, to which no link leads, and Markdown says that its
	// answers are rendered.
	Own      uint64
	Markdown bool
	// Prefix comes before each address on the page.
	Prefix string
	// Marked is the address of a step that is marked.
	Marked string
	// Plain says that nothing is a link: the page is read without a console.
	Plain bool
}

// Below is a trace of the steps below one of them.
func (t Trace) Below(list []trace.Step) Trace {
	t.Steps = list
	return t
}

// Page is the address of the page of a step's event.
func (t Trace) Page(s trace.Step) string {
	place := "events/"
	if s.Kind == trace.Model {
		place = "exchanges/"
	}
	return t.Root + place + strconv.FormatUint(s.Event, 10)
}

// Text is the address of a text of an event at a byte.
func (t Trace) Text(event uint64, path string, at int) string {
	return t.Root + textLink(event, path, at, 0)
}

// textLink is the address of a text of an event, from the root of the console. If end is
// not 0, the bytes from at to end are marked.
func textLink(event uint64, path string, at, end int) string {
	q := url.Values{}
	to := "events/" + strconv.FormatUint(event, 10) + "/text?"
	if choice, ok := strings.CutPrefix(path, "replies."); ok && strings.HasSuffix(choice, ".raw") && strings.Count(choice, ".") == 1 {
		to = "exchanges/" + strconv.FormatUint(event, 10) + "/bytes?"
		if choice = strings.TrimSuffix(choice, ".raw"); choice != "0" {
			q.Set("choice", choice)
		}
	} else {
		q.Set("path", path)
	}
	if at > 0 || end > 0 {
		q.Set("at", strconv.Itoa(at))
	}
	if end == 0 {
		return strings.TrimSuffix(to+q.Encode(), "?")
	}
	q.Set("end", strconv.Itoa(end))
	return to + q.Encode() + "#at"
}

// whyWord says why bytes are not in the record.
func whyWord(why string) string {
	switch why {
	case "limit":
		return Word("why.limit")
	case "reasoning":
		return Word("why.reasoning")
	case "answer":
		return Word("why.answer")
	case "pattern", "secret":
		return Word("why.secret")
	}
	return Word("why.unnamed")
}

// gapWord says what is missing.
func gapWord(name string) string {
	switch name {
	case "long":
		return Word("gap.long")
	case "reply":
		return Word("gap.reply")
	case "end":
		return Word("gap.end")
	case "run":
		return Word("gap.run")
	}
	return Word("answer.none")
}

// stateWord says what is known of the result of a call.
func stateWord(s trace.CallState) string {
	switch s {
	case trace.Open:
		return Word("call.open")
	case trace.Withheld:
		return Word("call.withheld")
	}
	return Word("call.unknown")
}

// long reports whether a text is too long to stand on a page without scrolling.
func long(t trace.Text) bool { return t.Bytes > 1500 || strings.Count(t.Plain(), "\n") > 14 }

// A traceStep is one step with what its template needs.
type traceStep struct {
	Trace
	Step trace.Step
}

// One is a step of the trace.
func (t Trace) One(s trace.Step) traceStep { return traceStep{t, s} }

// Anchor is an address on the page. Two traces beside each other may have one step in
// common.
func (t Trace) Anchor(id string) string { return t.Prefix + id }

// ThoughtsIn returns the events whose thoughts a list of steps shows.
func ThoughtsIn(list []trace.Step) (events []uint64) {
	trace.Walk(list, func(s *trace.Step) {
		if s.Kind == trace.Thought && !slices.Contains(events, s.Event) {
			events = append(events, s.Event)
		}
	})
	return events
}
