package promptshown

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/reply/startmembers"
	"github.com/sotto-llm/sotto/wire"
)

// A Question says what the requests are like that share a rendering. Two requests with
// the same switch have equal questions.
type Question struct {
	Model string
	// Members are the members of the request that control thinking, as a JSON object.
	// Their names and values are of fixed lists. It is empty if there are none.
	Members string
	// Flag is the switch in a message's text: "/think" or "/no_think".
	Flag string
	// Tools says that the request declares tools, and Result that it ends with the
	// result of one.
	Tools, Result bool
	// Chat says that the request is one of OpenAI's chat completions, whose members the
	// rendering endpoints read as the chat endpoint does.
	Chat bool
	// Altered says that the request changes its prompt in a way that the question does
	// not repeat. Then nothing shows that a reply begins outside of reasoning.
	Altered bool
}

// The conversation that a server renders. What follows the last of these texts is the
// beginning of the reply.
const (
	userText   = "Hi"
	resultText = "It is done."
	toolName   = "look"
)

// plain are the members that turn thinking on or off with a word or a truth value, and
// kwargs those of chat_template_kwargs.
var (
	plain  = []string{"enable_thinking", "reasoning_effort", "think"}
	kwargs = []string{"enable_thinking", "thinking", "reasoning_effort"}
	words  = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max", "auto", "default", "on", "off"}
)

const kwargsMember = "chat_template_kwargs"

// altering are the other members that change the prompt, or where thoughts are sent, at
// some server. Of a path they have the first name.
var altering = func() (names []string) {
	for _, m := range startmembers.All {
		if m.Effect != startmembers.CutsReply {
			name, _, _ := strings.Cut(m.Path, ".")
			names = append(names, name)
		}
	}
	return names
}()

// controlling are all of these members.
var controlling = slices.Concat(plain, altering, []string{kwargsMember})

// flags are the switches that templates look for in texts, also within words.
var flags = []string{"/think", "/no_think", "/nothink"}

// QuestionOf returns the question for a request of the named API. body is the request
// as the upstream gets it.
func QuestionOf(api string, q *wire.Request, body gjson.Result) Question {
	a := Question{Model: q.Model, Tools: q.Tools, Chat: api == "openai.chat"}
	prompts := api == "ollama.generate"
	members := map[string]any{}
	seen := map[string]bool{}
	body.ForEach(func(key, v gjson.Result) bool {
		name := key.Str
		switch {
		case !slices.ContainsFunc(controlling, func(c string) bool { return strings.EqualFold(c, name) }):
			return true
		case seen[strings.ToLower(name)], !slices.Contains(controlling, name): // servers differ in which one they read
			a.Altered = true
		case v.Type == gjson.Null:
		case name == kwargsMember:
			inner, ok := readKwargs(v)
			a.Altered = a.Altered || !ok
			if len(inner) > 0 {
				members[name] = inner
			}
		case slices.Contains(plain, name):
			value, ok := simple(v)
			if a.Altered = a.Altered || !ok; ok {
				members[name] = value
			}
		case name == "prompt" && prompts && v.Type == gjson.String:
			a.Altered = a.Altered || hasFlag(v.Str)
		case name == "options":
			a.Altered = a.Altered || v.Get("think").Exists()
		default:
			a.Altered = true
		}
		seen[strings.ToLower(name)] = true
		return true
	})
	if len(members) > 0 {
		text, _ := json.Marshal(members) // sorted by name
		a.Members = string(text)
	}
	a.messages(q, prompts)
	return a
}

// hasFlag reports whether a text has a switch that a template may look for.
func hasFlag(text string) bool {
	return slices.ContainsFunc(flags, func(f string) bool { return strings.Contains(text, f) })
}

// messages reads what the messages have to do with the tail of the prompt.
// prompts says that a prompt stands in place of them, which the server puts into a user's
// turn of its template.
func (a *Question) messages(q *wire.Request, prompts bool) {
	role := ""
	if prompts {
		role = "user"
	}
	for _, m := range q.Messages {
		role = m.Role
		for _, text := range m.Texts {
			a.Altered = a.Altered || hasFlag(text)
		}
	}
	for part := range strings.SplitSeq(q.Switch, ",") {
		if part == "/think" || part == "/no_think" {
			a.Flag = part
		}
	}
	switch role {
	case "user":
	case "tool", "function":
		a.Result = true
	default: // it continues a message, or nobody knows how it is rendered
		a.Altered = true
	}
	a.Altered = a.Altered || !a.Chat && a.Tools && role != "tool"
}

// readKwargs reads the arguments of a template. ok is false if one of them is not known.
func readKwargs(v gjson.Result) (inner map[string]any, ok bool) {
	if !v.IsObject() {
		return nil, false
	}
	inner, ok = map[string]any{}, true
	v.ForEach(func(key, v gjson.Result) bool {
		value, fits := simple(v)
		if _, twice := inner[key.Str]; twice || !fits || !slices.Contains(kwargs, key.Str) {
			ok = false
			return true
		}
		inner[key.Str] = value
		return true
	})
	return inner, ok
}

// simple returns a truth value, or a known word.
func simple(v gjson.Result) (any, bool) {
	switch {
	case v.IsBool():
		return v.Bool(), true
	case v.Type == gjson.String && slices.Contains(words, v.Str):
		return v.Str, true
	}
	return nil, false
}

// explicit reports whether the arguments of the template say whether to think.
func (a *Question) explicit() bool {
	inner := gjson.Get(a.Members, kwargsMember)
	return inner.Get("enable_thinking").Exists() || inner.Get("thinking").Exists()
}

// onlyKwargs reports whether nothing but the arguments of the template controls thinking.
func (a *Question) onlyKwargs() bool {
	only := true
	gjson.Parse(a.Members).ForEach(func(key, _ gjson.Result) bool {
		only = only && key.Str == kwargsMember
		return true
	})
	return only
}

// turnsOn reports whether the one switch of the request turns thinking on.
func (a *Question) turnsOn() bool {
	switch a.Members {
	case `{"think":true}`, `{"think":"low"}`, `{"think":"medium"}`, `{"think":"high"}`,
		`{"reasoning_effort":"low"}`, `{"reasoning_effort":"medium"}`, `{"reasoning_effort":"high"}`:
		return !a.Altered && a.Flag == ""
	}
	return false
}

// silent reports whether the request says nothing about thinking.
func (a *Question) silent() bool { return a.Members == "" && a.Flag == "" && !a.Altered }

type object = map[string]any

// body is the request that makes a server render the conversation.
func (a *Question) body() object {
	body := object{}
	_ = json.Unmarshal([]byte(a.Members), &body)
	body["model"] = a.Model
	content := userText
	if a.Flag != "" && !a.Result {
		content = a.Flag + " " + userText // the reply follows the known text
	}
	messages := []object{{"role": "user", "content": content}}
	if a.Result {
		messages = append(messages,
			object{"role": "assistant", "content": "", "tool_calls": []object{{"id": "call00001", "type": "function", "function": object{"name": toolName, "arguments": "{}"}}}},
			object{"role": "tool", "tool_call_id": "call00001", "name": toolName, "content": resultText})
	}
	body["messages"] = messages
	if a.Tools || a.Result {
		body["tools"] = []object{{"type": "function", "function": object{"name": toolName, "description": "Look.", "parameters": object{"type": "object", "properties": object{}}}}}
	}
	return body
}

// last is the text that the reply follows.
func (a *Question) last() string {
	if a.Result {
		return resultText
	}
	return userText
}
