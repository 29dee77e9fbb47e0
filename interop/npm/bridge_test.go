package npm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/interop/internal/bridged"
)

// bridgedClients are the clients that talk over bridges, by the APIs that they speak.
var bridgedClients = map[string][]string{
	"chat":      {"openai, chat", "ai 7, openai-compatible", "@langchain/openai, chat", "ai 7, deepseek", "ai 7, groq", "@langchain/openrouter"},
	"responses": {"openai, responses", "@openai/agents, responses", "ai 7, openai responses", "@langchain/openai, responses", "ai 7, xai"},
	"messages":  {"@anthropic-ai/sdk", "ai 7, anthropic", "@langchain/anthropic"},
	"ollama":    {"ollama, chat", "@langchain/ollama"},
	"gemini":    {"@google/genai", "ai 7, google", "@langchain/google", "@langchain/google-genai"},
	"bedrock":   {"@aws-sdk/client-bedrock-runtime", "ai 7, bedrock", "@langchain/aws"},
	"cohere":    {"cohere-ai"},
}

// forgetful are the clients that send no thoughts back. What the model needs comes from the gateway's
// memory.
var forgetful = []string{"ai 7, deepseek", "ai 7, groq", "@langchain/openrouter", "@langchain/openai, chat", "@langchain/ollama"}

// stubborn are the clients that read a stream to its end, although it was aborted.
var stubborn = []string{"@langchain/ollama"}

// lingering are the clients that, beside others in one process, may read on for seconds.
var lingering = []string{"@langchain/google"}

// bridgedUpstreams are the APIs of the upstreams, in the order of the table.
var bridgedUpstreams = []string{"chat", "responses", "messages", "ollama", "gemini", "bedrock", "cohere"}

// An overPlan is a conversation of clients of other APIs with an upstream of one.
type overPlan struct {
	plan
	Clients []string `json:"clients"`
	Mark    bool     `json:"mark"`
}

// TestBridges: every client has a conversation with an upstream of every other API: two prompts, each with
// two calls of a tool; and one that it stops in the middle. What it reads is the model's, and the upstream,
// which would refuse anything else, gets its thoughts back.
func TestBridges(t *testing.T) {
	dir := os.Getenv("SOTTO_NPM")
	if dir == "" {
		t.Skip("SOTTO_NPM is not set: run it as SOTTO_NPM=$(interop/npm/install)")
	}
	fast, slow := map[string]*bridged.Stage{}, map[string]*bridged.Stage{}
	var plans []overPlan
	for _, api := range bridgedUpstreams {
		var clients []string
		for speaks, names := range bridgedClients {
			if speaks != api {
				clients = append(clients, names...)
			}
		}
		fast[api] = bridged.New(t, api, nil)
		slow[api] = bridged.Before(t, api, &bridged.Slow{Begun: make(chan struct{}, 1)})
		bases := func(s *bridged.Stage) map[string]string {
			return map[string]string{"": s.URL, "reasoning": s.URL, summary: s.URL}
		}
		abort := plan{Check: "abort over " + api, Model: bridged.Long, Stream: true, Prompts: []string{"What is it?"}, Abort: true, Bases: bases(slow[api])}
		plans = append(plans, overPlan{abort, clients, true})
		for _, stream := range []bool{false, true} {
			p := plan{
				Check: "over " + api, Model: bridged.Models[api], Stream: stream, Tools: true,
				Prompts: []string{"How is the weather in Oslo?", "And now?"}, Bases: bases(fast[api]),
			}
			plans = append(plans, overPlan{p, clients, true})
		}
	}
	input, err := json.Marshal(map[string]any{"talks": plans, "lanes": 8, "only": os.Getenv("SOTTO_NPM_ONLY"), "more": []string{"bridged"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // the machine may be busy
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "node", "run"), filepath.Join(dir, "run.js"))
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v\n%s", err, stderr.String())
	}
	talks, versions := 0, map[string]string{}
	for line := range bytes.Lines(out) {
		var l struct {
			Client          *npmClient
			Done            *conversation
			Unhandled, Late string
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		// One library leaves a promise that nobody waits for when its stream is aborted.
		if l.Unhandled+l.Late != "" && !strings.Contains(l.Unhandled, "[GoogleGenerativeAI Error]: Error reading from the stream") {
			t.Errorf("%s%s", l.Unhandled, l.Late)
		}
		if l.Client != nil {
			versions[l.Client.Name] = l.Client.Version
		}
		c := l.Done
		if c == nil {
			continue
		}
		talks++
		api := c.Check[strings.LastIndexByte(c.Check, ' ')+1:]
		for _, wrong := range judgeOver(c, api, fast[api], slow[api]) {
			t.Errorf("%s, %s: %.1500s", c.Client, strings.TrimPrefix(c.Key, c.Client+"/"), wrong)
		}
	}
	if want := 0; os.Getenv("SOTTO_NPM_ONLY") == "" {
		for _, p := range plans {
			want += len(p.Clients)
		}
		if talks != want {
			t.Errorf("%d conversations, want %d", talks, want)
		}
		if !t.Failed() {
			checkGenerated(t, "../../docs/evidence/bridge.md", "clients of npm over bridges", overTable(versions))
		}
	}
}

// judgeOver says what is wrong with a conversation over a bridge.
func judgeOver(c *conversation, api string, fast, slow *bridged.Stage) (wrong []string) {
	if strings.HasPrefix(c.Check, "abort") {
		canceled := 0
		for _, r := range slow.Asked(bridged.Long) {
			if bytes.Contains(r.Body, []byte("("+c.Key+")")) && r.Canceled {
				canceled++
			}
		}
		if canceled != 1 && !slices.Contains(stubborn, c.Client) && !slices.Contains(lingering, c.Client) {
			wrong = append(wrong, fmt.Sprintf("%d requests were canceled, want 1: %s", canceled, c.Error))
		}
		return wrong
	}
	m, _ := scripted.Find(bridged.Models[api])
	text := squeeze(m.Call.Visible + m.Again.Visible + m.Result.Visible)
	if c.Error != "" {
		wrong = append(wrong, c.Error)
	}
	if len(c.Turns) != 2 {
		wrong = append(wrong, fmt.Sprintf("%d turns", len(c.Turns)))
	}
	for i, turn := range c.Turns {
		if squeeze(turn.Text) != text {
			wrong = append(wrong, fmt.Sprintf("turn %d: text %q, want %q", i, turn.Text, text))
		}
		if len(turn.Calls) != bridged.Calls || slices.ContainsFunc(turn.Calls, func(c call) bool { return c.Name != "get_weather" || squeeze(string(c.Arguments)) != `{"city":"Oslo"}` }) {
			wrong = append(wrong, fmt.Sprintf("turn %d: calls %+v", i, turn.Calls))
		}
	}
	return append(wrong, fast.Judge(bridged.Client{Key: c.Key, Mark: "(" + c.Key + ")", Forgets: slices.Contains(forgetful, c.Client)}, 2)...)
}

// overTable has a row for each client, which all did right.
func overTable(versions map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| client | version | speaks | upstreams | remarks |\n| --- | --- | --- | --- | --- |\n")
	for _, api := range bridgedUpstreams {
		var others []string
		for _, o := range bridgedUpstreams {
			if o != api {
				others = append(others, "`"+o+"`")
			}
		}
		for _, name := range bridgedClients[api] {
			var notes []string
			if slices.Contains(forgetful, name) {
				notes = append(notes, "it sends no thoughts back; the gateway remembers them")
			}
			if slices.Contains(stubborn, name) {
				notes = append(notes, "it reads a stream that it aborts to the end")
			}
			if slices.Contains(lingering, name) {
				notes = append(notes, "it may read on in a stream that it aborts")
			}
			fmt.Fprintf(&b, "| %s | %s | `%s` | %s | %s |\n", name, versions[name], api, strings.Join(others, ", "), strings.Join(notes, "; "))
		}
	}
	return b.String()
}
