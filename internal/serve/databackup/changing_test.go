package databackup

import (
	"crypto/ed25519"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/sotto-llm/sotto/record"
)

// at runs f once, when a backup or a restore comes to a point for the first time.
func at(t *testing.T, point string, f func()) {
	t.Helper()
	ran := false
	atPoint = func(name string) {
		if name == point && !ran {
			ran = true
			f()
		}
	}
	t.Cleanup(func() {
		atPoint = nil
		if !ran {
			t.Errorf("no %s", point)
		}
	})
}

// A record that is pruned, and a conversation that is removed, after the files were
// listed and before they were copied: the backup has the tombstones, and its record
// verifies up to its end.
func TestPrunedMeanwhile(t *testing.T) {
	dir := dataFolder(t)
	at(t, "file copied", func() {
		_, err := record.Prune(pathIn(dir, "runs"), record.PruneOptions{Keep: 1, SigningKey: signing})
		must(t, err)
		must(t, os.Remove(pathIn(dir, "conversations/0123/4567.jsonl")))
	})
	archive := backup(t, dir)
	to := t.TempDir()
	done, err := restore(t.Context(), archive, to)
	must(t, err)
	if len(done.Faults) > 0 {
		t.Fatal(done.Faults)
	}
	key := signing.Public().(ed25519.PublicKey)
	was, err := record.Verify(pathIn(dir, "runs"), record.VerifyOptions{Keys: []ed25519.PublicKey{key}})
	must(t, err)
	is, err := record.Verify(pathIn(to, "runs"), record.VerifyOptions{Keys: []ed25519.PublicKey{key}, Head: &was.Head})
	must(t, errors.Join(err, is.Err()))
	if is.Pruned == 0 || is.Pruned != was.Pruned || is.Segments != 1 || is.Head != was.Head {
		t.Errorf("%+v\nwant %+v", is, was)
	}
	if _, err := os.Stat(filepath.Join(to, "conversations")); err == nil {
		t.Error("the conversation that was removed is there")
	}
}

// A file that gets shorter while it is copied ends the backup: what follows would not be
// at its place.
func TestShorterMeanwhile(t *testing.T) {
	dir := dataFolder(t)
	put(t, dir, "a-first", "a file that gets shorter")
	at(t, "file opened", func() { must(t, os.Truncate(pathIn(dir, "a-first"), 3)) })
	_, err := Backup(t.Context(), dir, io.Discard, Options{Temp: t.TempDir(), Databases: known})
	if err == nil || err.Error() != "copy a-first: it got shorter while it was copied, from 24 to 3 bytes" {
		t.Error(err)
	}
}
