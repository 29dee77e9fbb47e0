package gateway

import (
	"net/http"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

type codec = wire.Codec

// Codecs lists the APIs whose replies are read.
func Codecs() []wire.Codec { return providers.Codecs() }

var codecs = providers.Codecs()

// known are the providers, for what looks at each request: providers.All copies its list.
var known = providers.All()

func codecNames() []string {
	names := make([]string, len(codecs))
	for i, c := range codecs {
		names[i] = c.Name()
	}
	return names
}

// providerOf returns the provider that has a codec, or nil.
func providerOf(c codec) *wire.Provider {
	for _, p := range known {
		if c != nil && p.Has(c) {
			return p
		}
	}
	return nil
}

// readRequest reads a request that was sent to a path.
func readRequest(c codec, path string, body []byte) (*wire.Request, error) {
	q, err := c.Request(body)
	if p := providerOf(c); err == nil && p != nil && p.ReadPath != nil {
		p.ReadPath(path, q)
	}
	return q, err
}

// carriage returns the reader and writer of a response that is a stream in another
// form than the codec's framing, or nil.
func (x *exchange) carriage(kind string, resp *http.Response) wire.Carriage {
	p := providerOf(x.codec)
	if p == nil || !x.request.Stream {
		return nil
	}
	for _, c := range p.Carriers {
		if c.Type == kind && (c.First == 0 || firstByte(resp) == c.First) {
			x.carrier = &c
			return c.Begin(x.settings())
		}
	}
	return nil
}
