package kept

import (
	"bytes"
	"io"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// replyLimits bound an event of a reply.
var replyLimits = foreignjson.Limits{Members: foreignjson.ReplyMembers}

// Whole names a whole reply, and keeps it if it ended well. failed is told why it was not kept.
func (t *Turn) Whole(body []byte, failed func(error)) []byte {
	if replyLimits.Check(body) != nil {
		return body
	}
	return t.end(body, &wire.TurnLeft{}, failed)
}

// end names and keeps the end of a reply, if data is one.
func (t *Turn) end(data []byte, left *wire.TurnLeft, failed func(error)) []byte {
	stored := true // of an event before the end, and of a failure, it is the codec that says no
	if reply := t.codec.KeptReply(data, left); reply != nil && t.ID != "" {
		err := t.Keep(t.codec.Named(nil, reply, t.Names(true)))
		if stored = err == nil; !stored {
			failed(err)
		}
	}
	return t.codec.Named(nil, data, t.Names(stored))
}

// Stream returns a stream of events that names the reply in each of them, and keeps the reply before its last event
// passes, since a client may continue it at once. room is asked for memory before more is held; failed is told
// why the reply was not kept.
func (t *Turn) Stream(src io.ReadCloser, room func(bytes int64) error, failed func(error)) io.ReadCloser {
	return &stream{ReadCloser: src, turn: t, room: room, failed: failed, keeps: t.ID != ""}
}

type stream struct {
	io.ReadCloser
	turn   *Turn
	room   func(int64) error
	failed func(error)
	keeps  bool // there was room for the reply so far

	scan    sse.Scanner
	in, out []byte
	left    wire.TurnLeft
	held    int64
	err     error
}

func (s *stream) Read(p []byte) (int, error) {
	for len(s.out) == 0 && s.err == nil {
		n, err := s.ReadCloser.Read(p)
		s.in, s.err = append(s.in, p[:n]...), err
		s.events()
	}
	n := copy(p, s.out)
	if s.out = s.out[n:]; n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, s.err
}

// events moves the events that are complete to the output, and at the end the rest.
func (s *stream) events() {
	s.out = s.out[:0:0]
	rest := s.in
	for {
		f, ok := s.scan.Next(rest)
		if !ok {
			break
		}
		rest = rest[len(f.Raw):]
		s.event(f)
	}
	if s.in = append(s.in[:0], rest...); s.err != nil {
		s.out, s.in = append(s.out, s.in...), nil
	}
	s.reserve()
}

// reserve asks for the memory of what is held. Without it, the reply passes and is not kept.
func (s *stream) reserve() {
	if more := int64(cap(s.in)+len(s.left.Items)) - s.held; more > 0 && s.keeps {
		if err := s.room(more); err != nil {
			s.keeps, s.left.Items = false, nil
			s.failed(err)
			return
		}
		s.held += more
	}
}

// hints are in every event that has an item or the response in it.
var hints = [][]byte{[]byte(`"response"`), []byte(`"item"`)}

func (s *stream) event(f sse.Frame) {
	told := false
	for _, hint := range hints {
		told = told || bytes.Contains(f.Data, hint)
	}
	if !told || replyLimits.Check(f.Data) != nil {
		s.out = append(s.out, f.Raw...)
		return
	}
	var named []byte
	if s.keeps {
		s.turn.codec.HearEvent(&s.left, f.Data)
		named = s.turn.end(f.Data, &s.left, s.failed)
	} else {
		named = s.turn.codec.Named(nil, f.Data, s.turn.Names(false))
	}
	if bytes.Equal(named, f.Data) {
		s.out = append(s.out, f.Raw...)
		return
	}
	if f.At < 0 || bytes.ContainsAny(named, "\r\n") {
		s.out = sse.Append(s.out, string(f.Type), named)
		return
	}
	s.out = append(append(s.out, f.Raw[:f.At]...), named...)
	s.out = append(s.out, f.Raw[f.At+len(f.Data):]...)
}
