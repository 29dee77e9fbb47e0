package scripted

import (
	"net/http"
	"time"
)

// stream begins a streamed answer.
func (x *exchange) stream(contentType string) *sink {
	h := x.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache")
	x.w.WriteHeader(http.StatusOK)
	return &sink{x: x, flusher: http.NewResponseController(x.w)}
}

const (
	eventStream = "text/event-stream; charset=utf-8"
	ndjson      = "application/x-ndjson"
)

// failure is the message of a model that fails in mid-reply.
const failure = "The server had an error while processing your request. Sorry about that!"

// A sink sends the frames of a stream, each as soon as it is due.
type sink struct {
	x       *exchange
	flusher *http.ResponseController
	encoder encoder
	b       []byte
}

// data sends a server-sent event without a name.
func (s *sink) data(v object) error {
	s.b = append(s.b[:0], "data: "...)
	s.b = s.encoder.encode(s.b, v)
	return s.send(append(s.b, "\n\n"...))
}

// event sends a server-sent event. pad is the number of spaces before the brace
// that ends its JSON.
func (s *sink) event(name string, v object, pad int) error {
	s.b = append(s.b[:0], "event: "...)
	s.b = append(append(s.b, name...), "\ndata: "...)
	s.b = s.encoder.encode(s.b, v)
	if pad > 0 {
		s.b = append(s.b[:len(s.b)-1], "                "[:min(pad, 16)]...)
		s.b = append(s.b, '}')
	}
	return s.send(append(s.b, "\n\n"...))
}

// line sends a line of JSON.
func (s *sink) line(v object) error {
	s.b = append(s.encoder.encode(s.b[:0], v), '\n')
	return s.send(s.b)
}

// text sends bytes unchanged.
func (s *sink) text(t string) error { return s.send([]byte(t)) }

// send waits until the frame is due and sends it. It fails once the client has
// disconnected.
func (s *sink) send(frame []byte) error {
	ctx := s.x.r.Context()
	if s.x.pause > 0 {
		due := time.NewTimer(s.x.pause)
		defer due.Stop()
		select {
		case <-due.C:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := s.x.w.Write(frame); err != nil {
		return err
	}
	return s.flusher.Flush()
}

// interrupted ends the stream of a model that does not finish its reply, and
// reports whether the model is one of these. fail sends the provider's words for a
// failure.
func (s *sink) interrupted(fail func() error) (bool, error) {
	switch s.x.model.Fault {
	case BreaksOff:
		panic(http.ErrAbortHandler)
	case HangsUp:
		return true, nil
	case Fails:
		return true, fail()
	}
	return false, nil
}
