package gateway

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/net/http/httpguts"

	"github.com/sotto-llm/sotto/gateway/internal/account"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/turnmemory"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/wire"
)

// sockets are the WebSocket connections of a gateway. A turn that comes over one of them
// becomes a POST that [Handler.serve] handles, as if it had come over HTTP, so that
// everything that is decided about a request is decided in one place.
type sockets struct {
	slots *access.Slots
	life  time.Duration    // the age at which a connection ends
	kept  turnmemory.Share // what all connections keep for later turns

	mu     sync.Mutex
	open   map[*socket]bool
	closed bool
	idle   chan struct{} // closed when closed is set and none is open
}

const (
	// socketLife is the age of a connection at which it ends, as the API says.
	socketLife = time.Hour
	// socketShare is the share of the memory for exchanges that connections may hold
	// that nothing comes over.
	socketShare = 4
	// keptShare is the share of the memory for exchanges that connections may hold for
	// turns that continue others.
	keptShare = 8
)

func newSockets(c Config) *sockets {
	return &sockets{
		slots: access.NewSlots(min(c.Limits.Exchanges, max(1, int(c.Limits.MemoryBytes/socketShare/budget.BaseCost))), 0), life: socketLife, kept: turnmemory.Share{Most: c.Limits.MemoryBytes / keptShare},
		open: map[*socket]bool{}, idle: make(chan struct{}),
	}
}

// errStopping refuses what comes while the gateway ends.
var errStopping = errors.New("the gateway is shutting down")

// add adds a connection, unless the gateway ends.
func (l *sockets) add(s *socket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.open[s] = true
	return true
}

func (l *sockets) remove(s *socket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, s)
	if l.closed && len(l.open) == 0 {
		close(l.idle)
	}
}

// close accepts no more connections, and returns those that are open.
func (l *sockets) close() []*socket {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		if len(l.open) == 0 {
			close(l.idle)
		}
	}
	list := make([]*socket, 0, len(l.open))
	for s := range l.open {
		list = append(list, s)
	}
	return list
}

// Shutdown ends the WebSocket connections, which [http.Server.Shutdown] does not know:
// each closes with status 1001 when the replies that it has under way have ended. New
// ones are refused. If the context ends first, Shutdown cuts those that are left, and
// returns the context's error.
func (g *Handler) Shutdown(ctx context.Context) error {
	list := g.sockets.close()
	for _, s := range list {
		s.retire(&retirement{code: websocket.StatusGoingAway, reason: errStopping.Error()})
	}
	select {
	case <-g.sockets.idle:
		return nil
	case <-ctx.Done():
	}
	for _, s := range list {
		s.cut(errStopping)
	}
	<-g.sockets.idle
	return ctx.Err()
}

// serveSocket serves a connection until it ends.
func (g *Handler) serveSocket(rules *ruleset, w http.ResponseWriter, r *http.Request, e endpoints.Endpoint) {
	hold, err := rules.engine.budget.Open()
	if err != nil {
		rules.refuse(w, r, e.Codec, err)
		return
	}
	defer hold.Leave()
	slot, err := g.sockets.slots.Take(access.Caller(r.Context()))
	if err != nil {
		faults.Refuse(w, e.Codec, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer slot.GiveBack()
	s := newSocket(g, rules, r, e)
	if !g.sockets.add(s) {
		faults.Refuse(w, e.Codec, http.StatusServiceUnavailable, errStopping.Error())
		return
	}
	defer g.sockets.remove(s)
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // access.Control has checked the origin, by the rules for all requests
		CompressionMode:    websocket.CompressionDisabled,
		Subprotocols:       offered(r),
		OnPongReceived:     func(context.Context, []byte) { s.Moved(true) },
	})
	if err != nil {
		return // Accept has answered
	}
	s.serve(conn)
}

// offered are the protocols that a client offers, without those that carry its key.
func offered(r *http.Request) []string {
	return slices.DeleteFunc(access.Protocols(r.Header), func(p string) bool {
		return p == "" || strings.HasPrefix(p, access.KeyProtocol)
	})
}

// turnRequest makes the HTTP request of a turn from the handshake's: the same path,
// query, credentials and identifiers. A trace of the turn's own takes precedence.
func (s *socket) turnRequest(ctx context.Context, t *wire.Turn, size int64) *http.Request {
	r := s.handshake.Clone(ctx)
	r.Method, r.ContentLength, r.TransferEncoding = http.MethodPost, size, nil
	protocols := r.Header["Sec-Websocket-Protocol"]
	for name := range r.Header {
		if strings.HasPrefix(name, "Sec-Websocket-") {
			delete(r.Header, name)
		}
	}
	for _, name := range []string{"Upgrade", "Connection", "Content-Encoding", "Content-Length", "Transfer-Encoding", "Trailer", "Te", "Expect", "Accept-Encoding"} {
		r.Header.Del(name)
	}
	if key := access.Key(s.handshake); key != "" && len(protocols) > 0 && access.Key(r) == "" {
		r.Header.Set("Authorization", "Bearer "+key) // it was among the protocols
	}
	if trace, _ := account.ReadTrace(t.Traceparent); trace != "" && isShortHeader(t.Traceparent) {
		r.Header.Set("Traceparent", t.Traceparent)
		if r.Header.Del("Tracestate"); isShortHeader(t.Tracestate) {
			r.Header.Set("Tracestate", t.Tracestate)
		}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	return r
}

// maxTraceHeader is the length of a tracestate that every program must pass on.
const maxTraceHeader = 512

// isShortHeader reports whether a text of a message may be the value of a header.
func isShortHeader(value string) bool {
	return value != "" && len(value) <= maxTraceHeader && httpguts.ValidHeaderFieldValue(value)
}
