package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/internal/lab/solvereport"
)

// solving is a process that solves games.
func solving(dir, output string, args ...string) *exec.Cmd {
	c := exec.Command("sotto", append([]string{"solve", "-q", "--memory", filepath.Join(dir, "memory.db"), "-o", filepath.Join(dir, output)}, args...)...)
	c.Stderr = os.Stderr
	return c
}

// outcomes returns the contents of an output, without times and the run's name.
func outcomes(t *testing.T, file string) []string {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	_, results, err := solvereport.ReadResults(in)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, r := range results {
		r.Run, r.Millis, r.ModelMillis = "", 0, 0
		for i := range r.Attempts {
			r.Attempts[i].Millis = 0
		}
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(line))
	}
	return list
}

// A stream that is killed at any moment with SIGKILL, and then resumed, gives the
// same results as one that is not. No finished problem is lost or repeated.
func TestSolveKilled(t *testing.T) {
	if effort.Brief() {
		t.Skip("processes that are killed: SOTTO_EFFORT=1 runs it")
	}
	problems, kills := "150", 6
	if effort.Brief() {
		problems, kills = "40", 2
	}
	straight := t.TempDir()
	if err := solving(straight, "out.jsonl", "-n", problems).Run(); err != nil {
		t.Fatal(err)
	}
	want := outcomes(t, filepath.Join(straight, "out.jsonl"))

	dir := t.TempDir()
	r := rand.New(rand.NewPCG(2, 3))
	finished := map[string]bool{}
	for killed := 0; len(finished) < len(want); {
		c := solving(dir, "out.jsonl", "-n", problems, "--resume")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if killed < kills {
			waitForLines(t, filepath.Join(dir, "out.jsonl"), len(finished)+1+r.IntN(25), c)
			c.Process.Kill()
			killed++
		}
		c.Wait()
		wholeLinesOf(t, filepath.Join(dir, "out.jsonl"), finished)
	}
	got := outcomes(t, filepath.Join(dir, "out.jsonl"))
	if len(got) != len(want) {
		t.Fatalf("%d results, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("problem %d: %s\nwant %s", i+1, got[i], want[i])
		}
	}
}

// waitForLines waits until a file has n lines, or the process has ended.
func waitForLines(t *testing.T, name string, n int, c *exec.Cmd) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		c.Process.Wait()
		close(ended)
	}()
	for {
		data, _ := os.ReadFile(name)
		if bytes.Count(data, []byte{'\n'}) > n {
			return
		}
		select {
		case <-ended:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// wholeLinesOf checks that finished problems are still finished, and adds the new
// ones.
func wholeLinesOf(t *testing.T, name string, finished map[string]bool) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	now := map[string]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(data[:bytes.LastIndexByte(data, '\n')+1])); lines.Scan(); {
		r, err := solve.ReadResult(lines.Bytes())
		if err != nil {
			continue // the head
		}
		if now[r.ID] {
			t.Errorf("problem %s stands twice", r.ID)
		}
		now[r.ID] = true
	}
	for id := range finished {
		if !now[id] {
			t.Errorf("problem %s is lost", id)
		}
	}
	for id := range now {
		finished[id] = true
	}
}

// Two runs use one memory at the same time. Each finishes, no data is damaged, and
// each knows what the other has learned.
func TestSolveTwoProcesses(t *testing.T) {
	problems := 200
	if effort.Brief() {
		problems = 40
	}
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			if err := solving(dir, fmt.Sprintf("out%d.jsonl", i), "-n", fmt.Sprint(problems), "--seed", fmt.Sprint(i+1)).Run(); err != nil {
				t.Errorf("run %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	g, err := metagraph.Open(filepath.Join(dir, "memory.db"), metagraph.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	nodes, err := g.Nodes(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, n := range nodes {
		have[n.Key] = true
		if v := answer.Game24.Validate(n.Candidate, n.Problem); !v.OK {
			t.Errorf("%s: %v", n.Key, v)
		}
	}
	for i := range 2 {
		in, err := os.Open(filepath.Join(dir, fmt.Sprintf("out%d.jsonl", i)))
		if err != nil {
			t.Fatal(err)
		}
		_, results, err := solvereport.ReadResults(in)
		in.Close()
		if err != nil || len(results) != problems {
			t.Fatalf("run %d: %d results, %v", i, len(results), err)
		}
		for _, r := range results {
			if r.Solved && !have[r.Memory.Trace.Key] {
				t.Errorf("%s was solved, and is not in memory", r.ID)
			}
		}
	}
}
