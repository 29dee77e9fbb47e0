// Package modelflags has the flags that name a model server, for commands that ask
// models.
package modelflags

import (
	"fmt"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/model"
)

// A Server holds the flags that name a model server.
type Server struct {
	Provider string `default:"ollama" enum:"ollama,openai,anthropic" placeholder:"API" help:"The model's API: ollama, openai (which many servers speak), anthropic (${default})."`
	URL      string `name:"url" placeholder:"URL" setting:"SOTTO_MODEL_URL" help:"The model's server."`
	KeyFile  string `name:"key-file" placeholder:"FILE" setting:"SOTTO_MODEL_KEY_FILE" help:"The API key."`
}

// Open returns a model of the server.
func (s *Server) Open(name string) (model.Model, error) {
	opened, err := model.Open(model.Config{Provider: s.Provider, Model: name, URL: s.URL, KeyFile: s.KeyFile})
	if err != nil {
		return nil, errorhint.Usage(err, "")
	}
	return opened, nil
}

// Embedder returns a model of the server that makes embeddings.
func (s *Server) Embedder(name string) (model.Embedder, error) {
	opened, err := s.Open(name)
	if err != nil {
		return nil, err
	}
	embedder, can := opened.(model.Embedder)
	if !can {
		return nil, errorhint.Usage(fmt.Errorf("--embed: the API %s has no embeddings", s.Provider), "")
	}
	return embedder, nil
}
