// Package apps_test drives whole applications without a terminal through the
// gateway: a prompt, a call of a tool of their own, its result, and the answer.
package apps_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/scripted"
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
	args  func(model string) []string
	// shows says that its output has reasoning.
	shows bool
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
		env: []string{"CODEX_HOME={home}/codex", "SOTTO_KEY=key"},
		args: func(string) []string {
			return []string{"node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex", "exec", "--skip-git-repo-check", "--json", "--dangerously-bypass-approvals-and-sandbox", "-m", "{model}", prompt}
		},
		shows: true,
	},
	{
		name: "opencode",
		from: "opencode-ai",
		files: map[string]string{"work/opencode.json": `{"model": "sotto/{model}", "small_model": "sotto/plain", "permission": "allow", "autoupdate": false, "share": "disabled",
"provider": {"sotto": {"npm": "@ai-sdk/openai-compatible", "name": "sotto", "options": {"baseURL": "{base}/v1", "apiKey": "key"},
"models": {"{model}": {"tool_call": true, "reasoning": true}, "plain": {"tool_call": true}}}}}`},
		env: []string{"OPENCODE_DISABLE_MODELS_FETCH=1"},
		args: func(string) []string {
			return []string{"node_modules/opencode-linux-x64/bin/opencode", "run", "--format", "json", "--thinking", prompt}
		},
		shows: true,
	},
	{
		name: "qwen",
		from: "@qwen-code/qwen-code",
		env:  []string{"OPENAI_API_KEY=key", "OPENAI_BASE_URL={base}/v1", "OPENAI_MODEL={model}"},
		args: func(string) []string {
			return []string{node, "node_modules/.bin/qwen", "--auth-type", "openai", "--yolo", "--output-format", "stream-json", "-p", prompt}
		},
		shows: true,
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
		env: []string{"CONTINUE_GLOBAL_DIR={home}", "CONTINUE_TELEMETRY_ENABLED=0"},
		args: func(string) []string {
			return []string{node, "node_modules/.bin/cn", "--config", "{home}/config.yaml", "--auto", "-p", prompt}
		},
	},
}

const (
	prompt = "How is the weather in Oslo?"
	node   = "../npm/node/run"
	// The tool writes this file, so that a test sees that it ran.
	command = "echo ran > ran.txt"
)

// calls are calls of the applications' tools.
var calls = []scripted.ToolCall{
	{Name: "exec_command", Arguments: fmt.Sprintf(`{"cmd": %q}`, command)},
	{Name: "run_shell_command", Arguments: fmt.Sprintf(`{"command": %q, "description": "writes a file", "is_background": false}`, command)},
	{Name: "bash", Arguments: fmt.Sprintf(`{"command": %q, "description": "writes a file"}`, command)},
	{Name: "Bash", Arguments: fmt.Sprintf(`{"command": %q}`, command)},
}

// An upstream keeps the bodies of the requests that it gets.
type upstream struct {
	http.Handler
	mu     sync.Mutex
	bodies []string
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	u.mu.Lock()
	u.bodies = append(u.bodies, string(body))
	u.mu.Unlock()
	u.Handler.ServeHTTP(w, r)
}

func TestApplications(t *testing.T) {
	dir := os.Getenv("SOTTO_APPS")
	if dir == "" {
		t.Skip("SOTTO_APPS is not set: run it as SOTTO_APPS=$(interop/apps/install)")
	}
	ran := 0
	for _, a := range applications {
		for _, model := range models {
			t.Run(a.name+"/"+model, func(t *testing.T) {
				ran++
				turn(t, dir, &a, model)
			})
		}
	}
	if ran == len(applications)*len(models) && !t.Failed() {
		t.Run("table", func(t *testing.T) { checkTable(t, dir) })
	}
}

// turn starts an application and judges its output, its tool and its requests.
func turn(t *testing.T, dir string, a *application, model string) {
	m, ok := scripted.Find(model)
	if !ok {
		t.Fatalf("no model %s", model)
	}
	up := &upstream{Handler: scripted.New(scripted.Options{Calls: calls})}
	base := serve(t, up)
	home := t.TempDir()
	fill := strings.NewReplacer("{home}", home, "{base}", base, "{model}", model).Replace
	work := filepath.Join(home, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range a.files {
		write(t, filepath.Join(home, name), fill(text))
	}
	args := a.args(model)
	for i := range args {
		args[i] = fill(args[i])
		if i < 2 && strings.Contains(args[i], "/") {
			args[i] = filepath.Join(dir, args[i])
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = work
	cmd.WaitDelay = time.Second                               // for what the application itself started
	cmd.Env = append(os.Environ(), "HOME="+home, "PWD="+work) // opencode works in PWD
	for _, e := range a.env {
		cmd.Env = append(cmd.Env, fill(e))
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, stderr.String())
	}
	judge(t, a, m, string(out), up)
	if _, err := os.Stat(filepath.Join(work, "ran.txt")); err != nil {
		t.Errorf("the tool did not run: %v\n%s\n%s", err, out, stderr.String())
	}
}

func judge(t *testing.T, a *application, m *scripted.Model, out string, up *upstream) {
	t.Helper()
	if !strings.Contains(out, m.Result.Visible) {
		t.Errorf("no answer in %s", out)
	}
	if strings.Contains(out, "think>") {
		t.Errorf("a marker in %s", out)
	}
	thought := cmp.Or(strings.Join(m.Result.Reasoning, ""), "-")
	if shown := strings.Contains(out, thought); shown != a.shows {
		t.Errorf("reasoning is shown: %t, in %s", shown, out)
	}
	up.mu.Lock()
	defer up.mu.Unlock()
	last := up.bodies[len(up.bodies)-1]
	// A provider that demands it gets it once. The others get what the client sent.
	if n := strings.Count(last, m.Call.Reasoning[0]); n > 1 || n == 0 && m.Wire == "deepseek" {
		t.Errorf("the upstream got the reasoning of the call %d times:\n%s", n, last)
	}
}

// serve puts a gateway before an upstream.
func serve(t *testing.T, up http.Handler) string {
	t.Helper()
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: u})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(g)
	t.Cleanup(front.Close)
	return front.URL
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
