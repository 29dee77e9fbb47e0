package a2aserver

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
)

// TestWaiting: if too many tasks of a caller wait, its oldest fails, the receiver
// of its pushes gets a push, and the tasks of another caller stay.
func TestWaiting(t *testing.T) {
	hook := newHook(t, 200)
	h := serve(t, Config{
		Mind: mindFunc(func(_ context.Context, turn Turn, _ func(Event) error) (Outcome, error) {
			if turn.Question != "" {
				return Outcome{Text: "So " + turn.Text}, nil
			}
			return Outcome{Question: "What?", Memo: []byte(`"memo"`)}, nil
		}),
		PushTo: loopback, Tokens: []Token{{Name: "ann", Secret: "a"}, {Name: "bob", Secret: "b"}}, Limits: Limits{Waiting: 3},
	})
	ann, bob := client(t, h.url(), 0, "Authorization", "Bearer a"), client(t, h.url(), 0, "Authorization", "Bearer b")
	his := send(t, bob, message("Hi"))
	first := send(t, ann, pushTo(hook.URL))
	hook.await(t, 3) // submitted, working, input required
	var rest []*a2a.Task
	for range 3 {
		rest = append(rest, send(t, ann, message("Hi")))
	}
	hook.await(t, 1)
	if last := hook.bodies[len(hook.bodies)-1]; !strings.Contains(last, "TASK_STATE_FAILED") {
		t.Errorf("pushed: %s", last)
	}
	gone, err := ann.GetTask(t.Context(), &a2a.GetTaskRequest{ID: first.ID})
	if err != nil {
		t.Fatal(err)
	}
	if _, ending := answerOf(t, gone); gone.Status.State != a2a.TaskStateFailed || ending != Dropped {
		t.Errorf("the oldest: %s %s", gone.Status.State, ending)
	}
	if memo, err := h.store.memo("", first.ID, 1); memo != nil || err != nil {
		t.Errorf("its memo: %q, %v", memo, err)
	}
	for _, task := range rest {
		if text, _ := answerOf(t, send(t, ann, follow("red", task))); text != "So red" {
			t.Errorf("one of the rest: %q", text)
		}
	}
	if text, _ := answerOf(t, send(t, bob, follow("blue", his))); text != "So blue" {
		t.Errorf("another caller's: %q", text)
	}
}

// TestRoomBytes: whatever callers do, in any order, the file holds no more than
// its limit and one task above; what runs stays, and a caller that holds little
// loses nothing to one that holds much.
func TestRoomBytes(t *testing.T) {
	const limit, size = 1 << 20, 32 << 10
	s, err := openStore(file(t), Limits{Bytes: limit}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	small := context.Background()
	greedy := visit{caller: "greedy"}.in(small)
	text := strings.Repeat("x", size)
	add := func(ctx context.Context, state a2a.TaskState, text string) (*a2a.Task, error) {
		task := a2a.NewSubmittedTask(a2a.TaskInfo{}, message(text).Message)
		v, err := s.Create(ctx, task)
		if err != nil {
			return nil, err
		}
		task.Status.State = state
		_, err = s.Update(ctx, &taskstore.UpdateRequest{Task: task, PrevVersion: v})
		return task, err
	}
	running, err := add(small, a2a.TaskStateWorking, "run")
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := add(small, a2a.TaskStateInputRequired, "wait")
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		state := []a2a.TaskState{a2a.TaskStateCompleted, a2a.TaskStateInputRequired}[rnd.IntN(2)]
		if _, err := add(greedy, state, text); err != nil {
			t.Fatal(err)
		}
		if used, err := s.keeper.(*fileKeeper).used(); err != nil || used > limit+3*size {
			t.Fatalf("%d bytes are used, %v", used, err)
		}
	}
	for _, task := range []*a2a.Task{running, waiting} {
		if _, err := s.Get(small, task.ID); err != nil {
			t.Errorf("%s: %v", task.Status.State, err)
		}
	}
	for err = nil; err == nil; {
		_, err = add(greedy, a2a.TaskStateWorking, text)
	}
	if !errors.Is(err, a2a.ErrServerError) || !strings.Contains(err.Error(), "no room for another task") {
		t.Errorf("where all is being worked on: %v", err)
	}
	if err := s.admit("", running.ID); !errors.Is(err, a2a.ErrServerError) {
		t.Errorf("a message to a task: %v", err)
	}
}

// TestUsed: the bytes of tasks that were dropped are free again, also after a
// restart.
func TestUsed(t *testing.T) {
	name := file(t)
	s, err := openStore(name, Limits{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	empty, err := s.keeper.(*fileKeeper).used()
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		task := a2a.NewSubmittedTask(a2a.TaskInfo{}, message(strings.Repeat("x", 100<<10)).Message)
		task.Status.State = a2a.TaskStateCompleted
		if _, err := s.Create(t.Context(), task); err != nil {
			t.Fatal(err)
		}
	}
	if full, err := s.keeper.(*fileKeeper).used(); err != nil || full < 1000<<10 {
		t.Errorf("%d bytes are used, %v", full, err)
	}
	if err := s.sweep(time.Now().Add(30 * 24 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"dropped", "opened again"} {
		if used, err := s.keeper.(*fileKeeper).used(); err != nil || used > empty+64<<10 {
			t.Errorf("%s: %d bytes are used, %d when it was empty, %v", when, used, empty, err)
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		if s, err = openStore(name, Limits{}.withDefaults()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
}

// TestNoFile: a store without a file leaves none, not even where it is killed.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	s, err := openStore("", Limits{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	left := func() int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	if n := left(); n > 0 && runtime.GOOS != "windows" {
		t.Errorf("%d files while it is open", n)
	}
	task := a2a.NewSubmittedTask(a2a.TaskInfo{}, message(strings.Repeat("x", 4<<20)).Message)
	if _, err := s.Create(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(t.Context(), task.ID); err != nil || len(got.Task.History) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	if n := left(); n > 0 {
		t.Errorf("%d files after it was closed", n)
	}
}

// TestUsedWhileFileGrows: the size is asked for while another task makes the file grow.
func TestUsedWhileFileGrows(t *testing.T) {
	s, err := openStore(file(t), Limits{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	grown := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 24 && err == nil; i++ {
			err = s.keepMemo("", a2a.TaskID(strconv.Itoa(i)), 1, make([]byte, 100<<10))
		}
		grown <- err
	}()
	for {
		if _, err := s.keeper.(*fileKeeper).used(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-grown:
			if used, _ := s.keeper.(*fileKeeper).used(); err != nil || used < 24*100<<10 {
				t.Errorf("%d bytes are used, %v", used, err)
			}
			return
		default:
		}
	}
}
