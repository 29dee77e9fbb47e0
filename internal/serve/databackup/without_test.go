package databackup

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/internal/base/decompress"
)

// TestWithoutDatabases: a program that knows no databases loses none. It refuses to back up a
// folder that has one, whose file another program may change meanwhile. It says what it cannot
// check. From an archive it restores every byte.
func TestWithoutDatabases(t *testing.T) {
	dir := dataFolder(t)
	_, err := Backup(t.Context(), dir, io.Discard, Options{Temp: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), ".db: this program cannot copy a database of ") {
		t.Fatalf("a backup of databases that are not known: %v", err)
	}
	report, err := CheckFolder(t.Context(), dir, nil)
	must(t, err)
	var want []string
	for _, r := range report.Rows {
		if r.Part == Tasks || r.Part == Memory {
			want = append(want, r.Name)
		}
	}
	if len(want) < 2 || !slices.Equal(report.Unchecked, want) || len(report.Faults) > 0 {
		t.Errorf("not checked: %v, want %v; faults %v", report.Unchecked, want, report.Faults)
	}
	archive := backup(t, dir)
	report, err = CheckArchive(t.Context(), decompress.NewReader(bytes.NewReader(archive)), 0, nil)
	must(t, err)
	if !slices.Equal(report.Unchecked, want) {
		t.Errorf("not checked of the archive: %v, want %v", report.Unchecked, want)
	}
	to := filepath.Join(t.TempDir(), "restored")
	done, err := Restore(context.Background(), decompress.NewReader(bytes.NewReader(archive)), to, 0, nil)
	must(t, err)
	if !slices.Equal(done.Unchecked, want) {
		t.Errorf("restored without a check: %v, want %v", done.Unchecked, want)
	}
	byAll := filepath.Join(t.TempDir(), "restored")
	whole, err := restore(t.Context(), archive, byAll)
	must(t, err)
	if len(whole.Unchecked) > 0 {
		t.Errorf("the program with all databases did not check %v", whole.Unchecked)
	}
	if d := cmp.Diff(contents(t, byAll), contents(t, to)); d != "" {
		t.Errorf("restored by another program:\n%s", d)
	}
}
