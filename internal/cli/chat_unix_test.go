//go:build unix

package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
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

var took = lazyregexp.New(`in \d+\.\d s`)

// screen returns the lines of the terminal, with the times left out.
func (p *pane) screen() string {
	return strings.TrimRight(took.ReplaceAllString(p.tmux("capture-pane", "-p", "-t", "chat"), "in TIME"), "\n ")
}

// waits returns the screen as soon as it has a text.
func (p *pane) waits(text string) string {
	p.t.Helper()
	return p.waitsFor(text, func(s string) bool { return strings.Contains(s, text) })
}

// waitsWrapped waits for a text that the screen may have wrapped anywhere: the name of
// a temporary folder has any length.
func (p *pane) waitsWrapped(text string) string {
	p.t.Helper()
	return p.waitsFor(text, func(s string) bool { return strings.Contains(strings.ReplaceAll(s, "\n", ""), text) })
}

func (p *pane) waitsFor(text string, there func(screen string) bool) string {
	p.t.Helper()
	var s string
	waiting.For(p.t, fmt.Sprintf("%q on the screen", text), func() error {
		if s = p.screen(); !there(s) {
			return errors.New(s)
		}
		return nil
	})
	return s
}

// shows compares the screen.
func (p *pane) shows(want string) {
	p.t.Helper()
	got := p.screen()
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Errorf("the screen (-want +got):\n%s", diff)
	}
	if strings.Contains(got, "SECRET") {
		p.t.Error(got)
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
  error: {kind: silent}
- when: {user: Draw, last: user}
  text: "<think>SECRET three</think><narrate>Drawing.</narrate># Red\n\nIt is *not* **blue** (sk-of-the-painter), see [the list](http://red.example/list).\n\n- one\n- two x\n\n~~~sh\nls  -l\n~~~\n| a | b |\n|---|---|\n| 1 | 22 |\n"
`

// TestChatOnTerminal drives sotto chat in tmux: an answer is shown block by block, as
// Markdown, thoughts are folded to a line, calls are cards, ctrl-C stops a reply and
// keeps the conversation, /retry asks again, /thoughts shows what was folded, /save
// writes the conversation, the name resumes it, and a second process is refused. The
// screen is compared.
func TestChatOnTerminal(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"key":         "sk-of-the-painter",
		"script.yaml": chatScript,
		"agent.yaml":  "v: 1\nname: painter\nstart: outside\nmodel: {provider: scripted, script: script.yaml, key-file: key}\nmemory: []\nagents: [{name: mixer, system: You mix.}]\n",
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
	p.tmux("new-session", "-d", "-s", "chat", "-x", "60", "-y", "40", command, ";", "set-option", "-g", "remain-on-exit", "on")
	t.Cleanup(func() { exec.Command("tmux", "-S", p.socket, "kill-server").Run() })
	p.waits("commands.\n>")
	p.types("Paint.", "Enter")
	p.waits("It is red.␛[31m\n>")
	p.types("Count.", "Enter")
	p.waits("writing: 7 bytes")
	p.types("C-c")
	p.waits("continues\n>")
	p.types("/thoughts", "Enter")
	p.waits("nothing.\n>")
	p.shows(`Talking to painter. /help lists the commands.
> Paint.
· thought: 10 bytes in TIME
Let me see.
▸ mixer {"task":"Mix."}
◂ mixer: done Red.
· thought: 12 bytes in TIME
It is red.␛[31m
> Count.
One two
· stopped; the conversation continues
> /thoughts
The last reply thought nothing.
>`)
	// While it is open, nobody else writes to it.
	out, err := exec.Command(sotto, strings.Fields(strings.TrimPrefix(command, "exec "+sotto))...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "conversation red is open in another sotto chat") {
		t.Errorf("a second process: %s, %v", out, err)
	}
	p.types("/quit", "Enter")
	p.waits("to resume this conversation: ")
	// The hint is the last that the command does. With -k, tmux does not have to have
	// noticed its end, for which it sometimes takes long.
	p.tmux("respawn-pane", "-k", "-t", "chat", command)
	p.waits("> Count.\nOne two\n>")
	p.types("Draw.", "Enter")
	p.waits("1  22\n>")
	p.shows(`Talking to painter. /help lists the commands.
> Paint.
Let me see.

It is red.␛[31m
> Count.
One two
> Draw.
· thought: 12 bytes in TIME
# Red

It is not blue (sk-of-the-painter), see the list
<http://red.example/list>.

• one
• two x

    ls  -l

a  b
─────
1  22
>`)
	p.types("/retry", "Enter")
	p.waits("> /retry\n· thought: 12 bytes in TIME\n# Red")
	p.waits("1  22\n>")
	p.types("/thoughts", "Enter")
	p.waits("SECRET three")
	p.types("/save "+filepath.Join(dir, "saved.md"), "Enter")
	p.waitsWrapped("saved.md.>")
	for _, name := range []string{"data/chats/red.jsonl", "saved.md"} {
		kept, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Contains(string(kept), "SECRET") || strings.Contains(string(kept), "sk-of-the-painter") || !strings.Contains(string(kept), "**blue**") {
			t.Errorf("%s: %s, %v", name, kept, err)
		}
	}
	kept, _ := os.ReadFile(filepath.Join(dir, "data", "chats", "red.jsonl"))
	if text := string(kept); !strings.Contains(text, `"text":"One two","stopped":true`) || strings.Count(text, `"retry":true`) != 1 {
		t.Errorf("%s", kept)
	}
}
