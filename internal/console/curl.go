package console

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/sotto-llm/sotto/internal/console/view"
)

// curl is a command that sends the prompt of an exchange again, with its parameters and
// tools, as far as the record has them. The record has no key.
func curl(x *view.Exchange) string {
	if x.Upstream == "" || x.Path == "" || len(x.Prompt) == 0 {
		return ""
	}
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	body := map[string]any{"model": x.Model, "stream": x.Streamed}
	if !settings(body, x) {
		return ""
	}
	var messages []message
	var prompt strings.Builder
	for _, m := range x.Prompt {
		if m.Text.Cut || x.MoreMessages > 0 {
			return ""
		}
		messages = append(messages, message{m.Role, string(m.Text.Text)})
		prompt.WriteString(string(m.Text.Text))
	}
	switch { // by the path, which every API of a family shares
	case strings.HasSuffix(x.Path, "/responses"):
		body["input"] = messages
	case strings.HasSuffix(x.Path, "/generate"), strings.HasSuffix(x.Path, "/completions") && !strings.HasSuffix(x.Path, "/chat/completions"):
		body["prompt"] = prompt.String()
	case strings.HasSuffix(x.Path, "/messages"):
		if body["max_tokens"] == nil {
			body["max_tokens"] = 4096
		}
		if messages[0].Role == "system" {
			body["system"], messages = messages[0].Content, messages[1:]
		}
		body["messages"] = messages
	default:
		body["messages"] = messages
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(body) != nil {
		return ""
	}
	url := strings.TrimRight(x.Upstream, "/") + x.Path
	return "curl -sS " + quoted(url) + " \\\n  -H 'Content-Type: application/json' \\\n  -d " + quoted(strings.TrimSpace(b.String()))
}

// settings adds the parameters and the tools of a request to a body. ok is false if
// not all of them are there.
func settings(body map[string]any, x *view.Exchange) (ok bool) {
	for _, p := range x.Parameters {
		if p.Value.Cut {
			return false
		}
		body[p.Name] = json.RawMessage(p.Value.Text)
	}
	var tools []json.RawMessage
	for _, t := range x.Tools {
		if t.Digest != "" || t.Definition.Cut || !json.Valid([]byte(t.Definition.Text)) {
			return false
		}
		tools = append(tools, json.RawMessage(t.Definition.Text))
	}
	if len(tools) > 0 {
		body["tools"] = tools
	}
	return x.MoreTools == 0
}

// quoted quotes a word for a POSIX shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
