package a2aserver

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
)

// A mind gets a message only when the file has it that a task took the message. A client that
// sends it again before the mind has it waits for what the mind says, and not for what the task
// waited for before.
func TestTakenBeforeMind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		works, finish := false, make(chan struct{})
		s, err := New(Config{Mind: mindFunc(func(context.Context, Turn, func(Event) error) (Outcome, error) {
			works = true
			<-finish
			return Outcome{Text: "Yes."}, nil
		}), NoPush: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		m := sendingOf("", named("m", "Hi", "").Message)
		ctx := visit{message: m}.in(t.Context())
		if id, err := s.store.claim(ctx, m); id != "" || err != nil {
			t.Fatal(id, err)
		}
		ec := &a2asrv.ExecutorContext{TaskID: "t", ContextID: "c", Message: named("m", "Hi", "").Message}
		var events []a2a.Event
		go func() {
			for e := range (&executor{s}).Execute(ctx, ec) {
				events = append(events, e)
			}
			s.done(ec)
		}()
		synctest.Wait()
		if works {
			t.Error("the mind works before the task is on disk")
		}
		var taker a2a.TaskID
		go func() { // it comes again meanwhile
			var err error
			if taker, err = s.store.claim(t.Context(), sendingOf("", named("m", "Hi", "").Message)); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		if taker != "" {
			t.Errorf("task %q took the message, and is not on disk", taker)
		}
		task := a2a.NewSubmittedTask(ec, ec.Message)
		create(t, ctx, s.store, task)
		synctest.Wait()
		if !works {
			t.Error("the mind does not work")
		}
		if taker != "t" {
			t.Errorf("the message was taken by %q", taker)
		}

		// The task waits, and gets an answer.
		put := func(version taskstore.TaskVersion, event a2a.Event, edit func(*a2a.Task)) {
			t.Helper()
			edit(task)
			if _, err := s.store.Update(t.Context(), &taskstore.UpdateRequest{Task: task, Event: event, PrevVersion: version}); err != nil {
				t.Fatal(err)
			}
		}
		put(1, nil, func(task *a2a.Task) { task.Status = a2a.TaskStatus{State: a2a.TaskStateInputRequired} })
		answer := named("n", "red", "t").Message
		put(2, answer, func(task *a2a.Task) { task.History = append(task.History, answer) })
		h := s.handler().(*handler)
		got := make(chan *a2a.Task, 1)
		go func() {
			res, err := h.again(t.Context(), "t", named("n", "red", "t"))
			if err != nil {
				t.Error(err)
			}
			task, _ := res.(*a2a.Task)
			got <- task
		}()
		synctest.Wait()
		select {
		case <-got:
			t.Error("an answer that nobody has read counts as answered")
		default:
		}
		put(3, nil, func(task *a2a.Task) { task.Status = a2a.TaskStatus{State: a2a.TaskStateCompleted} })
		if task := <-got; task == nil || task.Status.State != a2a.TaskStateCompleted {
			t.Errorf("%+v", task)
		}
		close(finish)
		synctest.Wait()
		if len(events) == 0 {
			t.Error("no events")
		}
	})
}
