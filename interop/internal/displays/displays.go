// Package displays says what a client must read of a conversation under each display, whichever
// client it is: the law of the tests that run real clients under all of them.
//
// A client asks a question, runs the tool that the model calls, twice, reads the answer, and asks
// again. Then:
//
//   - It gets no error. The models refuse a turn that is not their own.
//   - Under hide it reads the answer, and no thought.
//   - Under tags it reads each thought once, in tags before its answer, in the text.
//   - Under field it reads the answer as text, and the thought where it reads thoughts.
//   - Under keep it gets the upstream's bytes.
//   - The upstream gets its own turns: what it said, its calls, and its thoughts whole and where it
//     had them, or not at all. A thought never comes back as something that was said.
package displays

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/interop/internal/front"
	"github.com/sotto-llm/sotto/interop/internal/wiretap"
)

// Calls is how often a model calls the tool before its first answer.
const Calls = 2

// Prompts are what the user says. The second is not about the tool.
var Prompts = []string{"How is the weather in Oslo?", "And now?"}

// Models returns the models that a client of an API talks to: one that thinks in its text, and those
// that require something of theirs back where they are asked by that API.
func Models(api string) []string {
	return map[string][]string{
		"openai.chat":        {"qwen3:8b", "deepseek-v3.2", "gemini"},
		"openai.completions": {"qwen3:8b"},
		"openai.responses":   {"qwen3:8b", "openrouter"},
		"anthropic.messages": {"qwen3:8b", "claude"},
		"bedrock.converse":   {"qwen3:8b", "claude"},
		"gemini.generate":    {"qwen3:8b", "gemini", "deepseek-v3.2"},
		"cohere.chat":        {"qwen3:8b", "deepseek-v3.2"},
		"ollama.chat":        {"qwen3:8b", "deepseek-v3.2"},
		"ollama.generate":    {"qwen3:8b", "deepseek-v3.2"},
	}[api]
}

// Tools reports whether an API has tools.
func Tools(api string) bool { return api != "openai.completions" && api != "ollama.generate" }

// A Stage is a gateway with a display, before the scripted upstream.
type Stage struct {
	Display       routing.Display
	URL           string
	Before, After *wiretap.Tap
}

// New puts a gateway before the upstream. Its route is the default with the display.
func New(t *testing.T, display routing.Display, route routing.Route) *Stage {
	t.Helper()
	clock := func() time.Time { return time.Unix(1_790_000_000, 0) } // equal requests get equal ids
	s := &Stage{Display: display, After: wiretap.New(looping(scripted.New(scripted.Options{Now: clock})))}
	u, err := url.Parse(front.Serve(t, s.After))
	if err != nil {
		t.Fatal(err)
	}
	route.Display = display
	unmarked := route // nothing in the replies of this model shows that they are no thoughts
	unmarked.Models, unmarked.Start = []string{"gemini"}, sotto.BeginOutside
	g, err := gateway.New(gateway.Config{Upstream: u, Default: route, Routes: []routing.Route{unmarked}})
	if err != nil {
		t.Fatal(err)
	}
	s.Before = wiretap.New(g)
	s.URL = front.Serve(t, s.Before)
	return s
}

// A Turn is what a client read between two questions.
type Turn struct {
	Text, Thought string
	Calls         int
}

// A Client is what a client does with every server, so that no gateway can help.
type Client struct {
	Silent  bool // it reads no thoughts
	Repeats bool // it reads each thought of a stream twice
	Parses  bool // it takes tags in the text of a stream for those of a thought
	Bare    bool // it reads no thought that the upstream has in a member beside calls, and sends calls back without the text and the thought beside them
	Forgets bool // it does not send its calls back
	Drops   bool // it leaves whole replies with an empty text out of what it sends back
}

// A Fault is a fault of Sotto's: the conversations of an API with a model, under a display, go wrong.
type Fault struct {
	API, Model string
	Display    routing.Display
	Cell, Why  string
}

// Faults are the known ones. The tests want them, so that a mended one is taken from the list.
var Faults = []Fault{
	{"cohere.chat", "deepseek-v3.2", routing.DisplayTags, spoken, spokenWhy},
}

const (
	spoken    = "if the model thinks in its text"
	spokenWhy = "a thought that the upstream has in a part of its own goes back to it in tags, as something that was said"
)

// FaultOf returns the fault of conversations with a model, or nil. If no model is named, any will do.
func FaultOf(api, model string, d routing.Display) *Fault {
	for i, f := range Faults {
		if f.API == api && f.Display == d && (model == "" || model == f.Model) {
			return &Faults[i]
		}
	}
	return nil
}

// Judge reports what is wrong with a conversation, if that is not a known fault.
func (c *Conversation) Judge() []string {
	wrong := c.wrong()
	if FaultOf(c.API, c.Model, c.Display) == nil {
		return wrong
	}
	if len(wrong) == 0 {
		return []string{"this works now: take it from displays.Faults"}
	}
	return nil
}

// A Conversation is one of a client.
type Conversation struct {
	API, Model    string
	Display       routing.Display
	Client        Client
	Stream        bool
	Turns         []Turn
	Before, After []wiretap.Request
}

// script returns the replies of each turn.
func (c *Conversation) script(m *scripted.Model) [][]*scripted.Reply {
	if !Tools(c.API) {
		return [][]*scripted.Reply{{&m.Reply}}
	}
	first := append(slices.Repeat([]*scripted.Reply{m.Call}, Calls), m.Result)
	return [][]*scripted.Reply{first, {&m.Reply}}
}

// wrong says what is wrong with a conversation.
func (c *Conversation) wrong() (wrong []string) {
	m, ok := scripted.Find(c.Model)
	if !ok {
		return []string{"no model " + c.Model}
	}
	script := c.script(m)
	if len(c.Turns) != len(script) {
		return []string{fmt.Sprintf("%d turns, want %d", len(c.Turns), len(script))}
	}
	asked := 0
	for i, replies := range script {
		asked += len(replies)
		got, want := c.Turns[i], c.wants(replies)
		got.Text, got.Thought = squeeze(got.Text), squeeze(got.Thought)
		if c.Display == routing.DisplayKeep {
			want.Thought, got.Thought = "", "" // as with the provider itself; the bytes are compared
		}
		if got != want {
			wrong = append(wrong, fmt.Sprintf("turn %d: %+v, want %+v", i, got, want))
		}
	}
	if len(c.After) != asked || len(c.Before) != asked {
		return append(wrong, fmt.Sprintf("%d requests, and %d at the upstream, want %d", len(c.Before), len(c.After), asked))
	}
	said := slices.Concat(script...)
	for i, r := range c.After {
		if c.Display == routing.DisplayKeep && string(c.Before[i].Reply) != string(r.Reply) {
			wrong = append(wrong, fmt.Sprintf("reply %d: the client got\n%s\nof\n%s", i, c.Before[i].Reply, r.Reply))
		}
		back, _ := ReadBack(c.API, r.Body)
		if len(back) > i || len(back) < i && !c.Client.Drops {
			return append(wrong, fmt.Sprintf("request %d: the upstream got %d replies of its own:\n%s", i, len(back), r.Body))
		}
		for k := range back {
			if !back[k].is(said[k], c.Client) {
				wrong = append(wrong, fmt.Sprintf("request %d, reply %d: the upstream got\n%+v in\n%s\nfrom\n%s", i, k, back[k], r.Body, c.Before[i].Body))
			}
		}
	}
	return wrong
}

// is reports whether what came back is the model's own turn, with its call if that is not forgotten.
func (s *Said) is(r *scripted.Reply, client Client) bool {
	var thought string
	for _, t := range s.Thoughts {
		thought += t.Text
	}
	whole := thought == "" || thought == strings.Join(r.Thought, "")
	said := squeeze(s.Text) == squeeze(r.Visible) || r.Thought == nil && squeeze(s.Text) == squeeze(r.Text())
	said = said || client.Bare && r.ToolCall != nil && s.Text == ""
	return whole && said && (client.Forgets || (r.ToolCall != nil) == strings.Contains(strings.Join(s.Rest, ""), "get_weather"))
}

// wants is what a client must read of the replies of a turn, without white space, which clients change.
func (c *Conversation) wants(replies []*scripted.Reply) (want Turn) {
	for _, r := range replies {
		thought := squeeze(strings.Join(r.Reasoning, ""))
		if c.Client.Bare && r.ToolCall != nil && r.Thought != nil && c.Display == routing.DisplayField {
			thought = ""
		}
		switch c.Display {
		case routing.DisplayField:
			want.Text += squeeze(r.Visible)
			want.Thought += thought
			if c.Client.Repeats && c.Stream {
				want.Thought += thought
			}
		case routing.DisplayHide:
			want.Text += squeeze(r.Visible)
		case routing.DisplayTags:
			if thought != "" {
				thought = "<think>" + thought + "</think>"
			}
			want.Text += thought + squeeze(r.Visible)
		case routing.DisplayKeep:
			want.Text += squeeze(r.Text())
		}
		if r.ToolCall != nil {
			want.Calls++
		}
	}
	if c.Client.Parses && c.Stream {
		want.Text, want.Thought = parsed(want.Text, want.Thought)
	}
	if c.Client.Silent {
		want.Thought = ""
	}
	return want
}

// parsed is a text without what is in tags, and a thought with that.
func parsed(text, thought string) (string, string) {
	for {
		before, rest, ok := strings.Cut(text, "<think>")
		if !ok {
			return text, thought
		}
		inside, after, _ := strings.Cut(rest, "</think>")
		text, thought = before+after, thought+inside
	}
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }
