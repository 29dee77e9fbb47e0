package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/ndjson"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// A body is the body of a streamed reply as the client gets it. Its Read takes
// what the upstream sent and gives the frames that are whole, rewritten.
type body struct {
	x   *exchange
	src io.ReadCloser
	sse sse.Scanner
	nd  ndjson.Scanner

	in    []byte // bytes of a frame that is not whole
	out   []byte // written and not yet read, from at
	at    int
	ended bool // nothing more comes
	wrote time.Time
}

func (x *exchange) stream(src io.ReadCloser) io.ReadCloser {
	return &body{x: x, src: src, wrote: time.Now()}
}

func (b *body) Close() error { return b.src.Close() }

func (b *body) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for b.at == len(b.out) {
		if b.ended {
			return 0, io.EOF
		}
		b.out, b.at = b.out[:0], 0
		b.x.moved(true)
		b.fill(p)
	}
	n := copy(p, b.out[b.at:])
	b.at += n
	return n, nil
}

// minRead is the room that a read has behind a frame that is not whole.
const minRead = 4 << 10

// fill reads from the upstream once and writes what became whole. Nearly always
// nothing is left of an earlier read, and the caller's buffer is room enough.
func (b *body) fill(room []byte) {
	var n int
	var err error
	if len(b.in) == 0 {
		n, err = b.src.Read(room)
		b.x.moved(false)
		rest := b.frames(room[:n])
		b.in = append(b.in, rest...)
	} else {
		b.in = grow(b.in, minRead)
		n, err = b.src.Read(b.in[len(b.in):cap(b.in)])
		b.x.moved(false)
		b.in = b.in[:len(b.in)+n]
		rest := b.frames(b.in)
		b.in = b.in[:copy(b.in, rest)]
	}
	switch {
	case err != nil:
		b.end(err)
	case len(b.in) > b.x.g.config.Limits.Frame:
		b.end(fmt.Errorf("the upstream sent a frame larger than %d bytes", b.x.g.config.Limits.Frame))
	case len(b.out) > 0:
		b.wrote = time.Time{}
	case n > 0:
		b.keepAlive()
	}
	b.x.settle()
	if cap(b.in) > 64<<10 && len(b.in) == 0 {
		b.in = nil // a large frame was an exception
	}
}

func grow(b []byte, room int) []byte {
	if cap(b)-len(b) >= room {
		return b
	}
	return append(make([]byte, 0, 2*len(b)+room), b...)
}

// frames writes the frames that are whole and returns what is left.
func (b *body) frames(in []byte) []byte {
	for len(in) > 0 {
		f, ok := b.next(in)
		if !ok {
			return in
		}
		b.out = b.x.reply.Frame(b.out, f, &b.x.reading)
		in = in[len(f.Raw):]
	}
	return in
}

func (b *body) next(in []byte) (wire.Frame, bool) {
	if b.x.codec.Framing() == wire.SSE {
		f, ok := b.sse.Next(in)
		return wire.Frame(f), ok
	}
	l, ok := b.nd.Next(in)
	return wire.Frame{Raw: l.Raw, Data: l.Data, At: l.At}, ok
}

// keepAlive tells a client that hears nothing while frames come that the reply
// goes on.
func (b *body) keepAlive() {
	now := time.Now()
	if b.wrote.IsZero() {
		b.wrote = now
		return
	}
	if now.Sub(b.wrote) >= b.x.g.config.KeepAlive {
		b.wrote = now
		b.out = b.x.reply.KeepAlive(b.out)
	}
}

// end ends the stream: with what the upstream left behind its last frame, with
// what was held, and with an error that the client can see where the upstream
// did not come to its end.
func (b *body) end(err error) {
	b.ended = true
	if errors.Is(err, io.EOF) {
		err = b.last()
	} else {
		err = b.reason(err)
	}
	b.in = nil
	b.out = b.x.reply.End(b.out, err, &b.x.reading)
	b.x.err = errors.Join(b.x.err, err)
}

// reason says why the upstream broke off.
func (b *body) reason(err error) error {
	if cause := b.x.cause(); cause != nil {
		return cause
	}
	return fmt.Errorf("the upstream broke off: %w", err)
}

// last reads a frame without its end, as some servers leave their last one. One
// that is cut off is an error.
func (b *body) last() error {
	if len(b.in) == 0 {
		return nil
	}
	var f wire.Frame
	if b.x.codec.Framing() == wire.SSE {
		last, ok := b.sse.Last(b.in)
		if f = wire.Frame(last); !ok {
			return nil
		}
	} else {
		l, ok := b.nd.Last(b.in)
		if f = (wire.Frame{Raw: l.Raw, Data: l.Data, At: l.At}); !ok {
			return nil
		}
	}
	if f.Data == nil {
		return nil
	}
	if !gjson.ValidBytes(f.Data) && string(f.Data) != "[DONE]" {
		return errors.New("the upstream broke off within a frame")
	}
	b.out = b.x.reply.Frame(b.out, f, &b.x.reading)
	if b.x.codec.Framing() == wire.SSE {
		b.out = append(b.out, "\n\n"...)
	} else {
		b.out = append(b.out, '\n')
	}
	return nil
}

// cause is why the exchange was ended from our side, if it was.
func (x *exchange) cause() error {
	if x.ctx == nil {
		return nil
	}
	if cause := context.Cause(x.ctx); cause != nil {
		return cause
	}
	return nil
}
