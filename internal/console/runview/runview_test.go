package runview_test

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/console/runview"
	"github.com/sotto-llm/sotto/record"
)

func source(t *testing.T, dir string) *runview.Source {
	return runview.NewSource(consoletest.Reader(t, dir))
}

func put(t *testing.T, w *record.Writer, run string, cycle int, p record.Payload) uint64 {
	t.Helper()
	r, err := w.Append(context.Background(), record.Event{Run: run, Cycle: cycle, Payload: p})
	if err != nil {
		t.Fatal(err)
	}
	return r.Seq
}

func window(t *testing.T, query string) runview.Window {
	t.Helper()
	q, _ := url.ParseQuery(query)
	w, err := runview.ParseWindow(q)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// The timeline of a real run has each of its invocations and calls once, in its
// cycle, within the axis, and the counts that the run itself recorded.
func TestTimeline(t *testing.T) {
	dir, _ := consoletest.Runs(t)
	s := source(t, dir)
	l, err := s.List(context.Background(), runview.Filter{})
	if err != nil || len(l.Rows) != 3 {
		t.Fatalf("%+v, %v", l, err)
	}
	all, err := s.List(context.Background(), runview.Filter{Below: true})
	if err != nil || len(all.Rows) <= 3 {
		t.Fatalf("with called agents: %d rows, %v", len(all.Rows), err)
	}
	for _, row := range all.Rows {
		if row.Status == "" || row.Status == runview.Open || row.Millis < 0 {
			t.Errorf("%s: status %q", row.Run, row.Status)
		}
		tl, err := s.Timeline(context.Background(), row.Run, window(t, ""))
		if err != nil {
			t.Fatal(err)
		}
		if tl.Grouped || tl.Partial || len(tl.Lanes) == 0 {
			t.Errorf("%s: %+v", row.Run, tl)
		}
		invocations, calls, marks, thought := 0, 0, 0, 0
		seen := map[uint64]bool{}
		for _, lane := range tl.Lanes {
			for _, b := range lane.Bars {
				if seen[b.Event] || b.From < 0 || b.From+b.Wide > 100.5 || b.Thought > b.Wide || b.Wide <= 0 {
					t.Errorf("%s, cycle %d: %+v", row.Run, lane.From, b)
				}
				seen[b.Event] = true
			}
			for _, m := range lane.Marks {
				if m.Open || m.At > 100 {
					t.Errorf("%s, cycle %d: %+v", row.Run, lane.From, m)
				}
			}
			invocations, calls, marks, thought = invocations+lane.Invocations, calls+lane.Calls, marks+len(lane.Marks), thought+lane.Thought
		}
		if m := row.Metrics; m != nil && (m.Invocations != invocations || m.ToolCalls != calls || m.ThoughtBytes != thought) {
			t.Errorf("%s: %d invocations, %d calls, %d bytes of thoughts; the run says %d, %d, %d", row.Run, invocations, calls, thought, m.Invocations, m.ToolCalls, m.ThoughtBytes)
		}
		if invocations != tl.Invocations || calls != marks {
			t.Errorf("%s: %d invocations of %d, %d calls of %d", row.Run, invocations, tl.Invocations, calls, marks)
		}
	}
	part, err := s.Timeline(context.Background(), consoletest.First, window(t, "from=3&to=5"))
	if err != nil || len(part.Lanes) != 3 || part.Lanes[0].From != 3 || part.First != 1 || part.Last != 10 {
		t.Errorf("cycles 3 to 5: %+v, %v", part, err)
	}
	if again := (runview.Filter{Agent: "x", Model: "y", Below: true, Before: 7}); true {
		if f, err := runview.ParseFilter(again.Values()); err != nil || f != again {
			t.Errorf("%+v came back as %+v (%v)", again, f, err)
		}
	}
}

// A run that stopped and was resumed shows where, and the time in between does not
// stretch the axis.
func TestResumed(t *testing.T) {
	w, dir := consoletest.Open(t)
	put(t, w, "r", 0, record.RunStart{Agent: "sotto"})
	put(t, w, "r", 1, record.CycleStart{})
	put(t, w, "r", 0, record.RunEnd{Status: "suspended"})
	s := source(t, dir)
	if l, _ := s.List(context.Background(), runview.Filter{}); l.Rows[0].Status != "suspended" {
		t.Errorf("%+v", l.Rows)
	}
	put(t, w, "r", 1, record.RunStart{Agent: "sotto", Resumed: true})
	put(t, w, "r", 1, record.ToolCall{Name: "dig", Number: 1, Phase: "start"})
	if l, _ := s.List(context.Background(), runview.Filter{}); len(l.Rows) != 1 || l.Rows[0].Status != runview.Open {
		t.Errorf("%+v", l.Rows)
	}
	tl, err := s.Timeline(context.Background(), "r", window(t, ""))
	if err != nil || len(tl.Lanes) != 1 || len(tl.Lanes[0].Marks) != 2 || !tl.Lanes[0].Marks[0].Pause || !tl.Lanes[0].Marks[1].Open {
		t.Fatalf("%+v, %v", tl, err)
	}
}

// Pages of runs, one after the other by their cursors, hold each run once.
func TestRunPages(t *testing.T) {
	w, dir := consoletest.Open(t)
	for i := range 250 {
		put(t, w, fmt.Sprintf("r%d", i), 0, record.RunStart{Agent: []string{"a", "b"}[i%2], Model: "m"})
	}
	for i := range 250 {
		put(t, w, fmt.Sprintf("r%d", i), 0, record.RunEnd{Status: "done", Cycles: i})
	}
	s := source(t, dir)
	seen, f := map[string]bool{}, runview.Filter{Agent: "a"}
	for page := 0; ; page++ {
		l, err := s.List(context.Background(), f)
		if err != nil || len(l.Rows) > runview.Rows || page > 3 {
			t.Fatal(page, err)
		}
		for _, r := range l.Rows {
			if seen[r.Run] || r.Status != "done" || fmt.Sprintf("r%d", r.Cycles) != r.Run {
				t.Errorf("%+v", r)
			}
			seen[r.Run] = true
		}
		if f.Before = l.Older; f.Before == 0 {
			break
		}
	}
	if len(seen) != 125 {
		t.Errorf("%d runs", len(seen))
	}
}

// A run of 100,000 invocations is shown in at most 50 rows, which together count all
// of them; each zoom leads to fewer, and in the end to single invocations.
func TestLongRun(t *testing.T) {
	w, dir := consoletest.Open(t)
	const cycles, each = 10_000, 10
	reply := consoletest.Exchange("m", "p", "<think>t</think>a").Replies
	put(t, w, "long", 0, record.RunStart{Agent: "sotto", Model: "m"})
	for c := 1; c <= cycles; c++ {
		for range each {
			if !w.Enqueue(record.Event{Run: "long", Cycle: c, Payload: record.Invocation{Model: "m", Millis: 3, Replies: reply}}) {
				put(t, w, "long", c, record.Invocation{Model: "m", Millis: 3, Replies: reply})
			}
		}
		put(t, w, "long", c, record.CycleEnd{Status: "answered", Millis: 30, Metrics: &record.Metrics{Invocations: each, ThoughtBytes: 10, VisibleBytes: 10}})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s := source(t, dir)
	query := ""
	for depth := 0; ; depth++ {
		tl, err := s.Timeline(context.Background(), "long", window(t, query))
		if err != nil || len(tl.Lanes) > 50 || len(tl.Steps) > 100 || depth > 4 {
			t.Fatalf("%s: %d lanes, %v", query, len(tl.Lanes), err)
		}
		sum, bars := 0, 0
		for _, lane := range tl.Lanes {
			sum += lane.Invocations
			bars += len(lane.Bars)
		}
		if want := each * (min(tl.To, cycles) - max(tl.From, 1) + 1); sum != want || bars > 400 {
			t.Fatalf("%q: %d invocations in %d bars, want %d", query, sum, bars, want)
		}
		if !tl.Grouped {
			if bars != sum || !tl.Lanes[0].Counted {
				t.Errorf("%q: %d bars of %d invocations", query, bars, sum)
			}
			break
		}
		query = fmt.Sprintf("from=%d&to=%d", tl.Lanes[1].From, tl.Lanes[1].To)
	}
}

// Whatever a record says, the timeline is bounded and has a place for everything:
// times that go back, negative and huge ones, cycles of any number.
func TestHostileRun(t *testing.T) {
	w, dir := consoletest.Open(t)
	huge := strings.Repeat("n", 5000)
	for i, cycle := range []int{0, -1, 1, math.MaxInt, math.MinInt, 5, 1 << 40, -(1 << 40), 3, 3} {
		put(t, w, "h", cycle, record.RunStart{Agent: huge, Model: "m", Goal: record.Say(huge), Parent: huge, Resumed: i%2 == 1})
		put(t, w, "h", cycle, record.CycleStart{})
		for _, ms := range []int64{-1, math.MinInt64, math.MaxInt64, 0} {
			put(t, w, "h", cycle, record.Invocation{Model: "m", Purpose: huge, Millis: ms, Usage: &record.Usage{Input: -1}})
			put(t, w, "h", cycle, record.ToolCall{Name: huge, Number: -i, Phase: []string{"start", "end", huge}[i%3], Millis: ms, Child: &record.Child{Run: huge}})
			put(t, w, "h", cycle, record.CycleEnd{Status: huge, Millis: ms, Metrics: &record.Metrics{ThoughtBytes: math.MinInt, VisibleBytes: math.MaxInt}, Summary: record.Say(huge)})
		}
		put(t, w, "h", cycle, record.RunEnd{Status: huge, Cycles: -7, Millis: math.MinInt64, Metrics: &record.Metrics{ThoughtBytes: -1}})
	}
	for i := range 3000 {
		put(t, w, "wide", (i*7919)%6000-3000, record.CycleEnd{Status: "x", Millis: math.MaxInt64})
	}
	s := source(t, dir)
	for _, run := range []string{"h", "wide"} {
		for _, query := range []string{"", "from=-1&to=5", fmt.Sprintf("from=%d", math.MinInt), fmt.Sprintf("to=%d", math.MinInt), "from=7&to=9"} {
			tl, err := s.Timeline(context.Background(), run, window(t, query))
			if err != nil || len(tl.Lanes) > 50 || tl.Millis < 0 {
				t.Fatalf("%s %s: %d lanes, %v", run, query, len(tl.Lanes), err)
			}
			for _, lane := range tl.Lanes {
				if len(lane.Summary) > 300 || len(lane.Status) > 300 || lane.Millis < 0 {
					t.Errorf("%s %s: %d bytes of summary", run, query, len(lane.Summary))
				}
				for _, b := range lane.Bars {
					if !(b.From >= 0 && b.From <= 100 && b.Wide > 0 && b.From+b.Wide <= 100.5 && b.Thought >= 0 && b.Thought <= b.Wide) {
						t.Errorf("%s %s, cycle %d: %+v", run, query, lane.From, b)
					}
				}
				for _, m := range lane.Marks {
					if !(m.At >= 0 && m.At <= 100 && m.Wide >= 0 && m.Wide <= 100) {
						t.Errorf("%s %s, cycle %d: %+v", run, query, lane.From, m)
					}
				}
			}
		}
	}
	for query, want := range map[string]string{"from=x": "from:", "to=1.5": "to:", "from=5&to=3": "from 5 to 3", "at=-1": "at:", "at=0": "at:"} {
		q, _ := url.ParseQuery(query)
		if _, err := runview.ParseWindow(q); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", query, err)
		}
	}
	if _, err := s.Timeline(context.Background(), "nobody", window(t, "")); err == nil {
		t.Error("a run that is not there")
	}
}
