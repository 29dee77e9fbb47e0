package gateway

import (
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/ollama"
	"github.com/sotto-llm/sotto/wire/openai"
)

type codec = wire.Codec

// Codecs are the APIs whose replies are read. The first that matches a path is
// taken; what none matches passes through.
var Codecs = []codec{
	openai.Chat,
	openai.Completions,
	openai.Responses,
	ollama.Chat,
	ollama.Generate,
	anthropic.Messages,
}

func codecNames() []string {
	names := make([]string, len(Codecs))
	for i, c := range Codecs {
		names[i] = c.Name()
	}
	return names
}

// codecOf returns the codec of a path, or nil.
func codecOf(path string) codec {
	for _, c := range Codecs {
		if c.Matches(path) {
			return c
		}
	}
	return nil
}

// hasNarrationField reports whether an API has room for narration beside its
// text: a list of blocks or items has none.
func hasNarrationField(c codec) bool { return c != anthropic.Messages && c != openai.Responses }
