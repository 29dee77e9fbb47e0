package databackup

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// copies returns how the process that has a file open copies it.
func copies(db *bbolt.DB) func(io.Writer) error {
	return func(w io.Writer) error {
		return db.View(func(tx *bbolt.Tx) error {
			_, err := tx.WriteTo(w)
			return err
		})
	}
}

// opened opens the task file of a folder, as a server does.
func opened(t *testing.T, dir string) *bbolt.DB {
	t.Helper()
	db, err := bbolt.Open(pathIn(dir, "a2a.db"), 0o600, &bbolt.Options{NoSync: true, Timeout: time.Second})
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// A task file that a process has open is copied by that process, also where the path of
// the socket is longer than the system takes, and after a process that was killed left
// its socket.
func TestServe(t *testing.T) {
	dir := dataFolder(t)
	if long := filepath.Join(filepath.Dir(dir), strings.Repeat("long", 30)); true {
		must(t, os.Rename(dir, long))
		dir = long
	}
	db := opened(t, dir)
	put(t, dir, "sockets/a2a.db", "what a process that was killed has left")
	stop, err := Serve(dir, map[string]func(io.Writer) error{"a2a.db": copies(db)})
	must(t, err)
	to := t.TempDir()
	done, err := restore(t.Context(), backup(t, dir), to)
	must(t, err)
	if len(done.Faults) > 0 {
		t.Error(done.Faults)
	}
	stop()
	if left, _ := os.ReadDir(filepath.Join(dir, socketsFolder)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	_, err = Backup(t.Context(), dir, new(bytes.Buffer), Options{Databases: known})
	if err == nil || !strings.Contains(err.Error(), "a2a.db: a server has the file open, and gives no copies of it") {
		t.Error(err)
	}
}

// A copy that breaks off is not taken for a whole one.
func TestServeBreaksOff(t *testing.T) {
	dir := dataFolder(t)
	opened(t, dir)
	stop, err := Serve(dir, map[string]func(io.Writer) error{"a2a.db": func(w io.Writer) error {
		_, err := w.Write(make([]byte, 1<<20))
		return errors.Join(err, errors.New("the disk is broken"))
	}})
	must(t, err)
	defer stop()
	_, err = Backup(t.Context(), dir, new(bytes.Buffer), Options{Databases: known})
	if err == nil || !strings.Contains(err.Error(), "is not whole") {
		t.Error(err)
	}
}

// Only the owner of the folder can reach the sockets in it.
func TestServePrivate(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Mkdir(filepath.Join(dir, socketsFolder), 0o755)) // by somebody else
	stop, err := Serve(dir, map[string]func(io.Writer) error{"a2a.db": func(io.Writer) error { return nil }})
	must(t, err)
	defer stop()
	info, err := os.Stat(filepath.Join(dir, socketsFolder))
	must(t, err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", info.Mode())
	}
}
