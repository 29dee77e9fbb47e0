package a2aserver

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
)

// TestPushRoom: what the pushes that wait take of the memory is free again when they were
// delivered, given up, or dropped because too many wait.
func TestPushRoom(t *testing.T) {
	p := newSender(emptyStore(t, Limits{}), guard{allow: loopback}, Limits{Queue: 3}.withDefaults(), slog.New(slog.DiscardHandler))
	defer p.close()
	for range pushAtOnce { // nobody gets through yet
		p.atOnce <- struct{}{}
	}
	const size = 1000
	body := []byte(`"` + strings.Repeat("x", size-2) + `"`)
	for range 20 {
		p.post(letter{Task: "a", Config: "c", Body: body})
	}
	p.mu.Lock()
	if waits := (pushBytes - p.room) / size; waits < 3 || waits > 4 { // the first may be on its way
		t.Errorf("%d pushes take memory, want 3 that wait and at most one on its way", waits)
	}
	p.mu.Unlock()
	for range pushAtOnce {
		<-p.atOnce
	}
	p.wait.Wait()
	if p.room != pushBytes || len(p.queues) != 0 {
		t.Errorf("%d bytes are not free again, and %d queues are left", pushBytes-p.room, len(p.queues))
	}
}

// TestMostCountsTasks: many small tasks weigh more than a few large ones, because they take
// the places of others; the oldest go first.
func TestMostCountsTasks(t *testing.T) {
	s := emptyStore(t, Limits{})
	task := func(caller, id, text string) {
		done := &a2a.Task{ID: a2a.TaskID(id), ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}, History: []*a2a.Message{message(text).Message}}
		create(t, visit{caller: caller}.in(t.Context()), s, done)
	}
	task("large", "l", strings.Repeat("x", 100<<10))
	for i := range 10 {
		task("many", fmt.Sprint("m", i), "x")
	}
	got := fmt.Sprint(idsOf(s.keeper.(*fileKeeper).most(func(l *listed) bool { return l.state.Terminal() })))
	if want := "[m0 m1 m2 m3 m4 m5 m6 m7 m8 m9]"; got != want {
		t.Errorf("%s hold the most, want %s", got, want)
	}
}

// TestWaitingIsOnDisk: that a task waits for input is in the outbox until it is delivered,
// as its end is, whether an update of the status says so or the task itself.
func TestWaitingIsOnDisk(t *testing.T) {
	for _, state := range []a2a.TaskState{a2a.TaskStateInputRequired, a2a.TaskStateCompleted, a2a.TaskStateWorking} {
		for _, whole := range []bool{false, true} {
			s := emptyStore(t, Limits{})
			s.post = func(letter) {}
			p := newSender(s, guard{allow: loopback}, Limits{}.withDefaults(), slog.New(slog.DiscardHandler))
			task := &a2a.Task{ID: "a", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted}}
			create(t, t.Context(), s, task)
			if _, err := p.Save(t.Context(), "a", &a2a.PushConfig{URL: "http://127.0.0.1:1/"}); err != nil {
				t.Fatal(err)
			}
			next := *task
			next.Status.State = state
			var event a2a.Event = a2a.NewStatusUpdateEvent(task, state, nil)
			if whole {
				event = &next
			}
			if _, err := s.Update(t.Context(), &taskstore.UpdateRequest{Task: &next, Event: event}); err != nil {
				t.Fatal(err)
			}
			want := "[a]"
			if state == a2a.TaskStateWorking {
				want = "[]"
			}
			if got := fmt.Sprint(outbox(t, s)); got != want {
				t.Errorf("%s, whole %v: the outbox has %s, want %s", state, whole, got, want)
			}
			p.close()
		}
	}
}
