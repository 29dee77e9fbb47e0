//go:build unix

package sidecar

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

	"github.com/sotto-llm/sotto/record"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SIDECAR_DIR"); dir != "" {
		makeUntilKilled(dir)
		return
	}
	os.Exit(m.Run())
}

// makeUntilKilled makes the sidecars of a record, and kills itself at the point that SIDECAR_KILL
// numbers.
func makeUntilKilled(dir string) {
	deadly, _ := strconv.Atoi(os.Getenv("SIDECAR_KILL"))
	n := 0
	atPoint = func(string) {
		if n++; n == deadly {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	m, err := Make(context.Background(), dir, Options{Small: true, Again: true})
	fmt.Println(m.Made, err)
}

// TestKill: a kill at any step of the making leaves each segment with no sidecar, with the one
// that it had, or with a whole right one; and the next making completes them and leaves nothing
// else.
func TestKill(t *testing.T) {
	from := smallRecord(t, record.Options{})
	files, err := record.Files(from)
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for n := 1; ; n++ {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		if n%2 == 0 { // what was there before is of fewer lines, or of another segment
			index(t, dir, Options{})
			list := sidecars(t, dir)
			other, err := os.ReadFile(list[0])
			if err == nil {
				err = os.WriteFile(list[len(list)-1], other, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "SIDECAR_DIR="+dir, "SIDECAR_KILL="+strconv.Itoa(n))
		out, err := c.CombinedOutput()
		ended := err == nil
		if ended && strings.TrimSpace(string(out)) != fmt.Sprint(len(files), " <nil>") {
			t.Fatalf("%s", out)
		}
		if !ended {
			killed++
			c, err := Check(dir, nil)
			if err != nil || n%2 == 1 && len(c.Wrong) > 0 || n%2 == 0 && len(c.Wrong) > 1 {
				t.Errorf("killed at point %d: %+v, %v", n, c, err)
			}
		}
		m := index(t, dir, Options{})
		if c, err := Check(dir, nil); err != nil || len(c.Wrong) > 0 || c.Compared != len(files) || m.Segments != len(files) {
			t.Errorf("killed at point %d and made again: %+v, %+v, %v", n, m, c, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, record.SidecarTemp+"*")); len(left) > 0 {
			t.Errorf("killed at point %d: %q are left", n, left)
		}
		if ended {
			break
		}
	}
	if killed != 3*len(files) {
		t.Errorf("killed at %d points of %d segments", killed, len(files))
	}
}
