// Package bridged puts a gateway before an upstream of one API, for clients of others. The upstream's
// model calls a tool twice in a turn, and refuses a request that does not have its thoughts as it
// needs them.
package bridged

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/interop/internal/front"
	"github.com/sotto-llm/sotto/interop/internal/wiretap"
)

// Models are the models that upstreams of each API serve. Each needs its thoughts back.
var Models = map[string]string{
	"chat": "deepseek-v3.2-loop", "ollama": "deepseek-v3.2-loop", "messages": "claude-loop", "responses": "gpt-5-loop",
	"gemini": "gemini-3-loop", "bedrock": "claude-loop", "cohere": "deepseek-v3.2-loop",
}

// Calls is how often the model calls a tool in a turn.
const Calls = 2

// keys of the client and of the upstream.
const (
	ClientKey   = "key"
	upstreamKey = "the-upstreams-key"
)

// A Stage is a gateway before an upstream of an API, and what both were sent.
type Stage struct {
	API, Model    string
	URL           string // of the gateway
	Before, After *wiretap.Tap
}

// New returns a stage. Calls are those of the client's own tools.
func New(t *testing.T, api string, calls []scripted.ToolCall) *Stage {
	t.Helper()
	return Before(t, api, scripted.New(scripted.Options{Calls: calls}))
}

// Before returns a stage whose upstream is a handler.
func Before(t *testing.T, api string, up http.Handler) *Stage {
	t.Helper()
	s := &Stage{API: api, Model: Models[api], After: wiretap.New(strict(api, up))}
	u, err := url.Parse(front.Serve(t, s.After))
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: u, UpstreamAPI: api, UpstreamKey: upstreamKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	s.Before = wiretap.New(g)
	s.URL = front.Serve(t, s.Before)
	return s
}

// strict has an upstream refuse calls that come back without their thoughts, in the APIs whose scripted
// models do not.
func strict(api string, next http.Handler) http.Handler {
	if api != "ollama" && api != "cohere" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if calls, thoughts := count(api, messages(body)); calls > thoughts {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"the thinking of a call must be passed back","message":"the thinking of a call must be passed back"}`)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// messages are the messages, contents or items of a request.
func messages(body []byte) (all []gjson.Result) {
	for _, list := range []string{"messages", "contents", "input"} {
		if v := gjson.GetBytes(body, list); v.IsArray() {
			all = append(all, v.Array()...)
		}
	}
	return all
}

// count returns how many calls are in messages, and how many thoughts with calls as they must come back.
func count(api string, talk []gjson.Result) (calls, thoughts int) {
	m, _ := scripted.Find(Models[api])
	said := func(text string) int {
		n := 0
		for _, r := range []*scripted.Reply{m.Call, m.Again} {
			if text == strings.Join(r.Thought, "") {
				n++
			}
		}
		return n
	}
	for _, message := range talk {
		switch {
		case message.Get("type").Str == "function_call":
			calls++
		case message.Get("type").Str == "reasoning" && message.Get("encrypted_content").Str != "":
			thoughts++ // the upstream checks what it is
		}
		calls += len(message.Get("tool_calls").Array())
		thoughts += said(message.Get("reasoning_content").Str) + said(message.Get("thinking").Str) + said(message.Get("tool_plan").Str)
		for _, part := range append(message.Get("content").Array(), message.Get("parts").Array()...) {
			if part.Get("type").Str == "tool_use" || part.Get("toolUse").Exists() || part.Get("functionCall").Exists() {
				calls++
			}
			if part.Get("functionCall").Exists() && part.Get("thoughtSignature").Str != "" {
				thoughts++
			}
			thoughts += said(part.Get("thinking").Str) + said(part.Get("reasoningContent.reasoningText.text").Str)
		}
	}
	return calls, thoughts
}

// A Client is what is known of one in a conversation with the upstream.
type Client struct {
	Key string
	// Mark is in what it says, if others talk to the upstream too.
	Mark string
	// Forgets says that it returns no signatures in the turns before the one under way. Their thoughts
	// need not come back where the upstream can do without.
	Forgets bool
}

// Judge says what is wrong with what a client got, and the upstream from it, in a number of turns.
func (s *Stage) Judge(c Client, turns int) (wrong []string) {
	for _, r := range s.Before.Of(c.Key) {
		if r.Status >= 400 {
			wrong = append(wrong, fmt.Sprintf("the client got %d %s for %s", r.Status, r.Reply, r.Path))
		}
	}
	most := 0
	for _, r := range s.After.Of(upstreamKey) {
		if !bytes.Contains(r.Body, []byte(c.Mark)) {
			continue
		}
		if r.Status >= 400 {
			wrong = append(wrong, fmt.Sprintf("the upstream answered %d %s to %s", r.Status, r.Reply, r.Body))
		}
		if bytes.Contains(r.Body, []byte("think>")) {
			wrong = append(wrong, fmt.Sprintf("a marker in %s", r.Body))
		}
		talk := messages(r.Body)
		calls, _ := count(s.API, talk)
		most = max(most, calls)
		if c.Forgets {
			talk = talk[asked(talk):]
		}
		if calls, thoughts := count(s.API, talk); thoughts < calls {
			wrong = append(wrong, fmt.Sprintf("%d calls and %d thoughts in %s", calls, thoughts, r.Body))
		}
	}
	if most != turns*Calls {
		wrong = append(wrong, fmt.Sprintf("the upstream got at most %d calls back, want %d", most, turns*Calls))
	}
	return wrong
}

// asked is the index of the last message in which the user says something.
func asked(talk []gjson.Result) int {
	for i := len(talk) - 1; i > 0; i-- {
		m := talk[i]
		results := m.Get("content.#.toolResult").String() + m.Get("parts.#.functionResponse").String() + m.Get("content.#(type==tool_result)").String()
		if m.Get("role").Str == "user" && strings.Trim(results, "[]") == "" {
			return i
		}
	}
	return 0
}

// Asked returns the requests for a model at the upstream, by the path or the body that names it.
func (s *Stage) Asked(model string) (all []wiretap.Request) {
	quoted, _ := json.Marshal(model)
	for _, r := range s.After.Of(upstreamKey) {
		if strings.Contains(r.Path, "/"+model) || gjson.GetBytes(r.Body, "model").Raw == string(quoted) {
			all = append(all, r)
		}
	}
	return all
}

// Slow is an upstream whose model Long takes seconds for a reply.
type Slow struct {
	Calls []scripted.ToolCall
	Begun chan struct{} // gets a value while most of a long reply is still to come
}

// Long is the model whose replies take seconds.
const Long = "long"

func (s *Slow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if gjson.GetBytes(body, "model").Str == Long || strings.Contains(r.URL.Path, "/"+Long) {
		scripted.New(scripted.Options{Pause: 50 * time.Millisecond}).ServeHTTP(&counted{ResponseWriter: w, begun: s.Begun}, r)
		return
	}
	scripted.New(scripted.Options{Calls: s.Calls}).ServeHTTP(w, r)
}

// A counted is a response. It signals begun while most of it is still to come.
type counted struct {
	http.ResponseWriter
	frames int
	begun  chan struct{}
}

func (c *counted) Write(b []byte) (int, error) {
	if c.frames++; c.frames == 20 {
		select {
		case c.begun <- struct{}{}:
		default: // of an earlier reply
		}
	}
	return c.ResponseWriter.Write(b)
}

func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }
