package scoreview

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/console/trace"
	"github.com/sotto-llm/sotto/internal/data/replyjson"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
)

// write writes a file of lines.
func write(t testing.TB, lines ...string) *File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "lines.jsonl")
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A run is replies to sums, and their verdicts as sotto score writes them.
func run(t testing.TB, n int, say func(i int) string) (scores, replies *File) {
	t.Helper()
	var judged, asked []string
	for i := range n {
		raw, gold := say(i), strconv.Itoa(2*i)
		x := answer.Extract(answer.Number, raw, answer.Problem{}, answer.Options{End: sotto.EndStopped})
		id := fmt.Sprintf("%q", fmt.Sprint("p", i))
		line := scoring.AppendExtraction(nil, []byte(id), x)
		judged = append(judged, string(scoring.AppendVerdict(line, answer.Number.Validate(x.Candidate, answer.Problem{Gold: gold})))+"}")
		text, _ := json.Marshal(raw)
		asked = append(asked, fmt.Sprintf(`{"id":%s,"raw":%s,"gold":%q,"model":"m%d"}`, id, text, gold, i%2))
	}
	return write(t, judged...), write(t, asked...)
}

func right(i int) string { return fmt.Sprintf("<think>double %d</think>\nThe answer is %d.", i, 2*i) }

// wrong says a wrong number for every third problem, and nothing for every fifth.
func wrong(i int) string {
	switch {
	case i%5 == 0:
		return "<think>hm</think>\nI do not know."
	case i%3 == 0:
		return fmt.Sprintf("\\boxed{%d}", 2*i+1)
	}
	return right(i)
}

// The pages of a file are all its selected lines in order, each once, and the counts
// of a facet are those of the lines that its link selects.
func TestPages(t *testing.T) {
	scores, replies := run(t, 330, wrong)
	f := &Files{Scores: []*File{scores}, Replies: []*File{replies}}
	all := func(q Query) (list []Row, last *Page) {
		for {
			p, err := f.List(context.Background(), q)
			if err != nil || len(p.Rows) > Rows {
				t.Fatalf("%v, %d rows", err, len(p.Rows))
			}
			list, last, q.At = append(list, p.Rows...), p, p.Next
			if p.Next == 0 {
				return list, last
			}
		}
	}
	rows, p := all(Query{With: -1})
	if len(rows) != 330 || p.Lines != 330 || p.Right.Of != 330 {
		t.Fatalf("%d rows of %d", len(rows), p.Lines)
	}
	for i, r := range rows {
		ok := wrong(i) == right(i)
		if r.Line != i || r.ID != fmt.Sprint("p", i) || r.OK != ok || r.Expected != strconv.Itoa(2*i) || r.Model != fmt.Sprint("m", i%2) {
			t.Fatalf("line %d: %+v", i, r)
		}
	}
	if len(p.Facets) != 3 {
		t.Errorf("the facets are %+v", p.Facets)
	}
	for _, facet := range p.Facets {
		for _, v := range facet.Values {
			q := Query{With: -1}
			switch facet.Name {
			case "method":
				q.Method = v.Value
			case "reason":
				q.Reason = v.Value
			case "model": // of the replies
				q.Model = v.Value
			default:
				t.Fatalf("a facet %s", facet.Name)
			}
			rows, sel := all(q)
			if len(rows) != v.Lines || sel.Selected != v.Lines || sel.Right.Count != v.Right {
				t.Errorf("%s %s: %+v, and %d rows", facet.Name, v.Value, v, len(rows))
			}
		}
	}
	if rows, _ := all(Query{With: -1, Verdict: "wrong"}); len(rows) != p.Right.Of-p.Right.Count {
		t.Errorf("%d wrong", len(rows))
	}
}

// The candidate is marked where it stands: what is marked is what the reply says
// there, and the parts are the reply.
func TestCandidateIsMarked(t *testing.T) {
	long := strings.Repeat("Ä. ", 50_000)
	says := []string{right(7), "no", long + "The answer is 99." + long, "\\boxed{é}"}
	scores, replies := run(t, len(says), func(i int) string { return says[i] })
	f := &Files{Scores: []*File{scores}, Replies: []*File{replies}}
	for i, raw := range says {
		l, err := f.Line(context.Background(), Query{With: -1}, i, sotto.Named)
		if err != nil {
			t.Fatal(err)
		}
		at, marked, shown := l.Before, "", 0
		for _, p := range l.Parts {
			if p.Start != at || raw[at:at+len(p.Text)] != p.Text {
				t.Fatalf("reply %d: a part at %d, want %d", i, p.Start, at)
			}
			if at += len(p.Text); p.Marked {
				marked += p.Text
			}
			shown += len(p.Text)
		}
		if at+l.After != len(raw) || shown > 3*maxReply || marked != l.Candidate && i < 3 {
			t.Errorf("reply %d: %d of %d bytes, marked %q, candidate %q", i, shown, len(raw), marked, l.Candidate)
		}
		if len(l.Attempts) == 0 || l.Candidate != "" && !used(l) {
			t.Errorf("reply %d: attempts %+v", i, l.Attempts)
		}
	}
}

// A line that carries its reply shows it, byte for byte and as it was read.
func TestCarriedReplyIsShown(t *testing.T) {
	raw := "\xff is odd\n</think>\nThe answer is 8."
	e := scoring.Extractor{Task: answer.Number, With: replyjson.With{Raw: true, Reading: true}}
	e.Grammar, _ = sotto.Named("deepseek_r1")
	e.Start = "inside"
	p := &scoring.Posed{Manner: e.Manner, Raw: raw, Problem: answer.Problem{Gold: "8"}}
	line, err := e.AppendJudged(nil, []byte(`"p"`), p, e.Judge(p))
	if err != nil {
		t.Fatal(err)
	}
	f := &Files{Scores: []*File{write(t, string(line))}}
	l, err := f.Line(context.Background(), Query{With: -1}, 0, sotto.Named)
	if err != nil || len(l.Parts) == 0 {
		t.Fatalf("%v: %+v", err, l)
	}
	if first := l.Parts[0]; first.Channel != sotto.ChannelReasoning || first.Text != "\ufffd is odd\n" || l.Bytes != len(raw) {
		t.Errorf("%+v of %d bytes", first, l.Bytes)
	}
	for _, part := range l.Parts {
		if part.Marked && (part.Text != "8" || part.Start != strings.LastIndex(raw, "8")) {
			t.Errorf("marked %+v", part)
		}
	}
}

func used(l *Line) bool {
	for _, a := range l.Attempts {
		if a.Used {
			return true
		}
	}
	return false
}

// Two files are compared line by line, whatever their order.
func TestCompare(t *testing.T) {
	a, replies := run(t, 60, wrong)
	b, _ := run(t, 60, right)
	lines, _ := os.ReadFile(b.Name)
	list := strings.Split(strings.TrimSpace(string(lines)), "\n")
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	f := &Files{Scores: []*File{a, write(t, append(list[:50:50], `{"id":"other","ok":true}`, "not JSON", `{"ok":true}`)...)}, Replies: []*File{replies}}
	p, err := f.List(context.Background(), Query{With: 1})
	if err != nil {
		t.Fatal(err)
	}
	lost, both := 0, 0
	for i := 10; i < 60; i++ { // the first ten are not in the other file
		if wrong(i) == right(i) {
			both++
		} else {
			lost++
		}
	}
	if c := *p.Compared; c.Lost != lost || c.Both != both || c.Gained != 0 || c.Neither != 0 || c.Alone != 10 {
		t.Errorf("%+v, want %d lost and %d both", c, lost, both)
	}
	if d := p.Compared.Difference; d.N != 50 || d.Value != -float64(lost)/50 || d.High >= 0 && lost > 5 || d.Low > d.Value || d.High < d.Value {
		t.Errorf("the difference is %+v of %d lost", d, lost)
	}
	p, err = f.List(context.Background(), Query{With: 1, Change: "lost"})
	if err != nil || len(p.Rows) != lost || p.Rows[0].Change != "lost" {
		t.Fatalf("%v, %d rows", err, len(p.Rows))
	}
	l, err := f.Line(context.Background(), Query{With: 1}, p.Rows[0].Line, sotto.Named)
	if err != nil || l.Other == nil || l.Other.ID != l.ID || !l.Other.OK || l.Change != "lost" {
		t.Errorf("%v, %+v", err, l)
	}
	if q, err := f.List(context.Background(), Query{File: 1, With: -1}); err != nil || q.Unreadable != 1 || q.Lines != 52 {
		t.Errorf("%v, %+v", err, q)
	}
}

// The memory of a file is bounded for each line, whatever the lines are, and a file
// that grows is read again.
func TestMemory(t *testing.T) {
	const n = 100_000
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"id":"p%d","candidate":"c","method":"m%d","reason":"%s%d","ok":%t}`, i, i, strings.Repeat("r", 100), i, i%2 == 0)
	}
	f := &Files{Scores: []*File{write(t, lines...)}}
	var before, after runtime.MemStats
	lines = nil
	runtime.GC()
	runtime.ReadMemStats(&before)
	p, err := f.List(context.Background(), Query{With: -1})
	if err != nil || p.Lines != n || p.Right.Count != n/2 {
		t.Fatalf("%v, %+v", err, p)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if per := (int(after.HeapAlloc) - int(before.HeapAlloc)) / n; per > 60 {
		t.Errorf("%d bytes a line", per)
	}
	if v := p.Facets[0].Values; len(v) != maxNames+1 || v[0].Value != others {
		t.Errorf("%d values, the first is %+v", len(v), v[0])
	}
	out, err := os.OpenFile(f.Scores[0].Name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(out, "%s\n%s", `{"id":"new","ok":true,"long":"`+strings.Repeat("x", maxLine)+`"}`, `{"id":"last","ok":true}`)
	out.Close()
	if p, err := f.List(context.Background(), Query{With: -1}); err != nil || p.Lines != n+1 || p.Unreadable != 1 {
		t.Errorf("%v, %d lines, %d unreadable", err, p.Lines, p.Unreadable)
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a folder is a file of scores")
	}
}

// TestParting: two replies to one line part at the first thing that they say or call
// differently, and at their thoughts only if nothing else differs.
func TestParting(t *testing.T) {
	line := func(raw string) string {
		data, err := json.Marshal(map[string]any{"id": "p", "ok": true, "raw": raw})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	long := strings.Repeat("the same words. ", 2000)
	for _, c := range []struct {
		a, b string
		want trace.Difference
		said string
	}{
		{"<think>odd</think>The answer is 8.", "<think>even</think>The answer is 9.", trace.InAnswer, "9"},
		{"<think>odd</think>8", "<think>even</think>8", trace.InThought, "even"},
		{"<think>odd</think>8", "<think>odd</think>8", "", ""},
		{"<think>" + long + "</think>" + long + "8", "<think>" + long + "</think>" + long + "9", trace.InAnswer, "9"},
	} {
		f := &Files{Scores: []*File{write(t, line(c.a)), write(t, line(c.b))}}
		l, err := f.Line(context.Background(), Query{With: 1}, 0, sotto.Named)
		if err != nil {
			t.Fatal(err)
		}
		switch p := l.Parting; {
		case c.want == "" && p != nil, c.want != "" && (p == nil || p.What != c.want || !strings.Contains(string(p.B.Said), c.said)):
			t.Errorf("%.30q and %.30q: %+v", c.a, c.b, p)
		case p != nil:
			for _, s := range append(p.A.Steps, p.B.Steps...) {
				if len(s.Text.Plain()) > trace.MaxText {
					t.Errorf("a step has %d bytes", len(s.Text.Plain()))
				}
			}
		}
	}
}
