package metagraph

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sotto-llm/sotto/internal/lab/metagraph/symbolic"
)

// taught is a memory of some games, still open: its changes are in SQLite's log.
func taught(t *testing.T, n int) (file string, g *Graph) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "memory.db")
	g, err := Open(file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	for _, game := range games()[:n] {
		solution, _ := symbolic.Solve(game, 24)
		learn(t, g, posed(nil, game), solution)
	}
	return file, g
}

// A backup holds what the memory holds, with its identity, while the memory is open.
func TestBackup(t *testing.T) {
	file, g := taught(t, 5)
	to := filepath.Join(t.TempDir(), "copy.db")
	if err := Backup(t.Context(), file, to); err != nil {
		t.Fatal(err)
	}
	if v, err := Check(t.Context(), to); v != version || err != nil {
		t.Errorf("version %d, %v", v, err)
	}
	c, err := Open(to, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if export(t, c) != export(t, g) || c.ID() != g.ID() || g.ID() == "" {
		t.Error("the backup holds something else")
	}
	if err := Backup(t.Context(), file, to); err == nil {
		t.Error("a file that exists was replaced")
	}
}

// A backup beside a process that learns is the memory after one of its changes.
func TestBackupWhileLearning(t *testing.T) {
	file, g := taught(t, 1)
	var learner sync.WaitGroup
	learner.Go(func() {
		for _, game := range games()[1:40] {
			solution, _ := symbolic.Solve(game, 24)
			learn(t, g, posed(nil, game), solution)
		}
	})
	for i := range 5 {
		to := filepath.Join(t.TempDir(), "copy.db")
		if err := Backup(t.Context(), file, to); err != nil {
			t.Fatal(err)
		}
		if _, err := Check(t.Context(), to); err != nil {
			t.Error(i, err)
		}
	}
	learner.Wait()
}

// What is not a memory is neither copied nor passed, whatever was done to it.
func TestCheckFaults(t *testing.T) {
	file, g := taught(t, 30)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	if err := os.WriteFile(damaged, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(t.Context(), damaged); err == nil {
		t.Error("half of a file passes")
	}
	for name, file := range map[string]string{
		"another program's": madeBy(t, "CREATE TABLE theirs (x)"),
		"a newer version":   madeBy(t, "CREATE TABLE node (x); PRAGMA application_id = 1399813236; PRAGMA user_version = 99"),
		"an empty file":     madeBy(t, ""),
	} {
		if _, err := Check(t.Context(), file); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
		if err := Backup(t.Context(), file, filepath.Join(t.TempDir(), "b.db")); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
