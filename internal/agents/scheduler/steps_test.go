package scheduler

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/agents/schedule"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
	"github.com/sotto-llm/sotto/model"
)

// agentOf makes an agent with replies of a script.
func agentOf(t *testing.T, script string, tools ...agent.Tool) *agent.Agent {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "script"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return scriptedAgent(filepath.Join(dir, "script"), tools...)
}

func scriptedAgent(script string, tools ...agent.Tool) *agent.Agent {
	m, err := model.Open(model.Config{Provider: "scripted", Script: script})
	if err != nil {
		panic(err)
	}
	return &agent.Agent{Name: "clerk", Turn: agent.Turn{Model: m, Start: "outside", Tools: tools}}
}

func jobOf(a *agent.Agent, when string) Job {
	return Job{Agent: a, Schedule: agent.Schedule{Name: "daily", When: when, Task: "Work.", Time: time.Hour}}
}

// held begins a session with a schedule in a folder. No clock is running.
func held(t *testing.T, dir string, j Job) *session {
	t.Helper()
	s := New(Options{Keeper: Folder(dir), Log: slog.New(slog.DiscardHandler)})
	h, err := s.o.Keeper.take(j.name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.release)
	return &session{w: &worker{s: s, id: j.name(), job: &j}, hold: h}
}

func step(t *testing.T, x *session, now time.Time) {
	t.Helper()
	if _, err := x.step(context.Background(), now); err != nil {
		t.Fatal(err)
	}
}

// finish waits until the run that is going has ended.
func finish(t *testing.T, x *session) {
	t.Helper()
	if x.done == nil {
		t.Fatal("no run is going")
	}
	e := <-x.done
	x.done = nil
	if err := x.ended(e); err != nil {
		t.Fatal(err)
	}
}

// outcomes are those that are kept, with how many times each stands for.
func outcomes(x *session) (list []string) {
	for _, r := range x.hold.state().Past {
		list = append(list, r.Outcome+strings.Repeat("+", max(0, r.Times-1))+" "+r.Due.Format("15:04"))
	}
	return list
}

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// TestSteps: a time is run once. One at which the run before is going is skipped. After a while
// without a gateway, the last time is run and the others are missed, or all of them, as the file
// says. Another form begins again.
func TestSteps(t *testing.T) {
	a := agentOf(t, `{"text":"Done."}`)
	x := held(t, t.TempDir(), jobOf(a, "every 1h"))
	step(t, x, noon.Add(30*time.Minute))
	step(t, x, noon.Add(59*time.Minute))
	if x.done != nil || len(outcomes(x)) > 0 {
		t.Fatal("a run came before its time")
	}
	step(t, x, noon.Add(time.Hour))
	step(t, x, noon.Add(2*time.Hour)) // the run is going
	step(t, x, noon.Add(3*time.Hour))
	finish(t, x)
	step(t, x, noon.Add(3*time.Hour+time.Minute))
	if x.done != nil {
		t.Fatal("a time was run twice")
	}
	step(t, x, noon.Add(7*time.Hour+30*time.Minute))
	finish(t, x)
	x.w.job.SkipMissed = true
	step(t, x, noon.Add(9*time.Hour+30*time.Minute))
	step(t, x, noon.Add(10*time.Hour+59*time.Second)) // within a minute it is not late
	finish(t, x)
	x.w.job.When = "at 06:30"
	step(t, x, noon.Add(20*time.Hour))
	want := []string{"skipped+ 14:00", "answered 13:00", "missed++ 16:00", "answered 19:00", "missed+ 20:00", "answered 22:00"}
	if got := outcomes(x); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if next := x.w.job.form().Next(x.hold.state().After); !next.Equal(time.Date(2026, 3, 3, 8, 0, 0, 0, time.UTC).Add(22*time.Hour + 30*time.Minute)) {
		t.Errorf("the next one is due at %v", next)
	}
}

// TestClockGoesBack: a time that was run is not run again where a clock was set back.
func TestClockGoesBack(t *testing.T) {
	x := held(t, t.TempDir(), jobOf(agentOf(t, `{"text":"Done."}`), "every 1h"))
	step(t, x, noon.Add(30*time.Minute))
	step(t, x, noon.Add(time.Hour))
	finish(t, x)
	step(t, x, noon.Add(-10*time.Hour))
	step(t, x, noon.Add(time.Hour+time.Minute))
	if got := outcomes(x); len(got) != 1 || x.done != nil {
		t.Errorf("%q", got)
	}
}

// TestTooLong: a run that takes longer than it may ends, and so does one that ended every process
// that worked on it.
func TestTooLong(t *testing.T) {
	dir := t.TempDir()
	waits := &agent.Func{Name: "wait", Do: func(ctx context.Context, _ agent.Use) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}}
	j := jobOf(agentOf(t, `{"when":{"step":1},"calls":[{"name":"wait"}]}`+"\n"+`{"text":"Done."}`, waits), "every 1h")
	j.Time = 50 * time.Millisecond
	x := held(t, dir, j)
	step(t, x, noon.Add(30*time.Minute))
	step(t, x, noon.Add(time.Hour))
	finish(t, x)
	s := *x.hold.state()
	s.Current = &current{Run: schedule.Run{Due: noon, Outcome: schedule.Running, Processes: maxProcesses}, Task: "Work.", Time: time.Hour, ID: "x"}
	if err := x.put(s); err != nil {
		t.Fatal(err)
	}
	if err := x.resume(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got, want := outcomes(x), []string{"time 13:00", "interrupted 12:00"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestReload: a schedule that is changed, or removed, while a run is going neither ends nor repeats
// the run, and what is kept of it is the same for the next process.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	let, called := make(chan struct{}), make(chan struct{}, 100)
	waits := &agent.Func{Name: "wait", Do: func(context.Context, agent.Use) (string, error) {
		called <- struct{}{}
		<-let
		return "ok", nil
	}}
	a := agentOf(t, `{"when":{"step":1},"calls":[{"name":"wait"}]}`+"\n"+`{"text":"Done."}`, waits)
	s := New(Options{Keeper: Folder(dir), Log: slog.New(slog.DiscardHandler)})
	s.Set([]Job{jobOf(a, "every 1s")})
	<-called
	s.Set([]Job{jobOf(a, "every 24h")})
	waiting.Until(t, "the new form", func() bool {
		list, err := s.Status(time.Now())
		return err == nil && len(list) == 1 && list[0].When == "every 24h" && len(list[0].Past) > 0
	})
	s.Set(nil)
	close(let)
	waiting.Until(t, "the end of the run", func() bool {
		list, err := StatusOf(Folder(dir), []Job{jobOf(a, "every 24h")}, time.Now())
		return err == nil && slices.ContainsFunc(list[0].Past, func(r schedule.Run) bool { return r.Outcome == "answered" && r.Answer == "Done." })
	})
	s.Close()
	if len(called) > 0 {
		t.Errorf("%d more runs", len(called))
	}
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if strings.HasSuffix(e.Name(), logFile) {
			t.Errorf("the log %s is left", e.Name())
		}
	}
}

// TestDrain: a gateway that ends begins nothing more and waits for the run that is going; one that
// cannot wait leaves it to the next, which does not repeat what was done.
func TestDrain(t *testing.T) {
	dir := t.TempDir()
	let, calls := make(chan struct{}), 0
	waits := &agent.Func{Name: "wait", Do: func(ctx context.Context, _ agent.Use) (string, error) {
		calls++
		select {
		case <-let:
			return "ok", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}}
	a := agentOf(t, `{"when":{"step":1},"calls":[{"name":"wait"}]}`+"\n"+`{"text":"Done."}`, waits)
	past := func() []schedule.Run {
		list, err := StatusOf(Folder(dir), []Job{jobOf(a, "every 1s")}, time.Now())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return list[0].Past
	}
	first := New(Options{Keeper: Folder(dir), Log: slog.New(slog.DiscardHandler)})
	first.Set([]Job{jobOf(a, "every 1s")})
	waiting.Until(t, "a run", func() bool { return len(past()) > 0 })
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := first.Drain(ended); err == nil {
		t.Error("nothing was waited for")
	}
	first.Close()
	run := past()[0].Run
	next := New(Options{Keeper: Folder(dir), Log: slog.New(slog.DiscardHandler)})
	close(let)
	next.Set([]Job{jobOf(a, "every 1s")})
	waiting.Until(t, "the end of the run", func() bool {
		return slices.ContainsFunc(past(), func(r schedule.Run) bool { return r.Run == run && r.Outcome == "answered" && r.Processes == 2 })
	})
	if err := next.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := past()[0]; got.Outcome == schedule.Running {
		t.Errorf("a run is going: %v", got)
	}
	next.Close()
}
