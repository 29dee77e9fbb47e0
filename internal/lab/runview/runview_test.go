package runview_test

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/console/trace"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/runview"
	"github.com/sotto-llm/sotto/record"
)

func source(t *testing.T, dir string) *runview.Source {
	return runview.NewSource(consoletest.Store(t, dir))
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
		if err != nil || len(tl.Lanes) > 50 || depth > 4 {
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

// What a run remembered at each cycle is what its tools wrote until then; the last
// state is the one that the run's own memory has.
func TestRemembered(t *testing.T) {
	w, dir := consoletest.Open(t)
	tool := func(cycle, n int, name, arguments, result, failed string) {
		put(t, w, "r", cycle, record.ToolCall{Name: name, Number: n, Phase: "start", Arguments: record.Say(arguments)})
		put(t, w, "r", cycle, record.ToolCall{Name: name, Number: n, Phase: "end", Arguments: record.Say(arguments), Result: record.Say(result), Error: failed})
	}
	put(t, w, "r", 0, record.RunStart{Agent: "sotto"})
	tool(1, 1, "write", `{"key":"a","value":"one"}`, `wrote "a", 3 bytes`, "")
	tool(1, 2, "write", `{"key":"b","value":"two"}`, `wrote "b", 3 bytes`, "")
	put(t, w, "r", 1, record.CycleEnd{Status: "answered", Summary: record.Say("first")})
	tool(2, 3, "write", `{"key":"a","value":"uno"}`, `replaced "a", 3 bytes`, "")
	tool(2, 4, "write", `{"key":"c"`, `error: not JSON`, "refused")
	tool(2, 5, "write", `{"key":"d","value":"x"}`, `saved the file`, "") // another tool of this name
	put(t, w, "r", 2, record.CycleEnd{Status: "answered", Summary: record.Say("second"), Metrics: &record.Metrics{Similarity: 0.5, SimilarTo: 1, Method: "lexical"}})
	tool(3, 6, "delete", `{"key":"b"}`, `deleted "b"`, "")
	put(t, w, "r", 3, record.CycleEnd{Status: "answered"})
	tool(4, 7, "delete", `{"key":"a"}`, `deleted "a"`, "")
	put(t, w, "r", 4, record.CycleEnd{Status: "answered", Summary: record.Say("fourth")})
	s := source(t, dir)
	for cycle, want := range map[int]string{
		1: "a=one!, b=two! / first", 2: "a=uno!, b=two / second first", 3: "a=uno, b deleted / second first", 4: "a deleted / fourth second first", 99: "a deleted / fourth second first",
	} {
		m, err := s.Remembered(context.Background(), "r", cycle)
		if err != nil || m.Partial {
			t.Fatal(m, err)
		}
		var keys, reflections []string
		for _, k := range m.Keys {
			one := fmt.Sprintf("%s=%s", k.Key, k.Value.Text)
			if k.Deleted {
				one = k.Key + " deleted"
			} else if k.Now {
				one += "!"
			}
			keys = append(keys, one)
		}
		for _, r := range m.Reflections {
			reflections = append(reflections, string(r.Text.Text))
		}
		if got := strings.Join(keys, ", ") + " / " + strings.Join(reflections, " "); got != want {
			t.Errorf("cycle %d: %s, want %s", cycle, got, want)
		}
	}
	recorded, _ := consoletest.Runs(t)
	m, err := source(t, recorded).Remembered(context.Background(), consoletest.First, 2)
	if err != nil || len(m.Keys) != 1 || m.Keys[0].Key != "rule" || !strings.Contains(string(m.Keys[0].Value.Text), "unless 400 does") || m.Keys[0].Cycle != 2 {
		t.Errorf("%+v, %v", m, err)
	}
	learned, err := source(t, recorded).Remembered(context.Background(), consoletest.Solved, 1)
	if err != nil || len(learned.Nodes) != 1 || learned.Nodes[0].Template == nil || !learned.Nodes[0].Template.New || learned.Nodes[0].Templates != 1 {
		t.Errorf("%+v, %v", learned, err)
	}
}

// The matrix has the similarities that the agent itself recorded, and 1 only for
// reflections that say the same.
func TestMatrix(t *testing.T) {
	dir, _ := consoletest.Runs(t)
	s := source(t, dir)
	m, err := s.Matrix(context.Background(), consoletest.First, window(t, ""))
	if err != nil || len(m.Reflections) < 8 || len(m.Similar) != len(m.Reflections) {
		t.Fatalf("%+v, %v", m, err)
	}
	measured := 0
	for i, r := range m.Reflections {
		best := 0.0
		for j, v := range m.Similar[i] {
			best = max(best, v)
			if v < 0 || v > 1 || (v == 1) != (m.Reflections[j].Text.Text == r.Text.Text) {
				t.Errorf("cycles %d and %d: %v", m.Reflections[j].Cycle, r.Cycle, v)
			}
		}
		if r.Method == "lexical" {
			if measured++; math.Abs(best-r.Similarity) > 0.0011 {
				t.Errorf("cycle %d: %v, the run measured %v", r.Cycle, best, r.Similarity)
			}
		}
	}
	if m.Threshold != agent.LexicalThreshold {
		t.Errorf("the threshold is %v, that of the agent %v", m.Threshold, agent.LexicalThreshold)
	}
	if measured < 3 {
		t.Errorf("the run measured %d", measured)
	}
	w, long := consoletest.Open(t)
	for c := range 60 {
		put(t, w, "r", c, record.CycleEnd{Summary: record.Say(strings.Repeat(fmt.Sprintf("word%d ", c), 20_000))})
	}
	if m, err := source(t, long).Matrix(context.Background(), "r", window(t, "to=50")); err != nil || len(m.Reflections) != 24 || m.More != 27 || m.Last != 50 || len(m.Reflections[0].Text.Text) > 4096 {
		t.Errorf("%d reflections, %d more, %v", len(m.Reflections), m.More, err)
	}
}

// Two recordings of the same experiment differ in what was changed, and in nothing
// else; a run beside itself is equal.
func TestCompare(t *testing.T) {
	dir, _ := consoletest.Runs(t)
	s := source(t, dir)
	c, err := s.Compare(context.Background(), consoletest.First, consoletest.Second, math.MinInt)
	if err != nil || len(c.Cycles) != 10 || c.Unknown {
		t.Fatalf("%+v, %v", c, err)
	}
	if len(c.Settings) != 2 || c.Settings[0] != (runview.Setting{Name: "cycles", A: "10", B: "6"}) || c.Settings[1].Name != "name" {
		t.Errorf("settings %+v", c.Settings)
	}
	for _, p := range c.Cycles {
		if p.A == nil || (p.B == nil) != (p.Cycle > 6) || p.Cycle < 6 && !p.Same {
			t.Errorf("%+v", p)
		}
	}
	same, err := s.Compare(context.Background(), consoletest.First, consoletest.First, 4)
	if err != nil || same.Differ != nil || len(same.Settings) > 0 || len(same.Cycles) != 7 || *same.Cycles[0].Similar != 1 {
		t.Errorf("%+v, %v", same, err)
	}
	if c, err := s.Compare(context.Background(), consoletest.First, consoletest.Solved, math.MinInt); err != nil || len(c.Settings) == 0 {
		t.Errorf("%+v, %v", c, err)
	}
	hostile, names := consoletest.AttackedRuns(t)
	for _, name := range names {
		if _, err := source(t, hostile).Compare(context.Background(), name, names[0], math.MinInt); err != nil {
			t.Error(err)
		}
	}
}

// A session is every exchange and every run with its identifier, in order, page by
// page; the agents that were called are nested, once each.
func TestSession(t *testing.T) {
	w, dir := consoletest.Open(t)
	for i := range 130 {
		x := consoletest.Exchange("m", fmt.Sprintf("question %d", i), fmt.Sprintf("<think>t</think>answer %d", i))
		x.IDs = map[string]string{[]string{"user", "session"}[i%2]: []string{"ada", "s-1", "s-1"}[i%3]}
		put(t, w, "", 0, x)
	}
	put(t, w, "task", 0, record.RunStart{Agent: "painter", IDs: map[string]string{"context": "s-1"}, Goal: record.Say("paint")})
	for cycle := 1; cycle <= 2; cycle++ {
		put(t, w, "task", cycle, record.CycleStart{Goal: record.Say(fmt.Sprintf("message %d", cycle))})
		for _, child := range []string{"task+a.1", "task", "task+a.1"} { // one calls its parent, and one twice
			put(t, w, "task", cycle, record.ToolCall{Name: "a", Phase: "end", Child: &record.Child{Run: child}})
		}
		put(t, w, "task", cycle, record.CycleEnd{Status: "answered", Summary: record.Say(fmt.Sprintf("done %d", cycle))})
	}
	for i := range 100 { // a chain of agents that ends where it began
		put(t, w, fmt.Sprintf("task+a.%d", i+1), 0, record.RunStart{Agent: "a", Parent: "task", Goal: record.Say("go")})
		put(t, w, fmt.Sprintf("task+a.%d", i+1), 0, record.ToolCall{Phase: "end", Child: &record.Child{Run: fmt.Sprintf("task+a.%d", (i+1)%100+1)}})
		put(t, w, fmt.Sprintf("task+a.%d", i+1), 0, record.RunEnd{Status: "answered", Result: record.Say("gone")})
	}
	s := source(t, dir)
	var all []string
	var depths []int
	for q, page := (runview.SessionQuery{ID: "s-1"}), 0; ; page++ {
		v, err := s.Session(context.Background(), q)
		if err != nil || len(v.Steps) > 600 || page > 4 {
			t.Fatal(page, err)
		}
		var said []string
		last := uint64(0)
		for i := range v.Steps {
			step := &v.Steps[i]
			if last > step.Event {
				t.Errorf("step %s is out of order", step.ID)
			}
			last = step.Event
			if step.Kind == trace.Question || step.Kind == trace.Answer || step.Kind == trace.End {
				said = append(said, step.Text.Plain())
			}
			depth := 0
			for list := step.Steps; len(list) > 0; depth++ {
				at := slices.IndexFunc(list, func(s trace.Step) bool { return s.Kind == trace.Call })
				if list[0].Text.Plain() != "go" || at < 0 || list[len(list)-1].Text.Plain() != "gone" {
					t.Fatalf("%+v", list)
				}
				list = list[at].Steps
			}
			if depth > 0 {
				depths = append(depths, depth)
			}
		}
		all = append(said, all...)
		if q.Before = v.Older; q.Before == 0 {
			break
		}
	}
	var want []string
	for i := range 130 {
		if i%3 > 0 {
			want = append(want, fmt.Sprintf("question %d", i), fmt.Sprintf("answer %d", i))
		}
	}
	want = append(want, "paint", "message 1", "done 1", "message 2", "done 2")
	if got := strings.Join(all, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("%d texts, want %d:\n%s", len(all), len(want), got)
	}
	if !slices.Equal(depths, []int{5}) {
		t.Errorf("agents are nested %v deep", depths)
	}
}

// The memory of a stream is the same by its record and by its file, and the drawing
// joins only what is drawn.
func TestMemory(t *testing.T) {
	dir, file := consoletest.Runs(t)
	g, err := metagraph.Open(file, metagraph.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	byRecord, err := source(t, dir).RecordMemory(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	byFile, err := runview.NewFile(g, "memory.db").Memory(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	if byRecord.Run != consoletest.Solved || byRecord.Templates == 0 || byRecord.Templates != byFile.Templates || byRecord.Traces != byFile.Traces || len(byRecord.Earned) != len(byFile.Earned) {
		t.Errorf("%d templates, %d traces, %d rows by the record; %d, %d, %d by the file", byRecord.Templates, byRecord.Traces, len(byRecord.Earned), byFile.Templates, byFile.Traces, len(byFile.Earned))
	}
	earned := map[string][2]int64{}
	for _, e := range byFile.Earned {
		earned[e.Kind+string(e.Key.Text)] = [2]int64{e.Used, e.Solved}
	}
	for _, e := range byRecord.Earned {
		if got := [2]int64{e.Used, e.Solved}; e.Kind == "template" && got != earned[e.Kind+string(e.Key.Text)] {
			t.Errorf("%s: used and solved %v by the record, %v by the file", e.Key.Text, got, earned[e.Kind+string(e.Key.Text)])
		}
	}
	hostile, _ := consoletest.AttackedRuns(t)
	attacked, err := source(t, hostile).RecordMemory(context.Background(), "")
	if err != nil || len(attacked.Earned) > 100 {
		t.Fatal(err)
	}
	for _, m := range []*runview.Memory{byRecord, byFile, attacked} {
		if len(m.Graph.Links) == 0 || len(m.Graph.Left) > 12 || len(m.Graph.Right) > 36 || len(m.Curve) != 2 {
			t.Errorf("%q %q: %d links of %d and %d", m.File, m.Run, len(m.Graph.Links), len(m.Graph.Left), len(m.Graph.Right))
		}
		for _, l := range m.Graph.Links {
			if l.Y1 != m.Graph.Left[l.From].Y || l.Y2 != m.Graph.Right[l.To].Y || l.Y1 < 0 || l.Y1 > m.Graph.High {
				t.Errorf("%+v", l)
			}
		}
	}
}
