package interop_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"github.com/sotto-llm/sotto/a2aserver"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

const confirmScript = `
{"when":{"contains":"not called: it was refused"},"text":"I left it."}
{"when":{"tool":"erase"},"text":"<think>CANARY</think>It is gone."}
{"text":"<think>CANARY</think>","calls":[{"name":"erase","arguments":{"what":"<think>CANARY</think>all of sk-of-the-file"}}]}
`

// TestConsentOverA2A: with the official SDKs for Go and JavaScript, a call that needs
// consent is an input-required task that shows the call, and the answer decides.
func TestConsentOverA2A(t *testing.T) {
	for name, talk := range map[string]func(t *testing.T, url, answer string) []json.RawMessage{"go": confirmGo, "js": confirmJS} {
		for answer, want := range map[string]string{"yes": "It is gone.", "no": "I left it."} {
			t.Run(name+"/"+answer, func(t *testing.T) {
				erased := 0
				script, err := model.ReadScript(strings.NewReader(confirmScript), "script.jsonl")
				if err != nil {
					t.Fatal(err)
				}
				url := serveA2A(t, &a2aserver.AgentMind{Turn: agent.Turn{
					Model: model.NewScripted("scripted", script), Confirm: []string{"erase"}, Secrets: record.NewSecrets("sk-of-the-file"),
					Tools: []agent.Tool{&agent.Func{Name: "erase", Schema: `{"type":"object"}`, Do: func(context.Context, agent.Use) (string, error) {
						erased++
						return "erased", nil
					}}},
				}}, a2aserver.Token{Name: "person", Secret: "s", Scopes: []gateway.Scope{gateway.ScopeAgent, gateway.ScopeConsent}})
				tasks := talk(t, url, answer)
				if len(tasks) != 2 {
					t.Fatalf("%d tasks", len(tasks))
				}
				asked, after := string(tasks[0]), string(tasks[1])
				if !strings.Contains(asked, `"TASK_STATE_INPUT_REQUIRED"`) || !strings.Contains(asked, `erase {\"what\":\"all of [secret] [21 bytes of reasoning are not shown]\"}`) {
					t.Errorf("%s", asked)
				}
				if !strings.Contains(after, `"TASK_STATE_COMPLETED"`) || !strings.Contains(after, want) || (erased == 1) != (answer == "yes") {
					t.Errorf("%d calls: %s", erased, after)
				}
				if all := asked + after; strings.Contains(all, "CANARY") || strings.Contains(all, "sk-of-the-file") {
					t.Errorf("%s", all)
				}
			})
		}
	}
}

// confirmGo talks by the official SDK for Go.
func confirmGo(t *testing.T, url, answer string) (tasks []json.RawMessage) {
	card, err := agentcard.DefaultResolver.Resolve(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	c, err := a2aclient.NewFromCard(t.Context(), card)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Destroy() }()
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("Erase it."))
	for _, next := range []string{answer, ""} {
		res, err := c.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: m})
		if err != nil {
			t.Fatal(err)
		}
		task, ok := res.(*a2a.Task)
		if !ok {
			t.Fatalf("%T", res)
		}
		data, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, data)
		m = a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart(next))
	}
	return tasks
}

// confirmJS talks by the SDK for JavaScript.
func confirmJS(t *testing.T, url, answer string) (tasks []json.RawMessage) {
	dir := os.Getenv("SOTTO_A2AJS")
	if dir == "" {
		t.Skip("SOTTO_A2AJS is not set: run it as SOTTO_A2AJS=$(interop/a2ajs/install)")
	}
	out, err := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "confirm.mjs"), url, "Erase it.", answer).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		tasks = append(tasks, json.RawMessage(line))
	}
	return tasks
}
