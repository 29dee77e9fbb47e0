//go:build unix

package a2aserver

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// notebook is a mind that writes each text into a file of the folder before it works on it.
func notebook(dir string) Mind {
	return mindFunc(func(_ context.Context, turn Turn, _ func(Event) error) (Outcome, error) {
		f, err := os.OpenFile(filepath.Join(dir, "runs"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return Outcome{}, err
		}
		if _, err := fmt.Fprintln(f, turn.Text); err != nil {
			return Outcome{}, err
		}
		point("noted")
		if turn.Memo == nil {
			return Outcome{Question: "What?", Memo: []byte(`1`)}, f.Close()
		}
		return Outcome{Text: "So " + turn.Text}, f.Close()
	})
}

// twice is the process that gets a message and the answer to its question.
func twice(dir string) error {
	s, err := New(Config{Mind: notebook(dir), File: filepath.Join(dir, "a2a.db")})
	if err != nil {
		return err
	}
	ctx := context.Background()
	c, err := dial(ctx, httptest.NewServer(s).URL)
	if err != nil {
		return err
	}
	if _, err := exchange(ctx, c); err != nil {
		return err
	}
	return s.Close()
}

// exchange sends the message, and the answer if the task waits. It returns the task.
func exchange(ctx context.Context, c *a2aclient.Client) (*a2a.Task, error) {
	res, err := c.SendMessage(ctx, named("first", "Hi", ""))
	if err != nil {
		return nil, err
	}
	task := res.(*a2a.Task)
	if task.Status.State != a2a.TaskStateInputRequired {
		return task, nil
	}
	if res, err = c.SendMessage(ctx, named("second", "red", task.ID)); err != nil {
		return nil, err
	}
	return res.(*a2a.Task), nil
}

// TestRepeatKill: a client that sends its messages again after the server was killed at any point
// gets the same task as ever, and no message runs twice. What did not run before the kill runs then.
func TestRepeatKill(t *testing.T) {
	step := 1
	if effort.Brief() {
		step = 4
	}
	for _, at := range []string{"before create", "after create", "before change", "after change", "noted"} {
		times := 1
		for killedBetween(t, fmt.Sprintf("%s#%d", at, times)) {
			times += step
		}
		if times == 1 {
			t.Errorf("no process was killed at %q", at)
		}
	}
}

func killedBetween(t *testing.T, at string) bool {
	t.Helper()
	dir := t.TempDir()
	killed := killedChild(t, "A2A_CHILD="+dir, "A2A_TWICE=1", "A2A_KILL="+at)
	runs := func() map[string]int {
		data, err := os.ReadFile(filepath.Join(dir, "runs"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		n := map[string]int{}
		for _, text := range strings.Fields(string(data)) {
			n[text]++
		}
		return n
	}
	h := serve(t, Config{Mind: notebook(dir), File: filepath.Join(dir, "a2a.db")})
	c := client(t, h.url(), 0)
	var tasks [2]*a2a.Task
	for i := range tasks {
		var err error
		if tasks[i], err = exchange(t.Context(), c); err != nil {
			t.Fatalf("killed at %s: %v", at, err)
		}
	}
	if tasks[0].ID != tasks[1].ID || tasks[0].Status.State != tasks[1].Status.State {
		t.Errorf("killed at %s: task %s is %s, then %s %s", at, tasks[0].ID, tasks[0].Status.State, tasks[1].ID, tasks[1].Status.State)
	}
	got := runs()
	switch _, ending := answerOf(t, tasks[0]); {
	case ending == Answered && got["Hi"] == 1 && got["red"] == 1:
	case ending == Interrupted && got["Hi"] <= 1 && got["red"] <= 1:
	default:
		t.Errorf("killed at %s: the task is %s (%s) after the runs %v", at, tasks[0].Status.State, ending, got)
	}
	return killed
}
