//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/record"
)

// statusOf runs a command and returns its standard error.
func statusOf(args ...string) (status int, stderr string) {
	var errs bytes.Buffer
	status = Run(args, strings.NewReader(""), io.Discard, &errs, os.Getenv)
	return status, errs.String()
}

// outputs are the calls that write a file. NAME stands for its name.
func outputs(t *testing.T) map[string][]string {
	dir := t.TempDir()
	reply, lines, games := filepath.Join(dir, "reply"), filepath.Join(dir, "lines"), filepath.Join(dir, "games.jsonl")
	for name, text := range map[string]string{reply: "<think>a</think>b", lines: `{"id":"1","raw":"Answer: 3*8","input":"1 1 3 8"}` + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if status, errs := statusOf("solve", "--mode", "cot", "-n", "2", "-q", "-o", games); status != 0 {
		t.Fatal(errs)
	}
	return map[string][]string{
		"strip --reasoning-to": {"strip", "--reasoning-to", "NAME", reply},
		"extract -o":           {"extract", "--task", "game24", "--jsonl", "-o", "NAME", lines},
		"score -o":             {"score", "--task", "game24", "--jsonl", "-o", "NAME", lines},
		"score --html":         {"score", "--task", "game24", "--jsonl", "--html", "NAME", lines},
		"solve -o":             {"solve", "--mode", "cot", "-n", "2", "-q", "-o", "NAME"},
		"solve --csv":          {"solve", "--mode", "cot", "-n", "2", "-q", "--csv", "NAME"},
		"solve --html":         {"solve", "--mode", "cot", "-n", "2", "-q", "--html", "NAME"},
		"report --csv":         {"solve", "report", games, "--csv", "NAME"},
		"report --html":        {"solve", "report", games, "--html", "NAME"},
	}
}

func named1(args []string, name string) []string {
	args = append([]string{}, args...)
	for i := range args {
		if args[i] == "NAME" {
			args[i] = name
		}
	}
	return args
}

// TestOutputModes: a new file is accessible to its owner only, whatever the umask.
// An existing file keeps its mode and its name, and the user is told who can read
// it. A device and a named pipe get the bytes and stay what they are.
func TestOutputModes(t *testing.T) {
	if effort.Brief() {
		t.Skip("every command, one at a time: SOTTO_EFFORT=1 runs it")
	}
	defer syscall.Umask(syscall.Umask(0))
	for what, args := range outputs(t) {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			name := filepath.Join(dir, "out")
			status, errs := statusOf(named1(args, name)...)
			if info, err := os.Lstat(name); status != 0 || err != nil || info.Mode() != 0o600 || info.Size() == 0 || strings.Contains(errs, "can read") {
				t.Fatalf("a new file: status %d, %v, %v: %s", status, info, err, errs)
			}
			for _, mode := range []os.FileMode{0o640, 0o644, 0o622, 0o600} {
				keepsMode(t, args, name, mode)
			}
			if list, err := filepath.Glob(filepath.Join(dir, ".*.partial-*")); len(list) > 0 || err != nil {
				t.Errorf("it left %q: %v", list, err)
			}
			throughPipe(t, args, filepath.Join(dir, "pipe"))
			if status, errs := statusOf(named1(args, os.DevNull)...); status != 0 {
				t.Errorf("to %s: status %d: %s", os.DevNull, status, errs)
			}
			if info, err := os.Stat(os.DevNull); err != nil || info.Mode()&os.ModeCharDevice == 0 {
				t.Fatalf("%s is %v now: %v", os.DevNull, info, err)
			}
		})
	}
}

// keepsMode lets a command write to an existing file, through a link.
func keepsMode(t *testing.T, args []string, name string, mode os.FileMode) {
	link := fmt.Sprintf("%s-%o", name, mode)
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(name, link); err != nil {
		t.Fatal(err)
	}
	status, errs := statusOf(named1(args, link)...)
	info, err := os.Lstat(name)
	if status != 0 || err != nil || info.Mode() != mode || info.Size() == 0 {
		t.Errorf("mode %o: status %d, %v, %v: %s", mode, status, info, err, errs)
	}
	if told := strings.Contains(errs, fmt.Sprintf("sotto: hint: every user of this machine can read %s (mode %04o)", link, mode)); told != (mode&0o004 != 0) {
		t.Errorf("mode %o: it says %q", mode, errs)
	}
	if got, err := os.Readlink(link); err != nil || got != name {
		t.Errorf("the link became %q: %v", got, err)
	}
}

// throughPipe lets a command write to a named pipe.
func throughPipe(t *testing.T, args []string, name string) {
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan int)
	go func() {
		all, _ := os.ReadFile(name)
		read <- len(all)
	}()
	if status, errs := statusOf(named1(args, name)...); status != 0 {
		t.Fatalf("to a named pipe: status %d: %s", status, errs)
	}
	if n := <-read; n == 0 {
		t.Error("nothing came through the named pipe")
	}
	if info, err := os.Lstat(name); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the named pipe is %v now: %v", info, err)
	}
}

// TestSmallFiles: a file that is read whole may be a named pipe. A file without an
// end is refused at its bound, and no more of it is held. Keys of a record must not
// come from pipes.
func TestSmallFiles(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	reply := filepath.Join(t.TempDir(), "reply")
	if err := os.WriteFile(reply, []byte("Answer: 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := writeRun(t, aRun(), record.Options{})
	for what, args := range map[string][]string{
		"dialect file":  {"dialects", "--dialect-file", "NAME"},
		"task file":     {"extract", "--task-file", "NAME", reply},
		"schema":        {"extract", "--task", "json", "--schema", "NAME", reply},
		"prices":        {"solve", "--prices", "NAME", "-n", "1"},
		"instruction":   {"solve", "--instruction", "NAME", "-n", "1"},
		"configuration": {"serve", "--check", "--config", "NAME"},
		"token":         {"a2a", "probe", "--token-file", "NAME", "http://127.0.0.1:1"},
		"probe token":   {"probe", "--token-file", "NAME", "http://127.0.0.1:1"},
		"doctor key":    {"doctor", "--upstream-key-file", "NAME", "--upstream", "http://127.0.0.1:1"},
		"token-file":    {"serve", "--check", "--token-file", "NAME"},
		"upstream-key":  {"serve", "--check", "--upstream-key-file", "NAME"},
		"identities":    {"record", "show", dir, "-i", "NAME"},
		"key":           {"record", "verify", dir, "--key", "NAME"},
		"head":          {"record", "verify", dir, "--head", "NAME"},
		"signing key":   {"record", "prune", dir, "--keep-size", "1GiB", "--signing-key", "NAME"},
		"recipients":    {"extract", "--task", "math", "--record", filepath.Join(t.TempDir(), "a"), "--record-recipient", "NAME", reply},
		"patterns":      {"extract", "--task", "math", "--record", filepath.Join(t.TempDir(), "a"), "--record-patterns", "NAME", reply},
		"digest key":    {"extract", "--task", "math", "--record", filepath.Join(t.TempDir(), "a"), "--record-reasoning", "digest", "--record-digest-key", "NAME", reply},
	} {
		t.Run(what, func(t *testing.T) {
			endless := filepath.Join(t.TempDir(), "endless")
			taken, want := feed(t, endless), "it is larger than"
			if slices.Contains([]string{"identities", "key", "head", "signing key", "recipients", "patterns", "digest key"}, what) {
				want = "not a regular file"
			}
			status, errs := statusOf(named1(args, endless)...)
			secret := slices.Contains([]string{"token", "probe token", "doctor key", "token-file", "upstream-key"}, what) // the name is not shown
			if status == 0 || !strings.Contains(errs, want) || strings.Contains(errs, endless) == secret {
				t.Errorf("status %d: %s", status, errs)
			}
			if n := taken(); n > files.MaxDialects+1<<20 {
				t.Errorf("%d bytes were taken of it", n)
			}
		})
	}
}

// feed makes a named pipe that supplies bytes as long as they are read. taken says,
// after its reader has ended, how many bytes were read at most.
func feed(t *testing.T, name string) (taken func() int) {
	t.Helper()
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	over, total := make(chan struct{}), make(chan int, 1)
	go func() { total <- supply(name, over) }()
	return func() int {
		close(over)
		return <-total
	}
}

// supply writes to a named pipe until its reader closes it. The reader may have left
// before supply opens the pipe. So supply tries to open it until over is closed.
func supply(name string, over <-chan struct{}) (total int) {
	file, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	for ; err != nil; file, err = os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0) {
		select {
		case <-over:
			return 0
		case <-time.After(time.Millisecond):
		}
	}
	defer file.Close()
	for chunk := bytes.Repeat([]byte("x"), 64<<10); ; {
		n, err := file.Write(chunk)
		if total += n; err != nil { // the reader is gone
			return total
		}
	}
}
