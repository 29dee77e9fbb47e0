package datafolder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func numbered(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, File), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A new folder gets this program's number, and a folder that has it is left alone.
func TestOpenNumbers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "data")
	if err := Check(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("Check made the folder")
	}
	for range 2 {
		if err := Open(dir); err != nil {
			t.Fatal(err)
		}
	}
	if has, err := FormatOf(dir); has != Format() || err != nil {
		t.Errorf("format %d, %v", has, err)
	}
	info, err := os.Stat(filepath.Join(dir, File))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// A folder of a newer program is refused by name, with the program that reads it, and
// does not change.
func TestNewerFolder(t *testing.T) {
	text := fmt.Sprintf(`{"v":%d,"written_by":"v9.1.0"}`, Format()+1)
	dir := numbered(t, text)
	for name, use := range map[string]func(string) error{"Open": Open, "Check": Check} {
		err := use(dir)
		newer, ok := errors.AsType[*NewerError](err)
		if !ok || newer.Has != Format()+1 || newer.Reads != Format() {
			t.Fatalf("%s: %v", name, err)
		}
		want := fmt.Sprintf("%s was written by sotto v9.1.0 and has format %d; sotto %s reads formats up to %d", dir, Format()+1, Version(), Format())
		if err.Error() != want || newer.Hint() != "use sotto v9.1.0 or later" {
			t.Errorf("%s: %v; %s", name, err, newer.Hint())
		}
	}
	if data, _ := os.ReadFile(filepath.Join(dir, File)); string(data) != text {
		t.Errorf("the file is now %s", data)
	}
}

// A file that is not a number is an error, not a folder without a number: its contents
// may be newer than this program can read.
func TestBadNumber(t *testing.T) {
	for _, text := range []string{"", "{", "[]", `{"v":0}`, `{"v":-1}`, `{"v":"1"}`, strings.Repeat("x", maxFile+1), `{"v":1,"written_by":"` + strings.Repeat("v", 200) + `"}`} {
		if err := Open(numbered(t, text)); err == nil || !strings.Contains(err.Error(), File) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func TestUnfinished(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, Unfinished), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Open(dir); err == nil || !strings.Contains(err.Error(), "not restored to its end") {
		t.Error(err)
	}
}

// The steps from an older format run once, in order, however many processes open the
// folder at once. A step that fails leaves the number of the step before, and runs
// again.
func TestSteps(t *testing.T) {
	var ran []string
	var fails error
	defer func(was []func(string) error) { steps = was }(steps)
	steps = append(steps[:1:1],
		func(dir string) error {
			ran = append(ran, "1 to 2")
			return os.WriteFile(filepath.Join(dir, "moved"), nil, 0o600)
		},
		func(dir string) error { ran = append(ran, "2 to 3"); return fails },
	)
	dir := numbered(t, `{"v":1,"written_by":"v0.1.0"}`)
	fails = errors.New("the disk is full")
	if err := Open(dir); !errors.Is(err, fails) || !strings.Contains(err.Error(), "from format 2 to 3") {
		t.Fatal(err)
	}
	if has, _ := FormatOf(dir); has != 2 {
		t.Errorf("format %d after a step that failed", has)
	}
	fails = nil
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := Open(dir); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := strings.Join(ran, ", "); got != "1 to 2, 2 to 3, 2 to 3" {
		t.Errorf("ran %s", got)
	}
	if has, _ := FormatOf(dir); has != 3 {
		t.Errorf("format %d", has)
	}
}
