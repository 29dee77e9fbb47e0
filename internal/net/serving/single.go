package serving

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
)

// single serves a request whose framing could be read in two ways as the last of its
// connection: one with a Transfer-Encoding, and one of HTTP/1.0. net/http removes a
// Content-Length beside a Transfer-Encoding, and a Transfer-Encoding of HTTP/1.0, before
// a handler sees the request. A proxy before this server may count by the header that was
// removed. What it then takes for the rest of the body would be the next request here.
type single struct{ next http.Handler }

func (s single) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	if c == nil { // the handler is in another server
		c = new(connection)
	}
	if r.ProtoMajor == 2 { // its frames say where a body ends
		serveStream(&c.streams, w, r, s.next)
		return
	}
	if c.over.Load() { // it came after the last request
		panic(http.ErrAbortHandler)
	}
	if len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) {
		c.over.Store(true)
		last := &lastAnswer{ResponseWriter: w}
		defer last.begin(http.StatusOK) // if the handler wrote nothing
		w = last
	}
	s.next.ServeHTTP(w, r)
}

// Wrap puts a handler around that of a server of [NewServer].
func Wrap(s *http.Server, around func(next http.Handler) http.Handler) {
	next := s.Handler
	if own, ok := next.(single); ok {
		next = own.next
	}
	s.Handler = single{around(next)}
}

// A connection is what a server knows of one of its connections.
type connection struct {
	over    atomic.Bool // it has had its last request
	streams streams
}

// connectionKey is the context key of a connection.
type connectionKey struct{}

// withConnection is the ConnContext of a server.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	own := new(connection)
	own.streams.conn = countedOf(c)
	return context.WithValue(ctx, connectionKey{}, own)
}

// A lastAnswer tells the client that the connection ends with this answer. A proxy in
// the handler may clear the header before the answer begins, so it is set then.
type lastAnswer struct {
	http.ResponseWriter
	began bool
}

func (a *lastAnswer) begin(status int) {
	if !a.began && (status >= 200 || status == http.StatusSwitchingProtocols) {
		a.began = true
		if status >= 200 {
			a.Header().Set("Connection", "close")
		}
	}
}

// WriteHeader implements [http.ResponseWriter].
func (a *lastAnswer) WriteHeader(status int) {
	a.begin(status)
	a.ResponseWriter.WriteHeader(status)
}

func (a *lastAnswer) Write(p []byte) (int, error) {
	a.begin(http.StatusOK)
	return a.ResponseWriter.Write(p)
}

// FlushError sends what was written. [http.ResponseController] calls it.
func (a *lastAnswer) FlushError() error {
	a.begin(http.StatusOK)
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Flush implements [http.Flusher].
func (a *lastAnswer) Flush() { _ = a.FlushError() }

// Unwrap returns the writer beneath, for [http.ResponseController].
func (a *lastAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
