//go:build unix

package agent

import (
	"context"
	"fmt"
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

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// lethal is the experiment that is killed: the first one, and a tool that counts
// each use in a file, once, by its key.
func lethal(dir string) (Experiment, error) {
	x, err := Example().Experiment(Dependencies{Open: openLethal, Operator: func(OperatorConfig) Operator { return &deaf{} }})
	x.Tools = []Tool{&Func{Name: "count", Repeat: true, Do: func(_ context.Context, u Use) (string, error) {
		f, err := os.OpenFile(filepath.Join(dir, "used"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		defer f.Close()
		_, err = fmt.Fprintln(f, u.Key())
		return "counted", err
	}}}
	return x, err
}

// openLethal adds to the script a cycle that uses the tool.
func openLethal(c model.Config) (model.Model, error) {
	data, err := experiments.ReadFile("experiments/first.script.yaml")
	if err != nil {
		return nil, err
	}
	more := `
- when: {user: "cycle 7 of", step: 2}
  text: "<think>Count, twice.</think>"
  calls: [{name: count}, {name: count}]
`
	at := strings.Index(string(data), `- when: {user: "cycle 7 of"}`)
	s, err := model.ReadScript(strings.NewReader(string(data[:at])+more+string(data[at:])), "first.script.yaml")
	if err != nil {
		return nil, err
	}
	return model.NewScripted(c.Model, s), nil
}

func init() { childProcess = killable }

// killable runs the experiment in a folder, and kills itself at a point if it
// is told to. It says how many points there were.
func killable(dir string) {
	n := 0
	deadly, _ := strconv.Atoi(os.Getenv("AGENT_KILL"))
	again := os.Getenv("AGENT_AGAIN") != ""
	var names []string
	atPoint = func(name string) {
		if again && !strings.Contains(name, " ") { // a state, which a replay comes to as well
			return
		}
		if n++; n == deadly {
			fmt.Println("killed at " + name)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		names = append(names, name)
	}
	x, err := lethal(dir)
	if err == nil {
		_, err = Run(context.Background(), x, in(dir))
	}
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(names, ","))
	os.Exit(0)
}

// spawn runs a child, and returns what it said.
func spawn(t *testing.T, dir string, kill int, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "AGENT_CHILD="+dir, fmt.Sprintf("AGENT_KILL=%d", kill))
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	said := strings.TrimSpace(string(out))
	if state := cmd.ProcessState; err != nil && (state == nil || !state.Sys().(syscall.WaitStatus).Signaled()) {
		t.Fatalf("the child: %v: %s", err, said)
	}
	return said
}

// settled is all that a run leaves: its record, except for times, its memory, and
// which uses of the tool were made. The identifier of the run is left out.
func settled(t *testing.T, dir string) []string {
	t.Helper()
	lines := plain(t, dir)
	memory, err := os.ReadFile(filepath.Join(dir, "memory", "first.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	used, err := os.ReadFile(filepath.Join(dir, "used"))
	if err != nil {
		t.Fatal(err)
	}
	start, ok := events(t, dir, record.Query{Run: "first", Types: []record.Type{record.TypeRunStart}})[0].Payload.(record.RunStart)
	if !ok || start.ID == "" || strings.Count(string(used), "@"+start.ID) != strings.Count(string(used), "\n") {
		t.Fatalf("the run is %q, its uses %s", start.ID, used)
	}
	keys := strings.Fields(string(used))
	slices.Sort(keys)
	lines = append(append(lines, string(memory)), slices.Compact(keys)...)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], start.ID, "ID")
	}
	return lines
}

// A run that is killed at any point, and begun again, ends as one that was not:
// its record is the same except for the times, and so is its memory. No call that
// had its end recorded is made again. It is killed at every fifth point, and with
// RECORD_KILLS at every one.
func TestKill(t *testing.T) {
	whole := t.TempDir()
	points := strings.Split(spawn(t, whole, 0), ",")
	want := settled(t, whole)
	step := 5
	switch {
	case os.Getenv("RECORD_KILLS") != "":
		step = 1
	case effort.Brief():
		step = 71
	}
	t.Logf("%d points, %d events", len(points), len(events(t, whole, record.Query{})))
	for kill := 1; kill <= len(points); kill += step {
		dir := t.TempDir()
		if said := spawn(t, dir, kill); said != "killed at "+points[kill-1] {
			t.Fatalf("point %d: %q, want to be killed at %q", kill, said, points[kill-1])
		}
		spawn(t, dir, 0)
		if d := cmp.Diff(want, settled(t, dir)); d != "" {
			t.Fatalf("killed at point %d, %q:\n%s", kill, points[kill-1], d)
		}
		once(t, dir)
	}
}

// A run that is killed again and again comes to the same end.
func TestKillAgain(t *testing.T) {
	if effort.Brief() {
		t.Skip("a process for each of some kills: SOTTO_EFFORT=1 runs it")
	}
	whole := t.TempDir()
	spawn(t, whole, 0)
	want := settled(t, whole)
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	runs, kills := 4, 0
	if effort.Brief() {
		runs = 1
	}
	for range runs {
		dir := t.TempDir()
		for strings.HasPrefix(spawn(t, dir, 1+r.IntN(12), "AGENT_AGAIN=1"), "killed") {
			kills++
		}
		if d := cmp.Diff(want, settled(t, dir)); d != "" {
			t.Fatalf("seed %d:\n%s", seed, d)
		}
		once(t, dir)
	}
	t.Logf("%d kills", kills)
}

// once checks that no use was made again whose end was recorded: at most the one
// that the crash left open was.
func once(t *testing.T, dir string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "used"))
	if err != nil {
		t.Fatal(err)
	}
	keys := strings.Fields(string(data))
	for i, key := range keys {
		if j := slices.Index(keys[i+1:], key); j > 0 {
			t.Fatalf("%s was used again behind others: %v", key, keys)
		}
	}
}
