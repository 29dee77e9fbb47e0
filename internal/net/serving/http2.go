package serving

import (
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Bounds of a connection of HTTP/2. A request holds as much of its body as fits into the
// window of its stream until the handler reads it.
const (
	maxStreams       = 100       // requests at the same time; net/http keeps at most four times as many waiting
	connectionWindow = 512 << 10 // bytes of bodies that nobody has read yet
	streamWindow     = 256 << 10 // the same, of one request
)

// OfferHTTP2 makes a server of [NewServer] speak HTTP/2 too: over TLS, and, if clear is set,
// also without TLS to clients that begin with it (RFC 9113, section 3.3). Upgrades of
// HTTP/1 are ignored. A connection to which nothing can be written for as long as stall is
// closed.
//
// Each request at the same time counts as a connection at the [Listener]. If there is no
// room for one, it gets 503.
func OfferHTTP2(s *http.Server, clear bool, stall time.Duration) {
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(clear)
	s.HTTP2 = &http.HTTP2Config{
		MaxConcurrentStreams:          maxStreams,
		MaxReceiveBufferPerConnection: connectionWindow,
		MaxReceiveBufferPerStream:     streamWindow,
		WriteByteTimeout:              stall,
	}
}

// A counted connection is one of a [Listener].
type counted interface {
	// another counts one more connection, if the bounds allow that.
	another() (release func(), ok bool)
}

// countedOf returns the connection of a listener, which may be under TLS.
func countedOf(c net.Conn) counted {
	if outer, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = outer.NetConn()
	}
	own, _ := c.(counted)
	return own
}

// streams are the requests under way on one connection of HTTP/2.
type streams struct {
	conn counted // nil if the connection is not one of a Listener

	mu    sync.Mutex
	open  int
	extra []func() // give back the places of all but one: that one has the place of the connection
}

// begin counts a request.
func (s *streams) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open > 0 && s.conn != nil {
		release, ok := s.conn.another()
		if !ok {
			return false
		}
		s.extra = append(s.extra, release)
	}
	s.open++
	return true
}

func (s *streams) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if n := len(s.extra); n > 0 {
		s.extra[n-1]()
		s.extra = s.extra[:n-1]
	}
}

// serveStream serves a request of HTTP/2.
func serveStream(s *streams, w http.ResponseWriter, r *http.Request, next http.Handler) {
	if !s.begin() {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "there are too many connections and requests: try again later", http.StatusServiceUnavailable)
		return
	}
	defer s.end()
	stream := &streamWriter{ResponseWriter: w}
	defer stream.end()
	next.ServeHTTP(stream, r)
}

// A streamWriter is the writer of a response over HTTP/2. Its deadlines can be set after the
// handler has returned, as those of HTTP/1 can: net/http would panic in the goroutine
// that does so.
type streamWriter struct {
	http.ResponseWriter
	mu    sync.Mutex
	ended bool
}

func (w *streamWriter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}

func (w *streamWriter) deadline(set func(time.Time) error, t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return os.ErrClosed
	}
	return set(t)
}

// SetReadDeadline implements what [http.ResponseController] looks for.
func (w *streamWriter) SetReadDeadline(t time.Time) error {
	return w.deadline(http.NewResponseController(w.ResponseWriter).SetReadDeadline, t)
}

// SetWriteDeadline implements what [http.ResponseController] looks for.
func (w *streamWriter) SetWriteDeadline(t time.Time) error {
	return w.deadline(http.NewResponseController(w.ResponseWriter).SetWriteDeadline, t)
}

// Flush implements [http.Flusher].
func (w *streamWriter) Flush() { _ = w.FlushError() }

// FlushError sends what was written.
func (w *streamWriter) FlushError() error {
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap returns the writer beneath, for [http.ResponseController].
func (w *streamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
