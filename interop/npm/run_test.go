package npm_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/interop/internal/front"
	"github.com/sotto-llm/sotto/interop/internal/wiretap"
)

// An npmClient is a client of interop/npm, and what it says about itself.
type npmClient struct {
	Name    string
	Package string
	Version string
	API     string
	// Reasoning is false for clients that read none.
	Reasoning *bool
	// Field is summary if the client needs that setting. Else it is the only member that the client reads reasoning from, if that is not
	// the gateway's.
	Field string
	// Leading says that the client reads no reasoning of a stream after the first text.
	Leading bool
	// Parses says that the client takes tags in the text of a stream for those of a thought.
	Parses bool
	// Bare says that the client reads no thought that the upstream has in a member beside calls,
	// and sends calls back without the text and the thought beside them.
	Bare bool
	// Repeats says that the client asks again when an answer is empty.
	Repeats bool
}

// summary is the field of clients that read only summaries, and do not ask for them.
const summary = "summary"

func (c *npmClient) reads() bool { return c.Reasoning == nil || *c.Reasoning }

// A plan is a conversation that every client has.
type plan struct {
	Check   string            `json:"check"`
	Model   string            `json:"model"`
	Stream  bool              `json:"stream"`
	Prompts []string          `json:"prompts"`
	Tools   bool              `json:"tools,omitempty"`
	Abort   bool              `json:"abort,omitempty"`
	APIs    []string          `json:"apis,omitempty"`
	Bases   map[string]string `json:"bases"` // addresses of gateways, by npmClient.Field
}

// A conversation is what a client read.
type conversation struct {
	Client, Check, Model string
	Stream               bool
	Key                  string // its requests have it as the API key
	Turns                []turn
	Error                string

	before, after []wiretap.Request // its requests, as the gateway and as the upstream got them
	alone         *conversation     // the same without the gateway, if the plans have it
	deaf          bool              // the client does not see an error that the upstream sends in a stream
}

// A turn is everything between two prompts.
type turn struct {
	Text, Thought string
	Calls         []call
}

// A call is one of the model's, with its arguments as JSON.
type call struct {
	Name      string
	Arguments json.RawMessage
}

// A stage has the gateways that the clients talk to.
type stage struct {
	before, after []*wiretap.Tap
	bases         map[string]string // the gateways, by the reasoning field
	alone         map[string]string // their upstreams
}

// fields are the reasoning fields of the clients.
var fields = []string{"", "reasoning", summary}

// routeFor is the route for clients that read reasoning from a field.
func routeFor(field string) (r routing.Route) {
	switch field {
	case "":
	case summary:
		r.ResponsesReasoning = routing.ReasoningSummary
	default:
		r.ReasoningFields = []string{field}
	}
	return r
}

// newStage puts a gateway for each reasoning field before one scripted upstream.
func newStage(t *testing.T, pause time.Duration) *stage {
	t.Helper()
	s := &stage{bases: map[string]string{}, alone: map[string]string{}}
	for _, field := range fields {
		after := wiretap.New(scripted.New(scripted.Options{Pause: pause}))
		upstream := front.Serve(t, after)
		u, err := url.Parse(upstream)
		if err != nil {
			t.Fatal(err)
		}
		g, err := gateway.New(gateway.Config{Upstream: u, Default: routeFor(field)})
		if err != nil {
			t.Fatal(err)
		}
		before := wiretap.New(g)
		s.before, s.after, s.bases[field] = append(s.before, before), append(s.after, after), front.Serve(t, before)
		s.alone[field] = upstream
	}
	return s
}

// requests returns the requests of a conversation on both sides of the gateway.
func (s *stage) requests(key string) (before, after []wiretap.Request) {
	for i := range s.before {
		before, after = append(before, s.before[i].Of(key)...), append(after, s.after[i].Of(key)...)
	}
	return before, after
}

// plans are the conversations: each model, whole and streamed. Aborts come first, so
// that the process does not end before a stream that goes on.
func plans(fast, slow *stage) []plan {
	p := plan{Check: "abort", Model: "long", Stream: true, Prompts: []string{"What is it?"}, Abort: true, Bases: slow.bases}
	all := []plan{p, p.without(slow)}
	for _, stream := range []bool{false, true} {
		for _, m := range scripted.Models() {
			p := plan{Check: "ask", Model: m.Name, Stream: stream, Prompts: []string{"What is it?"}, Bases: fast.bases}
			if m.Fault != "" {
				p.Check = "fault"
				all = append(all, p.without(fast))
			}
			if m.Reply.Thought != nil {
				p.APIs = withFields
			}
			if m.Wire == "openrouter" || m.Wire == "google" {
				all = append(all, p.without(fast))
			}
			all = append(all, p)
			if m.Call != nil {
				p.Check, p.Tools, p.APIs = "tools", true, withTools
				p.Prompts = []string{"How is the weather in Oslo?", "And now?"}
				all = append(all, p)
				if m.Wire == "openrouter" {
					all = append(all, p.without(fast))
				}
			}
		}
	}
	return all
}

// without is the same conversation without the gateway. What a client does not
// manage there, no gateway can mend.
func (p plan) without(s *stage) plan {
	p.Check, p.Bases = p.Check+" alone", s.alone
	return p
}

var (
	withTools  = []string{"openai.chat", "openai.responses", "anthropic.messages", "ollama.chat", "cohere.chat", "gemini.generate", "bedrock.converse"}
	withFields = append([]string{"ollama.generate"}, withTools...)
)

// runNPM lets every client have every conversation, in one process.
func runNPM(t *testing.T, fast, slow *stage, shows []show) ([]*npmClient, []*conversation) {
	t.Helper()
	dir := os.Getenv("SOTTO_NPM")
	if dir == "" {
		t.Skip("SOTTO_NPM is not set: run it as SOTTO_NPM=$(interop/npm/install)")
	}
	talks := plans(fast, slow)
	for _, s := range shows {
		talks = append(talks, s.plans()...)
	}
	input, err := json.Marshal(map[string]any{"talks": talks, "lanes": 8, "only": os.Getenv("SOTTO_NPM_ONLY")})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node", "run"), filepath.Join(dir, "run.js"))
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	if stderr.Len() > 0 {
		t.Logf("the clients wrote to stderr:\n%.20000s", stderr.String())
	}
	var clients []*npmClient
	var done []*conversation
	for line := range bytes.Lines(out) {
		var l struct {
			Client          *npmClient
			Done            *conversation
			Unhandled, Late string
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		switch {
		case l.Client != nil:
			clients = append(clients, l.Client)
		case l.Done != nil:
			done = append(done, l.Done)
		default:
			t.Errorf("%s%s", l.Unhandled, l.Late)
		}
	}
	if len(done) == 0 {
		t.Fatalf("no client has a name with %q in it", os.Getenv("SOTTO_NPM_ONLY"))
	}
	byKey := map[string]*conversation{}
	for _, c := range done {
		byKey[c.Key] = c
		s := fast
		if strings.HasPrefix(c.Check, "abort") {
			s = slow
		}
		c.before, c.after = s.requests(c.Key)
		for _, s := range shows {
			for _, stage := range s.stages {
				c.before, c.after = append(c.before, stage.Before.Of(c.Key)...), append(c.after, stage.After.Of(c.Key)...)
			}
		}
	}
	for _, c := range done {
		c.alone = byKey[strings.Replace(c.Key, "/"+c.Check+"/", "/"+c.Check+"-alone/", 1)]
		if c.Check == "fault" {
			sent := strings.Replace(c.Key, "/fault/"+c.Model+"/", "/fault-alone/"+string(scripted.Fails)+"/", 1)
			c.deaf = byKey[sent].Error == ""
		}
	}
	return clients, done
}
