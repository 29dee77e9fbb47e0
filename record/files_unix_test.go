//go:build unix

package record_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sotto-llm/sotto/record"
)

// A pipe, a link, a folder or a device in the place of any file of a record is
// refused and said, and nothing waits for it.
func TestNotRegular(t *testing.T) {
	kinds := map[string]func(path string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"link":   func(path string) error { return os.Symlink("/dev/zero", path) },
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
	}
	for kind, make := range kinds {
		for _, name := range []string{"LOCK", "00000000000000000001.jsonl", "00000000000000000001.index", "00000000000000000001.pruned", "00000000000000000005.jsonl", "00000000000000000005.pruned"} {
			dir := t.TempDir()
			if strings.HasPrefix(name, "00000000000000000005") || strings.HasSuffix(name, ".index") {
				w := open(t, dir, record.Options{})
				for range 4 {
					put(t, w, "r", 0, record.CycleStart{})
				}
				shut(t, w)
			}
			path := filepath.Join(dir, name)
			_ = os.Remove(path)
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			within(t, kind+" "+name, func() {
				r, err := record.OpenReader(dir, record.ReadOptions{})
				if err != nil {
					t.Fatal(err)
				}
				errs := 0
				for _, q := range []record.Query{{}, {Run: "r"}, {After: 2}, {After: 6}} {
					for _, err := range r.Events(q) {
						if err != nil {
							errs++
						}
					}
				}
				if segment := strings.HasSuffix(name, ".jsonl"); segment != (errs > 0) {
					t.Errorf("%s %s: a reader says %d errors", kind, name, errs)
				}
				report, err := record.Verify(dir, record.VerifyOptions{})
				if bad := strings.HasSuffix(name, ".jsonl") || name == "00000000000000000005.pruned" || name == "00000000000000000001.pruned"; err != nil || bad != (report.Err() != nil) {
					t.Errorf("%s %s: Verify: %v, %v", kind, name, err, report.Findings)
				}
				w, err := record.Open(dir, record.Options{})
				if err == nil {
					shut(t, w)
				}
				if wants := strings.HasSuffix(name, ".index") || name == "00000000000000000005.pruned"; wants != (err == nil) {
					t.Errorf("%s %s: Open: %v", kind, name, err)
				}
				if err != nil && !strings.Contains(err.Error(), "not a regular file") {
					t.Errorf("%s %s: Open: %v", kind, name, err)
				}
				_, _ = record.Prune(dir, record.PruneOptions{Keep: 1})
			})
		}
	}
}
