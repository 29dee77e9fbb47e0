package gateway

import (
	"net/http"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
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

// carriage returns the reader and writer of a response that is a stream in another
// form than the codec's framing, or nil.
func (x *exchange) carriage(kind string, resp *http.Response) wire.Carriage {
	p := endpoints.Provider(x.codec)
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
