package record_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/record"
)

// Every file of a record is opened in files.go, which opens regular files only.
// Elsewhere in the package nothing opens, reads or follows a path.
func TestFilesAreOpenedInOnePlace(t *testing.T) {
	opens := regexp.MustCompile(`\bos\.(Open|OpenFile|Create|ReadFile|WriteFile|Stat|Chmod|Truncate)\(`)
	list, err := filepath.Glob("*.go")
	if err != nil || len(list) < 20 {
		t.Fatal(len(list), err)
	}
	for _, name := range list {
		if name == "files.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, _ := os.ReadFile(name)
		if m := opens.Find(data); m != nil {
			t.Errorf("%s calls %s: use openRegular or readRegular", name, m)
		}
	}
}

// A folder that others can write is warned of, by the writer and by Verify.
func TestOpenFolder(t *testing.T) {
	dir := t.TempDir()
	open := func(mode os.FileMode) (logged string, r record.Report) {
		var log bytes.Buffer
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		w, err := record.Open(dir, record.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		put(t, w, "", 0, record.CycleStart{})
		shut(t, w)
		return log.String(), sound(t, dir, record.VerifyOptions{})
	}
	if logged, r := open(0o700); logged != "" || len(r.Warnings) > 0 {
		t.Errorf("a folder of mode 0700: %q, %q", logged, r.Warnings)
	}
	for _, mode := range []os.FileMode{0o777, 0o770, 0o702} {
		if logged, r := open(mode); !strings.Contains(logged, "other users can write") || len(r.Warnings) != 1 {
			t.Errorf("a folder of mode %o: %q, %q", mode, logged, r.Warnings)
		}
	}
	_ = os.Chmod(dir, 0o700)
	_ = os.Chmod(segments(t, dir)[0], 0o666)
	if r := sound(t, dir, record.VerifyOptions{}); len(r.Warnings) != 1 {
		t.Errorf("a segment of mode 0666: %q", r.Warnings)
	}
}

// Files are 0600, whatever they are.
func TestModes(t *testing.T) {
	dir, _ := aged(t)
	if _, err := record.Prune(dir, record.PruneOptions{Keep: 2500}); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(dir)
	kinds := map[string]bool{}
	for _, e := range entries {
		kinds[filepath.Ext(e.Name())] = true
		if info, err := e.Info(); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
	if len(kinds) != 4 {
		t.Errorf("kinds of files: %v", kinds)
	}
}

// within fails where f takes so long that it must be waiting for something.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s hangs", what)
	}
}
