package npm_test

import (
	"bytes"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/agents/agentmodel"
	keep "github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/model"
)

// The clients of npm continue conversations with an agent that the gateway keeps. The
// agent says how many of its replies it finds in its prompt.
func TestKeptAgent(t *testing.T) {
	dir := os.Getenv("SOTTO_NPM")
	if dir == "" {
		t.Skip("SOTTO_NPM is not set: interop/npm/install prints it")
	}
	s, err := model.ReadScript(strings.NewReader(`
- when: {call: 1}
  text: "<think>CANARY</think>First."
- when: {call: 2}
  text: "<think>CANARY</think>Second."
- text: "<think>CANARY</think>Third."
`), "script.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m := &agentmodel.Models{
		Base:   gateway.UpstreamTransport(gateway.Limits{}),
		Agents: []*agent.Agent{{Name: "counter", Turn: agent.Turn{Model: model.NewScripted("scripted", s), Start: "outside"}}},
		Kept:   &keep.Store{Folder: t.TempDir()},
	}
	t.Cleanup(m.Close)
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	t.Cleanup(up.Close)
	u, _ := url.Parse(up.URL)
	g, err := gateway.New(gateway.Config{Upstream: u, Transport: m, Separated: m.Has, Default: routing.Route{Display: routing.DisplayHide}})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(g)
	t.Cleanup(front.Close)
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node", "run"), filepath.Join(dir, "kept.js"), front.URL)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	want := `{"name":"responses","text":"First."}
{"name":"previous_response_id","text":"Second."}
{"name":"stream","text":"Third."}
{"name":"branch","text":"Second."}
{"name":"conversation","text":"First. Second."}
{"name":"chat","text":"Third."}
{"name":"ollama","text":"First."}
{"name":"ollama","text":"Second."}
{"name":"refused","text":"400"}
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
