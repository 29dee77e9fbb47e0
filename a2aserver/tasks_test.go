package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
)

// A patient mind waits until it is told to end, and then answers anyway.
func patientMind(begun chan<- string) Mind {
	return mindFunc(func(ctx context.Context, t Turn, _ func(Event) error) (Outcome, error) {
		begun <- t.Task
		<-ctx.Done()
		return Outcome{Text: "Too late."}, nil
	})
}

func atOnce(text string) *a2a.SendMessageRequest {
	req := message(text)
	req.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	return req
}

// TestCancel: a cancelled task stays so, whatever the mind still says.
func TestCancel(t *testing.T) {
	begun := make(chan string, 1)
	h := serve(t, Config{Mind: patientMind(begun)})
	for i, b := range bindings {
		t.Run(b.name, func(t *testing.T) {
			c := client(t, h.url(), i)
			send(t, c, atOnce("Hi"))
			id := a2a.TaskID(<-begun)
			task, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			again, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			for _, got := range []*a2a.Task{task, again} {
				if text, ending := answerOf(t, got); got.Status.State != a2a.TaskStateCanceled || ending != Canceled || text != "" {
					t.Errorf("%s %s %q", got.Status.State, ending, text)
				}
			}
			if _, err := c.SendMessage(t.Context(), follow("More?", again)); err == nil {
				t.Error("a cancelled task took a message")
			}
		})
	}
}

func follow(text string, task *a2a.Task) *a2a.SendMessageRequest {
	req := message(text)
	req.Message.TaskID, req.Message.ContextID = task.ID, task.ContextID
	return req
}

// TestPause: a question pauses the task, and the answer goes on with it.
func TestPause(t *testing.T) {
	turns := make(chan Turn, 2)
	h := serve(t, Config{Mind: mindFunc(func(_ context.Context, turn Turn, _ func(Event) error) (Outcome, error) {
		turns <- turn
		if turn.Question == "" {
			return Outcome{Question: "Which colour?"}, nil
		}
		return Outcome{Text: "So " + turn.Text + "."}, nil
	})})
	for i, b := range bindings {
		t.Run(b.name, func(t *testing.T) {
			c := client(t, h.url(), i)
			task := send(t, c, message("Paint it."))
			<-turns
			if task.Status.State != a2a.TaskStateInputRequired || task.Status.Message.Parts[0].Text() != "Which colour?" {
				t.Fatalf("%+v", task.Status)
			}
			done := send(t, c, follow("red", task))
			turn := <-turns
			want := []Said{{false, "Paint it."}, {true, "Which colour?"}}
			if d := cmp.Diff(want, turn.Earlier); d != "" || turn.Question != "Which colour?" {
				t.Errorf("%q %s", turn.Question, d)
			}
			if text, _ := answerOf(t, done); text != "So red." || done.ID != task.ID {
				t.Errorf("%q of %s, want task %s", text, done.ID, task.ID)
			}
			third := send(t, c, message("Paint another."))
			<-turns
			if got, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: third.ID}); err != nil || got.Status.State != a2a.TaskStateCanceled {
				t.Errorf("a task that waits, cancelled: %v, %v", got, err)
			}
		})
	}
}

// TestRestart: what is finished or waits is there again after a restart, what
// was being worked on has failed, said plainly.
func TestRestart(t *testing.T) {
	begun := make(chan string, 1)
	mind := mindFunc(func(ctx context.Context, turn Turn, on func(Event) error) (Outcome, error) {
		switch turn.Text {
		case "wait":
			return patientMind(begun).Answer(ctx, turn, on)
		case "ask":
			return Outcome{Question: "What?"}, nil
		}
		return Outcome{Text: "Re: " + turn.Text}, nil
	})
	for _, how := range []string{"closed", "killed"} {
		t.Run(how, func(t *testing.T) {
			name := file(t)
			h := serveUntil(t, Config{Mind: mind, File: name})
			c := client(t, h.url(), 0)
			done, asked := send(t, c, message("done")), send(t, c, message("ask"))
			send(t, c, atOnce("wait"))
			lost := a2a.TaskID(<-begun)
			if how == "killed" {
				name = copyOf(t, h.store, name)
			}
			h.close(t)

			h = serve(t, Config{Mind: mind, File: name})
			c = client(t, h.url(), 0)
			get := func(id a2a.TaskID) *a2a.Task {
				task, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: id})
				if err != nil {
					t.Fatal(err)
				}
				return task
			}
			if text, _ := answerOf(t, get(done.ID)); text != "Re: done" {
				t.Errorf("%q", text)
			}
			task := get(lost)
			if _, ending := answerOf(t, task); task.Status.State != a2a.TaskStateFailed || ending != Interrupted || task.Status.Message == nil {
				t.Errorf("%+v %s", task.Status, ending)
			}
			if text, _ := answerOf(t, send(t, c, follow("this", asked))); text != "Re: this" {
				t.Errorf("resumed: %q", text)
			}
		})
	}
}

// copyOf copies the file of a store as a kill would leave it.
func copyOf(t *testing.T, s *store, name string) string {
	t.Helper()
	to := name + ".copy"
	if err := s.keeper.(*fileKeeper).db.View(func(tx *bbolt.Tx) error { return tx.CopyFile(to, 0o600) }); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestSubscribe: a second client hears the end of a task that runs.
func TestSubscribe(t *testing.T) {
	for i, b := range bindings {
		t.Run(b.name, func(t *testing.T) {
			begun, go1 := make(chan string, 1), make(chan struct{})
			h := serve(t, Config{Mind: mindFunc(func(_ context.Context, turn Turn, _ func(Event) error) (Outcome, error) {
				begun <- turn.Task
				<-go1
				return Outcome{Text: "Now."}, nil
			})})
			c := client(t, h.url(), i)
			send(t, c, atOnce("Hi"))
			id := a2a.TaskID(<-begun)
			var got []string
			for e, err := range c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: id}) {
				if err != nil {
					t.Fatal(err)
				}
				switch e := e.(type) {
				case *a2a.Task:
					close(go1)
				case *a2a.TaskArtifactUpdateEvent:
					got = append(got, e.Artifact.Parts[0].Text())
				case *a2a.TaskStatusUpdateEvent:
					got = append(got, e.Status.State.String())
				}
			}
			if want := []string{"Now.", "TASK_STATE_COMPLETED"}; !slices.Equal(got[max(0, len(got)-2):], want) {
				t.Errorf("%q", got)
			}
			for _, err := range c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: id}) {
				if err == nil {
					t.Error("a task that is over was subscribed to")
				}
			}
		})
	}
}

// TestList pages through a caller's tasks, the last changed first.
func TestList(t *testing.T) {
	h := serve(t, Config{Mind: says("Yes.")})
	for i, b := range bindings[:2] {
		t.Run(b.name, func(t *testing.T) {
			c := client(t, h.url(), i)
			var want []a2a.TaskID
			ctx := a2a.NewContextID()
			for n := range 7 {
				req := message(fmt.Sprint(n))
				req.Message.ContextID = ctx
				want = append(want, send(t, c, req).ID)
			}
			slices.Reverse(want)
			var got []a2a.TaskID
			req := &a2a.ListTasksRequest{ContextID: ctx, PageSize: 3, IncludeArtifacts: true}
			for {
				res, err := c.ListTasks(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				if res.TotalSize != 7 || len(res.Tasks) > 3 {
					t.Errorf("%d of %d", len(res.Tasks), res.TotalSize)
				}
				for _, task := range res.Tasks {
					got = append(got, task.ID)
					if text, _ := answerOf(t, task); text != "Yes." {
						t.Errorf("%q", text)
					}
				}
				if req.PageToken = res.NextPageToken; req.PageToken == "" {
					break
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if _, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{PageToken: "x"}); err == nil {
				t.Error("a foreign page token was taken")
			}
		})
	}
}

// TestVersions: of writers that saw the same version one wins, and a task that
// has ended does not change.
func TestVersions(t *testing.T) {
	s, err := openStore(file(t), Limits{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	task := a2a.NewSubmittedTask(a2a.TaskInfo{}, message("Hi").Message)
	v, err := s.Create(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), task); !errors.Is(err, taskstore.ErrTaskAlreadyExists) {
		t.Errorf("made again: %v", err)
	}
	var wg sync.WaitGroup
	wins := make(chan taskstore.TaskVersion, 16)
	for range cap(wins) {
		wg.Go(func() {
			if v, err := s.Update(t.Context(), &taskstore.UpdateRequest{Task: task, PrevVersion: v}); err == nil {
				wins <- v
			} else if !errors.Is(err, taskstore.ErrConcurrentModification) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(wins) != 1 {
		t.Fatalf("%d writers won", len(wins))
	}
	over := *task
	over.Status.State = a2a.TaskStateCanceled
	if _, err := s.Update(t.Context(), &taskstore.UpdateRequest{Task: &over, PrevVersion: <-wins}); err != nil {
		t.Fatal(err)
	}
	late := *task
	late.Status.State = a2a.TaskStateCompleted
	if _, err := s.Update(t.Context(), &taskstore.UpdateRequest{Task: &late}); !errors.Is(err, taskstore.ErrConcurrentModification) {
		t.Errorf("a late done: %v", err)
	}
}

// TestRetention: the oldest that have ended make room, those that run never, and
// all go with time.
func TestRetention(t *testing.T) {
	s, err := openStore(file(t), Limits{Tasks: 20, Keep: time.Hour}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	add := func(state a2a.TaskState) (a2a.TaskID, error) {
		task := a2a.NewSubmittedTask(a2a.TaskInfo{}, message("Hi").Message)
		task.Status.State = state
		_, err := s.Create(t.Context(), task)
		return task.ID, err
	}
	running, _ := add(a2a.TaskStateWorking)
	oldest, _ := add(a2a.TaskStateCompleted)
	for range 100 {
		if _, err := add(a2a.TaskStateCompleted); err != nil {
			t.Fatal(err)
		}
	}
	_, gone := s.Get(t.Context(), oldest)
	_, there := s.Get(t.Context(), running)
	if n := s.keeper.(*fileKeeper).index.len(); n > 20 || gone == nil || there != nil {
		t.Errorf("%d tasks, the oldest: %v, the running: %v", n, gone, there)
	}
	if err := s.sweep(time.Now().Add(2 * time.Hour)); err != nil || s.keeper.(*fileKeeper).index.len() != 1 {
		t.Errorf("%d tasks after their time, %v", s.keeper.(*fileKeeper).index.len(), err)
	}
	for range 19 {
		if _, err := add(a2a.TaskStateWorking); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := add(a2a.TaskStateWorking); !errors.Is(err, a2a.ErrServerError) {
		t.Errorf("one too many: %v", err)
	}
}

// TestSentHistory: a task that a message returns has as many of its last messages as the
// client asked for, and all of them if it did not say.
func TestSentHistory(t *testing.T) {
	h := serve(t, Config{Mind: scripted(t, `{"text":"Yes."}`)})
	for i, b := range bindings {
		for _, length := range []int{-1, 0, 1} {
			req := message("Hi")
			req.Config = &a2a.SendMessageConfig{HistoryLength: &length}
			if length < 0 {
				req.Config.HistoryLength = nil
			}
			task := send(t, client(t, h.url(), i), req)
			if got := len(task.History); length >= 0 && got > length || length != 0 && got == 0 {
				t.Errorf("%s: a task with a history of %d, want %d (-1 is all)", b.name, got, length)
			}
		}
	}
}

// TestBlankMessages: a message whose parts are all blank is refused, be it one part or two.
func TestBlankMessages(t *testing.T) {
	h := serve(t, Config{Mind: scripted(t, `{"text":"Yes."}`)})
	c := client(t, h.url(), 0)
	for _, texts := range [][]string{{" "}, {"\n", " "}} {
		req := message(texts[0])
		for _, text := range texts[1:] {
			req.Message.Parts = append(req.Message.Parts, a2a.NewTextPart(text))
		}
		if _, err := c.SendMessage(t.Context(), req); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%q: %v", texts, err)
		}
	}
}
