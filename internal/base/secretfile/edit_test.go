package secretfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func add(text string) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) { return append(old, text...), nil }
}

// TestEdit: a file is made for its owner only, keeps its mode, and is what a link leads to.
// A change that fails leaves it as it is, and no file beside it.
func TestEdit(t *testing.T) {
	dir := t.TempDir()
	name, link := filepath.Join(dir, "tokens"), filepath.Join(dir, "link")
	check := func(what, want string, mode os.FileMode) {
		t.Helper()
		got, err := os.ReadFile(name)
		info, err2 := os.Stat(name)
		if err != nil || err2 != nil || string(got) != want || runtime.GOOS != "windows" && info.Mode().Perm() != mode {
			t.Errorf("%s: %q, %v, %v, %v", what, got, info.Mode(), err, err2)
		}
	}
	edit := func(at string, change func([]byte) ([]byte, error)) error {
		t.Helper()
		return Edit(at, change)
	}
	failing := errors.New("no")
	if err := edit(name, func([]byte) ([]byte, error) { return nil, failing }); !errors.Is(err, failing) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(name); err == nil {
		t.Error("a change that fails makes a file")
	}
	if err := Change(name, add("one")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a change of no file: %v", err)
	}
	if err := edit(name, add("one\n")); err != nil {
		t.Fatal(err)
	}
	check("made", "one\n", 0o600)
	if err := os.Chmod(name, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(name, link); err != nil {
		t.Skip(err)
	}
	if err := edit(link, add("two\n")); err != nil {
		t.Fatal(err)
	}
	check("by a link", "one\ntwo\n", 0o640)
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is replaced")
	}
	if err := edit(name, func([]byte) ([]byte, error) { return nil, failing }); !errors.Is(err, failing) {
		t.Errorf("%v", err)
	}
	check("after a change that failed", "one\ntwo\n", 0o640)
	if err := edit(dir, add("")); err == nil {
		t.Error("a folder is edited")
	}
	if all, _ := os.ReadDir(dir); len(all) != 2 {
		t.Errorf("files beside it: %v", all)
	}
}

// TestNewFileInGroupFolder: in a folder that gives its group to new files, the group may
// read a file that is made, whatever the umask is, and nobody else.
func TestNewFileInGroupFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no groups of files")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode()&os.ModeSetgid == 0 {
		t.Skip("the file system keeps no setgid bit")
	}
	name := filepath.Join(dir, "tokens")
	for range 2 { // the second time, the file is there
		if err := Edit(name, add("one\n")); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
}
