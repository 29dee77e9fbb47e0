package model

import (
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/wire/ollama"
	"github.com/sotto-llm/sotto/wire/turn"
)

// ollamaAPI is Ollama's own chat.
type ollamaAPI struct{ model string }

func newOllama(c *Config) api { return &ollamaAPI{c.Model} }

func (a *ollamaAPI) codec() turn.API      { return ollama.Chat }
func (a *ollamaAPI) chat() []string       { return []string{"api", "chat"} }
func (a *ollamaAPI) embeddings() []string { return []string{"api", "embed"} }

func (a *ollamaAPI) authorize(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

func (a *ollamaAPI) adjust(*turn.Request) error { return nil }

// called passes a call on, which comes complete.
func (a *ollamaAPI) called(l *listener, c *calling, piece gjson.Result) error {
	if c.arguments.Len() == 0 {
		if err := l.argue(c, "{}"); err != nil {
			return err
		}
	}
	if err := l.addExtra(c, piece); err != nil {
		return err
	}
	return l.giveCalls()
}
