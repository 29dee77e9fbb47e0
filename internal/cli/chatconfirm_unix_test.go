//go:build unix

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestChatConfirms drives sotto chat in tmux: a call that needs consent is a question,
// without thoughts, secrets and control characters. No line but yes makes the call, and
// ctrl-C at the question stops the reply.
func TestChatConfirms(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"key": "sk-of-the-painter",
		"script.yaml": `
- when: {system: You mix}
  text: "<think>SECRET below</think>Red."
- when: {contains: "refused by the person"}
  text: "So I leave it."
- when: {tool: mixer}
  text: "It is red."
- text: "<think>SECRET one</think>Let me see."
  calls: [{name: mixer, arguments: {task: "<think>SECRET</think>Mix \u001b[31m for sk-of-the-painter."}}]
`,
		"agent.yaml": "v: 1\nname: painter\nstart: outside\nmodel: {provider: scripted, script: script.yaml, key-file: key}\nmemory: []\nagents: [{name: mixer, system: You mix., confirm: true}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
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
	command := fmt.Sprintf("exec %s chat --agent %s/agent.yaml --data %s/data --name red --reasoning hide", sotto, dir, dir)
	p.tmux("new-session", "-d", "-s", "chat", "-x", "80", "-y", "60", command, ";", "set-option", "-g", "remain-on-exit", "on")
	t.Cleanup(func() { exec.Command("tmux", "-S", p.socket, "kill-server").Run() })
	p.waits("commands.\n>")
	p.types("Paint.", "Enter")
	screen := p.waits("[y/N]")
	question := screen[strings.Index(screen, "Let me see."):]
	if want := "Let me see.\nMay the agent call mixer {\"task\":\"Mix \\u001b[31m for [secret].\"}? [y/N]"; question != want {
		t.Errorf("the question is %q, want %q", question, want)
	}
	p.types("Enter")
	screen = p.waits("So I leave it.\n>")
	if !strings.Contains(screen, "mixer: failed") {
		t.Errorf("%s", screen)
	}
	p.types("Paint again.", "Enter")
	p.waits("Paint again.\nLet me see.\nMay the agent call")
	p.types("y", "Enter")
	screen = p.waits("It is red.\n>")
	if !strings.Contains(screen, "mixer: done Red.") {
		t.Errorf("%s", screen)
	}
	p.types("Paint it once more.", "Enter")
	p.waits("once more.\nLet me see.\nMay the agent call")
	p.types("C-c")
	screen = p.waits("continues\n>")
	if strings.Contains(screen, "SECRET") || strings.Contains(screen, "sk-of") {
		t.Errorf("%s", screen)
	}
}
