package gateway

import (
	"slices"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/ollama"
	"github.com/sotto-llm/sotto/wire/openai"
)

type codec = wire.Codec

// Codecs lists the APIs whose replies are read.
func Codecs() []wire.Codec { return slices.Clone(codecs) }

var codecs = []codec{
	openai.Chat,
	openai.Completions,
	openai.Responses,
	ollama.Chat,
	ollama.Generate,
	anthropic.Messages,
}

func codecNames() []string {
	names := make([]string, len(codecs))
	for i, c := range codecs {
		names[i] = c.Name()
	}
	return names
}
