package sockets

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/turnmemory"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/wire"
)

// Bounds of one connection. The first two are the API's.
const (
	maxLanes   = 32 // with a name
	maxRunning = 16 // turns at the same time
	maxWaiting = 32 // turns that wait for others
)

// A socket is one WebSocket connection, and who is at its other end is the client. One goroutine reads the messages of its client;
// each turn has a goroutine of its own.
type socket struct {
	all             *Sockets
	rules           Rules    // of the handshake; those of a turn are [socket.current]
	set             Settings // of the same
	handshake       *http.Request
	endpoint        endpoints.Endpoint
	codec           wire.SocketCodec
	id              string
	conn            *websocket.Conn
	bodies.Activity // of the client: what it sends, and its answers to pings

	ctx  context.Context // for what is read and written
	cut  context.CancelCauseFunc
	runs context.Context // for the turns: it ends with the server's too
	stop context.CancelCauseFunc

	turns  sync.WaitGroup
	rooms  chan struct{} // of the turns that run
	memory *turnmemory.Memory

	additions steering

	mu       sync.Mutex
	lanes    map[string]chan struct{} // closed when the last turn of the lane has ended
	named    int
	taken    int // turns that run or wait
	retiring *retirement
	closed   chan struct{} // set when the connection begins to close; closed when it has
	over     bool          // the client can hear nothing more
}

// A retirement says why a connection takes no more turns, and how it closes when those
// under way have ended.
type retirement struct {
	code   websocket.StatusCode
	reason string
	fault  *wire.TurnError // what the client is told, if anything
}

func newSocket(all *Sockets, rules Rules, r *http.Request, e endpoints.Endpoint) *socket {
	set := rules.Settings()
	s := &socket{
		all: all, rules: rules, set: set, handshake: r, endpoint: e, codec: e.Codec.(wire.SocketCodec), id: "ws_" + rand.Text()[:16], Activity: bodies.Activity{Began: time.Now()},
		rooms: make(chan struct{}, maxRunning), lanes: map[string]chan struct{}{}, memory: turnmemory.New(&all.kept, set.Budget, set.Body),
	}
	s.endpoint.Kind = endpoints.Replies
	s.ctx, s.cut = context.WithCancelCause(context.WithoutCancel(r.Context()))
	s.runs, s.stop = context.WithCancelCause(r.Context())
	return s
}

// serve reads the client's messages until the connection ends, and waits for its turns.
func (s *socket) serve(conn *websocket.Conn) {
	conn.SetReadLimit(-1) // read bounds and counts what it takes
	defer s.memory.Forget()
	defer s.additions.forget()
	defer s.turns.Wait()
	defer s.end(conn)
	defer s.stop(context.Canceled) // as when the client of a request leaves
	defer s.cut(context.Canceled)
	silent := func(why error) { s.stop(why); s.cut(why) }
	defer s.Watch(s.set.Silence, silent, func() {})()
	old := time.AfterFunc(s.all.Life, func() {
		s.retire(&retirement{websocket.StatusGoingAway, "this connection has reached its age", &wire.TurnError{Fault: wire.TurnExpired}})
	})
	defer old.Stop()
	ended := context.AfterFunc(s.handshake.Context(), func() {
		s.retire(&retirement{code: websocket.StatusGoingAway, reason: errStopping.Error()})
	})
	defer ended()
	s.mu.Lock()
	s.conn = conn
	s.mu.Unlock()
	if s.retires() {
		s.leave() // it retired before it had begun
	}
	go s.ping()
	for s.next() {
	}
}

// end closes the connection, whatever the client does.
func (s *socket) end(conn *websocket.Conn) {
	s.mu.Lock()
	s.over = true
	closed := s.closed
	s.mu.Unlock()
	if closed != nil {
		<-closed
	}
	conn.CloseNow()
}

// ping asks whether the client is still there. [bodies.Activity.Watch] notices if it does not
// answer.
func (s *socket) ping() {
	every := min(s.set.KeepAlive, s.set.Silence/2)
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(every):
		}
		_ = s.conn.Ping(s.ctx) // it fails if a message is being written for long
	}
}

// next reads a message and begins its turn. It reports false if the connection ended.
func (s *socket) next() bool {
	kind, from, err := s.conn.Reader(s.ctx)
	if err != nil {
		return false
	}
	if kind != websocket.MessageText {
		s.close(websocket.StatusUnsupportedData, "this connection takes text messages only")
		return false
	}
	hold, err := s.set.Budget.Open()
	if err != nil {
		s.refuse("", err)
		_, err = io.Copy(io.Discard, io.LimitReader(from, s.set.Body))
		return err == nil && s.ctx.Err() == nil
	}
	message, err := s.message(from, hold)
	if err == nil {
		s.begin(message, hold)
		return true
	}
	hold.Leave()
	s.refuse("", err)
	var own *faults.Request
	if !errors.As(err, &own) || own.Status != http.StatusServiceUnavailable {
		code := websocket.StatusPolicyViolation
		if own != nil && own.Status == http.StatusRequestEntityTooLarge {
			code = websocket.StatusMessageTooBig
		}
		s.close(code, "the message could not be read")
		return false
	}
	_, err = io.Copy(io.Discard, io.LimitReader(from, s.set.Body))
	return err == nil
}

// message reads a message within the bounds of a request's body: in size, memory and pace.
func (s *socket) message(from io.Reader, hold *budget.Charge) ([]byte, error) {
	late := &deadline{expire: func() { s.cut(bodies.ErrLate) }}
	defer late.stop()
	r := s.handshake.WithContext(s.ctx)
	r.Body = io.NopCloser(&moving{from, s})
	r, done := serving.Body(late, r, serving.Pace{Idle: min(s.set.Silence, bodies.MaxIdle)})
	defer done()
	message, err := bodies.Read(r.Body, -1, s.set.Body, hold)
	if err != nil && errors.Is(context.Cause(s.ctx), bodies.ErrLate) {
		return nil, bodies.Late()
	}
	return message, err
}

// A moving reader notes that the client sends something.
type moving struct {
	io.Reader
	s *socket
}

func (m *moving) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	m.s.Moved(true)
	return n, err
}

// A deadline does something when a time set for reading has passed. It is the
// [http.ResponseWriter] of a message, for [serving.Body].
type deadline struct {
	http.ResponseWriter
	expire func()
	mu     sync.Mutex
	timer  *time.Timer
}

func (d *deadline) SetReadDeadline(t time.Time) error {
	d.stop()
	if !t.IsZero() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.timer = time.AfterFunc(time.Until(t), d.expire)
	}
	return nil
}

func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

// begin reads a message and puts its turn behind the others of its lane. The turn then
// holds hold.
func (s *socket) begin(message []byte, hold *budget.Charge) {
	err := s.check(message, hold)
	if err == nil && s.steer(message, hold) {
		return
	}
	var t *wire.Turn
	if err == nil {
		t, err = s.codec.Turn(message)
	}
	if err == nil {
		err = s.queue(t, hold)
	}
	if err != nil {
		hold.Leave()
		lane := ""
		if bad, ok := errors.AsType[*wire.TurnError](err); ok {
			lane = bad.Lane
		} else if t != nil {
			lane = t.Lane
		}
		s.refuse(lane, err)
	}
}

// check checks what every message must be.
func (s *socket) check(message []byte, hold *budget.Charge) error {
	if !utf8.Valid(message) {
		return &wire.TurnError{Detail: "the message is not valid UTF-8"}
	}
	if err := foreignjson.Check(message); err != nil {
		return &wire.TurnError{Detail: fmt.Sprintf("the message %v", err)}
	}
	return hold.Take(budget.ParsedCost(message))
}

// queue starts the goroutine of a turn, if there is room for it.
func (s *socket) queue(t *wire.Turn, hold *budget.Charge) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.lanes[t.Lane]
	switch {
	case s.retiring != nil && s.retiring.fault != nil:
		return &wire.TurnError{Fault: s.retiring.fault.Fault, Lane: t.Lane}
	case s.retiring != nil:
		return faults.New(faultname.GatewayStopping, http.StatusServiceUnavailable, errStopping)
	case s.taken >= maxRunning+maxWaiting:
		return &wire.TurnError{Fault: wire.TurnWaiting, Lane: t.Lane}
	case !known && t.Lane != "" && s.named >= maxLanes:
		return &wire.TurnError{Fault: wire.TurnLanes, Lane: t.Lane}
	case !known && t.Lane != "":
		s.named++
	}
	done := make(chan struct{})
	t.Lane = strings.Clone(t.Lane)
	s.lanes[t.Lane] = done
	s.taken++
	s.turns.Add(1)
	go s.run(t, hold, before, done)
	return nil
}

// run waits for the turn before in the same lane, and for room, and then answers.
func (s *socket) run(t *wire.Turn, hold *budget.Charge, before <-chan struct{}, done chan struct{}) {
	defer s.turns.Done()
	defer s.ended()
	defer close(done)
	defer hold.Leave()
	if before != nil {
		select {
		case <-before:
		case <-s.runs.Done():
			return
		}
	}
	select {
	case s.rooms <- struct{}{}:
		defer func() { <-s.rooms }()
	case <-s.runs.Done():
		return
	}
	if s.retires() {
		return // the client hears that the connection closes
	}
	for after := s.answer(t, hold, nil); after != nil; {
		after = s.follow(after)
	}
}

// retire lets the turns that run end, and then closes the connection. Only the first
// retirement counts.
func (s *socket) retire(how *retirement) {
	s.mu.Lock()
	if s.retiring == nil {
		s.retiring = how
	}
	idle := s.taken == 0
	s.mu.Unlock()
	if idle {
		s.leave()
	}
}

func (s *socket) retires() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.retiring != nil
}

// ended notes that a turn has ended.
func (s *socket) ended() {
	s.mu.Lock()
	s.taken--
	leaves := s.retiring != nil && s.taken == 0
	s.mu.Unlock()
	if leaves {
		s.leave()
	}
}

// leave closes a connection that has retired, once.
func (s *socket) leave() {
	s.mu.Lock()
	how, first := s.retiring, s.closed == nil && s.conn != nil && !s.over
	if first {
		s.closed = make(chan struct{})
	}
	s.mu.Unlock()
	if !first {
		return
	}
	go func() {
		defer close(s.closed)
		if how.fault != nil {
			s.refuse("", how.fault)
		}
		s.close(how.code, how.reason)
	}()
}

// close closes the connection with a status. The client has some seconds to answer.
func (s *socket) close(code websocket.StatusCode, reason string) {
	_ = s.conn.Close(code, reason)
}

// refuse sends the client an error in place of a reply.
func (s *socket) refuse(lane string, err error) {
	status, body := 0, []byte(nil)
	if bad, ok := errors.AsType[*wire.TurnError](err); ok {
		status, body = s.codec.TurnError(bad)
	} else {
		var text string
		status, text = s.rules.Failure(err)
		body = s.codec.Error(status, faults.Plain(text))
	}
	_ = s.send(lane, s.codec.RefusalEvent(nil, status, body))
}

// send sends an event to the client. It fails only if the connection has ended.
func (s *socket) send(lane string, event []byte) error {
	err := s.conn.Write(s.ctx, websocket.MessageText, s.codec.Message(nil, event, lane))
	if err != nil {
		s.stop(context.Canceled) // before the exchange ends, which says why
	}
	return err
}
