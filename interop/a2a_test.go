package interop_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
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
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/sotto-llm/sotto/a2aserver"
	"github.com/sotto-llm/sotto/a2aserver/probe"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/interop/engine"
	"github.com/sotto-llm/sotto/model"
)

// serveA2A serves a mind and returns its address.
func serveA2A(t *testing.T, mind a2aserver.Mind, tokens ...a2aserver.Token) string {
	t.Helper()
	s, err := a2aserver.New(a2aserver.Config{Mind: mind, Tokens: tokens})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(tokens) > 0 {
			r.Header.Set("Authorization", "Bearer "+tokens[0].Secret) // as every client of the test would
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return web.URL
}

// A delivered is what an A2A client received about a task: how the stream went, or
// nothing, and the artifacts' text.
type delivered struct {
	states []string
	text   string
}

// An a2aClient sends a message. It returns what it received, also as JSON.
type a2aClient func(t *testing.T, url string, stream bool) (delivered, string)

// TestA2A: the official Go SDK and the independent JavaScript SDK get status
// updates and a clean artifact. The replies come from a real model server and from
// an agent with tools, streamed and not streamed.
func TestA2A(t *testing.T) {
	clients := map[string]a2aClient{
		"go jsonrpc": goA2A(a2a.TransportProtocolJSONRPC), "go rest": goA2A(a2a.TransportProtocolHTTPJSON),
		"go jsonrpc 0.3": oldGoA2A,
		"js jsonrpc":     jsA2A("JSONRPC", "1.0"), "js rest": jsA2A("HTTP+JSON", "1.0"), "js jsonrpc 0.3": jsA2A("JSONRPC", "0.3"),
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

func judgeA2A(t *testing.T, client a2aClient, url, answer, secret string, tools bool) {
	t.Helper()
	for _, stream := range []bool{false, true} {
		got, all := client(t, url, stream)
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

// goA2A sends with the official SDK, over one binding.
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
		return askGo(t, c, stream)
	}
}

// oldGoA2A sends with the official SDK for protocol 0.3, whose code is independent
// of the server's.
func oldGoA2A(t *testing.T, url string, stream bool) (delivered, string) {
	t.Helper()
	card, err := (&agentcard.Resolver{CardParser: a2av0.NewAgentCardParser()}).Resolve(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	card.SupportedInterfaces = slices.DeleteFunc(card.SupportedInterfaces, func(i *a2a.AgentInterface) bool { return i.ProtocolVersion != a2av0.Version })
	c, err := a2aclient.NewFromCard(t.Context(), card, a2aclient.WithDefaultsDisabled(), a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{}))
	if err != nil {
		t.Fatal(err)
	}
	d, all := askGo(t, c, stream)
	if !stream {
		oldGoMethods(t, c)
	}
	return d, all
}

// oldGoMethods calls the remaining methods of protocol 0.3.
func oldGoMethods(t *testing.T, c *a2aclient.Client) {
	t.Helper()
	res, err := c.SendMessage(t.Context(), ask())
	if err != nil {
		t.Fatal(err)
	}
	none := 0
	got, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: res.TaskInfo().TaskID, HistoryLength: &none})
	if err != nil || got.Status.State != a2a.TaskStateCompleted || len(got.History) != 0 || got.Status.Timestamp == nil {
		t.Errorf("the task: %+v, %v", got, err)
	}
	if _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "none"}); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("a task that is not there: %v", err)
	}
	if _, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: got.ID}); !errors.Is(err, a2a.ErrTaskNotCancelable) {
		t.Errorf("a task that is over, cancelled: %v", err)
	}
	if _, err := c.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{TaskID: got.ID, URL: "http://127.0.0.1/"}); !errors.Is(err, a2a.ErrUnsupportedOperation) {
		t.Errorf("a push configuration of a task that is over: %v", err)
	}
	if list, err := c.ListTaskPushConfigs(t.Context(), &a2a.ListTaskPushConfigRequest{TaskID: got.ID}); err != nil || len(list) > 0 {
		t.Errorf("its push configurations: %v, %v", list, err)
	}
	for _, err := range c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: got.ID}) {
		if !errors.Is(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("a task that is over, subscribed to: %v", err)
		}
	}
}

// TestOldA2AServer: the probe and the tool for remote agents can talk to a server
// of protocol 0.3 made with the official SDK.
func TestOldA2AServer(t *testing.T) {
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	defer web.Close()
	handler := a2asrv.NewHandler(oldAgent{})
	card := &a2a.AgentCard{
		Name: "old", Description: "d", Version: "1", DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []a2a.AgentSkill{{ID: "s", Name: "s", Description: "s"}}, Capabilities: a2a.AgentCapabilities{Streaming: true},
		SupportedInterfaces: []*a2a.AgentInterface{{URL: web.URL + "/rpc", ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: a2av0.Version}},
	}
	mux.Handle("/rpc", a2av0.NewJSONRPCHandler(handler))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewAgentCardHandler(a2av0.NewStaticAgentCardProducer(card)))
	report, err := probe.Run(t.Context(), web.URL, probe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]probe.Status{}
	for _, c := range report.Checks {
		names[c.Name] = c.Status
		if c.Status == probe.Finding && c.Name != "push, undeclared" {
			t.Errorf("%+v", c)
		}
	}
	for _, name := range []string{"send", "get", "stream", "stream shape", "stream, then get", "get, unknown"} {
		if names[name] != probe.OK {
			t.Errorf("%s: %q", name, names[name])
		}
	}
	tool, err := a2aserver.Remote{Name: "old", Description: "d", URL: web.URL}.Tool()
	if err != nil {
		t.Fatal(err)
	}
	got, err := tool.(*agent.Func).Do(t.Context(), agent.Use{Arguments: []byte(`{"message":"Hi"}`)})
	if got != "Eleven." || err != nil {
		t.Errorf("the tool: %q, %v", got, err)
	}
}

// An oldAgent answers every message in the same way.
type oldAgent struct{}

func (oldAgent) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		for _, e := range []a2a.Event{
			a2a.NewSubmittedTask(ec, ec.Message),
			a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, nil),
			a2a.NewArtifactEvent(ec, a2a.NewTextPart("Eleven.")),
			a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil),
		} {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (oldAgent) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

// ask is a message of the Go clients, with an id of its own.
func ask() *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("What is it?"))}
}

// askGo sends a message with a client, and closes the client.
func askGo(t *testing.T, c *a2aclient.Client, stream bool) (delivered, string) {
	t.Helper()
	defer c.Destroy()
	var events []json.RawMessage
	add := func(e a2a.Event) {
		data, err := json.Marshal(a2a.StreamResponse{Event: e})
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, data)
	}
	if !stream {
		res, err := c.SendMessage(t.Context(), ask())
		if err != nil {
			t.Fatal(err)
		}
		add(res)
		return gather(t, events)
	}
	for e, err := range c.SendStreamingMessage(t.Context(), ask()) {
		if err != nil {
			t.Fatal(err)
		}
		add(e)
	}
	return gather(t, events)
}

// jsA2A sends with the JavaScript SDK.
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

// gather collects what was received.
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
