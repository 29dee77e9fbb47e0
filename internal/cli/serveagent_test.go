package cli

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tidwall/gjson"
)

// TestServeAgent: sotto serve --agent answers as a model beside those of the
// upstream. The record has the exchange and the agent's run, and no key of the file.
// The same file is refused, with the place of its fault, if it needs a memory.
func TestServeAgent(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"script.yaml": "- when: {system: You count}\n  text: <think>SECRET below</think>Four.\n- when: {step: 1}\n  text: <think>SECRET</think>\n  calls: [{name: counter, arguments: {task: Count.}}]\n- text: <think>sk-of-the-agent</think>Four primes.\n",
		"key":         "sk-of-the-agent",
		"agent.yaml":  "v: 1\nname: boss\nstart: outside\nmodel: {provider: scripted, script: script.yaml, key-file: key}\nagents: [{name: counter, system: You count.}]\n",
		"lost.yaml":   "v: 1\nname: boss\nmodel: {provider: scripted, script: script.yaml}\nagents: [{name: counter, tools: [read]}]\n",
		"wrong.yaml":  "v: 1\nname: boss\nmodle: {}\nmodel: {provider: scripted, script: script.yaml}\n",
		"policy.yaml": "v: 1\nname: boss\nmemory: [write]\nthoughts: {policy: summary}\nmodel: {provider: scripted, script: script.yaml}\n",
		"sotto.yaml":  "v: 1\nagents: [agent.yaml]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	audit := filepath.Join(t.TempDir(), "audit")
	r := startServe(t, "--config="+filepath.Join(dir, "sotto.yaml"), "--record="+audit, "--display=hide")
	resp, err := r.client.Post(r.gateway+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"agent/boss","messages":[{"role":"user","content":"How many?"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if text := string(body); !strings.Contains(text, `"content":"Four primes."`) || strings.Contains(text, "SECRET") {
		t.Errorf("%s", text)
	}
	for range 2 { // the gateway has a data folder, so it keeps conversations
		q, _ := http.NewRequest("POST", r.gateway+"/v1/chat/completions", strings.NewReader(`{"model":"agent/boss","messages":[{"role":"user","content":"How many?"}]}`))
		q.Header.Set("Sotto-Conversation", "primes")
		resp, err := r.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		body, _ = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if id := gjson.GetBytes(body, "id").Str; !strings.HasSuffix(id, ".2") {
		t.Errorf("the conversation is not kept: %s", body)
	}
	r.signals <- syscall.SIGTERM
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	r.client.CloseIdleConnections()
	run := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		status := Run(args, strings.NewReader(""), &out, &errs, func(string) string { return "" })
		return status, out.String() + errs.String()
	}
	_, shown := run("record", "show", audit)
	for _, want := range []string{"EXCHANGE", "agent/boss", "RUN_START", "SECRET below", "+counter.1", "[secret]", "RUN_END", "answered"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the record does not show %q:\n%s", want, shown)
		}
	}
	if strings.Contains(shown, "sk-of-the-agent") {
		t.Errorf("the record holds the key:\n%s", shown)
	}
	for name, want := range map[string]string{
		"agent.yaml":  "agents:",
		"lost.yaml":   `agent counter: there is no tool "read" to give to it`,
		"policy.yaml": "policy.yaml: thoughts.policy: summary is for runs: here no thought of an earlier message returns to the model [setting-remark]\nsotto: hint: " + filepath.Join(dir, "policy.yaml") + ": memory: only a conversation that is kept has one",
		"wrong.yaml":  `wrong.yaml:3:1: modle: unknown key: did you mean "model"?`,
	} {
		status, out := run("serve", "--check", "--agent", filepath.Join(dir, name))
		if (status == 0) != (name == "agent.yaml" || name == "policy.yaml") || !strings.Contains(out, want) {
			t.Errorf("%s: %d %s", name, status, out)
		}
	}
}
