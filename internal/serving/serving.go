// Package serving holds what every HTTP server of this module has in common: the
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

// Timeouts of every server. There is none for a response: a streamed reply may
// take hours. The handler watches for clients that take nothing.
const (
	HeaderTimeout = 10 * time.Second // for a request's header
	IdleTimeout   = 2 * time.Minute  // for the next request of a connection
	MaxHeader     = 64 << 10         // bytes of a request's header
)

// NewServer returns a server with the timeouts and bounds above. It speaks
// HTTP/1 alone: clear-text HTTP/2 would bring many requests through one
// connection, which [Bounds] counts as one.
func NewServer(h http.Handler) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: HeaderTimeout,
		IdleTimeout:       IdleTimeout,
		MaxHeaderBytes:    MaxHeader,
		Protocols:         protocols,
	}
}
