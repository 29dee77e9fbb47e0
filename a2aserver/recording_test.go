package a2aserver

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/record"
)

// recorded opens a record. The function closes it, and returns its events.
func recorded(t *testing.T, o record.Options) (*record.Writer, func() []record.Event) {
	t.Helper()
	dir := t.TempDir()
	w, err := record.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return w, func() (list []record.Event) {
		t.Helper()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := record.OpenReader(dir, record.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range r.Events(record.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, e)
		}
		return list
	}
}

// outline is a line for each event: its run without the task's id, its cycle and
// type, and what it says in short.
func outline(task a2a.TaskID, list []record.Event) (lines []string) {
	for _, e := range list {
		say := ""
		switch p := e.Payload.(type) {
		case record.RunStart:
			say = string(p.Goal.Text)
		case record.CycleStart:
			say = string(p.Goal.Text)
		case record.Invocation:
			say = fmt.Sprintf("%d messages", len(p.Messages))
			for _, r := range p.Replies {
				say += ": " + string(r.Raw.Text)
			}
			if p.Error != "" {
				say += ": " + p.Error
			}
		case record.ToolCall:
			say = p.Name + " " + p.Phase + " " + string(p.Result.Text)
		case record.CycleEnd:
			say = p.Status + " " + string(p.Summary.Text)
			if p.Of != nil {
				say += fmt.Sprintf(" of %d", p.Of.Seq)
			}
		case record.RunEnd:
			say = p.Status + " " + string(p.Result.Text)
		}
		run := strings.Replace(e.Run, string(task), "TASK", 1)
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s/%d %s %s", run, e.Cycle, e.Type, say)))
	}
	return lines
}

// A task of a chat model is a run in the record, with the prompt and the thoughts,
// named by the task, its context and its caller.
func TestChatIsRecorded(t *testing.T) {
	w, read := recorded(t, record.Options{})
	h := serveUntil(t, Config{Mind: scripted(t, thinking), Record: w, Tokens: []Token{{Name: "ann", Secret: "a"}}})
	req := message("What is it?")
	req.Message.ContextID = "talk-7"
	task := send(t, client(t, h.url(), 0, "Authorization", "Bearer a"), req)
	h.close(t)
	list := read()
	if len(list) != 5 {
		t.Fatalf("%q", outline(task.ID, list))
	}
	start := list[0].Payload.(record.RunStart)
	trace := start.IDs[record.IDTrace]
	if len(trace) != 32 {
		t.Errorf("the trace is %q", trace)
	}
	start.Goal, start.Model, start.Agent = record.Content{}, "", ""
	if d := cmp.Diff(record.RunStart{Caller: "ann", IDs: map[string]string{"context": "talk-7", record.IDTrace: trace}}, start); d != "" {
		t.Error(d)
	}
	x := list[2].Payload.(record.Invocation)
	if len(x.Messages) != 1 || x.Messages[0].Text.Text != "What is it?" || !strings.Contains(string(x.Replies[0].Raw.Text), "SECRET") {
		t.Errorf("%+v", x)
	}
	end := list[3].Payload.(record.CycleEnd)
	if m := end.Metrics; m == nil || m.Invocations != 1 || m.ThoughtBytes == 0 || m.ReplyBytes <= m.ThoughtBytes || end.Of == nil || end.Of.Digest != x.Replies[0].Digest {
		t.Errorf("%+v %+v", end, end.Metrics)
	}
	got := outline(task.ID, append(list[:2:2], list[3:]...))
	want := []string{
		"TASK/0 RUN_START What is it?", "TASK/1 CYCLE_START What is it?", "TASK/1 CYCLE_END answered Forty-two. of 3", "TASK/0 RUN_END answered Forty-two.",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A task of an agent is one run, with a cycle for each message, its calls, and the
// agents that it calls, which work behind A2A too.
func TestAgentIsRecorded(t *testing.T) {
	const script = `
{"when":{"system":"You mix."},"text":"<think>SECRET mixing</think>A good red."}
{"when":{"tool":"send_message_to_operator"},"text":"<think>SECRET three</think>Painted it."}
{"when":{"tool":"mixer"},"text":"<think>SECRET two</think>","calls":[{"name":"send_message_to_operator","arguments":{"message":"Where?"}}]}
{"text":"<think>SECRET one</think>","calls":[{"name":"mixer","arguments":{"task":"Mix red."}}]}
`
	w, read := recorded(t, record.Options{})
	h := serveUntil(t, Config{Record: w, Mind: &AgentMind{Turn: agent.Turn{
		Model: scripted(t, script).Model, Tools: []agent.Tool{AskCaller()}, Agents: []agent.Subagent{{Name: "mixer", Description: "Mixes.", System: "You mix."}},
	}}})
	c := client(t, h.url(), 0)
	task := send(t, c, message("Paint it."))
	if task.Status.State != a2a.TaskStateInputRequired {
		t.Fatalf("%+v", task.Status)
	}
	told := false
	for _, m := range task.History {
		for _, p := range m.Parts {
			told = told || p.Text() == "mixer: done"
		}
	}
	if !told {
		t.Errorf("the agent below is not shown by its name: %+v", task.History)
	}
	if text, _ := answerOf(t, send(t, c, follow("There.", task))); text != "Painted it." {
		t.Errorf("%q", text)
	}
	h.close(t)
	list := read()
	want := []string{
		"TASK/0 RUN_START Paint it.",
		"TASK/1 CYCLE_START Paint it.",
		"TASK/1 LLM_INVOCATION 1 messages: <think>SECRET one</think>",
		"TASK/1 TOOL_CALL mixer start",
		"TASK+mixer.1/0 RUN_START Mix red.",
		"TASK+mixer.1/0 LLM_INVOCATION 2 messages: <think>SECRET mixing</think>A good red.",
		"TASK+mixer.1/0 RUN_END answered A good red.",
		"TASK/1 TOOL_CALL mixer end A good red.",
		"TASK/1 LLM_INVOCATION 3 messages: <think>SECRET two</think>",
		"TASK/1 TOOL_CALL send_message_to_operator start",
		"TASK/1 CYCLE_END asked Where? of 9",
		"TASK/2 CYCLE_START There.",
		"TASK/2 TOOL_CALL send_message_to_operator end There.",
		"TASK/2 LLM_INVOCATION 5 messages: <think>SECRET three</think>Painted it.",
		"TASK/2 CYCLE_END answered Painted it. of 14",
		"TASK/0 RUN_END answered Painted it.",
	}
	if d := cmp.Diff(want, outline(task.ID, list)); d != "" {
		t.Error(d)
	}
	invocations := 0
	for _, e := range list {
		if end, ok := e.Payload.(record.CycleEnd); ok {
			invocations += end.Metrics.Invocations
		}
	}
	if invocations != 3 {
		t.Errorf("the cycles count %d invocations", invocations)
	}
}

// What a model thought before its task was cancelled is in the record, and the
// run ends after it.
func TestCancelledIsRecorded(t *testing.T) {
	script := `{"text":"<think>SECRET` + strings.Repeat(" and so on", 1000) + `","pause":"20ms"}`
	for name, mind := range map[string]Mind{
		"chat":  &ChatMind{Model: scripted(t, script).Model, Start: sotto.BeginOutside},
		"agent": &AgentMind{Turn: agent.Turn{Model: scripted(t, script).Model, Start: sotto.BeginOutside}},
	} {
		t.Run(name, func(t *testing.T) {
			w, read := recorded(t, record.Options{})
			h := serveUntil(t, Config{Mind: heardMind{mind}, Record: w, Reasoning: true})
			c := client(t, h.url(), 0)
			var id a2a.TaskID
			for e, err := range c.SendStreamingMessage(t.Context(), message("Hi")) {
				if err != nil {
					t.Fatal(err)
				}
				if id == "" {
					id = e.TaskInfo().TaskID
				}
				if u, ok := e.(*a2a.TaskStatusUpdateEvent); ok && u.Status.Message != nil {
					if _, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: id}); err != nil {
						t.Fatal(err)
					}
				}
			}
			h.close(t)
			want := []string{
				"TASK/0 RUN_START Hi", "TASK/1 CYCLE_START Hi",
				"TASK/1 LLM_INVOCATION 1 messages: <think>SECRET", "consumer stopped", "TASK/1 CYCLE_END canceled", "TASK/0 RUN_END canceled",
			}
			var got []string
			for _, line := range outline(id, read()) {
				if _, cut, ok := strings.Cut(line, "SECRET"); ok {
					got = append(got, strings.TrimSuffix(line, cut))
					line = cut[strings.LastIndex(cut, ": ")+2:]
					// The stream of the model and the reader of its events learn of
					// the cancellation at the same time; either may end the reply.
					if line == context.Canceled.Error() {
						line = "consumer stopped"
					}
				}
				got = append(got, strings.TrimSpace(strings.TrimSuffix(line, " of 3")))
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// heardMind tells a bit of progress when something was heard of its mind.
type heardMind struct{ Mind }

func (m heardMind) Answer(ctx context.Context, t Turn, on func(Event) error) (Outcome, error) {
	said := false
	return m.Mind.Answer(ctx, t, func(e Event) error {
		if !said {
			said = true
			if err := on(Narration{Text: "heard"}); err != nil {
				return err
			}
		}
		return on(e)
	})
}

// The levels of the record hold for A2A too: no thought is in it, nor a reply that
// was cut before anybody could know what it was, which the client does not get.
func TestRecordedLevels(t *testing.T) {
	for name, script := range map[string]string{
		"marked":    `{"text":"<think>SECRET</think>Yes."}`,
		"undecided": `{"text":"SECRET it may be","finish":"length"}`,
		"native":    `{"thought":"SECRET","text":"Yes."}`,
	} {
		w, read := recorded(t, record.Options{Reasoning: record.Off})
		h := serveUntil(t, Config{Mind: scripted(t, script), Record: w})
		send(t, client(t, h.url(), 0), message("Hi"))
		h.close(t)
		list := read()
		for _, e := range list {
			if strings.Contains(string(e.Line()), "SECRET") {
				t.Errorf("%s: %s", name, e.Line())
			}
		}
		if len(list) != 5 {
			t.Errorf("%s: %q", name, outline("", list))
		}
	}
}

// A turn that cannot be recorded has no answer.
func TestUnrecordedTurnFails(t *testing.T) {
	w, read := recorded(t, record.Options{})
	read() // closes it
	for _, m := range []Mind{says("Yes."), scripted(t, thinking)} {
		h := serve(t, Config{Mind: m, Record: w})
		task := send(t, client(t, h.url(), 0), message("Hi"))
		if text, ending := answerOf(t, task); text != "" || ending != Aborted || task.Status.State != a2a.TaskStateFailed {
			t.Errorf("%q, %s, %s", text, ending, task.Status.State)
		}
	}
}

// A run that a crash cut off is ended by the next server, in the record too. A task
// that was begun without a record is not.
func TestInterruptedIsRecorded(t *testing.T) {
	name := file(t)
	w, read := recorded(t, record.Options{})
	st, err := openStore(name, Limits{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	task := func(id a2a.TaskID) *a2a.Task {
		return &a2a.Task{ID: id, ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}, History: []*a2a.Message{message("Hi").Message}}
	}
	create(t, t.Context(), st, task("before"))
	st.runs = newRecording(&Config{Record: w}, Card{})
	create(t, t.Context(), st, task("with"))
	st.close()
	serveUntil(t, Config{Mind: says("x"), File: name, Record: w}).close(t)
	want := []string{"TASK/0 RUN_END interrupted"}
	if d := cmp.Diff(want, outline("with", read())); d != "" {
		t.Error(d)
	}
}

// The end of a task that a crash kept out of the record is recorded by the next server,
// once. Tasks that the record does not have, or that have not ended, are left alone.
func TestEndAfterACrashIsRecorded(t *testing.T) {
	name, dir := file(t), t.TempDir()
	server := func(crash bool) {
		t.Helper()
		w, err := record.Open(dir, record.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if !crash {
			serveUntil(t, Config{Mind: says("x"), File: name, Record: w}).close(t)
			return
		}
		st, err := openStore(name, Limits{}.withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		defer st.close()
		st.runs = newRecording(&Config{Record: w}, Card{})
		for _, id := range []a2a.TaskID{"ended", "waiting", "unknown"} {
			create(t, t.Context(), st, &a2a.Task{ID: id, ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}, History: []*a2a.Message{message("Hi").Message}})
			if id == "unknown" {
				continue
			}
			if err := st.runs.begin(t.Context(), &Turn{Task: string(id), Run: string(id), Cycle: 1, Text: "Hi"}); err != nil {
				t.Fatal(err)
			}
		}
		st.runs = nil // the process is killed before it records the ends
		for id, state := range map[a2a.TaskID]a2a.TaskState{"ended": a2a.TaskStateCompleted, "unknown": a2a.TaskStateCompleted, "waiting": a2a.TaskStateInputRequired} {
			if _, err := st.change("", id, nil, func(_ tx, r *row) error {
				r.Task.Status.State = state
				r.Task.SetMeta(OutcomeKey, "answered")
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	server(true)
	server(false)
	server(false)
	r, err := record.OpenReader(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var ends []string
	for e, err := range r.Events(record.Query{Types: []record.Type{record.TypeRunEnd}}) {
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, e.Run+" "+e.Payload.(record.RunEnd).Status)
	}
	if d := cmp.Diff([]string{"ended answered"}, ends); d != "" {
		t.Error(d)
	}
}
