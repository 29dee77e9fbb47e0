package sockets

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/places"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// A following turn is one that the gateway makes: it says to the model what the client has added while a reply was
// under way.
type following struct {
	after *wire.Turn
	reply string // its id
	queue []*steer
}

// follow answers a turn that the gateway makes, and returns the next one, if there is one.
func (s *socket) follow(f *following) *following {
	hold, err := s.set.Budget.Open()
	if err != nil {
		s.refuseSteers(f.after.Lane, f.queue)
		return nil
	}
	defer hold.Leave()
	message := s.steering(f.after, f.reply, f.queue, nil)
	t, err := s.codec.Turn(message)
	if err == nil {
		err = hold.Take(int64(len(message)) + budget.ParsedCost(message))
	}
	if err != nil || s.retires() {
		s.refuseSteers(f.after.Lane, f.queue)
		return nil
	}
	return s.answer(t, hold, f.queue)
}

// answer answers a turn: it becomes a request that the handler serves. It has input that the client has added to an
// earlier reply, in a queue. answer returns the turn that follows it at once, if the client adds something to this one.
func (s *socket) answer(t *wire.Turn, hold *budget.Charge, queue []*steer) (after *following) {
	defer s.survive()
	w := &turnWriter{s: s, turn: t, hold: hold, header: http.Header{}, steers: queue}
	defer func() {
		if len(w.steers) > 0 {
			s.refuseSteers(t.Lane, w.steers)
		}
		if next := s.finish(t, &w.left); len(next) > 0 {
			after = &following{t, w.left.ID, next}
		}
	}()
	s.serveTurn(w, t, hold)
	return nil
}

// serveTurn has the handler serve a turn.
func (s *socket) serveTurn(w *turnWriter, t *wire.Turn, hold *budget.Charge) {
	rules := s.all.now()
	if !rules.Admits(s.handshake, s.rules) {
		s.retire(&retirement{websocket.StatusPolicyViolation, "the settings of the gateway have changed, or the token has expired: connect again", &wire.TurnError{Fault: wire.TurnExpired}})
		return
	}
	slot, err := rules.Place(access.Caller(s.handshake.Context()))
	if err != nil {
		s.refuse(t.Lane, faults.New(faultname.PlacesTaken, http.StatusServiceUnavailable, err))
		return
	}
	defer slot.GiveBack()
	if err := w.claim(hold); err != nil {
		s.refuse(t.Lane, err)
		return
	}
	earlier, previous, err := s.memory.Before(t, hold)
	if err != nil {
		s.refuse(t.Lane, err)
		return
	}
	if t.Prepares {
		s.prepare(t)
		return
	}
	share, refused := rules.Share(s.handshake.Context())
	if refused != nil {
		s.refuse(t.Lane, faults.New(faultname.LimitReached, http.StatusTooManyRequests, refused))
		return
	}
	defer share.Release()
	size := int64(len(t.Message) + len(earlier))
	if limit := rules.Settings().Body; size > limit {
		s.refuse(t.Lane, bodies.TooLarge(limit))
		return
	}
	if err := hold.Take(size); err != nil {
		s.refuse(t.Lane, err)
		return
	}
	body := s.codec.TurnBody(nil, t, earlier, previous)
	ctx := context.WithValue(s.runs, turnKey{}, [][2]string{{"websocket", s.name(t)}, {"previous_response_id", t.Previous}})
	ctx = places.WithShare(ctx, share)
	ctx = context.WithValue(ctx, http.ServerContextKey, nil) // the proxy must not panic if a write fails: other turns go on
	r := s.turnRequest(ctx, t, int64(len(body)))
	r.Body = io.NopCloser(bytes.NewReader(body))
	rules.Serve(w, r, s.endpoint)
	w.end()
}

// prepare answers a turn that asks for no reply.
func (s *socket) prepare(t *wire.Turn) {
	left := wire.TurnLeft{}
	for _, event := range s.codec.PreparedEvents(t, "resp_sotto_"+strings.ToLower(rand.Text())) {
		s.codec.HearEvent(&left, event)
		if left.Ended {
			s.memory.Keep(t, &left) // before the client can ask again
		}
		if s.send(t.Lane, event) != nil {
			return
		}
	}
}

// name names the conversation of a turn.
func (s *socket) name(t *wire.Turn) string {
	if t.Lane == "" {
		return s.id
	}
	return s.id + "/" + t.Lane
}

// survive ends the connection, and not the process, if the code for a turn panics, as
// net/http does for a request.
func (s *socket) survive() {
	if why := recover(); why != nil {
		s.set.Log.Error("a turn over a WebSocket failed", "error", faults.Plain(fmt.Sprint(why)))
		s.cut(errors.New("the turn failed"))
	}
}

// turnKey is the context key of the identifiers of a turn.
type turnKey struct{}

// IDs returns the identifiers of a turn for the record, as pairs of a name and a value. A
// request that is not a turn has none.
func IDs(ctx context.Context) [][2]string {
	ids, _ := ctx.Value(turnKey{}).([][2]string)
	return ids
}

// A turnWriter is what a turn is answered on. It sends each event of the stream as a
// message. A reply that is not a stream it collects, and sends as one event.
type turnWriter struct {
	s      *socket
	turn   *wire.Turn
	hold   *budget.Charge
	header http.Header
	status int
	whole  bool // the body is collected
	began  bool // how the body comes is decided

	in   []byte
	scan sse.Scanner
	left wire.TurnLeft
	// steers are what the client has added, and the turn says, until its reply has begun.
	steers []*steer
	err    error // why the rest of the reply is not sent
}

func (w *turnWriter) Header() http.Header { return w.header }

// WriteHeader ignores informational responses: the API has no messages for them.
func (w *turnWriter) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
}

// FlushError does nothing: events are sent when they are complete.
func (w *turnWriter) FlushError() error { return nil }

// SetWriteDeadline ends the connection if the deadline has passed: its client takes
// nothing.
func (w *turnWriter) SetWriteDeadline(t time.Time) error {
	if !t.IsZero() && !t.After(time.Now()) {
		w.s.stop(bodies.ErrSilent)
		w.s.cut(bodies.ErrSilent)
	}
	return nil
}

func (w *turnWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	if w.err == nil {
		w.err = w.buffer(b)
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(b), nil
}

// buffer takes a part of the body, and sends the events that it completes.
func (w *turnWriter) buffer(b []byte) error {
	w.in = append(w.in, b...)
	if err := w.hold.Stream(int64(cap(w.in) + len(w.left.Items))); err != nil {
		return err
	}
	switch {
	case !w.decide():
		return nil
	case !w.whole:
		return w.events()
	case w.failed() && len(w.in) > bodies.MaxError:
		w.in = nil // not an error that anyone reads
	}
	return nil
}

func (w *turnWriter) failed() bool { return w.status < 200 || w.status > 299 }

// decide finds out how the body comes; false if that needs more of it.
func (w *turnWriter) decide() bool {
	if w.began {
		return true
	}
	kind := strings.ToLower(w.header.Get("Content-Type"))
	first := bytes.TrimLeft(w.in, " \t\r\n")
	switch {
	case w.failed():
		w.whole = true
	case strings.HasPrefix(kind, "text/event-stream"):
	case len(first) == 0:
		return false
	default:
		w.whole = first[0] == '{'
	}
	w.began = true
	return true
}

// events sends the events that are complete.
func (w *turnWriter) events() error {
	rest := w.in
	for {
		f, ok := w.scan.Next(rest)
		if !ok {
			break
		}
		rest = rest[len(f.Raw):]
		if err := w.event(f.Data); err != nil {
			return err
		}
	}
	w.in = append(w.in[:0], rest...)
	if len(rest) == 0 && cap(w.in) > bodies.LargeBuffer {
		w.in = nil
	}
	return nil
}

// event sends one event. What is not a JSON object, such as a comment or [DONE], is not
// an event of the API.
func (w *turnWriter) event(data []byte) error {
	data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	limits := foreignjson.Limits{Members: foreignjson.ReplyMembers}
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' || limits.Check(data) != nil {
		return nil
	}
	before, began := w.left.Ended, w.left.ID != ""
	w.s.codec.HearEvent(&w.left, data)
	if w.left.ID != "" && !began {
		w.begins()
	}
	if w.left.Ended && !before {
		w.s.memory.Keep(w.turn, &w.left) // before the client can ask again
	}
	return w.s.send(w.turn.Lane, data)
}

// claim puts what waits for the turn before its own items.
func (w *turnWriter) claim(hold *budget.Charge) error {
	if w.turn.Prepares {
		return nil
	}
	queue := w.s.additions.claim(w.turn)
	if len(queue) == 0 {
		return nil
	}
	w.steers = queue
	message := w.s.steering(w.turn, w.turn.Previous, queue, w.turn.Items)
	if err := hold.Take(int64(len(message)) + budget.ParsedCost(message)); err != nil {
		return err
	}
	t, err := w.s.codec.Turn(message)
	if err != nil {
		return err
	}
	*w.turn = *t
	return nil
}

// begins notes that the reply has begun.
func (w *turnWriter) begins() {
	w.s.additions.commit(w.steers)
	w.steers = nil
	w.s.additions.began(w.left.ID, w.turn)
}

// end sends what a client needs after the body.
func (w *turnWriter) end() {
	switch {
	case w.s.ctx.Err() != nil || w.status == 0:
	case w.err != nil:
		w.s.refuse(w.turn.Lane, w.err)
	case w.failed():
		_ = w.s.send(w.turn.Lane, w.s.codec.RefusalEvent(nil, w.status, w.in))
	case w.whole:
		w.endWhole()
	default:
		if f, ok := w.scan.Last(w.in); ok {
			_ = w.event(f.Data)
		}
	}
}

// endWhole sends a reply that was not streamed.
func (w *turnWriter) endWhole() {
	limits := foreignjson.Limits{Members: foreignjson.ReplyMembers}
	if limits.Check(w.in) == nil {
		if event, ok := w.s.codec.WholeEvent(nil, w.in); ok {
			_ = w.event(event)
			return
		}
	}
	w.s.refuse(w.turn.Lane, wire.ErrUnreadable)
}
