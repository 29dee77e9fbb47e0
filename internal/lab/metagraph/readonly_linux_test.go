package metagraph

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/sotto-llm/sotto/answer"
)

// A memory that this user cannot write can be read, also in a folder in which
// nobody can make the files that SQLite keeps beside it.
func TestReadOnlyFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "memory.db")
	g, err := Open(file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	learn(t, g, answer.Problem{Input: "3 5 8 11"}, "(8-5)*(11-3)")
	want := export(t, g)
	g.Close()
	for _, mode := range []struct {
		path string
		mode os.FileMode
	}{{filepath.Dir(dir), 0o755}, {file, 0o444}, {dir, 0o555}} {
		if err := os.Chmod(mode.path, mode.mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	done := make(chan struct{})
	go func() { // root may write everything, so this thread is another user, and ends
		defer close(done)
		runtime.LockOSThread()
		if os.Getuid() == 0 {
			if err := syscall.Setfsuid(65534); err != nil {
				t.Error(err)
				return
			}
		}
		if f, err := os.OpenFile(file, os.O_RDWR, 0); err == nil {
			f.Close()
			t.Error("the file can be written, so the test shows nothing")
		}
		g, err := Open(file, Options{ReadOnly: true})
		if err != nil {
			t.Error(err)
			return
		}
		defer g.Close()
		if got := export(t, g); got != want {
			t.Errorf("it holds\n%s\nwant\n%s", got, want)
		}
		if _, err := Open(file, Options{}); err == nil {
			t.Error("it was opened to write")
		}
	}()
	<-done
}
