package scoreview

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/trace"
)

// A Part is a part of a reply on one channel, inside the candidate or not.
type Part struct {
	Channel sotto.Channel `json:"channel"`
	Marked  bool          `json:"candidate,omitempty"`
	Start   int           `json:"start"`
	Text    string        `json:"text"`
}

// An Attempt is a way in which a candidate was looked for.
type Attempt struct {
	Method string `json:"method"`
	Found  int64  `json:"found"`
	Why    string `json:"why,omitempty"`
	Used   bool   `json:"used,omitempty"`
}

// A Line is one scored line, with its reply.
type Line struct {
	V int `json:"v"`
	Row
	Candidate string    `json:"candidate"`
	Expected  string    `json:"expected,omitempty"`
	Question  string    `json:"question,omitempty"`
	Detail    string    `json:"detail,omitempty"`
	By        string    `json:"by,omitempty"`
	Rules     string    `json:"rules,omitempty"`
	Attempts  []Attempt `json:"attempts"`
	Parts     []Part    `json:"parts"`
	Bytes     int       `json:"bytes"` // of the reply
	Before    int       `json:"before,omitempty"`
	After     int       `json:"after,omitempty"` // bytes of it that are not shown
	Other     *Row      `json:"other,omitempty"`
	// Parting is where the reply and that of the other line part; nil if they do not, or if a
	// reply is not there.
	Parting *trace.Parting `json:"parting,omitempty"`
	Prev    int            `json:"-"` // the line before, or -1
	Next    int            `json:"-"`
}

// Line returns a scored line. named finds the dialect that a line names.
func (f *Files) Line(ctx context.Context, q Query, n int, named func(string) (*sotto.Grammar, error)) (*Line, error) {
	file, err := f.file(q.File)
	if err != nil {
		return nil, err
	}
	x, err := file.load(ctx)
	if err != nil {
		return nil, err
	}
	if n < 0 || n >= len(x.at) {
		return nil, fmt.Errorf("the file has %d lines, and no line %d: %w", len(x.at), n, ErrNotFound)
	}
	replies, err := f.replies(ctx, x)
	if err != nil {
		return nil, err
	}
	l := &Line{V: 1, Row: Row{Line: n}, Prev: q.near(x, n, -1, replies), Next: q.near(x, n, 1, replies), Attempts: []Attempt{}, Parts: []Part{}}
	if err := file.row(x, n, &l.Row, replies); err != nil {
		return nil, err
	}
	v, err := file.line(x.at[n])
	if err != nil {
		return nil, err
	}
	from, err := reply(n, v, replies)
	if err != nil {
		return nil, err
	}
	l.decode(v, from, named)
	if q.With >= 0 {
		with, err := f.file(q.With)
		if err != nil {
			return nil, err
		}
		y, err := with.load(ctx)
		if err != nil {
			return nil, err
		}
		if j := joined(x, y)[n]; j >= 0 {
			l.Other = &Row{Line: int(j)}
			l.Change = (&Compared{}).count(l.OK, j, y)
			theirs, err := f.replies(ctx, y)
			if err != nil {
				return nil, err
			}
			if err := with.row(y, int(j), l.Other, theirs); err != nil {
				return nil, err
			}
			w, err := with.line(y.at[j])
			if err != nil {
				return nil, err
			}
			its, err := reply(int(j), w, theirs)
			if err != nil {
				return nil, err
			}
			l.Parting = partingOf(v, from, w, its, named)
		}
	}
	return l, nil
}

// near returns the selected line before or after another, or -1. Changes against
// another file are not looked at.
func (q Query) near(x *index, n, step int, replies []source) int {
	for i := n + step; i >= 0 && i < len(x.at); i += step {
		if q.selects(x, i, replies) {
			return i
		}
	}
	return -1
}

// decode takes what a page shows from a scored line and that of its reply.
func (l *Line) decode(v, from gjson.Result, named func(string) (*sotto.Grammar, error)) {
	text := func(m gjson.Result) string { return shorttext.Cut(m.String(), maxText) }
	l.Candidate, l.Expected, l.Question = text(member(v, "candidate")), shorttext.Cut(expected(from), maxText), text(first(from, "input", "question", "problem", "prompt"))
	l.Detail, l.By, l.Rules = text(member(v, "detail")), text(member(v, "by")), text(member(v, "rules"))
	member(v, "attempts").ForEach(func(_, a gjson.Result) bool {
		method := text(a.Get("method"))
		l.Attempts = append(l.Attempts, Attempt{method, a.Get("found").Int(), text(a.Get("why")), method == l.Method})
		return len(l.Attempts) < maxAttempts
	})
	raw, ok := rawOf(v, from)
	if !ok {
		return
	}
	start, end := -1, -1
	if span := member(v, "span").Array(); len(span) == 2 {
		start, end = int(span[0].Int()), int(span[1].Int())
	}
	g, begins := dialectOf(v, from, named)
	l.mark(g, begins, raw, start, end)
}

// rawOf returns the reply of a scored line: what the line carries byte for byte, or
// else the text in the line of the reply.
func rawOf(v, from gjson.Result) (raw string, ok bool) {
	if exact := member(v, "raw_base64"); exact.Type == gjson.String {
		if data, err := base64.StdEncoding.DecodeString(exact.String()); err == nil {
			return string(data), true
		}
	}
	text := first(from, "raw", "reply", "response", "completion", "output", "text", "sotto_raw")
	return text.String(), text.Type == gjson.String
}

// mark divides a reply by channel and at its candidate.
func (l *Line) mark(g *sotto.Grammar, begins sotto.Beginning, raw string, start, end int) {
	l.Bytes = len(raw)
	if start < 0 || end < start || end > len(raw) {
		start, end = -1, -1
	}
	from, to := 0, min(len(raw), 2*maxReply)
	if start >= 0 {
		from, to = max(0, start-maxReply), min(len(raw), end+maxReply, start+2*maxReply)
	}
	from, to = shorttext.Boundary(raw, from), shorttext.Boundary(raw, to)
	l.Before, l.After = from, len(raw)-to
	parsed, err := g.Parse(raw, begins, sotto.EndUnknown)
	if err != nil {
		parsed, err = g.Parse(raw, sotto.BeginAuto, sotto.EndUnknown)
	}
	if err != nil {
		return
	}
	for _, s := range parsed.Segments {
		cuts := []int{s.Start, start, end, s.End}
		for i, a := range cuts[:3] {
			b := cuts[i+1]
			a, b = max(a, s.Start, from), min(b, s.End, to)
			if i == 0 && start < 0 {
				b = min(s.End, to)
			}
			if i > 0 && start < 0 || a >= b {
				continue
			}
			l.Parts = append(l.Parts, Part{s.Channel, i == 1, a, strings.ToValidUTF8(raw[a:b], "\ufffd")})
		}
	}
}
