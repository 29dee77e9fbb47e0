// Package sockets serves the Responses API over WebSocket. A turn that comes over a connection
// becomes a POST that the gateway handles, as if it had come over HTTP, so that everything that
// is decided about a request is decided in one place.
package sockets

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/net/http/httpguts"

	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/turnmemory"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/base/tracecontext"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/wire"
)

// Rules are one configuration of the gateway. A connection keeps those of its handshake; each of
// its turns has those that are in force when it begins.
type Rules interface {
	Settings() Settings
	// Admits reports whether a handshake may still be used that other rules, or these, have
	// admitted.
	Admits(handshake *http.Request, by Rules) bool
	// Place takes a place for a caller among the exchanges under way.
	Place(caller string) (*access.Slot, error)
	// Share begins a request of a caller against its limits.
	Share(ctx context.Context) (*access.Share, *access.LimitError)
	// Serve answers a turn, as if it had come over HTTP.
	Serve(w http.ResponseWriter, r *http.Request, e endpoints.Endpoint)
	// Refuse answers a handshake that does not become a connection.
	Refuse(w http.ResponseWriter, r *http.Request, c wire.Codec, err error)
	// Failure returns the status and the text of an answer that replaces a reply.
	Failure(err error) (status int, text string)
}

// Settings are what a connection takes from a configuration.
type Settings struct {
	Body               int64 // the setting limits.body, for messages
	Silence, KeepAlive time.Duration
	Budget             *budget.Budget
	Log                *slog.Logger
}

// Sockets are the WebSocket connections of a gateway.
type Sockets struct {
	Life  time.Duration // the age at which a connection ends
	now   func() Rules
	slots *access.Slots
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

// New returns the connections of a gateway, which bounds its exchanges and their memory. now
// returns the rules in force.
func New(exchanges int, memory int64, now func() Rules) *Sockets {
	return &Sockets{
		Life: socketLife, now: now, slots: access.NewSlots(min(exchanges, max(1, int(memory/socketShare/budget.BaseCost))), 0), kept: turnmemory.Share{Most: memory / keptShare},
		open: map[*socket]bool{}, idle: make(chan struct{}),
	}
}

// Open returns how many connections there are.
func (l *Sockets) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

// Kept returns how many bytes they keep for later turns.
func (l *Sockets) Kept() int64 { return l.kept.Kept() }

// Retires reports whether some connection takes no more turns.
func (l *Sockets) Retires() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.open {
		if s.retires() {
			return true
		}
	}
	return false
}

// errStopping refuses what comes while the gateway ends.
var errStopping = errors.New("the gateway is shutting down")

// add adds a connection, unless the gateway ends.
func (l *Sockets) add(s *socket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.open[s] = true
	return true
}

func (l *Sockets) remove(s *socket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, s)
	if l.closed && len(l.open) == 0 {
		close(l.idle)
	}
}

// close accepts no more connections, and returns those that are open.
func (l *Sockets) close() []*socket {
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

// Shutdown ends the connections: each closes with status 1001 when the replies that it has under way have ended. New
// ones are refused. If the context ends first, Shutdown cuts those that are left, and
// returns the context's error.
func (l *Sockets) Shutdown(ctx context.Context) error {
	list := l.close()
	for _, s := range list {
		s.retire(&retirement{code: websocket.StatusGoingAway, reason: errStopping.Error()})
	}
	select {
	case <-l.idle:
		return nil
	case <-ctx.Done():
	}
	for _, s := range list {
		s.cut(errStopping)
	}
	<-l.idle
	return ctx.Err()
}

// Serve serves a connection, which the rules have admitted, until it ends.
func (l *Sockets) Serve(rules Rules, w http.ResponseWriter, r *http.Request, e endpoints.Endpoint) {
	hold, err := rules.Settings().Budget.Open()
	if err != nil {
		rules.Refuse(w, r, e.Codec, err)
		return
	}
	defer hold.Leave()
	slot, err := l.slots.Take(access.Caller(r.Context()))
	if err != nil {
		faults.Refuse(w, e.Codec, faultname.PlacesTaken, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer slot.GiveBack()
	s := newSocket(l, rules, r, e)
	if !l.add(s) {
		faults.Refuse(w, e.Codec, faultname.GatewayStopping, http.StatusServiceUnavailable, errStopping.Error())
		return
	}
	defer l.remove(s)
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // the gateway has checked the origin, by the rules for all requests
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
	if tracecontext.Read(t.Traceparent).Trace != "" && isShortHeader(t.Traceparent) {
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
