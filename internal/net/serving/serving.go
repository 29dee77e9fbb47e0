// Package serving has the common parts of every HTTP server of this module: the
// timeouts, a bound on connections, and a deadline for request bodies.
//
//	l, err := net.Listen("tcp", address)
//	…
//	bounded := serving.Bound(l, serving.Bounds{})
//	serving.NewServer(handler).Serve(bounded)
//
// A handler that reads request bodies calls [Body] first, before it looks at
// credentials.
package serving

import (
	"net/http"
	"time"
)

// Timeouts of every server. There is none for a response, because a streamed reply
// may take hours. The handler must watch for clients that stop reading.
const (
	HeaderTimeout = 10 * time.Second // for a request's header
	IdleTimeout   = 2 * time.Minute  // for the next request on a connection
	MaxHeader     = 64 << 10         // bytes of a request's header
)

// NewServer returns a server with the timeouts and bounds above. It speaks only
// HTTP/1; see [OfferHTTP2]. A connection of HTTP/1 ends with a request whose body is in chunks, and
// with one of HTTP/1.0: see single. Whoever replaces ConnContext must call the old one, and
// [Wrap] replaces the handler.
func NewServer(h http.Handler) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:           single{h},
		ConnContext:       withConnection,
		ReadHeaderTimeout: HeaderTimeout,
		IdleTimeout:       IdleTimeout,
		MaxHeaderBytes:    MaxHeader,
		Protocols:         protocols,
	}
}
