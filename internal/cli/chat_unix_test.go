//go:build unix

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A pane is a terminal in tmux, in which sotto chat runs.
type pane struct {
	t      *testing.T
	socket string
}

func (p *pane) tmux(args ...string) string {
	p.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", p.socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

var took = regexp.MustCompile(`in \d+\.\d s`)

// screen returns the lines of the terminal, with the times left out.
func (p *pane) screen() string {
	return strings.TrimRight(took.ReplaceAllString(p.tmux("capture-pane", "-p", "-t", "chat"), "in TIME"), "\n ")
}

// waits returns the screen as soon as it has a text.
func (p *pane) waits(text string) string {
	p.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		s := p.screen()
		if strings.Contains(s, text) {
			return s
		}
		if time.Now().After(end) {
			p.t.Fatalf("the screen has no %q:\n%s", text, s)
		}
	}
}

func (p *pane) types(keys ...string) {
	p.tmux(append([]string{"send-keys", "-t", "chat"}, keys...)...)
}

const chatScript = `
- when: {system: You mix}
  text: "<think>SECRET below</think>Red."
- when: {user: Paint, step: 1}
  text: "<think>SECRET one</think>Let me see."
  calls: [{name: mixer, arguments: {task: "<think>SECRET</think>Mix."}}]
- when: {tool: mixer}
  text: "<think>SECRET two</think>It is red.\u001b[31m"
- when: {user: Count, last: user}
  text: "One two"
  pause: 2s
`

// TestChatOnTerminal drives sotto chat in tmux: an answer is streamed, thoughts are
// folded to a line, calls are cards, ctrl-C stops a reply and keeps the conversation,
// /thoughts shows what was folded, and the name resumes it. The screen is compared.
func TestChatOnTerminal(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"script.yaml": chatScript,
		"agent.yaml":  "v: 1\nname: painter\nstart: outside\nmodel: {provider: scripted, script: script.yaml}\nmemory: []\nagents: [{name: mixer, system: You mix.}]\n",
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
	command := fmt.Sprintf("exec %s chat --agent %s/agent.yaml --data %s/data --name red", sotto, dir, dir)
	p.tmux("new-session", "-d", "-s", "chat", "-x", "60", "-y", "24", command, ";", "set-option", "-g", "remain-on-exit", "on")
	t.Cleanup(func() { exec.Command("tmux", "-S", p.socket, "kill-server").Run() })
	p.waits("commands.\n>")
	p.types("Paint.", "Enter")
	p.waits("It is red.␛[31m\n>")
	p.types("Count.", "Enter")
	p.waits("One")
	p.types("C-c")
	p.waits("continues\n>")
	p.types("/thoughts", "Enter")
	p.waits("nothing.\n>")
	want := `Talking to painter. /help lists the commands.
> Paint.
· thought: 10 bytes in TIME
Let me see.
▸ mixer {"task":"Mix."}
◂ mixer: done Red.
· thought: 12 bytes in TIME
It is red.␛[31m
> Count.
One ^C
· stopped; the conversation continues
> /thoughts
The last reply thought nothing.
>`
	if diff := cmp.Diff(want, p.screen()); diff != "" {
		t.Errorf("the screen (-want +got):\n%s", diff)
	}
	if s := p.screen(); strings.Contains(s, "SECRET") {
		t.Error(s)
	}
	p.types("/quit", "Enter")
	p.waits("to resume this conversation: ")
	// The hint is the last that the command does. With -k, tmux does not have to have
	// noticed its end, for which it sometimes takes long.
	p.tmux("respawn-pane", "-k", "-t", "chat", command)
	p.waits("> Count.\nOne\n>")
	p.types("Paint.", "Enter")
	p.waits("mixer: done Red.\n· thought: 12 bytes in TIME\nIt is red.␛[31m\n>")
	p.types("/thoughts", "Enter")
	p.waits("SECRET two")
	kept, err := os.ReadFile(filepath.Join(dir, "data", "chats", "red.jsonl"))
	if err != nil || strings.Contains(string(kept), "SECRET") || !strings.Contains(string(kept), `"text":"One ","stopped":true`) {
		t.Errorf("%s, %v", kept, err)
	}
}
