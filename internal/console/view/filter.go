package view

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// A Filter selects the rows of a list. It is the query of a URL, and back.
type Filter struct {
	Model      string `json:"model,omitempty"`
	Route      string `json:"route,omitempty"` // an API, or part of a path
	Caller     string `json:"caller,omitempty"`
	Outcome    string `json:"outcome,omitempty"`
	Diagnostic string `json:"diagnostic,omitempty"`
	Leaked     bool   `json:"leaked,omitempty"` // reasoning stood in the text
	Leak       string `json:"leak,omitempty"`   // … and this became of it; one of Leaks
	From       string `json:"from,omitempty"`
	To         string `json:"to,omitempty"`
	Text       string `json:"text,omitempty"`
	ID         string `json:"id,omitempty"` // a response's id, or an identifier of the client
	// Before is the cursor: only older events. After is the cursor of the page before:
	// the oldest of the newer events.
	Before uint64 `json:"before,omitempty"`
	After  uint64 `json:"after,omitempty"`
	// Sort is the fact by which the rows are sorted, the largest first or, if Least, the
	// least; "" is the time. At is how many rows of such a list come before the page.
	Sort  SortKey `json:"sort,omitempty"`
	Least bool    `json:"least,omitempty"`
	At    int     `json:"at,omitempty"`
	// Sum says that the totals of all rows are wanted too. A sorted list has them.
	Sum bool `json:"sum,omitempty"`
}

// Outcomes are what the outcome of a row can be.
func Outcomes() []string { return []string{"answered", "refused", "failed", "canceled"} }

// FailedOutcome reports whether an outcome is counted as a failure, wherever failures are.
func FailedOutcome(outcome string) bool { return outcome == "failed" || outcome == "refused" }

// Leaks lists what may have become of reasoning that stood in the text of a reply. Older
// records say corrected where it did not pass.
func Leaks() []string { return append(record.Thoughts(), "passed", "corrected") }

// maxValue bounds a value of a filter, in bytes.
const maxValue = 512

// ParseFilter reads a filter from the query of a URL. The error says which value is
// not valid, and what is. Names that are not of a filter are ignored.
func ParseFilter(q url.Values) (f Filter, err error) {
	for name, into := range f.texts() {
		if *into = strings.TrimSpace(q.Get(name)); len(*into) > maxValue {
			return f, fmt.Errorf("%s: longer than %d bytes", name, maxValue)
		}
	}
	switch word := q.Get("leaked"); {
	case word == "", word == "0", word == "false":
	case word == "1", word == "true", word == "on":
		f.Leaked = true
	case slices.Contains(Leaks(), word):
		f.Leaked, f.Leak = true, word
	default:
		return f, fmt.Errorf("leaked: %s: want 1 or one of %s, or leave it out", shorttext.Quote(word), strings.Join(Leaks(), ", "))
	}
	for name, into := range map[string]*uint64{"before": &f.Before, "after": &f.After} {
		if text := q.Get(name); text != "" {
			if *into, err = strconv.ParseUint(text, 10, 64); err != nil || *into == 0 {
				return f, fmt.Errorf("%s: %s: want the number of an event", name, shorttext.Quote(text))
			}
		}
	}
	if f.Before > 0 && f.After > 0 {
		return f, errors.New("after: a page has one cursor: leave out before or after")
	}
	if err := f.parseOrder(q); err != nil {
		return f, err
	}
	if f.Outcome != "" && !slices.Contains(Outcomes(), f.Outcome) {
		return f, fmt.Errorf("outcome: %s: want %s", shorttext.Quote(f.Outcome), strings.Join(Outcomes(), ", "))
	}
	_, err = f.query()
	return f, err
}

// texts are the plain values of a filter, by their names.
func (f *Filter) texts() map[string]*string {
	return map[string]*string{
		"model": &f.Model, "route": &f.Route, "caller": &f.Caller, "outcome": &f.Outcome, "diagnostic": &f.Diagnostic,
		"from": &f.From, "to": &f.To, "text": &f.Text, "id": &f.ID,
	}
}

// Values returns the filter as the query of a URL.
func (f Filter) Values() url.Values {
	q := url.Values{}
	for name, value := range f.texts() {
		if *value != "" {
			q.Set(name, *value)
		}
	}
	if f.Leaked {
		q.Set("leaked", cmp.Or(f.Leak, "1"))
	}
	if f.Before > 0 {
		q.Set("before", strconv.FormatUint(f.Before, 10))
	}
	if f.After > 0 {
		q.Set("after", strconv.FormatUint(f.After, 10))
	}
	f.setOrder(q)
	return q
}

// Bare returns the filter without its cursor.
func (f Filter) Bare() Filter {
	f.Before, f.After, f.At = 0, 0, 0
	return f
}

// inContent reports whether only the line of an event shows whether it is selected.
func (f *Filter) inContent() bool {
	return f.Route != "" || f.Caller != "" || f.Outcome != "" || f.Leaked || f.Text != "" || f.ID != ""
}

// query is the part of the filter that the index of the record answers.
func (f *Filter) query() (q record.Query, err error) {
	q = record.Query{
		Types: []record.Type{record.TypeExchange, record.TypeInvocation},
		Model: f.Model, Diagnostic: f.Diagnostic, Before: f.Before,
	}
	if q.From, err = recording.ParseTime(f.From); err != nil {
		return q, fmt.Errorf("from: %w", err)
	}
	if q.To, err = recording.ParseTime(f.To); err != nil {
		return q, fmt.Errorf("to: %w", err)
	}
	return q, nil
}

// looksFor adds the part of the filter that sidecars answer.
func (f *Filter) looksFor(q record.Query) sidecar.Query {
	look := sidecar.Query{Query: q, Text: f.Text, Words: map[sidecar.Word]string{}}
	if f.ID != "" {
		look.IDs = []string{f.ID}
	}
	if f.Caller != "" {
		look.Words[sidecar.Caller] = f.Caller
	}
	if f.Outcome != "" {
		look.Words[sidecar.Outcome] = f.Outcome
	}
	if f.Leak != "" {
		look.Words[sidecar.Leak] = f.Leak
	}
	return look
}

// selects reports whether a row, and the event that it is made of, are selected by
// what the index does not answer.
func (f *Filter) selects(row *Row, e *record.Event) bool {
	switch {
	case f.Route != "" && row.API != f.Route && !strings.Contains(row.Path, f.Route),
		f.Caller != "" && row.Caller != f.Caller,
		f.Outcome != "" && row.Outcome != f.Outcome,
		f.Leaked && row.Leaked == 0 || f.Leak != "" && row.Leak != f.Leak,
		f.ID != "" && !hasID(e, f.ID),
		f.Text != "" && !hasText(e, strings.ToLower(f.Text)):
		return false
	}
	return true
}

// hasID reports whether an application knows an event by an identifier.
func hasID(e *record.Event, id string) bool {
	ids := map[string]string{}
	switch x := e.Payload.(type) {
	case record.Exchange:
		if x.ResponseID == id || x.ID == id {
			return true
		}
		ids = x.IDs
	case record.Invocation:
		ids = x.IDs
	}
	if e.Run == id && e.Run != "" {
		return true
	}
	for _, value := range ids {
		if value == id {
			return true
		}
	}
	return false
}

// hasText reports whether an event's prompt, thoughts or reply hold a text, in any
// case of its letters. lower is the text in lower case.
func hasText(e *record.Event, lower string) bool {
	in := func(c record.Content) bool { return strings.Contains(strings.ToLower(string(c.Text)), lower) }
	thoughts := func(list []record.Thought) bool {
		return slices.ContainsFunc(list, func(t record.Thought) bool { return in(t.Text) })
	}
	calls := func(list []record.Call) bool {
		return slices.ContainsFunc(list, func(c record.Call) bool {
			return strings.Contains(strings.ToLower(c.Name), lower) || in(c.Arguments)
		})
	}
	parts := partsOf(e)
	return slices.ContainsFunc(parts.replies, func(r record.Reply) bool {
		return in(r.Raw) || thoughts(r.Reasoning) || calls(r.ToolCalls)
	}) || slices.ContainsFunc(parts.messages, func(m record.Message) bool {
		return in(m.Text) || thoughts(m.Reasoning) || calls(m.ToolCalls)
	})
}
