package agent

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/recorded/recordstats"
	"github.com/sotto-llm/sotto/internal/testing/freeport"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// counted sums up the record of a run, as sotto record stats does.
func counted(t testing.TB, dir string) recordstats.Figures {
	t.Helper()
	sum := recordstats.New()
	for _, e := range events(t, dir, record.Query{}) {
		sum.Add(&e)
	}
	sum.Finish()
	return sum.Total
}

// A run and its record count the same: tokens, though the server reports none, and
// the bytes of thoughts and replies, though the thoughts come beside the text and a
// reply breaks off. So do the metrics of a replay.
func TestAccountsAgree(t *testing.T) {
	dir := t.TempDir()
	x := Experiment{Name: "r", Cycles: 2, Limits: Limits{RetryWait: 1}, Model: scripted(t, `
- when: {user: "cycle 1 of"}
  thought: I begin.
  text: "I am"
  error: {kind: broken_off}
- thought: Thinking beside the text.
  text: "<think>And in it.</think>Said."
`)}
	s := run1(t, x, dir)
	m, f := s.Metrics, counted(t, dir)
	if m.ReplyBytes != len("I begin.I amI begin.I amThinking beside the text.<think>And in it.</think>Said.") || m.Unanswered != 0 || m.Invocations != 3 {
		t.Errorf("%+v", m)
	}
	if want := len("I begin.I begin.Thinking beside the text.And in it."); m.ThoughtBytes != want {
		t.Errorf("%d bytes of thoughts, want %d", m.ThoughtBytes, want)
	}
	got := []int64{f.InputTokens, f.OutputTokens, int64(f.Bytes), int64(f.ReasoningBytes), int64(f.Replies)}
	want := []int64{m.InputTokens, m.OutputTokens, int64(m.ReplyBytes), int64(m.ThoughtBytes), 3}
	if d := cmp.Diff(want, got); d != "" || m.InputTokens == 0 || m.OutputTokens == 0 {
		t.Errorf("the run and its record (-run +record):\n%s", d)
	}
	if p, err := Replay(t.Context(), x, filepath.Join(dir, "record"), Options{}); err != nil || p.Difference != nil || p.Metrics != m {
		t.Errorf("replayed: %+v, %v", p, err)
	}
}

// A server that cannot be reached reads nothing and replies nothing.
func TestUnreachedServerCountsNothing(t *testing.T) {
	m, err := model.Open(model.Config{Provider: "ollama", Model: "m", URL: "http://" + freeport.Find(t), Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	turn := Turn{Model: m, Limits: Limits{Attempts: 2, RetryWait: 1}}
	o, err := turn.Converse(t.Context(), ask("Is anybody there?"))
	if err != nil {
		t.Fatal(err)
	}
	if m := o.Metrics; o.Status != Failed || m.Invocations != 2 || m.Unanswered != 2 || m.InputTokens+m.OutputTokens != 0 {
		t.Errorf("%s: %+v", o.Status, m)
	}
}

// The thought of a reflection of three parts is a thought wherever it is counted,
// recorded or shown, also inside a fence, twice, or where the form is wrong.
func TestTemplateThoughtIsAThought(t *testing.T) {
	const good = `{"thought": "CANARY é", "reflection_on_progress": "half", "plan_for_next_cycle": "rest"}`
	for name, tt := range map[string]struct {
		raw  string
		want []string // the thoughts, as they stand in the reply
	}{
		"alone":          {good, []string{`"CANARY é"`}},
		"after a block":  {"<think>So.</think>\n\n" + good + "\n", []string{"So.", `"CANARY é"`}},
		"fenced":         {"```json\n" + good + "\n```", []string{`"CANARY é"`}},
		"twice":          {strings.Replace(good, "{", `{"Thought": "CANARY",`, 1), []string{`"CANARY"`, `"CANARY é"`}},
		"quoted in both": {"<think>" + good + "</think>" + good, []string{good, `"CANARY é"`}},
		"cut in two":     {`{"thought": "CANARY<think>So.</think>", "plan_for_next_cycle": "rest"}`, []string{`{"thought": "CANARY`, "So.", `", "plan_for_next_cycle": "rest"}`}},
		"malformed":      {`{"thought": "CANARY", "mood": "fine"}`, []string{`{"thought": "CANARY", "mood": "fine"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var shown strings.Builder
			o := in(dir)
			o.Observer.OnText = func(s string) { shown.WriteString(s) }
			x := Experiment{Name: "r", Cycles: 1, Template: true, Limits: Limits{Retries: -1}, Model: &parrot{replies: []model.Reply{{Raw: tt.raw, End: sotto.EndStopped}}}}
			s, err := Run(t.Context(), x, o)
			if err != nil {
				t.Fatal(err)
			}
			size := 0
			for _, thought := range tt.want {
				size += len(thought)
			}
			if s.Metrics.ThoughtBytes != size || counted(t, dir).ReasoningBytes != size {
				t.Errorf("%d bytes of thoughts, %d in the record, want %d", s.Metrics.ThoughtBytes, counted(t, dir).ReasoningBytes, size)
			}
			r := events(t, dir, record.Query{Types: []record.Type{record.TypeInvocation}})[0].Payload.(record.Invocation).Replies[0]
			var got []string
			for _, g := range r.Segments {
				if g.Channel == sotto.ChannelReasoning {
					got = append(got, string(r.Raw.Text)[g.Start:g.End])
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if strings.Contains(shown.String(), canary) {
				t.Errorf("shown: %s", shown.String())
			}
		})
	}
}

// At level digest for reasoning, the record of a turn holds no thought of a
// reflection, and the rest of it.
func TestTemplateThoughtIsWithheld(t *testing.T) {
	dir := t.TempDir()
	w, err := record.Open(filepath.Join(dir, "record"), record.Options{Reasoning: record.Off})
	if err != nil {
		t.Fatal(err)
	}
	u, err := (&Turn{Model: &parrot{replies: []model.Reply{{Raw: `{"thought": "CANARY", "reflection_on_progress": "half"}`, End: sotto.EndStopped}}}, Record: w}).open()
	if err != nil {
		t.Fatal(err)
	}
	u.template = true
	u.begin(ask("Reflect."))
	if _, err := u.converse(t.Context(), invoke); err != nil {
		t.Fatal(err)
	}
	w.Close()
	line := string(events(t, dir, record.Query{})[0].Line())
	if strings.Contains(line, canary) || !strings.Contains(line, "half") {
		t.Error(line)
	}
}

// CYCLE_END names the reply that its summary comes from, also where the model was
// asked for something else after it; and a record of before, which names none, can
// be replayed.
func TestCycleEndNamesItsReply(t *testing.T) {
	dir := t.TempDir()
	x := Experiment{Name: "r", Cycles: 2, Policy: Summary, Model: scripted(t, `
- when: {contains: "working notes"}
  text: It was thought about.
- text: "<think>A thought.</think>The reflection."
`)}
	run1(t, x, dir)
	list := events(t, dir, record.Query{})
	ends := 0
	for _, e := range list {
		end, ok := e.Payload.(record.CycleEnd)
		if !ok {
			continue
		}
		ends++
		if end.Of == nil {
			t.Fatal("CYCLE_END names no reply")
		}
		said, ok := list[end.Of.Seq-1].Payload.(record.Invocation)
		if !ok || said.Purpose != "act" || said.Replies[0].Digest != end.Of.Digest || !strings.Contains(string(said.Replies[0].Raw.Text), string(end.Summary.Text)) {
			t.Errorf("the summary %q is said to come from event %d: %+v", end.Summary.Text, end.Of.Seq, said)
		}
	}
	if ends != 2 {
		t.Errorf("%d cycles", ends)
	}
	old := t.TempDir()
	w, err := record.Open(old, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, e := range list {
		if end, ok := e.Payload.(record.CycleEnd); ok {
			end.Of = nil
			e.Payload = end
		}
		if _, err := w.Append(t.Context(), record.Event{Run: e.Run, Cycle: e.Cycle, Payload: e.Payload}); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := Replay(t.Context(), x, old, Options{}); err != nil || p.Difference != nil || p.Unfinished {
		t.Errorf("%+v, %v", p.Difference, err)
	}
}

// A run whose record counts otherwise, because an earlier version wrote it, can be
// resumed.
func TestOtherCountsCanBeResumed(t *testing.T) {
	dir, old := t.TempDir(), t.TempDir()
	x := Experiment{Name: "r", Cycles: 2, Model: scripted(t, "- text: Said.")}
	run1(t, x, dir)
	w, err := record.Open(filepath.Join(old, "record"), record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events(t, dir, record.Query{Limit: 5}) {
		if end, ok := e.Payload.(record.CycleEnd); ok {
			end.Metrics.ReplyBytes++
			e.Payload = end
		}
		if _, err := w.Append(t.Context(), record.Event{Run: e.Run, Cycle: e.Cycle, Payload: e.Payload}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if s := run1(t, x, old); s.Status != Done || s.Passed != 5 {
		data, _ := json.Marshal(s)
		t.Errorf("%s", data)
	}
}
