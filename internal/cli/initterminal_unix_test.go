//go:build unix

package cli

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// TestInitOnTerminal answers the questions of sotto init in tmux.
func TestInitOnTerminal(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	upstream := httptest.NewServer(scripted.New(scripted.Options{}))
	defer upstream.Close()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sotto := filepath.Join(dir, "sotto")
	if err := os.Symlink(self, sotto); err != nil { // testscript runs the command of that name
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("", "tmux") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	p := &pane{t, filepath.Join(short, "s")}
	command := fmt.Sprintf("cd %s && OLLAMA_HOST=%s GROQ_API_KEY=SECRET exec %s init", dir, strings.TrimPrefix(upstream.URL, "http://"), sotto)
	p.tmux("new-session", "-d", "-s", "chat", "-x", "100", "-y", "50", command, ";", "set-option", "-g", "remain-on-exit", "on")
	t.Cleanup(func() { exec.Command("tmux", "-S", p.socket, "kill-server").Run() })
	if s := p.waits("server [1]:"); !strings.Contains(s, "1  "+upstream.URL+"  Ollama 0.17.4, with ") || !strings.Contains(s, "Groq, with the key of $GROQ_API_KEY") || strings.Contains(s, "SECRET") {
		t.Errorf("the questions:\n%s", s)
	}
	p.types("Enter")
	p.waits("display [field]:")
	p.types("hide", "Enter")
	p.waits("record:")
	p.types("audit", "Enter")
	p.waits("is written")
	file, err := os.ReadFile(filepath.Join(dir, "sotto.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nupstream: " + upstream.URL + "\n", "\ndisplay: hide\n", "\nrecord: audit\n"} {
		if !strings.Contains(string(file), want) {
			t.Errorf("no %q in\n%s", want, file)
		}
	}
}
