package a2aserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A task that rests is dropped when it has rested for longer than tasks are kept, and no other.
func TestSweep(t *testing.T) {
	s := emptyStore(t, Limits{Keep: time.Hour})
	running := a2a.NewSubmittedTask(a2a.TaskInfo{TaskID: "running"}, message("Hi").Message)
	waits := a2a.NewSubmittedTask(a2a.TaskInfo{TaskID: "waits"}, message("Hi").Message)
	waits.Status.State = a2a.TaskStateInputRequired
	for _, task := range []*a2a.Task{finishedTask(1, 1), running, waits} {
		create(t, t.Context(), s, task)
	}
	ended, _ := s.keeper.(*fileKeeper).index.get("task-000001")
	waiting, _ := s.keeper.(*fileKeeper).index.get("waits")
	for _, c := range []struct {
		at   time.Time
		want int
	}{{ended.updated.Add(time.Hour), 3}, {ended.updated.Add(time.Hour + 1), 2}, {waiting.updated.Add(time.Hour), 2}, {waiting.updated.Add(time.Hour + 1), 1}, {waiting.updated.Add(1000 * time.Hour), 1}} {
		if err := s.sweep(c.at); err != nil || s.keeper.(*fileKeeper).index.len() != c.want {
			t.Errorf("%v after the end: %d tasks, %v", c.at.Sub(ended.updated), s.keeper.(*fileKeeper).index.len(), err)
		}
	}
	if _, err := s.Get(t.Context(), "running"); err != nil {
		t.Error(err)
	}
}

// A list takes pages of 1 to 100 tasks and tokens that it gave itself.
func TestListRequests(t *testing.T) {
	s := emptyStore(t, Limits{})
	for i := range 60 {
		create(t, t.Context(), s, finishedTask(i, 1))
	}
	token := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	minus, two := -1, 2
	for _, c := range []struct {
		req  a2a.ListTasksRequest
		want int // tasks; -1 for a refusal
		size int
	}{
		{a2a.ListTasksRequest{}, 50, 50}, {a2a.ListTasksRequest{PageSize: 100}, 60, 100}, {a2a.ListTasksRequest{PageSize: 1}, 1, 1}, {a2a.ListTasksRequest{PageSize: 101}, -1, 0}, {a2a.ListTasksRequest{PageSize: -1}, -1, 0}, {a2a.ListTasksRequest{HistoryLength: &minus}, -1, 0}, {a2a.ListTasksRequest{Status: "TASK_STATE_DONE"}, -1, 0}, {a2a.ListTasksRequest{Status: "completed"}, -1, 0}, {a2a.ListTasksRequest{HistoryLength: &two, PageSize: 2}, 2, 2},
		{a2a.ListTasksRequest{PageToken: "?"}, -1, 0}, {a2a.ListTasksRequest{PageToken: token("x")}, -1, 0}, {a2a.ListTasksRequest{PageToken: token("x y")}, -1, 0}, {a2a.ListTasksRequest{PageToken: token("2020-01-01T00:00:00Z")}, -1, 0}, {a2a.ListTasksRequest{PageToken: token("2020-01-01T00:00:00Z x")}, 0, 50}, {a2a.ListTasksRequest{PageToken: token("2020-01-01T00:00:00Z " + strings.Repeat("x", 171))}, 0, 50}, {a2a.ListTasksRequest{PageToken: token("2020-01-01T00:00:00Z " + strings.Repeat("x", 172))}, -1, 0},
		{a2a.ListTasksRequest{ContextID: "c"}, 50, 50}, {a2a.ListTasksRequest{ContextID: "d"}, 0, 50}, {a2a.ListTasksRequest{Status: a2a.TaskStateCompleted}, 50, 50}, {a2a.ListTasksRequest{Status: a2a.TaskStateFailed}, 0, 50},
	} {
		res, err := s.List(t.Context(), &c.req)
		if c.want < 0 {
			if !errors.Is(err, a2a.ErrInvalidParams) {
				t.Errorf("%+v: %v", c.req, err)
			}
			continue
		}
		if err != nil || len(res.Tasks) != c.want || res.Tasks == nil || res.PageSize != c.size {
			t.Errorf("%+v: %+v, %v", c.req, res, err)
		}
	}
	long := finishedTask(99, 1)
	for i := range 120 {
		long.History = append(long.History, &a2a.Message{ID: fmt.Sprint(i)})
	}
	create(t, t.Context(), s, long)
	for length, want := range map[int]int{-1: listHistory, 0: 0, 3: 3, 500: 121} {
		req := a2a.ListTasksRequest{PageSize: 1, HistoryLength: &length}
		if length < 0 {
			req.HistoryLength = nil
		}
		res, err := s.List(t.Context(), &req)
		if err != nil || len(res.Tasks[0].History) != want || want > 0 && res.Tasks[0].History[want-1].ID != "119" || res.Tasks[0].Artifacts != nil {
			t.Errorf("%d messages are asked for: %d, %v", length, len(res.Tasks[0].History), err)
		}
	}
	v, err := readView([]byte(`{"task":{"id":"12","contextId":"345","status":{},"metadata":{"a":1},"history":[{},{"x":1}],"artifacts":[]}}`), &a2a.ListTasksRequest{IncludeArtifacts: true})
	if err != nil || v.size() != 2+3+2+7+2+7+2 {
		t.Errorf("%v, %v", v, err)
	}
}

// An extension is active if the client asks for it and the card has it.
func TestAskedExtensions(t *testing.T) {
	s := &Server{reasoning: true}
	for _, c := range []struct {
		header    []string
		reasoning bool
		want      bool
	}{
		{[]string{ReasoningExtension}, true, true}, {[]string{"x, " + ReasoningExtension + " ,y"}, true, true}, {[]string{"x", ReasoningExtension}, true, true}, {[]string{ReasoningExtension}, false, false}, {[]string{ReasoningExtension + "x"}, true, false}, {nil, true, false},
	} {
		s.reasoning = c.reasoning
		ctx, call := a2asrv.NewCallContext(t.Context(), a2asrv.NewServiceParams(map[string][]string{"A2A-Extensions": c.header}))
		if got := s.asked(ctx, ReasoningExtension); got != c.want || (len(call.Extensions().ActivatedURIs()) == 1) != c.want {
			t.Errorf("%q: %v, active are %q", c.header, got, call.Extensions().ActivatedURIs())
		}
	}
	if s.asked(t.Context(), ReasoningExtension) {
		t.Error("asked for without a call")
	}
}

// What became of an agent's turn decides how the answer ended.
func TestOutcomesOfAgents(t *testing.T) {
	m := &AgentMind{}
	reading, err := sotto.Default().Parse("It is", sotto.BeginAuto, sotto.EndAborted)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		in   agent.Outcome
		end  sotto.Ending
		ok   bool
	}{
		{"answered", agent.Outcome{Status: agent.Answered, Answer: "a"}, sotto.EndStopped, true}, {"read", agent.Outcome{Status: agent.Answered, Answer: "a", Reading: reading}, sotto.EndAborted, true}, {"bounded", agent.Outcome{Status: agent.Bounded, Answer: "a", Reading: reading}, sotto.EndCut, true},
		{"failed", agent.Outcome{Status: agent.Failed, Answer: "a"}, sotto.EndStopped, false}, {"paused for nothing", agent.Outcome{Status: agent.Paused, Answer: "a"}, sotto.EndStopped, false},
	} {
		c.in.Metrics.Invocations = 3
		got, err := m.outcome(c.in)
		if (err == nil) != c.ok || got.End != c.end || got.Text != "a" || got.Metrics.Invocations != 3 || got.Question != "" {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	got, err := m.outcome(agent.Outcome{Status: agent.Paused, Answer: "a", Waiting: &agent.Waiting{Question: "q", Confirm: true, Asked: &consent.Question{ID: "1"}}})
	var waiting agent.Waiting
	if err != nil || got.Text != "" || got.Question != "q" || got.Consent == nil || got.Consent.ID != "1" || json.Unmarshal(got.Memo, &waiting) != nil || waiting.Question != "q" {
		t.Errorf("%+v, %v", got, err)
	}
	now, was := record.Metrics{Invocations: 5, InputTokens: 9, Policy: "p", Similarity: 0.5}, record.Metrics{Invocations: 2, InputTokens: 4}
	if d := since(now, was); d.Invocations != 3 || d.InputTokens != 5 || d.Policy != "p" || d.Similarity != 0.5 {
		t.Errorf("%+v", d)
	}
}

// A model is asked with its system prompt, what was said before, and the message.
func TestRequestsOfModels(t *testing.T) {
	turn := Turn{Text: "now", Earlier: []Said{{Text: "q"}, {ByAgent: true, Text: "a"}}}
	for system, want := range map[string]string{"": "user q|assistant a|user now", "s": "system s|user q|assistant a|user now"} {
		m := &ChatMind{System: system, Request: model.Request{MaxTokens: 7, Messages: []model.Message{{Text: "lost"}}, Tools: []model.Tool{{Name: "lost"}}}}
		q := m.request(turn)
		var list []string
		for _, x := range q.Messages {
			list = append(list, string(x.Role)+" "+x.Text)
		}
		if got := strings.Join(list, "|"); got != want || q.MaxTokens != 7 || q.Tools != nil {
			t.Errorf("%s, %+v", got, q)
		}
	}
}

// A call is that of the caller who made it, and of a task that the caller has. A subscription
// to a task that waits gives its state, and one to a task that is too large nothing.
func TestCallsAndSubscriptions(t *testing.T) {
	s := &Server{store: emptyStore(t, Limits{}), limits: Limits{}.withDefaults()}
	ann := visit{caller: "ann"}
	waits := a2a.NewSubmittedTask(a2a.TaskInfo{TaskID: "waits"}, message("Hi").Message)
	waits.Status.State = a2a.TaskStateInputRequired
	for _, task := range []*a2a.Task{finishedTask(1, 10_000), waits} {
		create(t, ann.in(t.Context()), s.store, task)
	}
	for _, c := range []struct {
		caller  string
		payload any
		want    error
	}{
		{"ann", &a2a.PushConfig{TaskID: "task-000001"}, a2a.ErrUnsupportedOperation}, {"ann", &a2a.PushConfig{TaskID: "waits"}, nil}, {"bob", &a2a.PushConfig{TaskID: "waits"}, a2a.ErrTaskNotFound}, {"bob", &a2a.GetTaskRequest{ID: "waits"}, a2a.ErrTaskNotFound}, {"ann", &a2a.GetTaskRequest{ID: "waits"}, nil}, {"ann", &a2a.GetTaskRequest{ID: "none"}, a2a.ErrTaskNotFound}, {"bob", &a2a.ListTasksRequest{}, nil}, {"", message(" "), a2a.ErrInvalidParams},
	} {
		ctx, call := a2asrv.NewCallContext(visit{caller: c.caller}.in(t.Context()), a2asrv.NewServiceParams(nil))
		_, _, err := gatekeeper{s: s}.Before(ctx, call, &a2asrv.Request{Payload: c.payload})
		if !errors.Is(err, c.want) || call.User.Name != c.caller || call.User.Authenticated != (c.caller != "") {
			t.Errorf("%s: %+v: %v, as %+v", c.caller, c.payload, err, call.User)
		}
	}
	h := &handler{s: s}
	size := func(id a2a.TaskID) int64 {
		e, err := s.store.known(ann.in(t.Context()), id)
		if err != nil {
			t.Fatal(err)
		}
		return int64(copies * e.size)
	}
	for _, c := range []struct {
		id   a2a.TaskID
		room int64
		want error
	}{{"waits", size("waits"), nil}, {"waits", size("waits") - 1, a2a.ErrServerError}, {"task-000001", size("task-000001"), a2a.ErrUnsupportedOperation}, {"task-000001", size("task-000001") - 1, a2a.ErrServerError}} {
		v := ann
		v.load = serving.NewArrivals(1, 2*c.room).Begin("ann", func() {})
		n := 0
		for e, err := range h.SubscribeToTask(v.in(t.Context()), &a2a.SubscribeToTaskRequest{ID: c.id}) {
			if n++; !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || err == nil && e.(*a2a.Task).ID != c.id {
				t.Errorf("%s in %d bytes: %v, %v", c.id, c.room, e, err)
			}
		}
		v.load.End()
		if n != 1 {
			t.Errorf("%s in %d bytes: %d events", c.id, c.room, n)
		}
	}
}

// When there is no room, the first to go are tasks that have ended, a tenth of those of the
// caller whose tasks hold the most; then one that waits. The task that grows stays.
func TestOldestFirst(t *testing.T) {
	s := emptyStore(t, Limits{})
	for i := range 25 {
		create(t, visit{caller: "ann"}.in(t.Context()), s, finishedTask(i, 1))
	}
	for i := range 3 {
		create(t, visit{caller: "bob"}.in(t.Context()), s, finishedTask(100+i, 20_000))
	}
	first := func(stays a2a.TaskID) string {
		return fmt.Sprint(idsOf(oldest(s.keeper.(*fileKeeper).most, stays)))
	}
	of := func(owner string) []*listed {
		list, err := s.entries(owner)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if got := first(""); got != "[task-000000 task-000001]" {
		t.Error(got)
	}
	if got := first("task-000000"); got != "[task-000001 task-000002]" {
		t.Errorf("while the oldest grows: %s", got)
	}
	if err := s.drop(of("ann")); err != nil || first("") != "[task-000100]" {
		t.Errorf("of three: %s, %v", first(""), err)
	}
	if err := s.drop(of("bob")); err != nil || first("") != "[]" {
		t.Errorf("of none: %s, %v", first(""), err)
	}
	for _, id := range []a2a.TaskID{"w1", "w2"} {
		waits := a2a.NewSubmittedTask(a2a.TaskInfo{TaskID: id}, message("Hi").Message)
		waits.Status.State = a2a.TaskStateInputRequired
		create(t, t.Context(), s, waits)
	}
	if first("") != "[w1]" || first("w1") != "[w2]" {
		t.Errorf("of those that wait: %s, and %s", first(""), first("w1"))
	}
}

// Progress and pieces of the answer are sent when they are due, and the run says how long the
// rest may wait.
func TestTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []string
		now := time.Now()
		r := &run{
			s: &Server{}, ec: &a2asrv.ExecutorContext{TaskID: "t", ContextID: "c"}, chunks: true,
			emit: func(e a2a.Event) bool {
				switch e := e.(type) {
				case *a2a.TaskStatusUpdateEvent:
					sent = append(sent, fmt.Sprint("progress ", e.Status.Message.Parts[0].Text(), " ", e.Status.Message.Metadata[ProgressKey]))
				case *a2a.TaskArtifactUpdateEvent:
					sent = append(sent, fmt.Sprint("piece ", e.Artifact.Parts[0].Text(), " ", e.Append))
				}
				return len(sent) < 5
			},
			updates: pace{begun: now, last: now, least: time.Second}, pieces: pace{begun: now, last: now, least: 200 * time.Millisecond},
		}
		tell := func(after, wait time.Duration, want ...string) {
			t.Helper()
			time.Sleep(after)
			sent = nil
			got, ok := r.tell()
			if !ok || got != wait || strings.Join(sent, "|") != strings.Join(want, "|") {
				t.Errorf("%q, then %v, %v; want %q, then %v", sent, got, ok, want, wait)
			}
		}
		tell(0, time.Hour)
		r.text.WriteString(" \xe2")
		tell(0, 200*time.Millisecond)
		tell(200*time.Millisecond, time.Hour) // a blank is no answer yet, and half a character no text
		r.text.WriteString("\x82\xac")
		r.progress.gather(Narration{Text: "n"})
		tell(0, time.Second, "piece  € false")
		r.text.WriteString("a")
		tell(50*time.Millisecond, 150*time.Millisecond)
		tell(150*time.Millisecond, 800*time.Millisecond, "piece a true")
		tell(800*time.Millisecond, time.Hour, "progress n true")
		r.chunks = false
		r.text.WriteString("b")
		tell(time.Second, time.Hour)
		r.emit = func(a2a.Event) bool { return false }
		r.progress.gather(ToolStart{Name: "x"})
		if _, ok := r.tell(); ok {
			t.Error("the run goes on though nobody takes its progress")
		}
		if r.chunks = true; r.piece(time.Now()) {
			t.Error("the run goes on though nobody takes its answer")
		}
	})
}

// A mind that is stopped learns why, and is waited for no longer than it takes.
func TestStoppedMind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{Mind: says(""), Silence: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		began := time.Now()
		var why error
		_, last := updates(t, s, mindFunc(func(ctx context.Context, _ Turn, on func(Event) error) (Outcome, error) {
			<-ctx.Done()
			why = context.Cause(ctx)
			time.Sleep(time.Second)
			return Outcome{Text: "late"}, ctx.Err()
		}), "")
		if took := time.Since(began); took != 11*time.Second || !errors.Is(why, errSilent) || last.Metadata[OutcomeKey] != string(Silent) {
			t.Errorf("after %v, because %v: %v", took, why, last.Metadata)
		}
	})
}

// A chat mind gives thoughts, narration and text apart, with blank lines between blocks, and
// says how the reply ended: also one that broke off.
func TestChatMindEvents(t *testing.T) {
	for _, c := range []struct{ name, script, events, text, end string }{
		{"two blocks", `{"text":"<think>a</think>x<think>b</think>y"}`, `R"a" V"x" R"\n\nb" V"y"`, "xy", "stopped"},
		{"broken off", `{"text":"<think>a</think>x","error":{"kind":"broken_off"}}`, `R"a" V"x"`, "x", "aborted"},
		{"beside the text", `{"thought":"t","text":"x"}`, `R"t" V"x"`, "x", "stopped"},
		{"one that nobody can read", `{"text":"perhaps a thought","error":{"kind":"broken_off"}}`, `R"perhaps a thought"`, "", "aborted"},
		{"narration", `{"text":"<think>a</think><narrate>n</narrate>x"}`, `R"a" N"\n\nn" V"x"`, "x", "stopped"},
	} {
		var list []string
		add := func(kind, text string) {
			if n := len(list) - 1; n >= 0 && list[n][0] == kind[0] {
				list[n] += text
				return
			}
			list = append(list, kind+text)
		}
		out, err := scripted(t, c.script).Answer(t.Context(), Turn{Text: "Hi"}, func(e Event) error {
			switch e := e.(type) {
			case Reasoning:
				add("R", e.Text)
			case Visible:
				add("V", e.Text)
			case Narration:
				add("N", e.Text)
			}
			return nil
		})
		for i, s := range list {
			list[i] = s[:1] + fmt.Sprintf("%q", s[1:])
		}
		if got := strings.Join(list, " "); got != c.events || out.Text != c.text || out.End.String() != c.end || (err != nil) != (c.end == "aborted") {
			t.Errorf("%s: %s, %q, %v, %v", c.name, got, out.Text, out.End, err)
		}
	}
}

func idsOf(list []*listed) (ids []a2a.TaskID) {
	for _, l := range list {
		ids = append(ids, l.id)
	}
	return ids
}
