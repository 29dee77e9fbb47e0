package apps_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/interop/internal/bridged"
	"github.com/sotto-llm/sotto/interop/internal/displays"
)

// A crossing is an application that speaks one API, and the APIs of the upstreams that it is
// tested with.
type crossing struct {
	application
	speaks    string
	upstreams []string
	forgets   bool // see [bridged.Client]
	red       map[string]refusal
}

// overSockets is the Responses API over WebSockets.
const overSockets = "responses over WebSockets"

// A refusal is what an application sends that a bridge to an API refuses.
type refusal struct{ answer, why string }

var crossings = []crossing{
	{codexWithout(), "responses", []string{"chat", "ollama", "messages"}, false, nil},
	{
		application{
			name: "claude",
			from: "@anthropic-ai/claude-code",
			env: []string{
				"ANTHROPIC_BASE_URL={base}", "ANTHROPIC_AUTH_TOKEN=key", "ANTHROPIC_MODEL={model}", "ANTHROPIC_DEFAULT_HAIKU_MODEL=plain",
				"CLAUDE_CONFIG_DIR={home}/claude", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			},
			start: []string{"node_modules/@anthropic-ai/claude-code-linux-x64/claude", "-p"},
			again: []string{"--continue"},
			args:  []string{"--output-format", "json", "--allowedTools=Bash"},
		}, "messages", []string{"chat", "ollama", "responses"}, false, nil,
	},
	{applicationNamed("opencode"), "chat", []string{"messages", "responses", "gemini"}, false, nil},
	{copilotWith("COPILOT_PROVIDER_WIRE_API=completions"), "chat", []string{"messages", "gemini"}, true, map[string]refusal{
		"gemini": {"tool_choice: only openai.chat has it", "to models whose names begin with `gemini` it sends `tool_choice: \"validated\"`, which is no value of chat completions; set `COPILOT_PROVIDER_MODEL_ID` to the name of another model"},
	}},
	{copilotWith("COPILOT_PROVIDER_WIRE_API=responses"), "responses", []string{"chat", "messages"}, true, nil},
	{copilotWith("COPILOT_PROVIDER_WIRE_API=responses", "COPILOT_PROVIDER_TRANSPORT=websockets"), overSockets, []string{"chat", "messages"}, true, nil},
	{copilotWith("COPILOT_PROVIDER_TYPE=anthropic", "COPILOT_PROVIDER_BASE_URL={base}"), "messages", []string{"chat", "responses"}, false, nil},
	{applicationNamed("pi"), "chat", []string{"messages", "responses"}, false, nil},
	{applicationNamed("cline"), "chat", []string{"messages"}, false, nil},
	{applicationNamed("mastra"), "chat", []string{"messages"}, false, nil},
	{
		application{
			name:  "gemini",
			from:  "@google/gemini-cli",
			files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"maxAttempts":1},"privacy":{"usageStatisticsEnabled":false}}`},
			env:   []string{"GEMINI_API_KEY=key", "GOOGLE_GEMINI_BASE_URL={base}"},
			start: []string{node, "../geminicli/node_modules/@google/gemini-cli/bundle/gemini.js"},
			again: []string{"--resume", "latest"},
			args:  []string{"-m", "{model}", "--output-format", "json", "--yolo", "--skip-trust", "-p"},
		}, "gemini", []string{"chat", "messages"}, true, nil,
	},
}

// codexWithout is Codex without its search of the web, which runs at the provider.
func codexWithout() application {
	a := applicationNamed("codex")
	const path = "codex/config.toml"
	a.files = map[string]string{path: "web_search = \"disabled\"\n" + a.files[path]}
	return a
}

// copilotWith is GitHub's Copilot CLI with another wire.
func copilotWith(env ...string) application {
	a := applicationNamed("copilot")
	a.env = slices.Concat(a.env, env)
	return a
}

func applicationNamed(name string) application {
	for _, a := range applications {
		if a.name == name {
			return a
		}
	}
	panic(name)
}

// appending is the command of the tool calls. Each adds a line to a file.
const appending = "echo ran >> ran.txt"

// TestBridges: each application has the same conversation with an upstream of another API, by base URL
// alone: two prompts, each with two calls of its own tool; then one that is stopped in the middle.
func TestBridges(t *testing.T) {
	if os.Getenv("SOTTO_APPS") == "" {
		t.Skip("SOTTO_APPS is not set: run it as SOTTO_APPS=$(interop/apps/install)")
	}
	want, ran := 0, 0
	for i := range crossings {
		c := &crossings[i]
		for _, api := range c.upstreams {
			parts := map[string]func(*testing.T, *crossing, string){"loop": crossLoop, "stop": crossStop}
			if _, red := c.red[api]; red {
				parts = map[string]func(*testing.T, *crossing, string){"refused": crossRefused}
			}
			for name, f := range parts {
				want++
				t.Run(c.name+"/"+c.speaks+" over "+api+"/"+name, func(t *testing.T) {
					ran++
					f(t, c, api)
				})
			}
		}
	}
	if ran == want && !t.Failed() { // -run left nothing out
		t.Run("table", func(t *testing.T) { checkCrossings(t, os.Getenv("SOTTO_APPS")) })
	}
}

func crossLoop(t *testing.T, c *crossing, api string) {
	s := bridged.New(t, api, callsOf(appending))
	u := &user{&c.application, t.TempDir(), s.URL}
	prompts := [][]string{u.first(), u.further()}
	if c.again == nil {
		prompts = prompts[:1]
	}
	for i, args := range prompts {
		crossTurn(t, c, u, s, args, i+1)
	}
}

// crossRefused wants the refusal of a red cell, so that a cell that works is no longer listed as red.
func crossRefused(t *testing.T, c *crossing, api string) {
	s := bridged.New(t, api, callsOf(appending))
	u := &user{&c.application, t.TempDir(), s.URL}
	out, stderr, _ := u.run(t, s.Model, u.first())
	for _, r := range s.Before.Of(bridged.ClientKey) {
		if r.Status == 400 && bytes.Contains(r.Reply, []byte(c.red[api].answer)) {
			return
		}
	}
	t.Errorf("no refusal with %q: take it from the red cells\n%s\n%s", c.red[api].answer, out, stderr)
}

// crossTurn gives an application one prompt, which ends a number of turns, and judges its output, its
// tool and its requests.
func crossTurn(t *testing.T, c *crossing, u *user, s *bridged.Stage, args []string, turns int) {
	t.Helper()
	m := find(t, s.Model)
	out, stderr, err := u.run(t, s.Model, args)
	for _, wrong := range s.Judge(bridged.Client{Key: bridged.ClientKey, Forgets: c.forgets}, turns) {
		t.Errorf("%.3000s", wrong)
	}
	for _, r := range s.Before.Of(bridged.ClientKey) {
		if sockets := r.Upgrade == "websocket"; sockets != (c.speaks == overSockets) {
			t.Errorf("%s asked to change to %q", r.Path, r.Upgrade)
		}
	}
	if err != nil || t.Failed() {
		t.Fatalf("%v\n%s\n%s", err, out, stderr)
	}
	if !strings.Contains(out, m.Result.Visible) {
		t.Errorf("no answer in %s\n%s", out, stderr)
	}
	path := filepath.Join(u.home, "work", "ran.txt")
	ran, err := os.ReadFile(path)
	if n := strings.Count(string(ran), "ran\n"); n != bridged.Calls {
		t.Errorf("the tool ran %d times, want %d: %v\n%s\n%s", n, bridged.Calls, err, out, stderr)
	}
	if err := os.Remove(path); err != nil {
		t.Error(err)
	}
}

// crossStop stops an application in the middle of a reply, and gives it another prompt.
func crossStop(t *testing.T, c *crossing, api string) {
	up := &bridged.Slow{Calls: callsOf(appending), Begun: make(chan struct{}, 1)}
	s := bridged.Before(t, api, up)
	u := &user{&c.application, t.TempDir(), s.URL}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // the machine may be busy
	defer cancel()
	cmd := u.command(ctx, t, bridged.Long, u.first()...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-up.Begun:
	case <-ctx.Done():
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if ctx.Err() != nil {
		t.Fatalf("%v\n%s", ctx.Err(), out.String())
	}
	canceled := 0
	asked := s.Asked(bridged.Long)
	for _, r := range asked {
		if r.Canceled {
			canceled++
		}
	}
	if canceled != 1 {
		t.Errorf("%d requests, %d of them canceled, want 1\n%s", len(asked), canceled, out.String())
	}
	s.Before.Of(bridged.ClientKey) // the gateway has ended its exchanges
	if open := metric(t, s.URL, "sotto_open_exchanges"); open != "0" {
		t.Errorf("%s exchanges are open", open)
	}
	crossTurn(t, c, u, s, u.first(), 1)
}

// callsOf are calls of the applications' tools that run a command.
func callsOf(command string) []scripted.ToolCall {
	list := make([]scripted.ToolCall, len(calls))
	for i, c := range calls {
		list[i] = scripted.ToolCall{Name: c.Name, Arguments: strings.ReplaceAll(c.Arguments, `echo ran > ran.txt`, command)}
	}
	return list
}

// checkCrossings compares the table in the document to the applications, which all did right.
func checkCrossings(t *testing.T, dir string) {
	var b strings.Builder
	notes := ""
	b.WriteString("| application | version | speaks | upstreams |\n| --- | --- | --- | --- |\n")
	for i := range crossings {
		c := &crossings[i]
		folder := filepath.Join(dir, "node_modules", c.from)
		if _, err := os.Stat(folder); err != nil {
			folder = filepath.Join(dir, "../geminicli/node_modules", c.from)
		}
		var cells []string
		for _, api := range c.upstreams {
			cell := "`" + api + "`"
			if r, red := c.red[api]; red {
				cell = "**not " + cell + "**"
				notes += fmt.Sprintf("- %s over `%s`: %s.\n", c.from, api, r.why)
			}
			cells = append(cells, cell)
		}
		api, how, _ := strings.Cut(c.speaks, " ")
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.from, version(t, folder), strings.TrimSpace("`"+api+"` "+how), strings.Join(cells, ", "))
	}
	if notes != "" {
		b.WriteString("\n" + notes)
	}
	displays.CheckDocument(t, "../../docs/evidence/bridge.md", "applications over bridges, from: go test ./apps -run Bridges -update", b.String(), *update)
}
