package interop_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agentmodel"
	"github.com/sotto-llm/sotto/internal/scripted"
	"github.com/sotto-llm/sotto/model"
)

// The SDKs read an agent as they read a model: its visible text, its thoughts beside
// it, nothing of the agent below it, and its name in the lists.
func TestAgentAsModel(t *testing.T) {
	s, err := model.ReadScript(strings.NewReader(`
- when: {system: "^You mix"}
  text: "<think>CANARY below</think>Red."
- when: {step: 1}
  text: "<think>First</think>I ask."
  calls: [{name: mixer, arguments: {task: Mix.}}]
- text: "<think>Then</think>It is red."
`), "script.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m := &agentmodel.Models{Base: gateway.UpstreamTransport(gateway.Limits{}), Agents: []*agent.Agent{{Name: "painter", Turn: agent.Turn{
		Model: model.NewScripted("scripted", s), Start: "outside", Agents: []agent.Subagent{{Name: "mixer", System: "You mix."}},
	}}}}
	t.Cleanup(m.Close)
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	t.Cleanup(up.Close)
	u, _ := url.Parse(up.URL)
	g, err := gateway.New(gateway.Config{Upstream: u, Transport: m, Separated: m.Has})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(g)
	t.Cleanup(front.Close)
	want := heard{"I ask.\n\nIt is red.", "First\n\nThen"}
	for name, ask := range map[string]func(*testing.T, string, string, bool) heard{"chat": askChat, "responses": askResponses, "ollama": askOllamaChat} {
		for _, stream := range []bool{true, false} {
			if got := ask(t, front.URL, "agent/painter", stream); got != want {
				t.Errorf("%s, stream=%v: %v, want %v", name, stream, got, want)
			}
		}
	}
	c := newOpenAI(front.URL)
	list, err := c.Models.List(t.Context())
	if err != nil || list.Data[len(list.Data)-1].ID != "agent/painter" {
		t.Errorf("%+v, %v", list, err)
	}
	tags, err := newOllama(front.URL).List(context.Background())
	if err != nil || tags.Models[len(tags.Models)-1].Name != "agent/painter" {
		t.Errorf("%+v, %v", tags, err)
	}
}
