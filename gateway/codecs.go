package gateway

import (
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

type codec = wire.Codec

// Codecs lists the APIs whose replies are read.
func Codecs() []wire.Codec { return providers.Codecs() }

var codecs = providers.Codecs()

func codecNames() []string {
	names := make([]string, len(codecs))
	for i, c := range codecs {
		names[i] = c.Name()
	}
	return names
}

// pathModel returns the model that a path names, or "".
func pathModel(path string) string {
	for _, p := range providers.All() {
		if p.PathModel != nil {
			if name := p.PathModel(path); name != "" {
				return name
			}
		}
	}
	return ""
}
