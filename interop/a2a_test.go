package interop_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"github.com/sotto-llm/sotto/a2aserver"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/interop/engine"
	"github.com/sotto-llm/sotto/model"
)

// serveA2A serves a mind and returns its address.
func serveA2A(t *testing.T, mind a2aserver.Mind) string {
	t.Helper()
	s, err := a2aserver.New(a2aserver.Config{Mind: mind})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return web.URL
}

// A delivered is what an A2A client has of a task: how the stream went, or
// nothing, and the artifacts' text.
type delivered struct {
	states []string
	text   string
}

// An a2aClient sends a message and returns what came, and all of it as JSON.
type a2aClient func(t *testing.T, url string, stream bool) (delivered, string)

// TestA2A: the official Go SDK and the independent JavaScript SDK get status
// updates and a clean artifact, from a real model server and from an agent with
// tools, streamed and not.
func TestA2A(t *testing.T) {
	clients := map[string]a2aClient{
		"go jsonrpc": goA2A(a2a.TransportProtocolJSONRPC), "go rest": goA2A(a2a.TransportProtocolHTTPJSON),
		"js jsonrpc": jsA2A("JSONRPC", "1.0"), "js rest": jsA2A("HTTP+JSON", "1.0"), "js jsonrpc 0.3": jsA2A("JSONRPC", "0.3"),
	}
	t.Run("agent", func(t *testing.T) {
		url := serveA2A(t, toolAgent(t))
		for name, c := range clients {
			t.Run(name, func(t *testing.T) {
				judgeA2A(t, c, url, "1900 was no leap year.", "SECRET", true)
			})
		}
	})
	t.Run("ollama", func(t *testing.T) {
		m := engine.Inline()
		s := engine.Run(t, m)
		upstream, err := model.Open(model.Config{Provider: "ollama", Model: m.Name, URL: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		url := serveA2A(t, &a2aserver.ChatMind{Model: upstream})
		for name, c := range clients {
			t.Run(name, func(t *testing.T) { judgeA2A(t, c, url, m.Answer, m.Thinking, false) })
		}
	})
}

func judgeA2A(t *testing.T, ask a2aClient, url, answer, secret string, tools bool) {
	t.Helper()
	for _, stream := range []bool{false, true} {
		got, all := ask(t, url, stream)
		if got.text != answer || strings.Contains(all, secret) {
			t.Errorf("stream %v: %q, want %q\n%s", stream, got.text, answer, all)
		}
		if tools && !strings.Contains(all, "calendar: started") {
			t.Errorf("stream %v: no word of the tool\n%s", stream, all)
		}
		if !stream {
			continue
		}
		states := slices.Compact(got.states)
		if want := []string{"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"}; !slices.Equal(states, want) {
			t.Errorf("states %q, want %q", states, want)
		}
	}
}

// toolAgent looks something up and answers.
func toolAgent(t *testing.T) a2aserver.Mind {
	t.Helper()
	script, err := model.ReadScript(strings.NewReader(`
{"when":{"tool":"calendar"},"text":"<think>SECRET again</think>1900 was no leap year."}
{"text":"<think>SECRET</think>","calls":[{"name":"calendar","arguments":{}}]}
`), "agent.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return &a2aserver.AgentMind{Turn: agent.Turn{
		Model: model.NewScripted("scripted", script),
		Tools: []agent.Tool{&agent.Func{
			Name: "calendar", Description: "Knows leap years.",
			Do: func(context.Context, agent.Use) (string, error) { return "1900: 365 days", nil },
		}},
	}}
}

// goA2A asks by the official SDK, over one binding.
func goA2A(binding a2a.TransportProtocol) a2aClient {
	return func(t *testing.T, url string, stream bool) (delivered, string) {
		t.Helper()
		card, err := agentcard.DefaultResolver.Resolve(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		c, err := a2aclient.NewFromCard(t.Context(), card, a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{binding}}))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Destroy()
		req := &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("What is it?"))}
		var events []json.RawMessage
		add := func(e a2a.Event) {
			data, err := json.Marshal(a2a.StreamResponse{Event: e})
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, data)
		}
		if !stream {
			res, err := c.SendMessage(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			add(res)
			return gather(t, events)
		}
		for e, err := range c.SendStreamingMessage(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			add(e)
		}
		return gather(t, events)
	}
}

// jsA2A asks by the JavaScript SDK.
func jsA2A(binding, version string) a2aClient {
	return func(t *testing.T, url string, stream bool) (delivered, string) {
		t.Helper()
		dir := os.Getenv("SOTTO_A2AJS")
		if dir == "" {
			t.Skip("SOTTO_A2AJS is not set: run it as SOTTO_A2AJS=$(interop/a2ajs/install)")
		}
		mode := "send"
		if stream {
			mode = "stream"
		}
		cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "ask.mjs"), url, binding, version, mode, "What is it?")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, stderr.String())
		}
		var events []json.RawMessage
		for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
			var line struct {
				Kind  string
				Value json.RawMessage
			}
			decode(t, lines.Text(), &line)
			switch line.Kind {
			case "result":
				events = append(events, json.RawMessage(`{"task":`+string(line.Value)+`}`))
			case "event":
				events = append(events, line.Value)
			}
		}
		return gather(t, events)
	}
}

// gather adds up what came.
func gather(t *testing.T, events []json.RawMessage) (d delivered, all string) {
	t.Helper()
	type artifact struct{ Parts []struct{ Text string } }
	type status struct{ State string }
	for _, e := range events {
		all += string(e) + "\n"
		var v struct {
			Task *struct {
				Status    status
				Artifacts []artifact
			}
			StatusUpdate   *struct{ Status status }
			ArtifactUpdate *struct{ Artifact artifact }
		}
		decode(t, string(e), &v)
		var artifacts []artifact
		switch {
		case v.Task != nil:
			d.states = append(d.states, v.Task.Status.State)
			artifacts = v.Task.Artifacts
		case v.StatusUpdate != nil:
			d.states = append(d.states, v.StatusUpdate.Status.State)
		case v.ArtifactUpdate != nil:
			artifacts = []artifact{v.ArtifactUpdate.Artifact}
		}
		for _, a := range artifacts {
			for _, p := range a.Parts {
				d.text += p.Text
			}
		}
	}
	return d, all
}
