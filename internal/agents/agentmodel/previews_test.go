package agentmodel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

const echoScript = `
- when: {system: "^You mix", step: 1}
  text: "<think>CANARY below</think>Mixed for the key sk-of-the-file."
- when: {step: 1, user: Paint}
  text: "<think>CANARY one</think>"
  calls: [{name: echo, arguments: {text: "<think>CANARY</think>red, sk-of-the-file"}}, {name: mixer, arguments: {task: "<think>CANARY</think>Mix."}}]
- text: "<think>CANARY two</think>Done."
`

// echoing has a tool that repeats its arguments, with the thoughts in them, and an agent
// below it. A secret of its file is in all of them.
func echoing(t testing.TB, previews bool) *agent.Agent {
	t.Helper()
	s, err := model.ReadScript(strings.NewReader(echoScript), "script.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return &agent.Agent{Name: "painter", Previews: previews, Turn: agent.Turn{
		Model: model.NewScripted("scripted", s), Start: "outside", Secrets: record.NewSecrets("sk-of-the-file"),
		Agents: []agent.Subagent{{Name: "mixer", System: "You mix."}},
		Tools: []agent.Tool{&agent.Func{Name: "echo", Schema: `{"type":"object"}`, Do: func(_ context.Context, u agent.Use) (string, error) {
			return "got " + string(u.Arguments), nil
		}}},
	}}
}

// What tools get and give is in the narration if the agent's file says so, and
// otherwise nowhere. It has no thoughts of the agent or of those below it, and no
// secrets.
func TestPreviews(t *testing.T) {
	for name, a := range apis {
		for _, stream := range []bool{true, false} {
			for _, previews := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/stream=%v/previews=%v", name, stream, previews), func(t *testing.T) {
					base := serve(t, echoing(t, previews), nil, func(c *gateway.Config) { c.Default.Display = routing.DisplayHide })
					r := a.ask(t, base, "Paint.", stream)
					if r.text != "Done." || strings.Contains(r.raw, canary) || strings.Contains(r.raw, "sk-of-the-file") {
						t.Errorf("%d %s", r.status, r.raw)
					}
					for _, want := range []string{`echo: started {"text":"red, [secret]"}`, `echo: done got {"text":"red, [secret]"}`, "mixer: done Mixed for the key [secret]."} {
						if name != "responses" && strings.Contains(r.narration, want) != previews {
							t.Errorf("%q in the narration %q", want, r.narration)
						}
					}
				})
			}
		}
	}
}

// Where the route drops narration, an agent's goes nowhere, also its tools and previews.
func TestNarrationDropped(t *testing.T) {
	for name, a := range apis {
		for _, stream := range []bool{true, false} {
			for _, display := range routing.Displays() {
				if display == routing.DisplayKeep {
					continue // nothing is changed
				}
				t.Run(fmt.Sprintf("%s/stream=%v/%s", name, stream, display), func(t *testing.T) {
					base := serve(t, echoing(t, true), nil, func(c *gateway.Config) {
						c.Default.Display, c.Default.Narration = display, routing.NarrationDrop
					})
					r := a.ask(t, base, "Paint.", stream)
					if r.narration != "" || strings.Contains(r.raw, "mixer") || strings.Contains(r.raw, "got ") || !strings.HasSuffix(r.text, "Done.") {
						t.Errorf("%d %s", r.status, r.raw)
					}
				})
			}
		}
	}
}
