package providers

import (
	"slices"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/bedrock"
	"github.com/sotto-llm/sotto/wire/cohere"
	"github.com/sotto-llm/sotto/wire/gemini"
	"github.com/sotto-llm/sotto/wire/ollama"
	"github.com/sotto-llm/sotto/wire/openai"
	"github.com/sotto-llm/sotto/wire/openai/responses"
	"github.com/sotto-llm/sotto/wire/turn"
)

// An API is one whose requests are conversations, by its name in settings.
type API struct {
	Name  string
	Codec turn.API
}

var apis = []API{
	{"chat", openai.Chat}, {"responses", responses.Codec}, {"messages", anthropic.Messages}, {"ollama", ollama.Chat},
	{"gemini", gemini.GenerateContent}, {"bedrock", bedrock.Converse}, {"cohere", cohere.Chat},
}

// APIs lists the APIs whose requests are conversations.
func APIs() []API { return slices.Clone(apis) }

// Named returns the API of a name: that in settings, or that of its codec.
func Named(name string) (turn.API, bool) {
	for _, a := range apis {
		if name == a.Name || name == a.Codec.Name() {
			return a.Codec, true
		}
	}
	return nil, false
}

// NameOf returns the name of an API in settings, by its codec; that of the codec if it has none.
func NameOf(c wire.Codec) string {
	for _, a := range apis {
		if a.Codec == c {
			return a.Name
		}
	}
	return c.Name()
}

// Of returns the provider of a codec, or nil.
func Of(c wire.Codec) *wire.Provider {
	for _, p := range all {
		if p.Has(c) {
			return p
		}
	}
	return nil
}
