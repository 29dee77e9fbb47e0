//go:build unix

package a2aserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// asks is a mind that asks once, and then answers.
var asks = mindFunc(func(_ context.Context, turn Turn, _ func(Event) error) (Outcome, error) {
	if turn.Memo != nil {
		return Outcome{Text: "So " + turn.Text}, nil
	}
	return Outcome{Question: "What?", Memo: []byte(`"memo"`)}, nil
})

func init() { childProcess = killable }

// killable serves one task that waits once and ends, and kills itself at a point,
// the given time that the process comes to it. Several goroutines come to points, so
// their order differs from process to process.
func killable(dir string) {
	deadly, at, _ := strings.Cut(os.Getenv("A2A_KILL"), "#")
	times, _ := strconv.Atoi(at)
	var mu sync.Mutex
	atPoint = func(name string) {
		mu.Lock()
		defer mu.Unlock()
		if name != deadly && deadly != "any" {
			return
		}
		if times--; times == 0 {
			fmt.Println("killed")
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	run := func() error { return one(filepath.Join(dir, "a2a.db"), os.Getenv("A2A_HOOK")) }
	if os.Getenv("A2A_TWICE") != "" {
		run = func() error { return twice(dir) }
	}
	if address := os.Getenv("A2A_SHARED"); address != "" {
		run = func() error { return shares(dir, address) }
	}
	if text := os.Getenv("A2A_SAY"); text != "" {
		run = func() error { return talks(dir, text) }
	}
	if err := run(); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// one lets a task run to its end, with pushes to a URL.
func one(file, hook string) error {
	pushPause = time.Millisecond // before New, which sends what was left
	s, err := New(Config{Mind: asks, File: file, PushTo: loopback})
	if err != nil {
		return err
	}
	ctx := context.Background()
	c, err := dial(ctx, httptest.NewServer(s).URL)
	if err != nil {
		return err
	}
	first := message("Hi")
	first.Config = &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{URL: hook}}
	res, err := c.SendMessage(ctx, first)
	if err != nil {
		return err
	}
	if _, err := c.SendMessage(ctx, follow("red", res.(*a2a.Task))); err != nil {
		return err
	}
	for {
		unsent, err := left(s.store)
		if err != nil {
			return err
		}
		if len(unsent) == 0 {
			return s.Close() // which lets the sender come to its last point
		}
		time.Sleep(time.Millisecond)
	}
}

// dial returns a client of a server that is not a test's own.
func dial(ctx context.Context, url string) (*a2aclient.Client, error) {
	card, err := agentcard.NewResolver(nil).Resolve(ctx, url)
	if err != nil {
		return nil, err
	}
	return a2aclient.NewFromCard(ctx, card)
}

// killedChild runs this program with a variable that says where it kills itself. It reports
// whether the child came there.
func killedChild(t *testing.T, env ...string) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if state := cmd.ProcessState; err != nil && (state == nil || !state.Sys().(syscall.WaitStatus).Signaled()) {
		t.Fatalf("the child: %v: %s", err, out)
	}
	return strings.TrimSpace(string(out)) == "killed"
}

// left returns the pushes of all tasks that are in the outbox.
func left(s *store) (all []letter, err error) {
	for _, t := range s.alone() {
		list, err := s.unsent(t.owner, t.id)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// A doorbell is a receiver that takes each push at the second attempt. It keeps
// the IDs of the pushes that it took, by the state that they report.
type doorbell struct {
	mu    sync.Mutex
	tried map[string]bool
	took  map[a2a.TaskState]map[string]bool
}

func (d *doorbell) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var e a2a.StreamResponse
	if err := json.Unmarshal(body, &e); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	state := a2a.TaskStateWorking
	switch e := e.Event.(type) {
	case *a2a.Task:
		state = e.Status.State
	case *a2a.TaskStatusUpdateEvent:
		state = e.Status.State
	}
	id := r.Header.Get("Idempotency-Key")
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.tried[id] {
		d.tried[id] = true
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if d.took[state] == nil {
		d.took[state] = map[string]bool{}
	}
	d.took[state][id] = true
}

// A server that is killed at any point leaves a file from which the next one tells
// every state that a task came to rest in: at least once, always with the same ID,
// and no state that the file does not have.
func TestKill(t *testing.T) {
	defer func(d time.Duration) { pushPause = d }(pushPause)
	pushPause = time.Millisecond // before New, which sends what was left
	step := 1
	if effort.Brief() {
		step = 7
	}
	for _, point := range []string{
		"before create", "after create", "before change", "after change", "before memo",
		"before push", "after push", "before sent", "after sent",
	} {
		times := 1
		for killedAt(t, fmt.Sprintf("%s#%d", point, times)) {
			times += step
		}
		if times == 1 {
			t.Errorf("no process was killed at %q", point)
		}
	}
}

// killedAt checks what a server that is killed at a point leaves. It reports whether
// the server came to the point.
func killedAt(t *testing.T, point string) bool {
	t.Helper()
	bell := &doorbell{tried: map[string]bool{}, took: map[a2a.TaskState]map[string]bool{}}
	web := httptest.NewServer(bell)
	defer web.Close()
	dir := t.TempDir()
	killed := killedChild(t, "A2A_CHILD="+dir, "A2A_HOOK="+web.URL, "A2A_KILL="+point)
	state, asked := reopened(t, filepath.Join(dir, "a2a.db"))
	var want []a2a.TaskState
	switch state {
	case a2a.TaskStateCompleted, a2a.TaskStateInputRequired, a2a.TaskStateFailed:
		want = []a2a.TaskState{state}
	case "": // it was killed before the task was on disk
	default:
		t.Errorf("killed at %s: the task is left in %s", point, state)
	}
	if asked {
		want = append(want, a2a.TaskStateInputRequired)
	}
	bell.mu.Lock()
	defer bell.mu.Unlock()
	for _, s := range want {
		if len(bell.took[s]) != 1 {
			t.Errorf("killed at %s: the task is in %s, and %s was delivered by %d pushes", point, state, s, len(bell.took[s]))
		}
	}
	if state != a2a.TaskStateCompleted && len(bell.took[a2a.TaskStateCompleted]) > 0 {
		t.Errorf("killed at %s: the task is in %s, and a push said that it was completed", point, state)
	}
	return killed
}

// reopened lets a server deliver what another left, and returns the state of the
// task, and whether it ever waited for an answer.
func reopened(t *testing.T, file string) (state a2a.TaskState, asked bool) {
	t.Helper()
	s, err := New(Config{Mind: asks, File: file, PushTo: loopback})
	if err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		unsent, err := left(s.store)
		if err != nil || time.Now().After(until) {
			t.Fatalf("%d pushes are left: %v", len(unsent), err)
		}
		if len(unsent) == 0 {
			break
		}
	}
	for _, l := range s.store.alone() {
		r, err := s.store.row(l.owner, l.id)
		if err != nil {
			t.Fatal(err)
		}
		state = r.Task.Status.State
		for _, m := range append(r.Task.History, r.Task.Status.Message) {
			asked = asked || m != nil && m.Parts[0].Text() == "What?"
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return state, asked
}
