//go:build unix

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/agents/schedule"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
	"github.com/sotto-llm/sotto/record"
)

// A scheduled gateway serves an agent with a schedule.
type scheduled struct {
	t   *testing.T
	dir string
}

func (v *scheduled) path(name string) string { return filepath.Join(v.dir, name) }

// configure writes the agent's file. Its model thinks for a while.
func (v *scheduled) configure(when, task string) {
	v.t.Helper()
	file := fmt.Sprintf("v: 1\nname: clerk\nmodel: {provider: scripted, script: script}\nschedule: [{name: tick, when: %s, task: %q}]\n", when, task)
	for name, text := range map[string]string{"new": file, "script": `{"text":"Done.","wait":"700ms"}` + "\n"} {
		if err := os.WriteFile(v.path(name), []byte(text), 0o600); err != nil {
			v.t.Fatal(err)
		}
	}
	if err := os.Rename(v.path("new"), v.path("agent.yaml")); err != nil {
		v.t.Fatal(err)
	}
}

func (v *scheduled) start() *gatewayUnderLoad {
	v.t.Helper()
	g := &gatewayUnderLoad{}
	stderr, said, err := os.Pipe()
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { stderr.Close() })
	g.cmd = exec.Command("sotto", "serve", "--takeover", "--agent="+v.path("agent.yaml"), "--listen=127.0.0.1:0", "--upstream=http://127.0.0.1:9", "--data="+v.path("data"), "--record="+v.path("audit"))
	g.cmd.Stderr = said
	if err := g.cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { _ = g.cmd.Process.Kill() })
	said.Close()
	g.follow(v.t, stderr)
	return g
}

// status is what the command line says of the schedule.
func (v *scheduled) status() (schedule.Status, error) {
	out, err := exec.Command("sotto", "serve", "--agent="+v.path("agent.yaml"), "--data="+v.path("data"), "--schedules", "--json").Output()
	if err != nil {
		return schedule.Status{}, err
	}
	var all struct{ Schedules []schedule.Status }
	if err := json.Unmarshal(out, &all); err != nil || len(all.Schedules) != 1 {
		return schedule.Status{}, fmt.Errorf("%s: %w", out, err)
	}
	return all.Schedules[0], nil
}

// until waits for a run that one of the conditions holds for.
func (v *scheduled) until(what string, holds func(schedule.Run) bool) (found schedule.Run) {
	v.t.Helper()
	waiting.Within(v.t, time.Minute, what, func() error {
		st, err := v.status()
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(st.Past, holds); i >= 0 {
			found = st.Past[i]
			return nil
		}
		return errors.New("there is none")
	})
	return found
}

// TestSchedules: a gateway with a schedule is reloaded while a run is going, replaced by another
// process while one is going, and killed while one is going. Each of these runs ends, and no time has
// two runs. A file with a fault changes nothing.
func TestSchedules(t *testing.T) {
	v := &scheduled{t: t, dir: t.TempDir()}
	v.configure("every 1s", "One.")
	running := func(r schedule.Run) bool { return r.Outcome == schedule.Running }
	is := func(run string) func(schedule.Run) bool {
		return func(r schedule.Run) bool { return r.Run == run && r.Outcome == "answered" }
	}
	first := v.start()
	reloaded := v.until("a run", running)
	v.configure("every 2s", "Two.")
	if err := first.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	v.until("the end of the run that was going at the reload", is(reloaded.Run))
	v.until("a run of the new schedule", func(r schedule.Run) bool { return r.Outcome == "answered" && r.Due.After(reloaded.Due) })
	v.configure("every 0s", "Three.")
	if err := first.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	v.configure("every 2s", "Two.")
	replaced := v.until("a run", running)
	second := v.start()
	first.ended(t)
	v.until("the end of the run that was going at the upgrade", is(replaced.Run))
	killed := v.until("a run of the next process", running)
	if err := second.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = second.cmd.Wait()
	third := v.start()
	v.until("the end of the run that was killed", is(killed.Run))
	if err := third.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	third.ended(t)
	st, err := v.status()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[time.Time]bool{}
	for _, r := range st.Past {
		if r.Times == 0 && seen[r.Due] || running(r) {
			t.Errorf("%v has two runs, or one that has not ended", r.Due)
		}
		seen[r.Due] = seen[r.Due] || r.Times == 0
	}
	r, err := record.OpenReader(v.path("audit"), record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	began := map[string]string{}
	for e, err := range r.Events(record.Query{Types: []record.Type{record.TypeRunStart}}) {
		if err != nil {
			t.Fatal(err)
		}
		began[e.Run] = e.Payload.(record.RunStart).IDs["schedule"] + " " + e.Payload.(record.RunStart).IDs["due"]
	}
	if want := "tick " + replaced.Due.Format(time.RFC3339); began[replaced.Run] != want {
		t.Errorf("the record says that %q began the run, want %q", began[replaced.Run], want)
	}
}
