package model

import (
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/wire/openai"
	"github.com/sotto-llm/sotto/wire/turn"
)

// chatAPI is the chat completions API of OpenAI, as many servers implement it.
type chatAPI struct {
	model string
	// own says that the server is OpenAI's own, which has a different name for the
	// token limit than all others.
	own bool
}

func newOpenAI(c *Config) api {
	host := strings.ToLower(c.URL)
	return &chatAPI{model: c.Model, own: strings.Contains(host, "//api.openai.com") || strings.Contains(host, ".openai.azure.com")}
}

func (a *chatAPI) codec() turn.API      { return openai.Chat }
func (a *chatAPI) chat() []string       { return []string{"chat", "completions"} }
func (a *chatAPI) embeddings() []string { return []string{"embeddings"} }

// called keeps the members of a call that have no field of their own.
func (a *chatAPI) called(l *listener, c *calling, piece gjson.Result) error {
	return l.addExtra(c, piece)
}

func (a *chatAPI) authorize(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

func (a *chatAPI) adjust(t *turn.Request) error {
	counts := true
	t.Usage = &counts
	if a.own {
		t.MaxName = "max_completion_tokens"
	}
	return nil
}
