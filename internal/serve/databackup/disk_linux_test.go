package databackup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A disk that fills up during a restore, or with the copy of a database during a
// backup, is an error that says so, and what was written is removed.
func TestFullDisk(t *testing.T) {
	small := t.TempDir()
	if err := syscall.Mount("none", small, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small file system needs the right to mount one: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(small, 0); err != nil {
			t.Error(err)
		}
	})
	dir := dataFolder(t)
	put(t, dir, "notes/large", strings.Repeat("x", 100<<10))
	archive := backup(t, dir)
	if _, err := restore(t.Context(), archive, filepath.Join(small, "to")); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	put(t, small, "filler", strings.Repeat("x", 44<<10))
	if _, err := Backup(t.Context(), dir, new(strings.Builder), Options{Temp: small, Databases: known}); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if left, _ := os.ReadDir(small); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}
