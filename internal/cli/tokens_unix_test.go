//go:build unix

package cli

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// owned makes a token file of another user and group, as one of a service is. Only root can.
func owned(t *testing.T, text string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to others")
	}
	name := filepath.Join(t.TempDir(), "alice.token")
	if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(name, 1234, 2345); err != nil {
		t.Fatal(err)
	}
	return name
}

func checkOwned(t *testing.T, name string) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if s := info.Sys().(*syscall.Stat_t); s.Uid != 1234 || s.Gid != 2345 || info.Mode().Perm() != 0o640 {
		t.Errorf("the file is of %d:%d, %v", s.Uid, s.Gid, info.Mode())
	}
}

// TestTokensAtOnce: fifty commands that add a token to one file at the same time lose none,
// and the file keeps its owner, group and mode.
func TestTokensAtOnce(t *testing.T) {
	if effort.Brief() {
		t.Skip("50 processes: SOTTO_EFFORT=1 runs it")
	}
	name := owned(t, "# of alice\n")
	tokens := make([]string, 50)
	var all sync.WaitGroup
	for i := range tokens {
		all.Go(func() {
			out, err := exec.Command("sotto", "token", "new", "--add", name).Output()
			if err != nil {
				t.Errorf("%v", err)
			}
			tokens[i] = strings.TrimSpace(string(out))
		})
	}
	all.Wait()
	checkOwned(t, name)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(data), "\n"); lines != 1+len(tokens) {
		t.Errorf("%d lines", lines)
	}
	for _, token := range tokens {
		if !strings.Contains(string(data), access.HashOf(token)) {
			t.Error("a token is lost")
		}
	}
}

// TestTokenKilled: a command that is killed at any time leaves the file as it was, or with
// its token.
func TestTokenKilled(t *testing.T) {
	name := owned(t, "# of alice\n")
	before := 1
	for range 12 {
		cmd := exec.Command("sotto", "token", "new", "--add", name)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		list, err := access.ReadTokens(string(data))
		if err != nil || 1+len(list) < before || 1+len(list) > before+1 || !strings.HasPrefix(string(data), "# of alice\n") {
			t.Fatalf("%d tokens, %v, after %d: %q", len(list), err, before-1, data)
		}
		before = 1 + len(list)
		checkOwned(t, name)
	}
}
