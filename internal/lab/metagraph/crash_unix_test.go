//go:build unix

package metagraph

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// killable migrates a file, and learns, imports and prunes. It kills itself at the
// point that METAGRAPH_KILL numbers; with 0 it prints the points.
func killable(file string) int {
	deadly, _ := strconv.Atoi(os.Getenv("METAGRAPH_KILL"))
	var names []string
	atPoint = func(name string) {
		if names = append(names, name); len(names) == deadly {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	if err := changeAll(file); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(strings.Join(names, ","))
	return 0
}

// changeAll makes every kind of change. Repeating it changes nothing more: each
// outcome has an ID, and each step has a time of its own.
func changeAll(file string) error {
	now := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	g, err := Open(file, Options{Now: func() time.Time { return now }})
	if err != nil {
		return err
	}
	defer g.Close()
	ctx := context.Background()
	for i, game := range [][2]string{{"3 5 8 11", "(8-5)*(11-3)"}, {"1 1 3 8", "3*8*1*1"}} {
		p := answer.Problem{Input: game[0]}
		passed, _ := Judge(answer.Game24, p, game[1], "")
		now = now.Add(time.Minute)
		_, err := g.Learn(ctx, Attempt{
			ID: fmt.Sprint("crash/", i), Task: "game24", Query: Query(answer.Game24, p), Passed: passed, Model: "m",
			Used: []Ref{{"game24", Template, "b+c+d-a"}, {"game24", Template, "a*b+c-d"}},
		})
		if err != nil {
			return err
		}
	}
	const line = `{"v":1,"task":"game24","kind":"trace","key":"Solve 24 with 1 2 3 4","problem":{"input":"1 2 3 4"},"candidate":"1*2*3*4","seen":1,"created":"2027-01-01T00:00:00Z","seen_at":"2027-01-01T00:00:00Z","solved_at":"2027-01-01T00:00:00Z"}
{"v":1,"kind":"used_for","from":{"task":"game24","kind":"trace","key":"Solve 24 with 1 2 3 4"},"query":"Solve 24 with 1 2 4 4","used":1,"failed":1,"created":"2027-01-01T00:00:00Z"}
`
	if _, err := g.Import(ctx, strings.NewReader(line), answer.TaskNamed); err != nil {
		return err
	}
	_, err = g.Prune(ctx, PruneOptions{Task: "game24", Before: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)})
	return err
}

// A process that is killed at any step of a migration, an outcome, an import or a
// prune leaves a sound memory, and doing the same again ends as if nothing had
// happened: nothing is lost, nothing is counted twice. It is killed at every third
// point, and with RECORD_KILLS at every one.
func TestKilledAtEveryPoint(t *testing.T) {
	child := func(file string, kill int) (string, bool) {
		c := process(file, 0, 0)
		c.Env = append(c.Env, fmt.Sprintf("METAGRAPH_KILL=%d", kill))
		out, err := c.Output()
		exit, _ := err.(*exec.ExitError)
		killed := exit != nil && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		if err != nil && !killed {
			t.Fatalf("point %d: %v", kill, err)
		}
		return strings.TrimSpace(string(out)), killed
	}
	whole := madeBy(t, version1)
	out, _ := child(whole, 0)
	points := strings.Split(out, ",")
	want := sound(t, whole)
	t.Logf("%d points: %s", len(points), out)
	step := 3
	switch {
	case os.Getenv("RECORD_KILLS") != "":
		step = 1
	case effort.Brief():
		step = 7
	}
	for kill := 1; kill <= len(points); kill += step {
		file := madeBy(t, version1)
		if _, killed := child(file, kill); !killed {
			t.Fatalf("point %d, %s: it was not killed", kill, points[kill-1])
		}
		sound(t, file)
		child(file, 0)
		if got := sound(t, file); got != want {
			t.Errorf("killed at point %d, %s: it holds\n%s\nwant\n%s", kill, points[kill-1], got, want)
		}
	}
}

// sound checks a file, and returns its export.
func sound(t *testing.T, file string) string {
	t.Helper()
	g, err := Open(file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var check string
	var templates, traces, lost int
	err = g.read.QueryRow("SELECT (SELECT group_concat(integrity_check) FROM pragma_integrity_check), "+
		"(SELECT count(*) FROM node WHERE kind = 'template'), (SELECT count(*) FROM node WHERE kind = 'trace'), "+
		"(SELECT count(*) FROM edge WHERE node NOT IN (SELECT id FROM node))").Scan(&check, &templates, &traces, &lost)
	size, sizeErr := g.Size(t.Context())
	if err != nil || sizeErr != nil || check != "ok" || size != (Size{traces, templates}) || lost > 0 {
		t.Fatalf("%s: %s, %+v for %d traces and %d templates, %d edges of no node: %v, %v", filepath.Base(file), check, size, traces, templates, lost, err, sizeErr)
	}
	if left, _ := filepath.Glob(file + "-journal"); len(left) > 0 {
		t.Error("a journal is left")
	}
	return export(t, g)
}
