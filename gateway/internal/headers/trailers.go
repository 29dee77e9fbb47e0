package headers

import (
	"fmt"
	"io"
	"net/http"

	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// Quietly is a transport whose errors are quiet. It accepts no header of more than
// Header bytes, whatever transport it wraps, and passes no trailers on by itself.
type Quietly struct {
	http.RoundTripper
	Header int
}

func (t Quietly) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, faults.Quiet(err)
	}
	if access.HeaderSize(resp.Header) > t.Header {
		resp.Body.Close()
		return nil, fmt.Errorf("the header of the response is larger than %d bytes", t.Header)
	}
	return withoutTrailers(resp), nil
}

// A trailedBody is the body of an upstream's response whose trailers the client gets only
// as far as a law lets them pass. net/http writes them to the response that it made, so
// the client's response is another.
type trailedBody struct {
	io.ReadCloser
	from, to *http.Response
	law      *Law // nil if none pass
}

// withoutTrailers returns a response that has no trailers until [Law.Pass] lets
// some pass.
func withoutTrailers(resp *http.Response) *http.Response {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return resp // its body is a connection
	}
	to := *resp
	to.Trailer = nil
	to.Body = &trailedBody{ReadCloser: resp.Body, from: resp, to: &to}
	return &to
}

// Close adds the trailers that pass. net/http has read them by then.
func (b *trailedBody) Close() error {
	err := b.ReadCloser.Close()
	if b.law == nil {
		return err
	}
	for name, values := range b.from.Trailer {
		shown := b.law.values(name, values)
		if len(shown) == 0 {
			continue
		}
		if b.to.Trailer == nil {
			b.to.Trailer = http.Header{}
		}
		b.to.Trailer[name] = shown
	}
	return err
}
