package interop_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/interop/engine"
)

// The real program talks to a model of a real engine: the answer comes without its
// thought, and the file of the conversation has none either.
func TestChatWithEngine(t *testing.T) {
	m := engine.Inline()
	s := engine.Run(t, m)
	work := t.TempDir()
	sotto := filepath.Join(work, "sotto")
	build := exec.Command("go", "build", "-o", sotto, "./cmd/sotto")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	chat := exec.Command(sotto, "chat", "--model", m.Name, "--url", s.URL, "--data", work, "--name", "real")
	chat.Stdin = strings.NewReader("What is it?\nAnd again?\n")
	out, err := chat.Output()
	if want := m.Answer + "\n" + m.Answer + "\n"; err != nil || string(out) != want {
		t.Errorf("%q, %v, want %q", out, err, want)
	}
	kept, err := os.ReadFile(filepath.Join(work, "chats", "real.jsonl"))
	if err != nil || strings.Contains(string(kept), strings.TrimSpace(m.Thinking)) || strings.Count(string(kept), `"role":"assistant"`) != 2 {
		t.Errorf("%s, %v", kept, err)
	}
}
