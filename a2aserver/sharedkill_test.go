//go:build unix

package a2aserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/data/transact"
	"github.com/sotto-llm/sotto/internal/serve/replicas"
	"github.com/sotto-llm/sotto/internal/testing/redisserver"
	"github.com/sotto-llm/sotto/model"
)

// A stepper is a model that calls two tools, and then answers. What it says follows from how many
// results it has.
type stepper struct{ dir string }

func (stepper) Name() string { return "stepper" }

func (s stepper) Invoke(ctx context.Context, q model.Request, _ func(model.Delta) error) (model.Reply, error) {
	results := 0
	for _, m := range q.Messages {
		if m.Role == model.ToolRole {
			results++
		}
	}
	if err := jot(s.dir, "asked", strconv.Itoa(results)); err != nil {
		return model.Reply{}, err
	}
	point("asked")
	if tools := []string{"once", "again"}; results < len(tools) {
		return model.Reply{End: sotto.EndStopped, Calls: []model.Call{{ID: tools[results], Name: tools[results], Arguments: "{}"}}}, nil
	}
	return model.Reply{Raw: "Done.", End: sotto.EndStopped}, ctx.Err()
}

// jot adds a line to a file.
func jot(dir, name, line string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}

// jotter is a tool that writes down the key of each use. Only one of the two may be repeated.
func jotter(dir, name string, repeat bool) agent.Tool {
	return &agent.Func{Name: name, Repeat: repeat, Do: func(_ context.Context, u agent.Use) (string, error) {
		if err := jot(dir, name, u.Key()); err != nil {
			return "", err
		}
		point("used")
		return "ok", nil
	}}
}

func stepping(dir string, space *transact.Space) Config {
	return Config{Shared: space, Mind: &AgentMind{Turn: agent.Turn{
		Model: stepper{dir}, Start: sotto.BeginOutside, Tools: []agent.Tool{jotter(dir, "once", false), jotter(dir, "again", true)},
	}}}
}

// shares serves as a replica until it is killed.
func shares(dir, address string) error {
	level, err := replicas.Open(address, replicas.Options{})
	if err != nil {
		return err
	}
	space, err := transact.New(level, []byte("a secret of all replicas"), "tasks", transact.Limits{})
	if err != nil {
		return err
	}
	s, err := New(stepping(dir, space))
	if err != nil {
		return err
	}
	fmt.Println(httptest.NewServer(s).URL)
	select {}
}

// TestReplicaKill: wherever a replica is killed, its task ends at the other one, once: each message
// makes one task, a tool is called once, and one that may be repeated has the same key again.
// The store is restarted meanwhile, in every second case. A2A_KILLS is how many random points are tried.
func TestReplicaKill(t *testing.T) {
	n := 6
	if text := os.Getenv("A2A_KILLS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	r := redisserver.RunPersistent(t)
	dir := t.TempDir()
	c, taken := stepping(dir, spaceIn(t, r)), &takeovers{}
	c.Logger = slog.New(taken)
	staying := serve(t, c)
	killed, longest, slowest := 0, time.Duration(0), time.Duration(0)
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	for i := range n {
		at := 1 + rnd.IntN(30)
		taken.at.Store(0)
		died, took := killedReplica(t, r, dir, staying, at, i%2 == 1)
		if died {
			killed++
			longest = max(longest, took)
			work := time.Duration(0) // none is left if the kill came before the task
			if at := taken.at.Load(); at > 0 {
				work = time.Since(time.Unix(0, at))
			}
			slowest = max(slowest, took-work)
			t.Logf("point %d, store restarted: %v: %v, of which %v until it was taken over", at, i%2 == 1, took.Round(10*time.Millisecond), (took - work).Round(10*time.Millisecond))
		}
	}
	if killed == 0 {
		t.Error("no replica was killed")
	}
	t.Logf("%d of %d replicas were killed; the longest time from the kill to the end of the task was %v, and to the moment when it was taken over %v", killed, n, longest.Round(10*time.Millisecond), slowest.Round(10*time.Millisecond))
}

// takeovers is a log that notes when a task was taken over last.
type takeovers struct{ at atomic.Int64 }

func (*takeovers) Enabled(context.Context, slog.Level) bool { return true }

func (l *takeovers) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "goes on here") {
		l.at.Store(time.Now().UnixNano())
	}
	return nil
}

func (l *takeovers) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l *takeovers) WithGroup(string) slog.Handler { return l }

// killedReplica sends a message to a replica that is killed at a point, and again to the one that
// stays. It reports whether the replica was killed, and how long the rest took.
func killedReplica(t *testing.T, r *redisserver.Server, dir string, staying *house, at int, restart bool) (died bool, took time.Duration) {
	t.Helper()
	for _, name := range []string{"once", "again", "asked"} {
		_ = os.Remove(filepath.Join(dir, name))
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "A2A_CHILD="+dir, "A2A_SHARED="+r.Address(), fmt.Sprintf("A2A_KILL=any#%d", at))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	url := strings.TrimSpace(line)
	if err != nil || !strings.HasPrefix(url, "http") {
		t.Fatalf("the child says %q, %v", line, err)
	}
	if restart {
		restarted := make(chan struct{})
		go func() { defer close(restarted); r.Kill(); r.Start() }()
		defer func() { <-restarted }()
	}
	id := fmt.Sprint("m", time.Now().UnixNano())
	c, err := dial(t.Context(), url)
	if err == nil {
		_, err = c.SendMessage(t.Context(), named(id, "Hi", ""))
	}
	died = err != nil
	began := time.Now()
	task := send(t, client(t, staying.url(), 0), named(id, "Hi", ""))
	took = time.Since(began)
	what := fmt.Sprintf("killed at point %d (%v), store restarted: %v: task %s", at, died, restart, task.ID)
	if text, ending := answerOf(t, task); ending != Answered || text != "Done." {
		t.Errorf("%s is %s (%s): %q", what, task.Status.State, ending, text)
	}
	if keys := jotted(t, dir, "once"); len(keys) > 1 {
		t.Errorf("%s: a tool was called twice: %q", what, keys)
	}
	if keys := jotted(t, dir, "again"); len(keys) == 0 || len(keys) > 2 || keys[0] != keys[len(keys)-1] {
		t.Errorf("%s: a tool that may be repeated was called as %q", what, keys)
	}
	asked := map[string]int{}
	for _, n := range jotted(t, dir, "asked") {
		asked[n]++
	}
	twice := 0
	for _, n := range asked {
		twice += n - 1
	}
	if len(asked) != 3 || twice > 1 { // the last one may have been killed before its reply was kept
		t.Errorf("%s: the model was asked %v", what, asked)
	}
	return died, took
}

func jotted(t *testing.T, dir, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(string(data))
}
