//go:build unix

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/agents/schedule"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/data/transact"
	"github.com/sotto-llm/sotto/internal/serve/replicas"
	"github.com/sotto-llm/sotto/internal/testing/redisserver"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
	"github.com/sotto-llm/sotto/record"
)

const killScript = `{"when":{"step":1},"calls":[{"name":"note"}]}` + "\n" + `{"text":"Noted.","wait":"200ms"}`

func init() { childProcess = child }

func must(err error) {
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

// keeperIn is where the processes of a test keep schedules: in Redis if there is an address.
func keeperIn(dir, address string) (k Keeper, closed func()) {
	if address == "" {
		return Folder(filepath.Join(dir, "schedules")), func() {}
	}
	level, err := replicas.Open(address, replicas.Options{})
	must(err)
	space, err := transact.New(level, []byte("a secret of all replicas"), "schedules", Limits())
	must(err)
	return Shared{space}, func() { _ = level.Close() }
}

// killJob is a schedule whose agent notes each call of its tool in a file.
func killJob(dir string) Job {
	note := &agent.Func{Name: "note", Do: func(_ context.Context, u agent.Use) (string, error) {
		f, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return "", err
		}
		point("before call")
		_, err = f.WriteString(u.Key() + "\n")
		point("after call")
		return "noted", errors.Join(err, f.Close())
	}}
	return jobOf(scriptedAgent(filepath.Join(dir, "script"), note), "every 1s")
}

// child works on the schedule, and kills itself at a point, or ends when its input does.
func child(dir string) {
	kill, err := strconv.Atoi(os.Getenv("SCHEDULER_KILL"))
	must(err)
	passed := make(chan struct{}, 1000)
	atPoint = func(string) {
		passed <- struct{}{}
		if len(passed) == kill {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	k, _ := keeperIn(dir, os.Getenv("SCHEDULER_REDIS"))
	o := Options{Keeper: k, Log: slog.New(slog.DiscardHandler)}
	if os.Getenv("SCHEDULER_REDIS") == "" {
		o.Record, err = record.Open(filepath.Join(dir, "record"), record.Options{})
		must(err)
	}
	s := New(o)
	s.Set([]Job{killJob(dir)})
	_, _ = os.Stdin.Read(make([]byte, 1))
	must(s.Drain(context.Background()))
	s.Close()
	if o.Record != nil {
		must(o.Record.Close())
	}
	os.Exit(0)
}

// spawn starts a process that is killed at a point; 0 for one that is not.
func spawn(t *testing.T, dir, address string, kill int) (end func(), ended chan error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "SCHEDULER_CHILD="+dir, "SCHEDULER_REDIS="+address, "SCHEDULER_KILL="+strconv.Itoa(kill))
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended = make(chan error, 1)
	go func() {
		err := cmd.Wait()
		if state := cmd.ProcessState; err != nil && state.Sys().(syscall.WaitStatus).Signaled() {
			err = nil
		}
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out.String())
		}
		ended <- err
	}()
	return func() { in.Close() }, ended
}

func wait(t *testing.T, ended chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("a process does not end")
	}
}

// statusOf returns what is known of the schedule of a test.
func statusOf(t *testing.T, dir, address string) []schedule.Run {
	t.Helper()
	k, closed := keeperIn(dir, address)
	defer closed()
	list, err := StatusOf(k, []Job{jobOf(&agent.Agent{Name: "clerk"}, "every 1s")}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return list[0].Past
}

// another waits for the end of a run that begins from now on. So those before it have ended.
func another(t *testing.T, dir, address string) {
	t.Helper()
	now := time.Now()
	waiting.Within(t, time.Minute, "another run", func() error {
		if slices.ContainsFunc(statusOf(t, dir, address), func(r schedule.Run) bool { return r.Outcome == "answered" && r.Began.After(now) }) {
			return nil
		}
		return errors.New("none has ended")
	})
}

// check says that each second from the first one that was due to the last is in the history once:
// as a run, or as one that was skipped or missed; and that no run called its tool twice.
func check(t *testing.T, dir, address string) []schedule.Run {
	t.Helper()
	past := statusOf(t, dir, address)
	times := map[int64]int{}
	first, last := int64(1<<62), int64(0)
	for _, r := range past {
		until := r.Due.Unix()
		if r.Times > 0 {
			until = r.Until.Unix()
			first, last = min(first, r.Due.Unix()), max(last, until)
			continue // they may join over runs between them
		}
		if r.Outcome != "answered" {
			t.Errorf("%v", r)
		}
		times[r.Due.Unix()]++
		first, last = min(first, until), max(last, until)
	}
	without := 0
	for _, r := range past {
		without += r.Times
	}
	for due, n := range times {
		if n != 1 {
			t.Errorf("%v has %d runs", time.Unix(due, 0), n)
		}
	}
	if want := int(last - first + 1); len(times)+without != want {
		t.Errorf("%d runs and %d times without one, of %d times that were due", len(times), without, want)
	}
	data, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	calls := strings.Fields(string(data))
	slices.Sort(calls)
	if len(slices.Compact(slices.Clone(calls))) != len(calls) {
		t.Errorf("a run called its tool twice: %q", calls)
	}
	if len(times) == 0 || len(calls) == 0 {
		t.Errorf("%d runs, %d calls", len(times), len(calls))
	}
	return past
}

// TestKilled kills the process at random points, again and again. No time has two runs or none, and
// no run calls a tool twice. The record has each run, and its end.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "script"), []byte(killScript), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 8 * effort.Times() {
		_, ended := spawn(t, dir, "", 1+rand.IntN(24))
		wait(t, ended)
	}
	end, ended := spawn(t, dir, "", 0)
	another(t, dir, "")
	end()
	wait(t, ended)
	runs := check(t, dir, "")
	r, err := record.OpenReader(filepath.Join(dir, "record"), record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	began, over := map[string]string{}, map[string]int{}
	for e, err := range r.Events(record.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch p := e.Payload.(type) {
		case record.RunStart:
			began[e.Run] = p.IDs["due"]
		case record.RunEnd:
			over[e.Run]++
		}
	}
	for _, one := range runs {
		if one.Run != "" && (began[one.Run] != one.Due.Format(time.RFC3339) || over[one.Run] == 0) {
			t.Errorf("the record has %q and %d ends of %v", began[one.Run], over[one.Run], one)
		}
	}
}

// TestReplicas: of two replicas one works on a schedule. If it is killed, the other one goes on with
// its run.
func TestReplicas(t *testing.T) {
	dir, redis := t.TempDir(), redisserver.Run(t)
	if err := os.WriteFile(filepath.Join(dir, "script"), []byte(killScript), 0o600); err != nil {
		t.Fatal(err)
	}
	var ends []func()
	var all []chan error
	start := func(kill int) chan error {
		end, ended := spawn(t, dir, redis.Address(), kill)
		if kill == 0 {
			ends, all = append(ends, end), append(all, ended)
		}
		return ended
	}
	// Each but the last is killed, when it has had the schedule for a while.
	first := start(1 + rand.IntN(24))
	for range 4 * effort.Times() {
		next := start(1 + rand.IntN(24))
		wait(t, first)
		first = next
	}
	wait(t, first) // before the others begin: one that is not killed may keep the schedule
	start(0)
	start(0)
	another(t, dir, redis.Address())
	for i, end := range ends {
		end()
		wait(t, all[i])
	}
	check(t, dir, redis.Address())
}
