package agent

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// cell is a run as a study has many of: with a memory, a called agent and its own seed.
func cell(t testing.TB, i int) Experiment {
	x := carrier(t, []Policy{Strip, Keep, Retrieve}[i%3], CarryAll)
	seed := int64(i)
	x.Name, x.Request.Seed = fmt.Sprintf("cell-%d", i), &seed
	return x
}

// leaves is what a run leaves in a folder: its events, without where others stand among
// them, and its memory.
func leaves(t testing.TB, dir string, x Experiment) []string {
	t.Helper()
	var lines []string
	id := ""
	for _, e := range events(t, dir, record.Query{}) {
		if e.Run != x.Name && !strings.HasPrefix(e.Run, x.Name+childMark) {
			continue
		}
		if start, ok := e.Payload.(record.RunStart); ok && id == "" {
			id = start.ID
		}
		lines = append(lines, refs.ReplaceAllString(fmt.Sprintf("%s %d %s %s", e.Run, e.Cycle, e.Type, encode(whole(e.Payload))), ""))
	}
	memory, err := os.ReadFile(filepath.Join(in(dir).Memory, x.Name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return append(lines, strings.ReplaceAll(string(memory), id, "ID"))
}

// Runs that share a folder, are stopped anywhere and continued in any order leave what
// each leaves alone, and the record verifies.
func TestRunsShareAFolder(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	n, stops := 6, 12
	if effort.Brief() {
		n, stops = 3, 4
	}
	dir := t.TempDir()
	for range stops {
		x := cell(t, r.IntN(n))
		tryStop(t, x, dir, 1+r.IntN(60))
	}
	for i := range n {
		x, alone := cell(t, i), t.TempDir()
		run1(t, x, dir)
		run1(t, x, alone)
		if d := cmp.Diff(leaves(t, alone, x), leaves(t, dir, x)); d != "" {
			t.Fatalf("seed %d, %s:\n%s", seed, x.Name, d)
		}
		if p, err := Replay(t.Context(), x, in(dir).Record, Options{}); err != nil || p.Difference != nil || p.Unfinished {
			t.Errorf("seed %d, %s: %+v, %v", seed, x.Name, p.Difference, err)
		}
	}
	if v, err := record.Verify(in(dir).Record, record.VerifyOptions{}); err != nil || v.Err() != nil {
		t.Errorf("seed %d: %v, %v", seed, v.Err(), err)
	}
}

// Workers of one process that each have a folder run cells at the same time, with one
// model and one operator for all. A folder has one worker.
func TestWorkersInOneProcess(t *testing.T) {
	workers, cells := 4, 3
	shared := cell(t, 0)
	person := &deaf{}
	var group sync.WaitGroup
	folders := make([]string, workers)
	for w := range workers {
		folders[w] = t.TempDir()
		group.Go(func() {
			for i := range cells {
				x := cell(t, i)
				x.Model, x.Operator = shared.Model, person
				if s, err := Run(t.Context(), x, in(folders[w])); err != nil || s.Status != Done {
					t.Errorf("worker %d, %s: %s, %v", w, x.Name, s.Status, err)
				}
			}
		})
	}
	group.Wait()
	for i := range cells {
		x := cell(t, i)
		want := leaves(t, folders[0], x)
		for _, dir := range folders[1:] {
			if d := cmp.Diff(want, leaves(t, dir, x)); d != "" {
				t.Errorf("%s:\n%s", x.Name, d)
			}
		}
	}
	w, err := record.Open(in(folders[0]).Record, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := Run(t.Context(), cell(t, 9), in(folders[0])); !isError(err, record.ErrLocked) {
		t.Errorf("a second worker in a folder: %v", err)
	}
}

// Events of other runs in the folder are not read when a run begins or is resumed: the
// cost of each is less than one allocation.
func TestOtherRunsAreNotRead(t *testing.T) {
	dir := t.TempDir()
	x := cell(t, 0)
	run1(t, x, dir)
	cost := func() [2]float64 {
		var list [2]float64
		for i, name := range []string{x.Name, "none"} {
			list[i] = testing.AllocsPerRun(5, func() {
				past, err := readPast(in(dir).Record, name, record.ReadOptions{})
				if err != nil || (len(past) > 0) != (i == 0) {
					t.Fatalf("%d events, %v", len(past), err)
				}
			})
		}
		return list
	}
	before, had := cost(), len(events(t, dir, record.Query{}))
	for i := range 8 {
		run1(t, cell(t, i+1), dir)
	}
	more := float64(len(events(t, dir, record.Query{})) - had)
	if after := cost(); after[0] > before[0]+more || after[1] > before[1]+more {
		t.Errorf("%v allocations to read a run that is there, and one that is not; alone %v", after, before)
	}
}
