package thoughts

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/record"
)

// A history makes events as a record has them.
type history struct {
	events []record.Event
	t      *testing.T
}

func (h *history) add(run string, cycle int, p record.Payload) uint64 {
	h.events = append(h.events, record.Event{
		V: record.Version, Seq: uint64(len(h.events) + 1), Time: time.Unix(int64(len(h.events)), 0).UTC(), Run: run, Cycle: cycle, Type: p.Type(), Payload: p,
	})
	return uint64(len(h.events))
}

// reply adds a reply, and returns a reference to it.
func (h *history) reply(run string, cycle int, model, raw string, tools ...string) record.Ref {
	h.t.Helper()
	reading, err := sotto.Default().Parse(raw, sotto.BeginOutside, sotto.EndStopped)
	if err != nil {
		h.t.Fatal(err)
	}
	r := record.ReplyOf(reading)
	r.Digest = record.DigestOf(raw)
	x := record.Invocation{Model: model, Purpose: "act", Replies: []record.Reply{r}}
	for _, name := range tools {
		x.Tools = append(x.Tools, record.Tool{Name: name})
	}
	return record.Ref{Seq: h.add(run, cycle, x), Digest: r.Digest}
}

func (h *history) verdict(run string, cycle int, of record.Ref, ok bool) {
	h.add(run, cycle, record.Extraction{Of: of, Method: "boxed", Status: "ok", Verdict: &record.Verdict{OK: ok}})
}

func (h *history) analyse(o Options) *Report {
	h.t.Helper()
	r, err := Analyse(stream(h.events), o)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func stream(events []record.Event) iter.Seq2[record.Event, error] {
	return func(yield func(record.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// row returns the only row that a condition selects.
func row[Row any](t *testing.T, f Figure[Row], is func(Row) bool) Row {
	t.Helper()
	var found []Row
	for _, r := range f.Rows {
		if is(r) {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d rows are selected, want 1: %+v", len(found), found)
	}
	return found[0]
}

var vocabulary = strings.Fields("wait maybe the number is even so it divides by two hmm check again first second prime sum product note tool result because therefore")

// randomRuns makes runs of which each has cycles with a few replies and verdicts.
func randomRuns(t *testing.T, r *rand.Rand, runs, cycles int) *history {
	h := &history{t: t}
	for n := range runs {
		run := fmt.Sprintf("run-%d", n)
		model := fmt.Sprintf("model-%d", n%3)
		h.add(run, 0, record.RunStart{Model: model, Config: map[string]string{"seed": fmt.Sprint(n % 2)}})
		for c := 1; c <= cycles; c++ {
			for range 1 + r.IntN(2) {
				var thought []string
				for range r.IntN(60) {
					thought = append(thought, vocabulary[r.IntN(len(vocabulary))])
				}
				raw := "The answer is " + strings.Repeat("4", 1+r.IntN(9))
				if len(thought) > 0 {
					raw = "<think>" + strings.Join(thought, " ") + "</think>" + raw
				}
				of := h.reply(run, c, model, raw, "note", "search")
				if r.IntN(3) == 0 {
					h.add(run, c, record.ToolCall{Name: "note", Phase: "start"})
				}
				if r.IntN(5) > 0 {
					h.verdict(run, c, of, r.IntN(2) == 0)
				}
			}
		}
		h.add(run, 0, record.RunEnd{Status: "done"})
	}
	return h
}

func encoded(t *testing.T, r *Report) string {
	t.Helper()
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestOrderOfRecords merges the runs in other orders: no figure changes, except for
// the numbers of events that the exemplars name. With a small sample, the sample is
// the same too.
func TestOrderOfRecords(t *testing.T) {
	h := randomRuns(t, rand.New(rand.NewPCG(3, 4)), 9, 6)
	perRun := map[string][]record.Event{}
	var names []string
	for _, e := range h.events {
		if perRun[e.Run] == nil {
			names = append(names, e.Run)
		}
		perRun[e.Run] = append(perRun[e.Run], e)
	}
	for _, o := range []Options{{}, {By: "seed"}, {By: ByVerdict}, {Replies: 40, Texts: 20}} {
		want := encoded(t, h.analyse(o))
		if again := encoded(t, h.analyse(o)); again != want {
			t.Errorf("%+v: the same events give another report:\n%s", o, cmp.Diff(want, again))
		}
		for seed := range uint64(2) {
			r := rand.New(rand.NewPCG(seed, 9))
			var merged []record.Event
			left := map[string][]record.Event{}
			for run, events := range perRun {
				left[run] = events
			}
			for open := slices.Clone(names); len(open) > 0; {
				i := r.IntN(len(open))
				run := open[i]
				merged = append(merged, left[run][0])
				if left[run] = left[run][1:]; len(left[run]) == 0 {
					open = slices.Delete(open, i, i+1)
				}
			}
			report, err := Analyse(stream(merged), o)
			if err != nil {
				t.Fatal(err)
			}
			if got := encoded(t, report); got != want {
				t.Fatalf("%+v: the order of the runs changes the figures:\n%s", o, cmp.Diff(want, got))
			}
		}
	}
}

// TestSizes counts the bytes by hand.
func TestSizes(t *testing.T) {
	h := &history{t: t}
	h.reply("a", 1, "m", "<think>12345678</think>ab") // 8 of 25 bytes
	h.reply("a", 2, "m", "no thought")                // 0 of 10
	h.add("a", 2, record.Invocation{Model: "m", Usage: &record.Usage{Reasoning: 7}, Replies: []record.Reply{{
		Raw: record.Say("said"), End: sotto.EndStopped, Digest: record.DigestOf("said"),
		Reasoning: []record.Thought{{Field: "thinking", Text: record.Say("apart")}, {Field: "signed", Text: record.Say("sealed"), Sealed: true}},
	}}}) // 11 of 15
	r := h.analyse(Options{})
	want := Source{Events: 3, Replies: 3, Thinking: 2, ThoughtBytes: 19, ReplyBytes: 50, Sealed: 6, Held: 3, WithText: 2, Texts: 2, Settings: []string{}}
	if diff := cmp.Diff(want, r.Source); diff != "" {
		t.Error(diff)
	}
	s := row(t, r.Size, func(s Size) bool { return s.Group == "m" })
	if s.Share.Value != 19.0/50 || s.Bytes.Value != 9.5 || s.Bytes.N != 2 || s.Tokens.Value != 7 || s.Tokens.N != 1 || s.Quartiles != [4]int{8, 8, 11, 11} || s.Share.Unit != "cycle" {
		t.Errorf("%+v", s)
	}
	c := row(t, r.Cycles, func(c Cycle) bool { return c.Group == allGroup && c.From == 2 })
	if c.Bytes.Value != 11 || c.Bytes.N != 1 || c.Share.Value != 11.0/25 || c.Share.Interval != nil {
		t.Errorf("%+v", c)
	}
}

// TestBins checks that many cycles become at most 50 rows that hold every reply once.
func TestBins(t *testing.T) {
	for _, last := range []int{49, 50, 51, 99, 100, 101, 1000} {
		h := &history{t: t}
		for c := 1; c <= last; c++ {
			h.reply("a", c, "m", "<think>x</think>y")
		}
		rows, replies, next := 0, 0, 1
		for _, c := range h.analyse(Options{}).Cycles.Rows {
			if c.Group != allGroup {
				continue
			}
			if c.From != next {
				t.Errorf("%d cycles: a row begins at %d, want %d", last, c.From, next)
			}
			rows, replies, next = rows+1, replies+c.Share.N, c.To+1
		}
		if rows > maxBins || replies != last || next != last+1 {
			t.Errorf("%d cycles: %d rows with %d replies, up to %d", last, rows, replies, next-1)
		}
	}
}

// TestAnnounced names tools, calls them, and does not.
func TestAnnounced(t *testing.T) {
	h := &history{t: t}
	h.reply("a", 1, "m", "<think>I will call read_file(\"a\"), then search_web(1).</think>ok", "read_file", "search", "write")
	h.add("a", 1, record.ToolCall{Name: "read_file", Phase: "start"})
	h.add("a", 1, record.ToolCall{Name: "read_file", Phase: "end"})
	h.add("a", 1, record.ToolCall{Name: "write", Phase: "start"})
	h.reply("a", 2, "m", "<think>Search? No: search(\"b\"). Write and\nAction: read_file</think>ok", "read_file", "search", "write")
	h.reply("a", 2, "m", "no thought, later in the cycle", "read_file", "search", "write")
	h.add("a", 2, record.ToolCall{Name: "search", Phase: "start"})
	h.add("a", 3, record.CycleStart{})
	h.reply("a", 3, "m", "says read_file, thinks nothing", "read_file")
	called := record.Exchange{Model: "m", Tools: []record.Tool{{Name: "search"}}, Replies: []record.Reply{{
		Reasoning: []record.Thought{{Text: record.Say("{\"name\": \"search\"}")}}, ToolCalls: []record.Call{{Name: "search"}},
	}}}
	h.add("", 0, called)
	called.Replies = slices.Clone(called.Replies)
	called.Replies[0].ToolCalls = nil
	h.add("", 0, called)
	r := h.analyse(Options{})
	for tool, want := range map[string][4]int{ // turns, named, not called, called and not named
		"read_file": {2, 2, 1, 0}, "search": {4, 3, 1, 0}, "write": {2, 0, 0, 1}, allGroup: {8, 5, 2, 1},
	} {
		a := row(t, r.Announced, func(a Announced) bool { return a.Tool == tool && a.Group == allGroup })
		if got := [4]int{a.Turns, a.Named, a.NotCalled.Count, a.Unnamed}; got != want || a.NotCalled.Of != a.Named {
			t.Errorf("%s: %v, want %v", tool, got, want)
		}
	}
}

// TestWritesCall: the syntax of a call counts, the word in a sentence does not.
func TestWritesCall(t *testing.T) {
	for _, text := range []string{
		`search("x")`, `I try search(x).`, `{"name": "search", "arguments": {}}`, `{'tool':'search'}`, `<search>x</search>`, `<search/>`, `<function=search>`,
		`<invoke name="search">`, "Thought: look\nAction: search\nAction Input: x", `Action: search[x]`, "- **Tool**: `search`", `to=functions.search`,
		`functions.search:0`, `<tool_call>search`, `[TOOL_CALLS]search`, `research, then search()`,
	} {
		if !writesCall(text, "search") {
			t.Errorf("%q is not a call", text)
		}
	}
	for _, text := range []string{
		"", "search", "I search (again) for it", "a search.", "`search`", "Action: search the web for it", "the name: search", "re.search(x)", "research(x)", "search_web(x)",
		"Search(x)", "ésearch(x)", "filename=searching", "my action: search", "a < search > b", "action plan: search",
	} {
		if writesCall(text, "search") {
			t.Errorf("%q is a call", text)
		}
	}
}

// TestRepetition compares with what a reader sees.
func TestRepetition(t *testing.T) {
	h := &history{t: t}
	same, other := "<think>alpha beta gamma delta epsilon</think>x", "<think>one zwei trois quatro fem shest</think>x"
	for c, raw := range []string{same, same, other} {
		h.reply("a", c+1, "m", raw)
		h.reply("b", c+1, "m", other)
	}
	h.reply("c", 1, "m", "<think>"+strings.Repeat("go on and on ", 20)+"</think>x")
	r := h.analyse(Options{})
	value := func(measure string) Estimate {
		return row(t, r.Repetition, func(r Repetition) bool { return r.Group == allGroup && r.Measure == measure }).Estimate
	}
	near := func(name string, got, want float64) {
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	// In a: same, same, other; in b: three times the same. So 1, 0, 1, 1.
	near("previous", value(Previous).Value, 0.75)
	near("identical", value(Identical).Value, 6.0/7)
	near("loops", value(Loops).Value, 1.0/7)
	// The loop has 80 words, so 77 shingles, of which 4 differ.
	near("itself", value(Itself).Value, 73.0/77/7)
	if n := value(Previous).N; n != 4 {
		t.Errorf("%d pairs, want 4", n)
	}
}

// TestAcross compares the similarity between runs with that of all pairs.
func TestAcross(t *testing.T) {
	h := randomRuns(t, rand.New(rand.NewPCG(5, 6)), 4, 5)
	c := newCollector(Options{}.orDefaults())
	for i := range h.events {
		c.event(&h.events[i], nil)
	}
	list := c.replies.list()
	in := lexicalVectors{}
	var sums []float64
	for _, a := range list {
		sum, n := 0.0, 0
		for _, b := range list {
			if a.text != "" && b.text != "" && a.root() != b.root() {
				sum, n = sum+in.similarity(a, b), n+1
			}
		}
		if n > 0 {
			sums = append(sums, sum/float64(n))
		}
	}
	want := 0.0
	for _, s := range sums {
		want += s / float64(len(sums))
	}
	if got := across(list, in); math.Abs(got.Value-want) > 1e-9 || got.N != len(sums) {
		t.Errorf("%v of %d, want %v of %d", got.Value, got.N, want, len(sums))
	}
}

// TestLevels reads records that hold less than all: sizes stay the same, texts are
// absent, and the report says so.
func TestLevels(t *testing.T) {
	h := randomRuns(t, rand.New(rand.NewPCG(7, 8)), 3, 4)
	read := func(level record.Level) *Report {
		dir := t.TempDir()
		w, err := record.Open(dir, record.Options{Policy: record.None, Reasoning: level})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range h.events {
			if x, ok := e.Payload.(record.Invocation); ok {
				x.Replies = slices.Clone(x.Replies)
				e.Payload = x
			}
			if e.Type == record.TypeExtraction { // the digest of a withheld reply is another one
				continue
			}
			if _, err := w.Append(t.Context(), record.Event{Run: e.Run, Cycle: e.Cycle, Payload: e.Payload}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		rd, err := record.OpenReader(dir, record.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Analyse(rd.Events(record.Query{}), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	full := read(record.Full)
	for _, level := range []record.Level{record.Off, record.Digests} {
		r := read(level)
		if diff := cmp.Diff(full.Size.Rows, r.Size.Rows, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Withheld" }, cmp.Ignore())); diff != "" {
			t.Errorf("level %v: the sizes differ:\n%s", level, diff)
		}
		if r.Source.Withheld != full.Source.ThoughtBytes || r.Source.Texts != 0 || len(r.Repetition.Rows) > 0 || r.Repetition.Note != noTexts || r.Phrases.Note != noTexts {
			t.Errorf("level %v: %+v, %q", level, r.Source, r.Repetition.Note)
		}
	}
}

// TestEncrypted refuses batches that nobody decrypted.
func TestEncrypted(t *testing.T) {
	_, err := Analyse(stream([]record.Event{{Type: record.TypeSealed, Payload: record.SealedBatch{}}}), Options{})
	if !errors.Is(err, record.ErrSealed) {
		t.Error(err)
	}
}

// TestBounds reads many more replies, runs and groups than are held.
func TestBounds(t *testing.T) {
	h := &history{t: t}
	for i := range 1200 {
		run := fmt.Sprintf("r%d", i%600)
		h.reply(run, i/600+1, fmt.Sprintf("m%d", i), "<think>some thought "+fmt.Sprint(i)+"</think>x")
	}
	o := Options{Replies: 500, Texts: 100}
	c := newCollector(o.orDefaults())
	for i := range h.events {
		c.event(&h.events[i], nil)
		if len(c.replies.heap) > 500 || len(c.at) > 500 || len(c.texts.heap) > 100 || len(c.open) > maxOpen {
			t.Fatalf("event %d: holds %d replies, %d places, %d texts, %d runs", i, len(c.replies.heap), len(c.at), len(c.texts.heap), len(c.open))
		}
	}
	texts := 0
	for _, r := range c.replies.heap {
		if r.text != "" {
			texts++
		}
	}
	r := h.analyse(o)
	if texts != 100 || r.Source.Replies != 1200 || r.Source.Held != 500 || !strings.Contains(r.Source.Sample, "500 of 1200 replies and 100 of 1200 texts") || r.Source.Reopened == 0 {
		t.Errorf("%d texts; %+v", texts, r.Source)
	}
	if len(r.Size.Rows) != maxGroups+1 || r.Size.Rows[maxGroups-1].Group != otherGroup {
		t.Errorf("%d groups", len(r.Size.Rows))
	}
}

// replyIn returns the raw reply of an invocation.
func replyIn(e *record.Event) (string, bool) {
	x, ok := e.Payload.(record.Invocation)
	if !ok {
		return "", false
	}
	return string(x.Replies[0].Raw.Text), true
}

// TestFilter selects replies. Verdicts and calls count wherever they stand.
func TestFilter(t *testing.T) {
	h := &history{t: t}
	var refs []record.Ref
	for i, model := range []string{"one", "two", "one", "two"} {
		refs = append(refs, h.reply("ab"[i/2:i/2+1], i+1, model, "<think>use note"+strings.Repeat("!", i)+"</think>x", "note")) // events 1 to 4, at seconds 0 to 3
	}
	for i, of := range refs {
		h.verdict("ab"[i/2:i/2+1], i+1, of, true)
	}
	cycle := 3
	for name, test := range map[string]struct {
		f      Filter
		cycles []int
	}{
		"all": {Filter{}, []int{1, 2, 3, 4}}, "run": {Filter{Run: "b"}, []int{3, 4}}, "cycle": {Filter{Cycle: &cycle}, []int{3}},
		"model": {Filter{Model: "two"}, []int{2, 4}}, "from": {Filter{From: time.Unix(1, 0)}, []int{2, 3, 4}}, "to": {Filter{To: time.Unix(1, 0)}, []int{1}},
		"after": {Filter{After: 3}, []int{4}}, "diagnostic": {Filter{Diagnostic: "truncated"}, nil},
	} {
		r := h.analyse(Options{Filter: test.f})
		var got []int
		for _, c := range r.Cycles.Rows {
			if c.Group == allGroup {
				got = append(got, c.From)
			}
		}
		if !slices.Equal(got, test.cycles) || r.Source.Judged != len(test.cycles) {
			t.Errorf("%s: cycles %v with %d verdicts, want %v", name, got, r.Source.Judged, test.cycles)
		}
	}
}

// TestPruned reads a record whose first replies were pruned: their verdicts and calls
// refer to nothing.
func TestPruned(t *testing.T) {
	h := &history{t: t}
	gone := h.reply("a", 1, "m", "<think>gone</think>x")
	h.verdict("a", 1, gone, true)
	h.add("a", 1, record.ToolCall{Name: "note", Phase: "start"})
	h.verdict("a", 2, h.reply("a", 2, "m", "<think>kept</think>x"), false)
	h.verdict("a", 2, record.Ref{Seq: 4, Digest: record.DigestOf("another reply")}, true)
	h.events = h.events[1:]
	r := h.analyse(Options{})
	if s := r.Source; s.Replies != 1 || s.Verdicts != 3 || s.Judged != 1 {
		t.Errorf("%+v", s)
	}
	if q := row(t, r.Verdicts, func(q Quantile) bool { return q.Group == "m" }); q.Right.Of != 1 || q.Right.Count != 0 {
		t.Errorf("%+v", q)
	}
}
