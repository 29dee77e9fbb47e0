package doctor

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/check/modelserver"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/ollama"
	"github.com/sotto-llm/sotto/wire/openai"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

// A way is one way to ask the model.
type way struct {
	name   string
	stream bool
	think  string // "on", "off", or "" for what the server does by itself
	tools  bool
	json   bool
}

// ways are asked in this order. The stream comes after the whole reply, so that no
// server loads its model while the stream is timed.
var ways = []way{
	{name: "whole"},
	{name: "stream", stream: true},
	{name: "thinking on", think: "on"},
	{name: "thinking off", think: "off"},
	{name: "tools", stream: true, tools: true},
	{name: "JSON", json: true},
}

const (
	question     = "How many prime numbers lie between 20 and 40? Answer in one short sentence."
	toolQuestion = "What is the weather in Oslo? Call the tool to find out."
	jsonQuestion = `How many prime numbers lie between 20 and 40? Answer with a JSON object that has the member "count".`
	toolResult   = `{"celsius":4,"sky":"light rain"}`
	toolName     = "get_weather"
	// promptTokens is more than any of the prompts has, with the tool.
	promptTokens = 250
)

func (w way) question() string {
	switch {
	case w.tools:
		return toolQuestion
	case w.json:
		return jsonQuestion
	}
	return question
}

type object = map[string]any

// An api is how questions are asked in one of the APIs.
type api struct {
	name  string
	codec turn.API
	path  string // of the requests, below the version
	// adjust changes a request to what the server wants.
	adjust func(q asking, t *turn.Request)
}

// An asking is a question with all that its request depends on.
type asking struct {
	way
	model  string
	tokens int
	server string // the name of the server
	long   bool   // the server takes only the long name of the limit
}

var apis = []*api{
	{name: "openai", codec: openai.Chat, path: "/v1/chat/completions", adjust: forOpenAI},
	{name: "ollama", codec: ollama.Chat, path: "/api/chat", adjust: func(asking, *turn.Request) {}},
	{name: "anthropic", codec: anthropic.Messages, path: "/v1/messages", adjust: forAnthropic},
}

// APIs are the names of the APIs in which questions can be asked.
func APIs() []string {
	var names []string
	for _, a := range apis {
		names = append(names, a.name)
	}
	return names
}

// canonical returns the name of an API here, which the settings of a gateway call otherwise.
func canonical(name string) string {
	for here, there := range settingsNames {
		if name == there {
			return here
		}
	}
	return name
}

func findAPI(name string) *api {
	name = canonical(name)
	i := slices.IndexFunc(apis, func(a *api) bool { return a.name == name })
	if i < 0 {
		return nil
	}
	return apis[i]
}

// request asks a question.
func (a *api) request(q asking) *turn.Request {
	t := &turn.Request{
		Model: q.model, Stream: q.stream, Messages: []turn.Message{says(turn.User, turn.Part{Text: q.question()})}, Thinking: switchTo(q.think),
	}
	if q.tokens > 0 {
		t.MaxTokens = json.Number(strconv.Itoa(q.tokens))
	}
	if q.tools {
		t.Tools = []turn.Tool{{Name: toolName, Description: "The weather in a city now.", Schema: toolSchema}}
	}
	if q.json {
		t.Format.Mode = turn.JSON
	}
	a.adjust(q, t)
	return t
}

func says(role turn.Role, parts ...turn.Part) turn.Message {
	return turn.Message{Role: role, Parts: parts}
}

// switchTo turns thinking on or off, or leaves it as it is.
func switchTo(think string) turn.Thinking {
	modes := map[string]switches.Mode{"on": switches.On, "off": switches.Off}
	return turn.Thinking{Setting: switches.Setting{Mode: modes[think]}}
}

const (
	toolSchema  = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`
	countSchema = `{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}`
)

// forOpenAI names the limit, the switch and the format as the server knows them.
func forOpenAI(q asking, t *turn.Request) {
	if q.long {
		t.MaxName = "max_completion_tokens"
	}
	t.Thinking.Words = openaiWords(q.server)
	if t.Thinking.Words == switches.ReasoningEffort && q.think == "on" {
		t.Thinking.Level = switches.High
	}
	if q.json && q.server == LMStudio { // which knows no other form
		t.Format = turn.Format{Mode: turn.Schema, Name: "count", Schema: countSchema}
	}
}

// forAnthropic makes room for the answer beside the thought, whose budget is the smallest. The API has
// no switch for JSON without a schema.
func forAnthropic(q asking, t *turn.Request) {
	t.Format = turn.Format{}
	if q.think == "on" {
		t.Thinking.Budget, t.MaxTokens = thinkingBudget, json.Number(strconv.Itoa(max(q.tokens, 2*thinkingBudget)))
	}
}

const thinkingBudget = switches.MinBudget

// result returns the request with the model's call and the result of the tool, without the
// reasoning.
func result(t *turn.Request, r *modelserver.Reply) *turn.Request {
	call := turn.Part{Kind: turn.Call, ID: r.Calls[0].ID, Name: r.Calls[0].Name, Arguments: cmp.Or(r.Calls[0].Arguments, "{}")}
	said := says(turn.Assistant, call)
	if r.Text != "" {
		said.Parts = []turn.Part{{Text: r.Text}, call}
	}
	next := *t
	next.Stream = false
	next.Messages = append(slices.Clone(t.Messages), said,
		says(turn.ToolRole, turn.Part{Kind: turn.Result, ID: call.ID, Name: call.Name, Results: []turn.Part{{Text: toolResult}}}))
	return &next
}

// openaiWords are the words in which a server reads whether to think.
func openaiWords(server string) switches.Words {
	switch server {
	case VLLM, SGLang, LlamaCPP: // the names that chat templates read
		return switches.ChatTemplateKwargs
	case OpenRouter:
		return switches.Reasoning
	}
	return switches.ReasoningEffort
}

// header are the headers of an API's requests.
func (a *api) header(key string) http.Header {
	h := http.Header{}
	if a.name == "anthropic" {
		h.Set("Anthropic-Version", "2023-06-01")
		if key != "" {
			h.Set("X-Api-Key", key)
		}
	}
	return h
}

// below returns where a path is at a server with this base URL: the version is sent
// once, and routes that servers have beside the version are not below it.
func below(base *url.URL, path string) *url.URL {
	u := *base
	segments := strings.FieldsFunc(u.Path, func(c rune) bool { return c == '/' })
	switch versioned := slices.ContainsFunc(segments, isVersion); {
	case strings.HasPrefix(path, "/v1/") && versioned:
		path = strings.TrimPrefix(path, "/v1")
	case !strings.HasPrefix(path, "/v1/") && len(segments) > 0 && isVersion(segments[len(segments)-1]):
		segments = segments[:len(segments)-1]
	}
	u.Path, u.RawPath = "/"+strings.Join(append(segments, strings.TrimPrefix(path, "/")), "/"), ""
	return &u
}

// isVersion reports whether a segment of a path is the version of an API: v1, v1beta.
func isVersion(s string) bool {
	return len(s) > 1 && s[0] == 'v' && s[1] >= '0' && s[1] <= '9'
}
