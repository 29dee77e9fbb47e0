// Package unread notices replies of models in what passes unread: nobody took reasoning out
// of these.
package unread

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// Watch calls tell once if a response looks like a model's reply, while its body passes.
func Watch(resp *http.Response, tell func()) {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	switch {
	case kind == "application/vnd.amazon.eventstream": // binary frames, which only models send
		tell()
	case kind == "", strings.HasPrefix(kind, "text/") && kind != "text/html", strings.Contains(kind, "json"):
		resp.Body = &glimpse{ReadCloser: resp.Body, zipped: strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip"), tell: tell}
	}
}

// A glimpse looks at the beginning of a body that passes.
type glimpse struct {
	io.ReadCloser
	head   []byte
	zipped bool
	tell   func() // nil once the beginning was judged
}

// glimpsed is how much of a body is looked at.
const glimpsed = 4 << 10

func (g *glimpse) Read(p []byte) (int, error) {
	n, err := g.ReadCloser.Read(p)
	if g.tell == nil {
		return n, err
	}
	g.head = append(g.head, p[:min(n, glimpsed-len(g.head))]...)
	if err != nil || len(g.head) == glimpsed {
		if speaks(g.head, g.zipped) {
			g.tell()
		}
		g.tell, g.head = nil, nil
	}
	return n, err
}

// speaks reports whether the beginning of a body looks like a model's reply: whole, a
// list of replies, or the first events of a stream.
func speaks(head []byte, zipped bool) bool {
	if zipped {
		r, err := gzip.NewReader(bytes.NewReader(head))
		if err != nil {
			return false
		}
		plain := make([]byte, glimpsed)
		n, _ := io.ReadFull(r, plain) // the rest of it is missing
		head = plain[:n]
	}
	head = bytes.TrimLeft(head, "\xEF\xBB\xBF \t\r\n")
	if !bodies.LooksLikeSSE(head) {
		return isReply(jsonedit.Parse(head), 1)
	}
	for line := range bytes.Lines(head) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && isReply(jsonedit.Parse(bytes.TrimSpace(data)), 1) {
			return true
		}
	}
	return false
}

// isReply reports whether JSON, which may end early, has the members of a reply in
// some API. In lists and envelopes it looks at the first one, this many levels deep.
func isReply(v gjson.Result, depth int) bool {
	if v.IsArray() {
		first := v.Get("0")
		return first.Get("generated_text").Exists() || depth > 0 && isReply(first, depth-1)
	}
	if !v.IsObject() {
		return false
	}
	has := func(path string) bool { return v.Get(path).Exists() }
	kind := v.Get("type").Str
	switch {
	case has("choices.0.message"), has("choices.0.delta"), has("choices.0.text"): // OpenAI
	case v.Get("object").Str == "response", strings.HasPrefix(kind, "response."):
	case v.Get("object").Str == "conversation.response", strings.HasPrefix(kind, "conversation.response."): // Mistral's conversations
	case kind == "message" && has("content"), kind == "message_start": // Anthropic
	case has("done") && (has("message.content") || has("response")): // Ollama
	case has("candidates.0.content"): // Gemini
	case has("output.message.content"), has("outputs.0.text"), has("contentBlockDelta"): // Bedrock
	case has("content") && has("stop"), has("generated_text"), has("token.text"), has("results.0.text"): // servers of open models
	case has("generation_id") && has("text"), has("message.content.0.text"), has("generations.0.text"): // Cohere
	case has("output.0.type") && has("output.0.content"): // LM Studio
	case depth > 0:
		for _, inner := range []string{"data.0", "response", "response.body", "message", "result"} {
			if isReply(v.Get(inner), depth-1) {
				return true
			}
		}
		return false
	default:
		return false
	}
	return true
}
