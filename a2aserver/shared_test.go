package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/sotto-llm/sotto/internal/data/transact"
	"github.com/sotto-llm/sotto/internal/serve/replicas"
	"github.com/sotto-llm/sotto/internal/testing/redisserver"
)

// spaceIn is where the replicas of a test share tasks.
func spaceIn(t *testing.T, r *redisserver.Server) *transact.Space {
	t.Helper()
	level, err := replicas.Open(r.Address(), replicas.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = level.Close() })
	s, err := transact.New(level, []byte("a secret of all replicas"), "tasks", transact.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// two are replicas of an agent.
func two(t *testing.T, r *redisserver.Server, c Config) [2]*house {
	t.Helper()
	var both [2]*house
	for i := range both {
		c.Shared = spaceIn(t, r)
		both[i] = serve(t, c)
	}
	return both
}

// A held mind says what it was asked, once for each message, after the test lets it.
type held struct {
	mu    sync.Mutex
	asked []string
	came  chan string
	free  chan struct{}
}

func newHeld() *held { return &held{came: make(chan string, 100), free: make(chan struct{})} }

func (*held) resumes() {}

func (h *held) Answer(ctx context.Context, turn Turn, on func(Event) error) (Outcome, error) {
	h.mu.Lock()
	h.asked = append(h.asked, turn.Text)
	h.mu.Unlock()
	h.came <- turn.Text
	if err := on(Narration{Text: "I work on " + turn.Text + "."}); err != nil {
		return Outcome{}, err
	}
	if strings.HasPrefix(turn.Text, "Slow") {
		select {
		case <-h.free:
		case <-ctx.Done():
			return Outcome{}, context.Cause(ctx)
		}
	}
	if turn.Text == "Ask me." {
		return Outcome{Question: "Which?", Memo: []byte(`"memo"`)}, nil
	}
	return Outcome{Text: fmt.Sprint("So ", turn.Text, " after ", string(turn.Memo), len(turn.Earlier))}, nil
}

// TestReplicas: whatever one replica has made of a task, the other one answers for it: it gets and
// lists it, takes the answer to its question, refuses its message's copy, and has its push
// configurations. Callers do not see each other's tasks at any replica.
func TestReplicas(t *testing.T) {
	mind := newHeld()
	h := two(t, redisserver.Run(t), Config{Mind: mind, Tokens: []Token{person, other}, PushTo: loopback})
	a, b := client(t, h[0].url(), 0, "Authorization", "Bearer "+person.Secret), client(t, h[1].url(), 0, "Authorization", "Bearer "+person.Secret)
	task := send(t, a, named("first", "Ask me.", ""))
	if again := send(t, b, named("first", "Ask me.", "")); again.ID != task.ID {
		t.Errorf("the same message made %s and %s", task.ID, again.ID)
	}
	if _, err := b.SendMessage(t.Context(), named("first", "Another text.", "")); err == nil {
		t.Error("another text under the same id is taken")
	}
	if got, err := b.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID}); err != nil || got.Status.State != a2a.TaskStateInputRequired {
		t.Fatalf("%+v, %v", got, err)
	}
	made, err := a.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{TaskID: task.ID, URL: newHook(t, 200).URL})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.GetTaskPushConfig(t.Context(), &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: made.ID}); err != nil || got.URL != made.URL {
		t.Errorf("%+v, %v", got, err)
	}
	task = send(t, b, named("second", "red", task.ID))
	if text, _ := answerOf(t, task); text != `So red after "memo"2` {
		t.Errorf("%q", text)
	}
	for i := range 5 {
		send(t, []*a2aclient.Client{a, b}[i%2], message(fmt.Sprint("Hi ", i)))
	}
	var seen []a2a.TaskID
	for token := ""; ; {
		page, err := []*a2aclient.Client{a, b}[len(seen)%2].ListTasks(t.Context(), &a2a.ListTasksRequest{PageSize: 3, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range page.Tasks {
			seen = append(seen, task.ID)
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	if slices.Sort(seen); len(slices.Compact(seen)) != 6 {
		t.Errorf("%d tasks: %v", len(seen), seen)
	}
	stranger := client(t, h[1].url(), 0, "Authorization", "Bearer "+other.Secret)
	if _, err := stranger.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID}); err == nil {
		t.Error("another caller gets the task")
	}
	if page, err := stranger.ListTasks(t.Context(), &a2a.ListTasksRequest{}); err != nil || len(page.Tasks) > 0 {
		t.Errorf("%+v, %v", page, err)
	}
	if n := len(mind.asked); n != 7 {
		t.Errorf("the mind was asked %d times: %q", n, mind.asked)
	}
}

// TestCancelElsewhere: a task that one replica works on ends where the other one is asked to cancel
// it, its mind too, and every stream ends with that.
func TestCancelElsewhere(t *testing.T) {
	mind := newHeld()
	h := two(t, redisserver.Run(t), Config{Mind: mind})
	for i := range bindings {
		a, b := client(t, h[0].url(), i), client(t, h[1].url(), i)
		var ends sync.WaitGroup
		last := make(chan a2a.TaskState, 2)
		began := make(chan a2a.TaskID, 100)
		ends.Go(func() {
			state := a2a.TaskState("")
			for e, err := range a.SendStreamingMessage(t.Context(), message("Slow")) {
				if err != nil {
					t.Error(err)
					break
				}
				began <- e.TaskInfo().TaskID
				state = stateOf(e, state)
			}
			last <- state
		})
		id := <-began
		<-mind.came
		ends.Go(func() {
			state := a2a.TaskState("")
			for e, err := range b.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: id}) {
				if err != nil {
					t.Error(err)
					break
				}
				state = stateOf(e, state)
			}
			last <- state
		})
		if task, err := b.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: id}); err != nil || task.Status.State != a2a.TaskStateCanceled {
			t.Fatalf("%+v, %v", task, err)
		}
		ends.Wait()
		for range 2 {
			if state := <-last; state != a2a.TaskStateCanceled && state != "" { // the second stream may have come too late
				t.Errorf("%s: a stream ends with %s", bindings[i].name, state)
			}
		}
	}
}

func stateOf(e a2a.Event, before a2a.TaskState) a2a.TaskState {
	switch e := e.(type) {
	case *a2a.Task:
		return e.Status.State
	case *a2a.TaskStatusUpdateEvent:
		return e.Status.State
	}
	return before
}

// TestStreamElsewhere: a stream at the other replica begins with the task and has everything that
// follows, to the end, by every binding.
func TestStreamElsewhere(t *testing.T) {
	mind := newHeld()
	h := two(t, redisserver.Run(t), Config{Mind: mind})
	for i, b := range bindings {
		task, err := client(t, h[0].url(), 0).SendMessage(t.Context(), &a2a.SendMessageRequest{Message: message("Slow").Message, Config: &a2a.SendMessageConfig{ReturnImmediately: true}})
		if err != nil {
			t.Fatal(err)
		}
		<-mind.came
		var events []a2a.Event
		for e, err := range client(t, h[1].url(), i).SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.TaskInfo().TaskID}) {
			if err != nil {
				t.Fatalf("%s: %v", b.name, err)
			}
			if events = append(events, e); len(events) == 1 {
				mind.free <- struct{}{}
			}
		}
		if _, ok := events[0].(*a2a.Task); !ok {
			t.Errorf("%s: it begins with %T", b.name, events[0])
		}
		answers := 0
		for _, e := range events {
			if _, ok := e.(*a2a.TaskArtifactUpdateEvent); ok {
				answers++
			}
		}
		if state := stateOf(events[len(events)-1], ""); state != a2a.TaskStateCompleted || answers != 1 {
			t.Errorf("%s: %d answers, and the end is %s", b.name, answers, state)
		}
	}
}

// TestStreamElsewhereHoldsMemory: what a stream at the other replica reads counts to its request
// until it is sent, so updates that come one after another fit, and an answer that is larger than
// what a caller may hold does not.
func TestStreamElsewhereHoldsMemory(t *testing.T) {
	const piece, pieces = 60 << 10, 4
	tell, came := make(chan string), make(chan int, 100)
	mind := mindFunc(func(_ context.Context, turn Turn, on func(Event) error) (Outcome, error) {
		for text := range tell {
			if err := on(Narration{Text: text}); err != nil {
				return Outcome{}, err
			}
		}
		return Outcome{Text: strings.Repeat("y", len(turn.Text)<<10)}, nil
	})
	r := redisserver.Run(t)
	a := serve(t, Config{Mind: mind, Shared: spaceIn(t, r)})
	a.gaps = gaps{}
	b := serve(t, Config{Mind: mind, Shared: spaceIn(t, r), Limits: Limits{MemoryBytes: 1 << 20}})
	for _, answer := range []int{1, 200} { // KiB
		tell = make(chan string)
		req := message(strings.Repeat("x", answer))
		req.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
		res, err := client(t, a.url(), 0).SendMessage(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		var fault error
		var stream sync.WaitGroup
		stream.Go(func() {
			for e, err := range client(t, b.url(), 0).SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: res.TaskInfo().TaskID}) {
				if fault = err; err != nil {
					break
				}
				if _, ok := e.(*a2a.Task); ok {
					came <- 0
				}
				if u, ok := e.(*a2a.TaskStatusUpdateEvent); ok && u.Status.Message != nil {
					came <- len(u.Status.Message.Parts[0].Text())
				}
			}
			came <- -1
		})
		for n, sent := <-came, 0; n >= 0 && sent < pieces; n, sent = <-came, sent+1 {
			tell <- strings.Repeat("n", piece)
		}
		close(tell)
		stream.Wait()
		switch {
		case answer == 1 && fault != nil:
			t.Errorf("updates that fit one after another: %v", fault)
		case answer > 1 && (fault == nil || !strings.Contains(fault.Error(), "all the memory that they may")):
			t.Errorf("an answer of %d KiB: %v", answer, fault)
		}
		for held, _ := b.memory.Held(); held != 0; held, _ = b.memory.Held() { // until the handler has returned
			time.Sleep(time.Millisecond)
		}
	}
}

// TestHandedOver: a server that shuts down leaves its tasks to the other one, which answers them,
// and its pushes.
func TestHandedOver(t *testing.T) {
	mind, hook := newHeld(), newHook(t, 200)
	r := redisserver.Run(t)
	leaving := serveUntil(t, Config{Mind: mind, Shared: spaceIn(t, r), PushTo: loopback})
	req := message("Slow")
	req.Config = &a2a.SendMessageConfig{ReturnImmediately: true, PushConfig: &a2a.PushConfig{URL: hook.URL}}
	res, err := client(t, leaving.url(), 0).SendMessage(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	<-mind.came
	staying := serve(t, Config{Mind: mind, Shared: spaceIn(t, r), PushTo: loopback})
	leaving.close(t)
	<-mind.came
	close(mind.free)
	c := client(t, staying.url(), 0)
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		task, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: res.TaskInfo().TaskID})
		if err != nil || time.Now().After(until) {
			t.Fatalf("%+v, %v", task, err)
		}
		if task.Status.State == a2a.TaskStateCompleted {
			if text, _ := answerOf(t, task); text != "So Slow after 0" {
				t.Errorf("%q", text)
			}
			break
		}
	}
	hook.await(t, 1)
}

// TestTakenIn: a server with a shared store has the tasks of its file there, once: they go on with
// their questions, their messages run once, and their pushes are sent.
func TestTakenIn(t *testing.T) {
	mind, hook, name, r := newHeld(), newHook(t, 200), file(t), redisserver.Run(t)
	before := serveUntil(t, Config{Mind: mind, File: name, PushTo: loopback})
	c := client(t, before.url(), 0)
	asking, done := send(t, c, named("first", "Ask me.", "")), send(t, c, message("Hi"))
	if _, err := c.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{TaskID: asking.ID, URL: hook.URL}); err != nil {
		t.Fatal(err)
	}
	before.close(t)
	for range 2 { // the second start has nothing to move
		h := serveUntil(t, Config{Mind: mind, File: name, Shared: spaceIn(t, r), PushTo: loopback})
		c := client(t, h.url(), 0)
		if page, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{}); err != nil || len(page.Tasks) != 2 {
			t.Fatalf("%+v, %v", page, err)
		}
		if got := send(t, c, named("first", "Ask me.", "")); got.ID != asking.ID {
			t.Errorf("the message made another task")
		}
		if got, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: done.ID}); err != nil || got.Status.State != a2a.TaskStateCompleted {
			t.Errorf("%+v, %v", got, err)
		}
		if text, _ := answerOf(t, send(t, c, named("second", "red", asking.ID))); text != `So red after "memo"2` {
			t.Errorf("%q", text)
		}
		hook.await(t, 1)
		h.close(t)
	}
	left := serveUntil(t, Config{Mind: mind, File: name})
	defer left.close(t)
	if page, err := client(t, left.url(), 0).ListTasks(t.Context(), &a2a.ListTasksRequest{}); err != nil || len(page.Tasks) > 0 {
		t.Errorf("the file still has %+v, %v", page, err)
	}
}

// TestSharedRetention: of a caller's tasks the oldest that have ended make room, those of others
// stay, and what a dropped task had is gone.
func TestSharedRetention(t *testing.T) {
	r := redisserver.Run(t)
	s := newStore(&sharedKeeper{spaceIn(t, r), Limits{Tasks: 10}.withDefaults()}, Limits{Tasks: 10}.withDefaults())
	ann, bob := visit{caller: "ann"}.in(t.Context()), visit{caller: "bob"}.in(t.Context())
	create(t, bob, s, finishedTask(100, 1))
	for i := range 25 {
		create(t, ann, s, finishedTask(i, 10))
		if i == 5 {
			if err := s.keepTaskOf("ann", finishedTask(i, 10).ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	list, err := s.entries("ann")
	if err != nil || len(list) != 10 || list[0].id != finishedTask(24, 1).ID {
		t.Errorf("%d tasks, %v", len(list), err)
	}
	if list, err = s.entries("bob"); err != nil || len(list) != 1 {
		t.Errorf("%d tasks of another, %v", len(list), err)
	}
	if err := errors.Join(s.drop(list), s.dropAll("ann")); err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{"ann", "bob"} {
		if n, bytes, err := s.space.Size(owner); n != 0 || bytes != 0 || err != nil {
			t.Errorf("%s: %d rows and %d bytes are left, %v", owner, n, bytes, err)
		}
	}
}

// keepTaskOf puts everything beside a task that can be there.
func (s *store) keepTaskOf(owner string, id a2a.TaskID) error {
	return s.update(owner, func(t tx) error {
		m := sendingOf(owner, named("of "+string(id), "Hi", "").Message)
		return errors.Join(m.note(t, id), t.put(configsBucket, configKey(id, "c"), []byte(`{"config":{"url":"x"}}`)),
			t.put(outboxBucket, configKey(id, "x"), []byte(`{}`)), t.put(memosBucket, s.memoKey(id, 1), []byte("1")),
			t.happened(id, 1, &a2a.Task{ID: id}))
	})
}

func (s *store) dropAll(owner string) error {
	list, err := s.entries(owner)
	return errors.Join(err, s.drop(list))
}
