// Package providers lists the providers whose APIs Sotto reads. To add one, write
// a package below wire, and add its line here.
package providers

import (
	"slices"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/bedrock"
	"github.com/sotto-llm/sotto/wire/cohere"
	"github.com/sotto-llm/sotto/wire/gemini"
	"github.com/sotto-llm/sotto/wire/llamacpp"
	"github.com/sotto-llm/sotto/wire/ollama"
	"github.com/sotto-llm/sotto/wire/openai"
)

var all = []*wire.Provider{
	openai.Provider,
	ollama.Provider,
	anthropic.Provider,
	llamacpp.Provider,
	cohere.Provider,
	gemini.Provider,
	bedrock.Provider,
}

// All returns the providers. The first one's errors are used where no other API is
// known.
func All() []*wire.Provider { return slices.Clone(all) }

// Codecs returns the codecs of all providers.
func Codecs() []wire.Codec {
	var list []wire.Codec
	for _, p := range all {
		list = append(list, p.Codecs...)
	}
	return list
}
