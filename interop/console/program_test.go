package console

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program builds the program.
func program(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "sotto")
	build := exec.Command("go", "build", "-o", name, "./cmd/sotto")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

// announced starts the program in a folder, and returns the addresses that it announces,
// by the words before them, once it has announced that with the words last.
func announced(t *testing.T, sotto, dir, last string, args ...string) map[string]string {
	t.Helper()
	cmd := exec.Command(sotto, args...)
	cmd.Dir = dir
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = cmd.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
	hang := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer hang.Stop()
	addresses := map[string]string{}
	lines := bufio.NewScanner(said)
	for addresses[last] == "" {
		if !lines.Scan() {
			t.Fatalf("sotto %s did not announce %q", strings.Join(args, " "), last)
		}
		if i := strings.Index(lines.Text(), "http"); i >= 0 {
			addresses[strings.TrimSpace(lines.Text()[:i])] = strings.TrimSpace(lines.Text()[i:])
		}
	}
	go func() {
		for lines.Scan() { // so that the program never waits for a reader
		}
	}()
	return addresses
}
