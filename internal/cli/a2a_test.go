package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/a2aserver"
	"github.com/sotto-llm/sotto/a2aserver/probe"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// probing runs sotto a2a probe.
func probing(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return probingWith(t, "", args...)
}

// probingWith is probing with a token.
func probingWith(t *testing.T, token string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	status = Run(append([]string{"a2a", "probe"}, args...), strings.NewReader(""), &out, &err, func(name string) string {
		if name == "SOTTO_A2A_TOKEN" {
			return token
		}
		return ""
	})
	return status, out.String(), err.String()
}

// TestServeA2A: the agent answers beside the gateway, with the scripted upstream
// and with an agent's file. The probe finds no fault, and the gateway still works.
func TestServeA2A(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script.jsonl")
	if err := os.WriteFile(script, []byte(`{"text":"<think>plan</think>Four primes."}`), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "agent.yaml")
	if err := os.WriteFile(file, []byte("v: 1\nname: counter\ngoal: count\nmodel:\n  provider: scripted\n  script: script.jsonl\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"upstream": {"--a2a"},
		"agent":    {"--a2a", "--a2a-agent=" + file, "--a2a-name=Counter", "--a2a-reasoning"},
	} {
		t.Run(name, func(t *testing.T) {
			r := startServe(t, args...)
			status, out, errs := probing(t, "--all", r.gateway)
			if status != 0 || !strings.Contains(out, "0 findings") || !strings.Contains(out, "JSONRPC 1.0") {
				t.Errorf("%d %s%s", status, out, errs)
			}
			if code := r.status("/v1/models"); code != 200 {
				t.Errorf("the gateway: %d", code)
			}
			r.signals <- syscall.SIGTERM
			if err := <-r.ended; err != nil {
				t.Error(err)
			}
			r.client.CloseIdleConnections()
		})
	}
}

// TestServeA2ARecord: what the agent thinks is in the record beside what passes the
// gateway: of a model of the upstream, and of an agent's file with an agent below.
func TestServeA2ARecord(t *testing.T) {
	dir := t.TempDir()
	script := `{"when":{"system":"You count."},"text":"<think>SECRET below</think>Four."}
{"when":{"tool":"counter"},"text":"<think>SECRET plan sk-of-the-agent</think>Four primes."}
{"text":"<think>SECRET first</think>","calls":[{"name":"counter","arguments":{"task":"Count."}}]}
`
	for name, text := range map[string]string{
		"script.jsonl": script,
		"agent.yaml":   "v: 1\nname: boss\ndescription: Counts.\nskills: [{name: Primes}]\nmodel: {provider: scripted, script: script.jsonl, key-file: key}\nagents: [{name: counter, system: You count.}]\n",
		"key":          "sk-of-the-agent",
		"lost.yaml":    "v: 1\nname: boss\nmodel: {provider: scripted, script: script.jsonl}\nagents: [{name: counter, tools: [read]}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		flag  string
		wants []string
	}{
		"upstream": {"--a2a-name=Chat", []string{"LLM_INVOCATION", "minimax-m2", "RUN_END"}},
		"agent":    {"--a2a-agent=" + filepath.Join(dir, "agent.yaml"), []string{"SECRET first", "SECRET below", "+counter.1", "SECRET plan [secret]", "Four primes."}},
	} {
		t.Run(name, func(t *testing.T) {
			audit := filepath.Join(t.TempDir(), "audit")
			r := startServe(t, "--a2a", "--record="+audit, c.flag)
			resp, err := r.client.Post(r.gateway+"/a2a", "application/json", strings.NewReader(
				`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"How many?"}]}}}`))
			if err != nil {
				t.Fatal(err)
			}
			var card struct {
				Description string
				Skills      []struct{ Name string }
			}
			if err := r.json("/.well-known/agent-card.json", &card); err != nil || name == "agent" && (card.Description != "Counts." || card.Skills[0].Name != "Primes") {
				t.Errorf("%+v, %v", card, err)
			}
			var reply struct {
				Result struct{ Task struct{ ID string } }
			}
			if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			r.signals <- syscall.SIGTERM
			if err := <-r.ended; err != nil {
				t.Error(err)
			}
			r.client.CloseIdleConnections()
			var out, errs bytes.Buffer
			if status := Run([]string{"record", "show", audit}, strings.NewReader(""), &out, &errs, func(string) string { return "" }); status != 0 {
				t.Fatal(errs.String())
			}
			for _, want := range append(c.wants, reply.Result.Task.ID, "How many?", "CYCLE_END") {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the record does not show %q:\n%s", want, out.String())
				}
			}
		})
	}
	var out, errs bytes.Buffer
	if status := Run([]string{"serve", "--check", "--a2a", "--a2a-agent=" + filepath.Join(dir, "lost.yaml")}, strings.NewReader(""), &out, &errs, func(string) string { return "" }); status != 1 || !strings.Contains(out.String()+errs.String(), `agent counter: there is no tool "read" to give to it`) {
		t.Errorf("an agent with a tool of the memory: %d %s%s", status, out.String(), errs.String())
	}
}

// TestServeTokens: a named token of the configuration opens its scopes on the
// gateway and on the agent beside it. The log names the caller.
func TestServeTokens(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"alice": "canary-of-alice-1\n", "bob": "canary-of-bob-123\n", "single": "canary-single-12\n",
		"sotto.yaml": "token-file: single\ntokens:\n  alice: {token-file: alice, scopes: [models]}\n  bob: {token-file: bob, scopes: [agent, console]}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := startServe(t, "--a2a", "--config="+filepath.Join(dir, "sotto.yaml"))
	for _, c := range []struct {
		token string
		want  [3]int // models, metrics, tasks
	}{
		{"canary-of-alice-1", [3]int{200, 403, 403}},
		{"canary-of-bob-123", [3]int{403, 200, 200}},
		{"canary-single-12", [3]int{200, 200, 200}},
		{"canary", [3]int{401, 401, 401}},
	} {
		for i, path := range []string{"/v1/chat/completions", "/metrics", "/a2a/rest/tasks"} {
			method, body := "GET", ""
			if i == 0 {
				method, body = "POST", `{"model":"minimax-m2","messages":[{"role":"user","content":"hi"}]}`
			}
			q, err := http.NewRequestWithContext(t.Context(), method, r.gateway+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			q.Header.Set("Authorization", "Bearer "+c.token)
			resp, err := r.client.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != c.want[i] {
				t.Errorf("%s with %s: %d, want %d", path, c.token, resp.StatusCode, c.want[i])
			}
		}
	}
	r.client.CloseIdleConnections()
	r.signals <- syscall.SIGTERM
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	if log := <-r.log; !strings.Contains(log, "caller=alice") || !strings.Contains(log, "caller=token") || strings.Contains(log, "canary") {
		t.Errorf("log: %s", log)
	}
}

// TestCheckA2A: --check finds mistakes in the flags of the A2A server.
func TestCheckA2A(t *testing.T) {
	for args, want := range map[string]string{
		"--a2a": "", "--a2a --a2a-push-to=10.0.0.0/8 --a2a-url=https://agent.example": "",
		"--no-a2a --a2a-agent=nowhere.yaml":   "",
		"--a2a-agent=nowhere.yaml":            `--a2a-agent: no A2A agent is served`,
		"--a2a-model=m":                       `--a2a-model: no A2A agent is served`,
		"--a2a-api=openai":                    `--a2a-api: no A2A agent is served`,
		"--a2a-system=s":                      `--a2a-system: no A2A agent is served`,
		"--a2a-name=n":                        `--a2a-name: no A2A agent is served`,
		"--a2a-url=https://agent.example":     `--a2a-url: no A2A agent is served`,
		"--a2a-reasoning":                     `--a2a-reasoning: no A2A agent is served`,
		"--a2a-push-to=10.0.0.0/8":            `--a2a-push-to: no A2A agent is served`,
		"--a2a=perhaps":                       `--a2a: "perhaps": want true or false`,
		"--a2a --a2a-reasoning=perhaps":       `--a2a-reasoning: "perhaps": want true or false`,
		"--a2a --a2a-push-to=x":               `--a2a-push-to: "x" is not a range`,
		"--a2a --a2a-url=agent":               `--a2a-url: "agent" is not a URL such as https://agent.example`,
		"--a2a --a2a-api=gopher":              `--a2a-api: "gopher": want chat, messages, ollama, openai or anthropic`,
		"--a2a --a2a-agent=nowhere.yaml":      `--a2a-agent: open nowhere.yaml`,
		"--a2a --upstream=http://127.0.0.1:1": `--a2a: no model was named`,

		"--a2a --upstream=http://127.0.0.1:1 --a2a-model=m --upstream-api=ollama":                       "",
		"--a2a --upstream=http://127.0.0.1:1 --a2a-model=m --upstream-api=messages --a2a-api=anthropic": "",
		"--a2a --upstream=http://127.0.0.1:1 --a2a-model=m --upstream-api=responses --a2a-api=chat":     "",
		"--a2a --upstream=http://127.0.0.1:1 --a2a-model=m --upstream-api=ollama --a2a-api=openai":      `--a2a-api: the model would be asked in the API openai, and the upstream speaks ollama`,
		"--a2a --upstream=http://127.0.0.1:1 --a2a-model=m --upstream-api=gemini":                       `--upstream-api: a model that answers A2A is asked in chat, messages or ollama, and not in gemini`,
		"--no-a2a --upstream=http://127.0.0.1:1 --upstream-api=gemini --a2a-api=chat":                   "",

		"--a2a --upstream=http://127.0.0.1:1 -d nix": `--dialect: unknown dialect "nix"`,
	} {
		var out, errs bytes.Buffer
		status := Run(append([]string{"serve", "--check"}, strings.Fields(args)...), strings.NewReader(""), &out, &errs, func(string) string { return "" })
		if (status == 1) != (want != "") || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: %d %s, want %q", args, status, errs.String(), want)
		}
	}
}

// TestA2AFollows: the model that answers A2A is asked in the API of upstream-api, unless a setting names another. A2A
// that is off changes nothing.
func TestA2AFollows(t *testing.T) {
	const base = "serve --check --upstream=http://127.0.0.1:1 --a2a-model=m "
	for args, want := range map[string]string{
		"--a2a": "openai", "--a2a --upstream-api=ollama": "ollama", "--a2a --upstream-api=messages": "messages",
		"--a2a --upstream-api=messages --a2a-api=anthropic": "anthropic", "--a2a --upstream-api=responses": "openai",
		"--no-a2a --upstream-api=ollama": "openai",
	} {
		var out, errs bytes.Buffer
		status := Run(strings.Fields(base+args), strings.NewReader(""), &out, &errs, func(string) string { return "" })
		if status != 0 || !strings.Contains(out.String(), "\na2a-api: "+want+"\n") {
			t.Errorf("%s: %d %s, want %s in %s", args, status, errs.String(), want, out.String())
		}
	}
}

// TestNoA2A: a server does not start if the settings belong to an agent that is not
// configured. The error is wrong usage.
func TestNoA2A(t *testing.T) {
	var out, errs bytes.Buffer
	args := []string{"serve", "--listen=127.0.0.1:0", "--scripted-listen=127.0.0.1:0", "--data=" + t.TempDir(), "--a2a-agent=agent.yaml"}
	status := Run(args, strings.NewReader(""), &out, &errs, func(string) string { return "" })
	if status != 2 || !strings.Contains(errs.String(), "--a2a-agent: no A2A agent is served") || !strings.Contains(errs.String(), "add --a2a") {
		t.Errorf("%d %s", status, errs.String())
	}
}

// TestServeAgentsA2A: with --a2a each agent of --agent has a card below its name, says
// what its file says, and answers there and nowhere else; the first one answers at the
// root too. Their tasks and contexts are kept apart.
func TestServeAgentsA2A(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"boss.jsonl":  `{"text":"<think>SECRET</think>Boss here."}`,
		"clerk.jsonl": `{"text":"<think>SECRET</think>Clerk here."}`,
		"boss.yaml":   "v: 1\nname: boss\ndescription: Decides.\nversion: 2.1\nskills: [{name: Decide, description: Says yes., tags: [yes], examples: [May I?]}]\nmodel: {provider: scripted, script: boss.jsonl}\n",
		"clerk.yaml":  "v: 1\nname: \"clerk:2\"\nmodel: {provider: scripted, script: clerk.jsonl}\n",
		"sotto.yaml":  "a2a: true\na2a-name: Head\nagents: [boss.yaml, clerk.yaml]\ntoken-file: token\n",
		"token":       "canary-single-12\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := startServe(t, "--config="+filepath.Join(dir, "sotto.yaml"))
	for path, want := range map[string]string{
		"":                `"Head" "Decides." "2.1" [{Decide Says yes. [yes] [May I?]}] [text/plain] [text/plain] [bearer] /agents/boss/a2a`,
		"/agents/boss":    `"Head" "Decides." "2.1" [{Decide Says yes. [yes] [May I?]}] [text/plain] [text/plain] [bearer] /agents/boss/a2a`,
		"/agents/clerk:2": `"clerk:2" "Answers messages. Its answers do not contain its reasoning." "1" [{Chat Answers a message in a conversation. [chat] []}] [text/plain] [text/plain] [bearer] /agents/clerk:2/a2a`,
	} {
		var card struct {
			Name, Description, Version string
			Skills                     []struct {
				Name, Description string
				Tags, Examples    []string
			}
			DefaultInputModes, DefaultOutputModes []string
			SecuritySchemes                       map[string]any
			SupportedInterfaces                   []struct{ URL string }
		}
		if err := r.json(path+"/.well-known/agent-card.json", &card); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%q %q %q %v %v %v %v %s", card.Name, card.Description, card.Version, card.Skills,
			card.DefaultInputModes, card.DefaultOutputModes, slices.Collect(maps.Keys(card.SecuritySchemes)), strings.TrimPrefix(card.SupportedInterfaces[0].URL, r.gateway))
		if got != want {
			t.Errorf("the card at %q:\n%s\nwant:\n%s", path, got, want)
		}
	}
	tasks := map[string]string{}
	for path, want := range map[string]string{"/a2a": "Boss here.", "/agents/boss/a2a": "Boss here.", "/agents/clerk:2/a2a": "Clerk here."} {
		body := r.post(path, "canary-single-12", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"Hi"}]}}}`)
		if !strings.Contains(body, want) || strings.Contains(body, "SECRET") {
			t.Errorf("%s: %s", path, body)
		}
		var reply struct {
			Result struct{ Task struct{ ID string } }
		}
		if err := json.Unmarshal([]byte(body), &reply); err != nil {
			t.Fatal(err)
		}
		tasks[path] = reply.Result.Task.ID
	}
	for _, c := range []struct {
		path, task string
		found      bool
	}{{"/agents/boss/a2a", "/a2a", true}, {"/a2a", "/agents/boss/a2a", true}, {"/agents/clerk:2/a2a", "/a2a", false}, {"/a2a", "/agents/clerk:2/a2a", false}} {
		body := r.post(c.path, "canary-single-12", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":%q}}`, tasks[c.task]))
		if strings.Contains(body, `"error"`) == c.found {
			t.Errorf("the task of %s at %s: %s", c.task, c.path, body)
		}
	}
	resp, err := r.client.Get(r.gateway + "/agents/.well-known/agent-card.json")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 404 || !strings.Contains(string(text), "/agents/NAME/") || strings.Contains(string(text), "boss") {
		t.Errorf("a card beside the address of two agents: %s: %s", resp.Status, text)
	}
	if body := r.post("/agents/nobody/a2a", "canary-single-12", `{}`); strings.Contains(body, "jsonrpc") {
		t.Errorf("an agent that does not exist: %s", body)
	}
	status, out, errs := probingWith(t, "canary-single-12", "--all", r.gateway+"/agents/clerk:2")
	if status != 0 || !strings.Contains(out, "0 findings") || !strings.Contains(out, "REST") && !strings.Contains(out, "HTTP+JSON") {
		t.Errorf("%d %s%s", status, out, errs)
	}
	r.signals <- syscall.SIGTERM
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	r.client.CloseIdleConnections()
}

// TestCardBeside: a client that looks for the card beside the address of the only agent, because
// the address has no slash at its end, gets that agent's card.
func TestCardBeside(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"clerk.jsonl": `{"text":"Clerk here."}`,
		"clerk.yaml":  "v: 1\nname: clerk\nmodel: {provider: scripted, script: clerk.jsonl}\n",
		"sotto.yaml":  "a2a: true\nagents: [clerk.yaml]\ntoken-file: token\n",
		"token":       "canary-single-12\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := startServe(t, "--config="+filepath.Join(dir, "sotto.yaml"))
	for _, path := range []string{"/agents/clerk/", "/agents/"} {
		var card struct {
			Name                string
			SupportedInterfaces []struct{ URL string }
		}
		err := r.json(path+".well-known/agent-card.json", &card)
		if err != nil || card.Name != "clerk" || !strings.HasSuffix(card.SupportedInterfaces[0].URL, "/agents/clerk/a2a") {
			t.Errorf("%s: %+v, %v", path, card, err)
		}
	}
	r.signals <- syscall.SIGTERM
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	r.client.CloseIdleConnections()
}

// TestA2AMemory: limits.memory bounds the gateway and the A2A servers together.
func TestA2AMemory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sotto.yaml")
	if err := os.WriteFile(file, []byte("a2a: true\nlimits: {memory: 64MiB}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	names, err := dialectset.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	for on, want := range map[string][2]int64{"true": {16 << 20, 48 << 20}, "false": {0, 64 << 20}} {
		s, err := settings.Read(settings.Sources{
			File: file, Getenv: func(string) string { return "" },
			Overrides: []settings.Override{{Key: "a2a", Name: "--a2a", Texts: []string{on}}},
		}, names)
		if err != nil || len(s.Faults) > 0 {
			t.Fatal(err, s.Faults)
		}
		if got := [2]int64{s.A2AMemory(), s.Gateway.Limits.MemoryBytes}; got != want {
			t.Errorf("a2a %s: %d, want %d", on, got, want)
		}
	}
}

// post sends JSON, and returns the body of the response.
func (r *running) post(path, token, body string) string {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.gateway+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+token)
	resp, err := r.client.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(got)
}

// status returns the status of a GET request.
func (r *running) status(path string) int {
	r.t.Helper()
	res, err := r.client.Get(r.gateway + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

type leakyMind struct{}

func (leakyMind) Answer(context.Context, a2aserver.Turn, func(a2aserver.Event) error) (a2aserver.Outcome, error) {
	return a2aserver.Outcome{Text: "<think>I am \x1b[31mwatched</think>Four.", End: sotto.EndStopped}, nil
}

// TestProbeLeaks: a leak is reported, escaped, with status 1, as a table and as
// JSON.
func TestProbeLeaks(t *testing.T) {
	s, err := a2aserver.New(a2aserver.Config{Mind: leakyMind{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	web := httptest.NewServer(s)
	defer web.Close()
	status, out, errs := probing(t, web.URL)
	if status != 1 || !strings.Contains(out, "artifact leak") || strings.Contains(out, "\x1b") || !strings.Contains(errs, "6 findings") {
		t.Errorf("%d %s%s", status, out, errs)
	}
	status, out, _ = probing(t, "--json", web.URL)
	var r probe.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != 1 || r.V != 1 || r.Findings != 6 {
		t.Errorf("%d %s: %v", status, out, err)
	}
}

// json reads the JSON of a path.
func (r *running) json(path string, v any) error {
	resp, err := r.client.Get(r.gateway + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(v)
}
