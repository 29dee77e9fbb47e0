//go:build unix

package databackup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
)

func TestMain(m *testing.M) {
	if archive := os.Getenv("DATABACKUP_ARCHIVE"); archive != "" {
		os.Exit(killable(archive, os.Getenv("DATABACKUP_TO")))
	}
	os.Exit(m.Run())
}

// killable restores an archive, and kills itself at a point. It prints the points.
func killable(archive, to string) int {
	kill, _ := strconv.Atoi(os.Getenv("DATABACKUP_KILL"))
	n := 0
	atPoint = func(name string) {
		fmt.Println(name)
		if n++; n == kill {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	data, err := os.ReadFile(archive)
	if err == nil {
		_, err = restore(context.Background(), data, to)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func child(t *testing.T, archive, to string, kill int) (points []string, killed bool) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "DATABACKUP_ARCHIVE="+archive, "DATABACKUP_TO="+to, fmt.Sprint("DATABACKUP_KILL=", kill))
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	exit, _ := errors.AsType[*exec.ExitError](err)
	killed = exit != nil && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	if err != nil && !killed {
		t.Fatalf("point %d: %v: %s", kill, err, stderr.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), killed
}

// A restore that is killed at any point leaves a folder that every program refuses, or
// the whole of it. The same restore, run again, ends as if nothing had happened. It is
// killed at every third point, and with SOTTO_EFFORT at every one.
func TestKill(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "a.tar.zst")
	must(t, os.WriteFile(archive, backup(t, dataFolder(t)), 0o600))
	whole := filepath.Join(t.TempDir(), "whole")
	points, _ := child(t, archive, whole, 0)
	want := contents(t, whole)
	step := 1
	if effort.Brief() {
		step = 4
	}
	refused := 0
	for kill := 1; kill <= len(points); kill += step {
		to := filepath.Join(t.TempDir(), "to")
		if _, killed := child(t, archive, to, kill); !killed {
			t.Fatalf("point %d, %s: it was not killed", kill, points[kill-1])
		}
		if datafolder.Open(to) != nil {
			refused++
			child(t, archive, to, 0)
		}
		must(t, datafolder.Open(to)) // which removes what a kill after the end left
		got := contents(t, to)
		delete(got, "format.lock")
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("killed at point %d, %s: %s", kill, points[kill-1], d)
		}
		if left, _ := filepath.Glob(filepath.Join(to, ".rest*")); len(left) > 0 {
			t.Errorf("killed at point %d, %s: left %v", kill, points[kill-1], left)
		}
	}
	if refused == 0 {
		t.Error("no kill interrupted a restore")
	}
}

// A restore that was killed while it moved the files does not go on with another
// backup.
func TestKillThenAnother(t *testing.T) {
	dir := dataFolder(t)
	archive := filepath.Join(t.TempDir(), "a.tar.zst")
	must(t, os.WriteFile(archive, backup(t, dir), 0o600))
	to := filepath.Join(t.TempDir(), "to")
	points, _ := child(t, archive, filepath.Join(t.TempDir(), "whole"), 0)
	kill := 1
	for points[kill-1] != "moved" {
		kill++
	}
	child(t, archive, to, kill)
	put(t, dir, "notes/more", "x")
	_, err := restore(t.Context(), backup(t, dir), to)
	if err == nil || !strings.Contains(err.Error(), "a restore of another backup") {
		t.Fatal(err)
	}
	data, err := os.ReadFile(archive)
	must(t, err)
	done, err := restore(t.Context(), data, to)
	must(t, err)
	if !done.Resumed || len(done.Faults) > 0 || len(done.Rows) == 0 {
		t.Errorf("%+v", done)
	}
}

// A folder that holds anything is not restored into, and stays as it is. The root of a
// volume, with its folder lost+found, counts as empty.
func TestRestoreInto(t *testing.T) {
	archive := backup(t, dataFolder(t))
	to := t.TempDir()
	put(t, to, "mine", "x")
	if _, err := restore(t.Context(), archive, to); err == nil || !strings.Contains(err.Error(), `is not empty: it holds "mine"`) {
		t.Error(err)
	}
	if got := contents(t, to); len(got) != 1 {
		t.Error(got)
	}
	root := t.TempDir()
	must(t, os.Mkdir(filepath.Join(root, "lost+found"), 0o700))
	if _, err := restore(t.Context(), archive, root); err != nil {
		t.Error(err)
	}
	must(t, os.Mkdir(filepath.Join(to, "empty"), 0o500))
	if os.Getuid() == 0 {
		return
	}
	if _, err := restore(t.Context(), archive, filepath.Join(to, "empty")); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}
