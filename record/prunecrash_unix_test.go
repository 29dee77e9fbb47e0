//go:build unix

package record_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

func init() { children["prune"] = pruneUntilKilled }

// pruneUntilKilled appends and prunes, and says each head. It kills itself at the
// point that RECORD_KILL numbers; with 0 it says how many there were.
func pruneUntilKilled(dir string) {
	deadly, _ := strconv.Atoi(os.Getenv("RECORD_KILL"))
	var names []string
	step := make(chan struct{}, 1)
	record.AtPoint(func(name string) {
		step <- struct{}{} // one at a time: the writer has several goroutines
		if names = append(names, name); len(names) == deadly {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		<-step
	})
	if err := appendAndPrune(dir); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("points", strings.Join(names, ","))
}

func appendAndPrune(dir string) error {
	w, err := record.Open(dir, record.Options{SegmentSize: 700, SigningKey: key()})
	if err != nil {
		return err
	}
	for i := range 9 {
		_, err := w.Append(context.Background(), record.Event{Run: "r", Payload: record.CycleStart{Goal: record.Say(strings.Repeat("x", 300))}})
		if err != nil {
			return err
		}
		fmt.Println(w.Head())
		if i == 6 {
			if err := putSidecars(dir); err != nil {
				return err
			}
			if _, err := w.Prune(record.PruneOptions{Keep: 2500}); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(w.Close(), putSidecars(dir)); err != nil {
		return err
	}
	_, err = record.Prune(dir, record.PruneOptions{Before: time.Now().Add(time.Hour), SigningKey: key()})
	return err
}

// putSidecars puts a file in the place of each segment's sidecar.
func putSidecars(dir string) error {
	files, err := record.Files(dir)
	for _, f := range files {
		if !f.Tombstone {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, record.SidecarName(f.First)), []byte("x"), 0o600))
		}
	}
	return err
}

// A process that is killed at any step of an append, a new segment or a prune leaves
// a record that verifies with every head that was kept before: the head's event is
// there as it was, or is pruned and cannot be compared. The record opens, prunes and
// verifies again, and nothing is left beside a segment that was pruned. It is killed at every fourth point, and with RECORD_KILLS at every
// one.
func TestKilledAtEveryPoint(t *testing.T) {
	child := func(dir string, kill int) (heads []record.Head, points []string) {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "RECORD_CHILD=prune", "RECORD_DIR="+dir, fmt.Sprintf("RECORD_KILL=%d", kill))
		out, err := c.Output()
		exit, _ := err.(*exec.ExitError)
		if killed := exit != nil && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL; err != nil && !killed || killed != (kill > 0) {
			t.Fatalf("point %d: %v: %s", kill, err, out)
		}
		for line := range strings.Lines(string(out)) {
			var h record.Head
			if names, ok := strings.CutPrefix(line, "points "); ok {
				points = strings.Split(strings.TrimSpace(names), ",")
			} else if h.UnmarshalText([]byte(line)) == nil {
				heads = append(heads, h)
			}
		}
		return heads, points
	}
	check := func(dir string, heads []record.Head, place string) (pruned int) {
		for _, head := range append(heads, record.Head{}) {
			r, err := record.Verify(dir, record.VerifyOptions{Head: &head, Keys: public()})
			if err != nil || r.Err() != nil {
				t.Fatalf("%s, head %d: %v, %v", place, head.Seq, err, r.Err())
			}
			if r.Head.Seq < head.Seq || r.HeadPruned && !r.HeadSigned {
				t.Errorf("%s, head %d: %+v", place, head.Seq, r)
			}
			if r.HeadPruned {
				pruned++
			}
		}
		return pruned
	}
	_, points := child(t.TempDir(), 0)
	step := 4
	switch {
	case os.Getenv("RECORD_KILLS") != "":
		step = 1
	case effort.Brief():
		step = 11
	}
	t.Logf("%d points", len(points))
	total := 0
	for kill := 1; kill <= len(points); kill += step {
		dir, place := t.TempDir(), fmt.Sprintf("killed at point %d, %s", kill, points[kill-1])
		heads, _ := child(dir, kill)
		check(dir, heads, place)
		w := open(t, dir, record.Options{SigningKey: key(), SegmentSize: 700})
		put(t, w, "r", 0, record.CycleEnd{})
		heads = append(heads, w.Head())
		if _, err := w.Prune(record.PruneOptions{Before: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(place, err)
		}
		shut(t, w)
		total += check(dir, heads, place+", then pruned")
		if left, _ := filepath.Glob(filepath.Join(dir, ".tmp-*")); len(left) > 0 {
			t.Errorf("%s: %q are left", place, left)
		}
		left, _ := filepath.Glob(filepath.Join(dir, "*.sidecar"))
		for _, name := range left {
			if _, err := os.Lstat(strings.TrimSuffix(name, ".sidecar") + ".jsonl"); err != nil {
				t.Errorf("%s: %s is left of a segment that was pruned", place, filepath.Base(name))
			}
		}
	}
	if total == 0 {
		t.Error("no head was ever of a pruned event")
	}
}

// What a loss of power can leave of a tombstone whose segment still stands, an empty
// or a cut file, stops neither Verify nor Prune nor Open.
func TestTornTombstone(t *testing.T) {
	for _, left := range []string{"", `{"tombstone":{"v":2,"fir`, "\x00\x00\x00"} {
		dir, head := aged(t)
		for _, s := range segments(t, dir) {
			if err := os.WriteFile(strings.TrimSuffix(s, ".jsonl")+".pruned", []byte(left), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if r := sound(t, dir, record.VerifyOptions{Head: &head, Keys: public()}); r.Segments != 6 || r.Pruned != 0 {
			t.Errorf("%q: %+v", left, r)
		}
		w := open(t, dir, record.Options{SigningKey: key()})
		put(t, w, "r", 0, record.CycleEnd{})
		shut(t, w)
		if stones, err := record.Prune(dir, record.PruneOptions{Before: time.Now().Add(time.Hour), SigningKey: key()}); err != nil || len(stones) != 5 {
			t.Fatalf("%q: pruned %d, %v", left, len(stones), err)
		}
		if r := sound(t, dir, record.VerifyOptions{Head: &head, Keys: public()}); r.Pruned != 5 {
			t.Errorf("%q: %+v", left, r)
		}
	}
}
