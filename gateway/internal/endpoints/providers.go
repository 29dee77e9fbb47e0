package endpoints

import (
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

// Providers are the providers, for what looks at each request: providers.All copies its list.
var Providers = providers.All()

// Provider returns the provider that has a codec, or nil.
func Provider(c wire.Codec) *wire.Provider {
	for _, p := range Providers {
		if c != nil && p.Has(c) {
			return p
		}
	}
	return nil
}

// ReadRequest reads a request that was sent to a path.
func ReadRequest(c wire.Codec, path string, body []byte) (*wire.Request, error) {
	q, err := c.Request(body)
	if p := Provider(c); err == nil && p != nil && p.ReadPath != nil {
		p.ReadPath(path, q)
	}
	return q, err
}
