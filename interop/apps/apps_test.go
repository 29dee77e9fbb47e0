// Package apps_test drives whole applications without a terminal through the
// gateway: prompts, calls of a tool of their own, their results, and answers; then
// an application that is stopped, and an upstream that fails.
package apps_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/interop/internal/front"
	"github.com/sotto-llm/sotto/interop/internal/wiretap"
)

// The models whose tool calls are in their API's field. One has its thoughts in the
// text, one in a field of its own that must come back.
var models = []string{"qwen3:8b", "deepseek-v3.2"}

// An application is a program that is configured with files and environment.
type application struct {
	name  string
	from  string            // its package
	files map[string]string // in its home
	env   []string
	start []string // the program, and its command
	begin []string // the arguments that begin a conversation
	again []string // the arguments that resume the last conversation; none if that needs a terminal
	args  []string
	// shows says that its output has reasoning, and that it sends reasoning back.
	shows bool
	// forgets says that it does not send the reasoning of earlier turns back.
	forgets bool
	// broken is what it does if a stream breaks off.
	broken string
}

// {home}, {base} and {model} in files, environment and arguments are replaced.
var applications = []application{
	{
		name: "codex",
		from: "@openai/codex",
		files: map[string]string{"codex/config.toml": `model_provider = "sotto"
model_reasoning_summary = "detailed"
[model_providers.sotto]
name = "sotto"
base_url = "{base}/v1"
wire_api = "responses"
env_key = "SOTTO_KEY"
request_max_retries = 0
stream_max_retries = 0
`},
		env:    []string{"CODEX_HOME={home}/codex", "SOTTO_KEY=key"},
		start:  []string{"node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex", "exec"},
		again:  []string{"resume", "--last"},
		args:   []string{"--skip-git-repo-check", "--json", "--dangerously-bypass-approvals-and-sandbox", "-m", "{model}"},
		broken: "an error",
		shows:  true,
	},
	{
		name: "opencode",
		from: "opencode-ai",
		files: map[string]string{"work/opencode.json": `{"model": "sotto/{model}", "small_model": "sotto/plain", "permission": "allow", "autoupdate": false, "share": "disabled",
"provider": {"sotto": {"npm": "@ai-sdk/openai-compatible", "name": "sotto", "options": {"baseURL": "{base}/v1", "apiKey": "key"},
"models": {"{model}": {"tool_call": true, "reasoning": true}, "plain": {"tool_call": true}}}}}`},
		env:    []string{"OPENCODE_DISABLE_MODELS_FETCH=1"},
		start:  []string{"node_modules/opencode-linux-x64/bin/opencode", "run"},
		again:  []string{"--continue"},
		args:   []string{"--format", "json", "--thinking"},
		broken: "asks again",
		shows:  true,
	},
	{
		name:   "qwen",
		from:   "@qwen-code/qwen-code",
		env:    []string{"OPENAI_API_KEY=key", "OPENAI_BASE_URL={base}/v1", "OPENAI_MODEL={model}"},
		start:  []string{node, "node_modules/.bin/qwen"},
		again:  []string{"--continue"},
		args:   []string{"--auth-type", "openai", "--yolo", "--output-format", "stream-json", "-p"},
		broken: "an error; asks again without the gateway",
		shows:  true,
	},
	{
		name: "cn",
		from: "@continuedev/cli",
		files: map[string]string{"config.yaml": `name: sotto
version: 1.0.0
schema: v1
models:
  - name: sotto
    provider: openai
    model: {model}
    apiBase: {base}/v1
    apiKey: key
    roles: [chat]
    capabilities: [tool_use]
`},
		env:    []string{"CONTINUE_GLOBAL_DIR={home}", "CONTINUE_TELEMETRY_ENABLED=0"},
		start:  []string{node, "node_modules/.bin/cn"},
		again:  []string{"--resume"},
		args:   []string{"--config", "{home}/config.yaml", "--auto", "-p"},
		broken: "asks again",
	},
	{
		name:    "copilot",
		from:    "@github/copilot",
		env:     []string{"COPILOT_OFFLINE=true", "COPILOT_HOME={home}/copilot", "COPILOT_PROVIDER_BASE_URL={base}/v1", "COPILOT_PROVIDER_API_KEY=key", "COPILOT_MODEL={model}"},
		start:   []string{"node_modules/@github/copilot-linux-x64/copilot"},
		again:   []string{"--continue"},
		args:    []string{"--allow-all-tools", "--output-format", "json", "-p"},
		broken:  "asks again",
		shows:   true,
		forgets: true,
	},
	{
		name: "pi",
		from: "@earendil-works/pi-coding-agent",
		files: map[string]string{"pi/models.json": `{"providers": {"sotto": {"baseUrl": "{base}/v1", "api": "openai-completions", "apiKey": "key",
"models": [{"id": "{model}", "reasoning": true}]}}}`},
		env:    []string{"PI_CODING_AGENT_DIR={home}/pi", "PI_OFFLINE=1"},
		start:  []string{node, "node_modules/.bin/pi", "--model", "sotto/{model}"},
		again:  []string{"--continue"},
		args:   []string{"--mode", "json", "-p"},
		broken: "an error; asks again without the gateway",
		shows:  true,
	},
	{
		name:   "cline",
		from:   "cline",
		files:  map[string]string{".cline/data/settings/providers.json": `{"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}, "providers": {"openai-compatible": {"settings": {"provider": "openai-compatible", "apiKey": "key", "model": "{model}", "baseUrl": "{base}/v1"}, "updatedAt": "2026-11-28T00:00:00.000Z", "tokenSource": "manual"}}}`},
		start:  []string{"node_modules/@cline/cli-linux-x64/bin/cline"},
		args:   []string{"--json"},
		broken: "an error; asks again without the gateway",
		shows:  true,
	},
	{
		name:   "mastra",
		from:   "@mastra/core",
		start:  []string{node, "./mastra.mjs", "{base}/v1", "{model}"},
		again:  []string{"resume"},
		begin:  []string{"new"},
		broken: "an error",
		shows:  true,
	},
}

const (
	node = "../npm/node/run"
	// The tool writes this file, so that a test sees that it ran.
	command = "echo ran > ran.txt"
)

// calls are calls of the applications' tools.
var calls = []scripted.ToolCall{
	{Name: "exec_command", Arguments: fmt.Sprintf(`{"cmd": %q}`, command)},
	{Name: "run_shell_command", Arguments: fmt.Sprintf(`{"command": %q, "description": "writes a file", "is_background": false}`, command)},
	{Name: "run_commands", Arguments: fmt.Sprintf(`{"commands": [%q]}`, command)},
	{Name: "bash", Arguments: fmt.Sprintf(`{"command": %q, "description": "writes a file"}`, command)},
	{Name: "Bash", Arguments: fmt.Sprintf(`{"command": %q}`, command)},
}

func TestApplications(t *testing.T) {
	if os.Getenv("SOTTO_APPS") == "" {
		t.Skip("SOTTO_APPS is not set: run it as SOTTO_APPS=$(interop/apps/install)")
	}
	want, ran := 0, 0
	test := func(name string, f func(t *testing.T)) {
		want++
		t.Run(name, func(t *testing.T) {
			ran++
			f(t)
		})
	}
	for _, a := range applications {
		for _, model := range models {
			test(a.name+"/"+model, func(t *testing.T) { converse(t, &a, model) })
		}
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
			test(a.name+"/"+signal.String(), func(t *testing.T) { stop(t, &a, signal) })
		}
		for _, f := range []string{down, busy, breaks} {
			test(a.name+"/"+f, func(t *testing.T) { fail(t, &a, f) })
		}
	}
	if ran == want && !t.Failed() { // -run left nothing out
		t.Run("table", func(t *testing.T) { checkTable(t, os.Getenv("SOTTO_APPS")) })
	}
}

// A stage is a gateway before an upstream, and what both were sent.
type stage struct {
	base, alone   string // the addresses of the gateway and of the upstream
	before, after *wiretap.Tap
}

func newStage(t *testing.T, up http.Handler) *stage {
	t.Helper()
	s := &stage{after: wiretap.New(up)}
	s.alone = front.Serve(t, s.after)
	u, err := url.Parse(s.alone)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: u})
	if err != nil {
		t.Fatal(err)
	}
	s.before = wiretap.New(g)
	s.base = front.Serve(t, s.before)
	return s
}

// A user runs an application in a home of its own, against a server.
type user struct {
	*application
	home, base string
}

// command returns the application's process. If ctx ends, so does the process, with
// all that it started.
func (u *user) command(ctx context.Context, t *testing.T, model string, args ...string) *exec.Cmd {
	t.Helper()
	fill := strings.NewReplacer("{home}", u.home, "{base}", u.base, "{model}", model).Replace
	work := filepath.Join(u.home, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range u.files {
		write(t, filepath.Join(u.home, name), fill(text))
	}
	start := slices.Clone(u.start)
	for i := range start {
		if i < 2 && strings.Contains(start[i], "/") {
			start[i] = filepath.Join(os.Getenv("SOTTO_APPS"), start[i])
		}
	}
	cmd := exec.CommandContext(ctx, start[0])
	for _, arg := range slices.Concat(start[1:], args) {
		cmd.Args = append(cmd.Args, fill(arg))
	}
	cmd.Dir = work
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Env = append(os.Environ(), "HOME="+u.home, "PWD="+work) // opencode works in PWD
	for _, e := range u.env {
		cmd.Env = append(cmd.Env, fill(e))
	}
	return cmd
}

// first and further are the arguments of a first and of a further prompt.
func (u *user) first() []string {
	return slices.Concat(u.begin, u.args, []string{"How is the weather in Oslo?"})
}
func (u *user) further() []string { return slices.Concat(u.again, u.args, []string{"And now?"}) }

// run runs the application and returns what it wrote. It has three minutes, since the
// machine may be busy.
func (u *user) run(t *testing.T, model string, args []string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := u.command(ctx, t, model, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%v\n%s\n%s", ctx.Err(), out.String(), errs.String())
	}
	return out.String(), errs.String(), err
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
