package view_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/record"
)

// variety is a record of exchanges that differ in everything that a filter asks for.
func variety(t *testing.T, n int) (dir string, all []record.Exchange) {
	t.Helper()
	w, dir := consoletest.Open(t)
	for i := range n {
		x := consoletest.Exchange([]string{"a", "b"}[i%2], fmt.Sprintf("prompt %d", i%7), []string{"plain", "<think>t</think>x", "<think>cut", "x</think>y"}[i%4]+strings.Repeat("z", i%5))
		x.Caller, x.Outcome, x.ResponseID = []string{"", "ada", "bob"}[i%3], view.Outcomes()[i%4], fmt.Sprintf("id-%d", i)
		x.API = []string{"openai.chat", "ollama.chat"}[i%2]
		x.Leak = view.Leaks()[i%len(view.Leaks())]
		if i == n/2 {
			x.Messages[0].Text = record.Say(strings.Repeat("long ", 300_000))
		}
		consoletest.Put(t, w, x)
		all = append(all, x)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, all
}

// The pages of a list, one after the other by their cursors, hold each selected
// exchange once, the newest first, and at most 100 each. A filter goes through a URL
// unchanged.
func TestPages(t *testing.T) {
	dir, all := variety(t, 330)
	s := view.NewSource(consoletest.Store(t, dir), nil)
	rapid.Check(t, func(t *rapid.T) {
		pick := func(name string, values ...string) string {
			return rapid.SampledFrom(append([]string{"", "", ""}, values...)).Draw(t, name)
		}
		f := view.Filter{
			Model: pick("model", "a", "b"), Caller: pick("caller", "ada"), Outcome: pick("outcome", "failed", "answered"), Route: pick("route", "ollama.chat", "completions"),
			Diagnostic: pick("code", "truncated", "orphan_close"), Text: pick("text", "PROMPT 3", "zz"), Leaked: rapid.Bool().Draw(t, "leaked"), ID: pick("id", "id-17"),
		}
		if f.Leaked {
			f.Leak = pick("leak", view.Leaks()...)
		}
		if again, err := view.ParseFilter(f.Values()); err != nil || again != f {
			t.Fatalf("%+v came back as %+v (%v)", f, again, err)
		}
		var want []uint64
		for i, x := range all {
			if selected(f, i, &x) {
				want = append([]uint64{uint64(i + 1)}, want...)
			}
		}
		var got []uint64
		for page := 0; ; page++ {
			p, err := s.List(context.Background(), f)
			if err != nil || len(p.Rows) > view.Rows || page > 10 {
				t.Fatalf("page %d: %d rows, %v", page, len(p.Rows), err)
			}
			for _, r := range p.Rows {
				got = append(got, r.Event)
			}
			if older := p.Older; older == 0 {
				break
			} else if f.Before > 0 && !p.Stopped && f.Before <= want[0] { // from the page after it, the way back leads here
				back := f.Bare()
				if back.After = p.Rows[len(p.Rows)-1].Event - 1; back.After > 0 {
					again, err := s.List(context.Background(), back)
					if err != nil || again.Filter.After == 0 && len(again.Rows) > 0 && again.Rows[0].Event != want[0] || again.Filter.After > 0 && !sameRows(again.Rows, p.Rows) {
						t.Fatalf("after %d: %v, want %v (%v)", back.After, again.Rows, p.Rows, err)
					}
				}
				f.Before = older
			} else {
				f.Before = older
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%+v: %v, want %v", f, got, want)
		}
		for i, seq := range want {
			if i%41 > 0 {
				continue
			}
			older, newer := s.Neighbours(context.Background(), seq, f)
			var left, right uint64
			if i > 0 {
				right = want[i-1]
			}
			if i+1 < len(want) {
				left = want[i+1]
			}
			if older != left || newer != right {
				t.Fatalf("%+v: beside %d are %d and %d, want %d and %d", f, seq, older, newer, left, right)
			}
		}
	})
}

// selected is what a filter means.
func sameRows(a, b []view.Row) bool {
	return slices.EqualFunc(a, b, func(a, b view.Row) bool { return a.Event == b.Event })
}

func selected(f view.Filter, i int, x *record.Exchange) bool {
	long := len(x.Messages[0].Text.Text) > 1<<20 // not read for a list
	r := x.Replies[0]
	code := f.Diagnostic == "" || slices.ContainsFunc(r.Diagnostics, func(d sotto.Diagnostic) bool { return string(d.Code) == f.Diagnostic })
	leaked := !f.Leaked || slices.ContainsFunc(r.Segments, func(s record.Segment) bool { return s.Channel == sotto.ChannelReasoning && s.End > s.Start })
	leaked = leaked && (f.Leak == "" || f.Leak == x.Leak)
	text := f.Text == "" || strings.Contains(string(x.Messages[0].Text.Text), strings.ToLower(f.Text)) || strings.Contains(string(r.Raw.Text), f.Text)
	return (f.Model == "" || f.Model == x.Model) && (f.Caller == "" || f.Caller == x.Caller) && (f.Outcome == "" || f.Outcome == x.Outcome) &&
		(f.Route == "" || f.Route == x.API || strings.Contains(x.Path, f.Route)) && (f.ID == "" || f.ID == x.ResponseID) &&
		code && leaked && text && (!long || f.Text == "" && !f.Leaked)
}

// A filter that the index cannot answer reads only so many events for a page, and
// says where to search on; the search ends at the oldest event.
func TestSearchStops(t *testing.T) {
	w, dir := consoletest.Open(t)
	long := strings.Repeat("words ", 150_000)
	for range 80 {
		consoletest.Put(t, w, consoletest.Exchange("m", long, "x"))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s := view.NewSource(consoletest.Store(t, dir), nil)
	f, searched, pages := view.Filter{Text: "needle"}, 0, 0
	for {
		p, err := s.List(context.Background(), f)
		if err != nil || len(p.Rows) > 0 || p.Stopped != (p.Older > 0) {
			t.Fatalf("%+v, %v", p, err)
		}
		searched += p.Searched
		if pages++; p.Older == 0 {
			break
		}
		f.Before = p.Older
	}
	if searched != 80 || pages < 2 || pages > 4 {
		t.Errorf("%d events in %d pages", searched, pages)
	}
}

// The slices of a reply, joined, are the reply, byte for byte; no slice cuts a
// character; every diagnostic is marked once, at its byte.
func TestSlices(t *testing.T) {
	effort.OneGoroutine(t)
	w, dir := consoletest.Open(t)
	var raws []string
	for i, part := range []string{"a", "é", "<think>你好</think>x", "x</think>", "\xff", "`<think>`", "<output>o</output> ", strings.Repeat("w", 32<<10)} {
		raw := strings.Repeat(part, max(1, (40_000*(i+1))/len(part)))
		if i%2 == 1 {
			raw = "y" + raw
		}
		raws = append(raws, raw)
		consoletest.Put(t, w, consoletest.Exchange("m", "p", raw))
	}
	raws = append(raws, "")
	consoletest.Put(t, w, consoletest.Exchange("m", "p", ""))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s := view.NewSource(consoletest.Store(t, dir), nil)
	for i, raw := range raws {
		for _, again := range []view.Reread{{}, {Dialect: "qwen3", Start: "inside"}} {
			x, err := s.Exchange(context.Background(), uint64(i+1), again)
			if err != nil {
				t.Fatal(err)
			}
			var joined strings.Builder
			marks, at := 0, 0
			for n := 0; n == 0 || at < len(raw); n++ {
				slice, err := s.Bytes(context.Background(), uint64(i+1), 0, n*view.SliceSize, again)
				if err != nil || slice.Start != at || slice.Total != len(raw) || slice.End-slice.Start > view.SliceSize+4 || slice.Number != n+1 {
					t.Fatalf("slice %d: %d to %d of %d, want %d: %v", n, slice.Start, slice.End, slice.Total, at, err)
				}
				if at = slice.End; at < len(raw) && raw[at] >= 0x80 && raw[at] < 0xc0 {
					t.Errorf("reply %d: a character is cut at %d", i, at)
				}
				for _, r := range slice.Runs {
					joined.WriteString(string(r.Text))
					for _, m := range r.Marks {
						if marks++; m.Offset != r.Start {
							t.Errorf("reply %d: %s stands at %d, want %d", i, m.Code, r.Start, m.Offset)
						}
					}
				}
			}
			if joined.String() != raw {
				t.Errorf("reply %d of %d bytes: the slices have %d", i, len(raw), joined.Len())
			}
			r := x.Replies[0]
			if all := len(r.Diagnostics) + r.MoreDiagnostics; marks != min(all, sotto.MaxDiagnostics) {
				t.Errorf("reply %d: %d marks of %d diagnostics", i, marks, all)
			}
			total, wide := 0, 0
			for _, c := range r.Channels {
				total += c.Bytes
			}
			for _, b := range r.Bars {
				if b.From != wide {
					t.Errorf("reply %d: a bar at %d, want %d", i, b.From, wide)
				}
				wide += b.Wide
			}
			if total != len(raw) || wide != min(view.Strip(), len(raw)*view.Strip()) {
				t.Errorf("reply %d: channels of %d bytes, bars of %d", i, total, wide)
			}
		}
	}
}

// What the record does not have is counted and named, and nothing is read again
// without it.
func TestWithheld(t *testing.T) {
	dir := t.TempDir()
	w, err := record.Open(dir, record.Options{Policy: record.None, Reasoning: record.Off})
	if err != nil {
		t.Fatal(err)
	}
	consoletest.Put(t, w, consoletest.Exchange("m", "p", "<think>"+strings.Repeat("secret", 9000)+"</think>answer"))
	w.Close()
	s := view.NewSource(consoletest.Store(t, dir), nil)
	x, err := s.Exchange(context.Background(), 1, view.Reread{})
	if err != nil {
		t.Fatal(err)
	}
	if r := x.Replies[0]; r.Withheld != 54000 || r.Answer.Text != "answer" || r.ThoughtBytes() != 54000 || r.Thoughts[0].Text != "" {
		t.Errorf("%+v", r)
	}
	slice, err := s.Bytes(context.Background(), 1, 0, 40_000, view.Reread{})
	if err != nil || len(slice.Runs) == 0 || slice.Runs[0].Why == "" {
		t.Errorf("%+v %v", slice, err)
	}
	if _, err := s.Exchange(context.Background(), 1, view.Reread{Dialect: "qwen3"}); err == nil {
		t.Error("a reply with parts missing was read again")
	}
}

// Values of a filter that make no sense are refused with their name.
func TestParseFilter(t *testing.T) {
	for query, want := range map[string]string{
		"before=0": "before:", "before=-1": "before:", "after=0": "after:", "after=3&before=9": "after:", "leaked=maybe": "leaked:", "outcome=lost": "outcome:", "from=soon": "from:", "to=soon": "to:", "text=" + strings.Repeat("x", 600): "text:",
	} {
		q, _ := url.ParseQuery(query)
		if _, err := view.ParseFilter(q); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// TestOnlyAudits: views alone are not news for those who follow a record.
func TestOnlyAudits(t *testing.T) {
	w, dir := consoletest.Open(t)
	s := view.NewSource(consoletest.Store(t, dir), nil)
	seq := consoletest.Put(t, w, consoletest.Exchange("m", "p", "x"))
	for range 3 {
		consoletest.Put(t, w, record.Audit{Action: "view", Events: []uint64{seq}})
	}
	if !s.OnlyAudits(seq) || s.OnlyAudits(seq-1) || s.OnlyAudits(seq+3) {
		t.Errorf("after the exchange %v, before it %v, at the end %v", s.OnlyAudits(seq), s.OnlyAudits(seq-1), s.OnlyAudits(seq+3))
	}
	consoletest.Put(t, w, consoletest.Exchange("m", "p", "x"))
	if s.OnlyAudits(seq) {
		t.Error("a new exchange after the views is not noticed")
	}
	w.Close()
}
