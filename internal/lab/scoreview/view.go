package scoreview

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/stats"
	"github.com/sotto-llm/sotto/internal/console/view"
)

const (
	// Rows is how many lines a page has at most.
	Rows = 100
	// maxCell bounds a text in a row, and maxReply what is shown of a reply: so much
	// on each side of its candidate. Both are in bytes.
	maxCell  = 200
	maxReply = 32 << 10
	// maxText bounds a text of a line's page, in bytes.
	maxText = 16 << 10
	// maxAttempts bounds the attempts that are listed.
	maxAttempts = 64
)

// ErrNotFound is in the error for a file or a line that does not exist.
var ErrNotFound = view.ErrNotFound

// Files are the scored files of a console, and those with the replies.
type Files struct {
	Scores  []*File
	Replies []*File
}

// A Query selects lines. It is the query of a URL, and back.
type Query struct {
	File    int    `json:"file"`
	Verdict string `json:"verdict,omitempty"` // right or wrong
	Method  string `json:"method,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Model   string `json:"model,omitempty"`
	Task    string `json:"task,omitempty"`
	With    int    `json:"with"`             // the file to compare with, or -1
	Change  string `json:"change,omitempty"` // gained or lost, against the other file
	At      int    `json:"at,omitempty"`     // the cursor: the first line that is looked at
}

// Changes are the ways in which a line can differ from that of another file.
func Changes() []string { return []string{"gained", "lost"} }

// ParseQuery reads a query from a URL.
func ParseQuery(v url.Values) (q Query, err error) {
	q = Query{Verdict: v.Get("verdict"), Method: v.Get("method"), Reason: v.Get("reason"), Model: v.Get("model"), Task: v.Get("task"), Change: v.Get("change"), With: -1}
	for name, into := range map[string]*int{"file": &q.File, "with": &q.With, "at": &q.At} {
		if text := v.Get(name); text != "" {
			if *into, err = strconv.Atoi(text); err != nil || *into < 0 {
				return q, fmt.Errorf("%s: %s: want a number", name, shorttext.Quote(text))
			}
		}
	}
	if q.Verdict != "" && q.Verdict != "right" && q.Verdict != "wrong" {
		return q, fmt.Errorf("verdict: %s: want right or wrong", shorttext.Quote(q.Verdict))
	}
	if q.Change != "" && (!slices.Contains(Changes(), q.Change) || q.With < 0) {
		return q, fmt.Errorf("change: %s: want gained or lost, and with, the number of the other file", shorttext.Quote(q.Change))
	}
	return q, nil
}

// Values returns a query as that of a URL.
func (q Query) Values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"verdict": q.Verdict, "method": q.Method, "reason": q.Reason, "model": q.Model, "task": q.Task, "change": q.Change} {
		if value != "" {
			v.Set(name, value)
		}
	}
	for name, n := range map[string]int{"file": q.File, "at": q.At} {
		if n > 0 {
			v.Set(name, strconv.Itoa(n))
		}
	}
	if q.With >= 0 {
		v.Set("with", strconv.Itoa(q.With))
	}
	return v
}

func (q Query) facet(i facet) string {
	return [facets]string{q.Method, q.Reason, q.Model, q.Task}[i]
}

// A Facet is a member by which lines are counted.
type Facet struct {
	Name   string  `json:"name"`
	Values []Value `json:"values"`
}

// A Value is a value of a facet: how many lines have it, and how many of them are
// right.
type Value struct {
	Value string `json:"value"`
	Lines int    `json:"lines"`
	Right int    `json:"right"`
}

// A Row is a scored line in a list.
type Row struct {
	Line      int    `json:"line"` // from 0, of those that can be read
	ID        string `json:"id"`
	OK        bool   `json:"ok"`
	Candidate string `json:"candidate"`
	Expected  string `json:"expected,omitempty"`
	Method    string `json:"method"`
	Reason    string `json:"reason"`
	Model     string `json:"model,omitempty"`
	Status    string `json:"status,omitempty"`
	Change    string `json:"change,omitempty"`
	Event     uint64 `json:"event,omitempty"` // of its reply, in a record
	thought   bool   // the candidate was found in reasoning
}

// A Compared counts how the lines of two files differ.
type Compared struct {
	Name    string `json:"name"`
	Both    int    `json:"both"`    // right in both
	Neither int    `json:"neither"` // wrong in both
	Gained  int    `json:"gained"`  // right here only
	Lost    int    `json:"lost"`    // right there only
	Alone   int    `json:"alone"`   // lines that only this file has
	// Difference is the share that is right here minus that there, over the lines of both.
	Difference stats.Paired `json:"difference"`
}

// A Page is a part of a scored file.
type Page struct {
	V          int        `json:"v"`
	Query      Query      `json:"query"`
	Files      []string   `json:"files"`
	Rows       []Row      `json:"rows"`
	Lines      int        `json:"lines"`    // of the file
	Selected   int        `json:"selected"` // by the query
	Right      stats.Rate `json:"right"`    // of the selected
	Facets     []Facet    `json:"facets"`   // of the selected
	Compared   *Compared  `json:"compared,omitempty"`
	Next       int        `json:"next,omitempty"` // the cursor of the next page
	Unreadable int        `json:"unreadable,omitempty"`
	Cut        bool       `json:"cut,omitempty"` // lines beyond MaxLines are not shown
}

// file returns a scored file by its number.
func (f *Files) file(n int) (*File, error) {
	if n < 0 || n >= len(f.Scores) {
		return nil, fmt.Errorf("there is no scored file %d: %w", n, ErrNotFound)
	}
	return f.Scores[n], nil
}

// Thoughts are the events of a record whose thoughts the page shows: candidates that
// were found in reasoning.
func (p *Page) Thoughts() (list []uint64) {
	for _, r := range p.Rows {
		if r.thought {
			list = append(list, r.Event)
		}
	}
	return list
}

// List returns a page of a scored file.
func (f *Files) List(ctx context.Context, q Query) (*Page, error) {
	file, err := f.file(q.File)
	if err != nil {
		return nil, err
	}
	x, err := file.load(ctx)
	if err != nil {
		return nil, err
	}
	p := &Page{V: 1, Query: q, Rows: []Row{}, Lines: len(x.at), Unreadable: x.unreadable, Cut: x.cut}
	for _, s := range f.Scores {
		p.Files = append(p.Files, s.Name)
	}
	other, err := f.with(ctx, q, p)
	if err != nil {
		return nil, err
	}
	replies, err := f.replies(ctx, x)
	if err != nil {
		return nil, err
	}
	p.selectLines(x, other, replies)
	for n := range p.Rows {
		if err := file.row(x, p.Rows[n].Line, &p.Rows[n], replies); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// with returns the file that the page compares with, or nil.
func (f *Files) with(ctx context.Context, q Query, p *Page) (*index, error) {
	if q.With < 0 {
		return nil, nil
	}
	with, err := f.file(q.With)
	if err != nil {
		return nil, err
	}
	p.Compared = &Compared{Name: with.Name}
	return with.load(ctx)
}

// selectLines counts the lines that the query selects, and takes the rows of the page
// from them.
func (p *Page) selectLines(x, other *index, replies []source) {
	var pairs []int32
	if other != nil {
		pairs = joined(x, other)
	}
	var t tally
	for i := range x.at {
		change := ""
		if other != nil {
			change = p.Compared.count(x.ok[i], pairs[i], other)
		}
		if !p.Query.selects(x, i, replies) || p.Query.Change != "" && change != p.Query.Change {
			continue
		}
		t.count(x, i, replies)
		switch {
		case i < p.Query.At:
		case len(p.Rows) < Rows:
			p.Rows = append(p.Rows, Row{Line: i, Change: change})
		case p.Next == 0:
			p.Next = i
		}
	}
	if c := p.Compared; c != nil {
		c.Difference = stats.NewPaired(c.Gained, c.Lost, c.Both+c.Neither+c.Gained+c.Lost)
	}
	p.Selected, p.Right, p.Facets = t.lines, stats.NewRate("", t.right, t.lines), t.facets()
}

// A tally counts lines, and those that are right, in all and by facet.
type tally struct {
	lines, right int
	values       [facets]map[string]Value
}

func (t *tally) count(x *index, i int, replies []source) {
	right := 0
	if x.ok[i] {
		right = 1
	}
	t.lines++
	t.right += right
	for k := range facets {
		if t.values[k] == nil {
			t.values[k] = map[string]Value{}
		}
		name := x.value(k, i, replies)
		v := t.values[k][name]
		v.Lines++
		v.Right += right
		t.values[k][name] = v
	}
}

func (t *tally) facets() (list []Facet) {
	for k, counts := range t.values {
		if values := valuesOf(counts); len(values) > 0 {
			list = append(list, Facet{names[k], values})
		}
	}
	return list
}

// count counts a line that is right or not against that of the other file, and
// returns how it differs.
func (c *Compared) count(ok bool, pair int32, other *index) (change string) {
	switch {
	case pair < 0:
		c.Alone++
	case ok && other.ok[pair]:
		c.Both++
	case ok:
		c.Gained++
		return "gained"
	case other.ok[pair]:
		c.Lost++
		return "lost"
	default:
		c.Neither++
	}
	return ""
}

// selects reports whether a query selects a line.
func (q *Query) selects(x *index, i int, replies []source) bool {
	if q.Verdict != "" && x.ok[i] != (q.Verdict == "right") {
		return false
	}
	for k := range facets {
		if want := q.facet(k); want != "" && x.value(k, i, replies) != want {
			return false
		}
	}
	return true
}

// value is that of a facet of a line. The model and the task may be with the reply.
func (x *index) value(k facet, i int, replies []source) string {
	value := x.names[k][x.codes[k][i]]
	if value != "" || k < models {
		return value
	}
	for _, s := range replies {
		if j := s.lines[i]; j >= 0 {
			return s.x.names[k][s.x.codes[k][j]]
		}
	}
	return ""
}

// valuesOf are the values of a facet that are named, the most frequent first.
func valuesOf(counts map[string]Value) []Value {
	var list []Value
	for name, v := range counts {
		if v.Value = name; name != "" {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b Value) int { return cmp.Or(cmp.Compare(b.Lines, a.Lines), cmp.Compare(a.Value, b.Value)) })
	return list
}

// A source of replies is a file and which of its lines belongs to each scored one.
type source struct {
	file  *File
	x     *index
	lines []int32
}

func (f *Files) replies(ctx context.Context, x *index) (list []source, err error) {
	for _, file := range f.Replies {
		y, err := file.load(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, source{file, y, joined(x, y)})
	}
	return list, nil
}

// reply returns the line with the reply of a scored line: in a file of replies, or
// the scored line itself.
func reply(i int, scored gjson.Result, replies []source) (gjson.Result, error) {
	for _, s := range replies {
		if j := s.lines[i]; j >= 0 {
			return s.file.line(s.x.at[j])
		}
	}
	return scored, nil
}

// first returns the first of several members that a line has.
func first(v gjson.Result, names ...string) gjson.Result {
	for _, n := range names {
		if m := v.Get(n); m.Exists() && m.Type != gjson.Null {
			return m
		}
	}
	return gjson.Result{}
}

func expected(v gjson.Result) string {
	return first(v, "gold", "expected", "target", "reference").String()
}

// row fills a row from the line and that of its reply.
func (f *File) row(x *index, i int, r *Row, replies []source) error {
	v, err := f.line(x.at[i])
	if err != nil {
		return err
	}
	from, err := reply(i, v, replies)
	if err != nil {
		return err
	}
	text := func(m gjson.Result) string { return shorttext.Cut(m.String(), maxCell) }
	r.ID, r.OK, r.Candidate, r.Method = text(v.Get("id")), x.ok[i], text(member(v, "candidate")), text(member(v, "method"))
	r.Reason, r.Status, r.Expected = text(member(v, "reason")), text(member(v, "status")), shorttext.Cut(expected(from), maxCell)
	r.Model = cmp.Or(text(v.Get("model")), text(from.Get("model")))
	if f.record != nil {
		r.Event, r.thought = v.Get("event").Uint(), v.Get("thought").Bool()
	}
	return nil
}
