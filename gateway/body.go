package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/ndjson"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// A body is the body of a streamed reply as the client gets it. Its Read reads what
// the upstream sent, and returns the complete frames, rewritten.
type body struct {
	x   *exchange
	src io.ReadCloser
	sse sse.Scanner
	nd  ndjson.Scanner

	in      []byte // bytes of an incomplete frame
	events  []byte // what the codec made of a piece of a carried stream
	out     []byte // written and not yet read, starting at at
	at      int
	pooled  *[]byte // where out's buffer came from; it is returned there
	ended   bool    // nothing more comes
	stopped bool    // the reply was ended before the upstream ended it
	told    bool    // the diagnostics were sent
	opened  bool    // a keep-alive has begun an event of which the client has no more yet
	wrote   time.Time

	// While Read waits for the upstream, all that it returned has been written to the
	// client, and a timer may write a keep-alive. mu is held all the other time.
	mu      sync.Mutex
	waiting bool
	timer   *time.Timer // nil if there is no client to write to
}

func (x *exchange) stream(src io.ReadCloser) io.ReadCloser {
	b := &body{x: x, src: src, wrote: time.Now()}
	if x.client != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.timer = time.AfterFunc(x.engine.config.KeepAlive, b.silent)
	}
	return b
}

func (b *body) Close() error {
	b.mu.Lock()
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	b.mu.Unlock()
	return b.src.Close()
}

func (b *body) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for b.at == len(b.out) {
		b.giveBack()
		if b.ended {
			return 0, io.EOF
		}
		b.x.delivered = b.x.reading.Complete // the proxy has written all that was read so far
		b.x.Moved(true)
		b.fill(p)
	}
	n := copy(p, b.out[b.at:])
	b.at += n
	if b.x.client == nil && b.at == len(b.out) { // the caller of a transport has what Read returns
		b.x.delivered = b.x.reading.Complete
	}
	return n, nil
}

// outs are buffers for the output of bodies. A stream that waits for its upstream
// holds none.
var outs = sync.Pool{New: func() any { return new([]byte) }}

func (b *body) borrow() {
	b.pooled = outs.Get().(*[]byte)
	b.out = *b.pooled
}

func (b *body) giveBack() {
	if b.pooled != nil && cap(b.out) <= bodies.LargeBuffer {
		*b.pooled = b.out[:0]
		outs.Put(b.pooled)
	}
	b.out, b.at, b.pooled = nil, 0, nil
}

// fill reads from the upstream once and writes the frames that this completed.
// Usually little or nothing is left of an earlier read, and the caller's buffer is
// large enough.
func (b *body) fill(room []byte) {
	held := len(b.in)
	if held > len(room)/2 {
		b.in = slices.Grow(b.in, held)
		room = b.in[:cap(b.in)]
		if err := b.reserve(); err != nil { // before the wait for the rest of the frame
			b.x.reading.Fail(err)
		}
	} else {
		copy(room, b.in)
	}
	n, err := b.read(room[held:])
	defer b.mu.Unlock()
	b.x.Moved(false)
	b.borrow()
	b.in = append(b.in[:0], b.frames(room[:held+n])...)
	if g, ok := errors.AsType[*guardError](err); ok && g.ended && !b.stopped { // errors.As would allocate for each read
		b.stop(g)
	}
	if cap(b.in) > bodies.LargeBuffer && len(b.in) == 0 {
		b.in = nil // a large frame was an exception
	}
	if err := b.reserve(); err != nil {
		b.x.reading.Fail(err)
	}
	switch {
	case b.failed():
		b.end(b.x.reading.Failure)
	case b.stopped:
		b.end(io.EOF)
	case err != nil:
		b.end(err)
	case len(b.in) > b.x.engine.config.Limits.Frame:
		b.end(fmt.Errorf("the upstream sent a frame larger than %d bytes", b.x.engine.config.Limits.Frame))
	case len(b.out) > 0:
		b.join()
		b.wrote = time.Time{}
	default:
		b.keepAlive()
	}
	b.forget()
	b.x.settle()
}

// forget lets go of the frames that were read: what the reading found in the last ones refers to them, and the next may be
// far away.
func (b *body) forget() {
	parts := b.x.reading.Parts
	clear(parts[:cap(parts)])
}

// reserve reserves the memory that the stream holds now.
func (b *body) reserve() error {
	return b.x.charge.Stream(int64(cap(b.in) + cap(b.out) + cap(b.events) + b.x.held()))
}

// read reads from the upstream. It returns with mu locked.
func (b *body) read(room []byte) (int, error) {
	b.mu.Lock()
	b.waiting = true
	b.mu.Unlock()
	n, err := b.src.Read(room)
	b.mu.Lock()
	b.waiting = false
	return n, err
}

// silent sends a keep-alive to a client whose upstream sends nothing. It runs by the
// timer.
func (b *body) silent() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer == nil || b.ended {
		return
	}
	every := b.x.engine.config.KeepAlive
	if idle := b.x.Idle(); idle < every {
		b.timer.Reset(every - idle)
		return
	}
	if b.waiting {
		if out := b.signal(nil); len(out) > 0 {
			b.x.Waits.Store(false) // a client that does not take it is not waited for
			_, _ = b.x.client.Write(out)
			_ = http.NewResponseController(b.x.client).Flush() // the next write has the error
			b.x.Waits.Store(true)
		}
	}
	b.timer.Reset(every)
}

// failed reports whether the stream must end here. If the upstream ended it with an
// error, there may still be more of it to give.
func (b *body) failed() bool {
	err := b.x.reading.Failure
	return err != nil && !errors.Is(err, wire.ErrUpstream)
}

// frames writes the complete frames and returns the rest.
func (b *body) frames(in []byte) []byte {
	for len(in) > 0 {
		f, n := b.next(in)
		if n == 0 && !b.failed() {
			return in
		}
		if f.Raw != nil {
			b.write(f)
		}
		in = in[n:]
		if b.x.reading.Stopped && !b.stopped {
			b.stop(reading.ErrStopped)
		}
		if b.stopped || b.failed() {
			return nil
		}
	}
	return in
}

// stop ends the reply as its API does at a limit of tokens or, for a guard, because of
// what it says. Nothing more is read from the upstream, whose connection closes with the
// body.
func (b *body) stop(why error) {
	b.stopped, b.x.reading.Cut = true, true
	frames, ok := wire.Cut(b.x.reply, &b.x.reading)
	if !ok {
		frames, ok = b.x.guarded.cutUnsent()
	}
	if !ok {
		b.x.reading.Fail(why)
		return
	}
	for len(frames) > 0 {
		f := b.frame(frames)
		if len(f.Raw) == 0 {
			break
		}
		b.write(f)
		frames = frames[len(f.Raw):]
	}
}

// write writes the rewritten form of a frame.
func (b *body) write(f wire.Frame) {
	n := len(b.out)
	b.x.reading.Writing = true
	b.out = b.x.reply.Frame(b.out, f, &b.x.reading)
	b.x.noteMade() // before the client can name it
	b.x.noteParts(f.Data)
	if b.x.reading.Failure == reading.ErrNoAnswer && !b.x.reading.Can.Texts {
		b.out = b.out[:n] // the frame says that the reply ended well
		b.x.reading.Unsent = nil
	}
	b.x.reading.Wrote()
	if b.x.reading.Complete {
		b.diagnose(n)
	}
	b.carry(n)
}

// carry gives the events in the output, from byte at on, the form of a carried
// stream.
func (b *body) carry(at int) {
	if b.x.outgoing != nil {
		b.events = append(b.events[:0], b.out[at:]...)
		b.out = b.x.outgoing.Append(b.out[:at], b.events)
		if cap(b.events) > bodies.LargeBuffer {
			b.events = nil
		}
	}
}

// next returns the first frame of in, and how many bytes it takes there: 0 if it is
// incomplete.
func (b *body) next(in []byte) (f wire.Frame, n int) {
	if b.x.carried == nil {
		f = b.frame(in)
		return f, len(f.Raw)
	}
	n, f, err := b.x.carried.Next(in)
	if err != nil {
		b.x.reading.Fail(err)
	}
	return f, n
}

// frame returns the first frame of in, in the codec's own framing.
func (b *body) frame(in []byte) wire.Frame {
	if b.x.codec.Framing() == wire.SSE {
		f, _ := b.sse.Next(in)
		return wire.Frame(f)
	}
	l, _ := b.nd.Next(in)
	return wire.Frame{Raw: l.Raw, Data: l.Data, At: l.At}
}

// keepAlive sends something to a client that hears nothing while frames come, to
// show that the reply continues.
func (b *body) keepAlive() {
	now := time.Now()
	if b.wrote.IsZero() {
		b.wrote = now
		return
	}
	if now.Sub(b.wrote) >= b.x.engine.config.KeepAlive {
		b.wrote = now
		b.out = b.signal(b.out)
	}
}

// signal appends a keep-alive. Clients that take a comment for an error take an event
// that says nothing for a part of the reply: Google's SDKs then leave the whole turn out
// of a chat's history. So theirs is the beginning of the next event, and spaces in it.
func (b *body) signal(dst []byte) []byte {
	switch {
	case b.x.outgoing != nil:
		return b.x.outgoing.Append(dst, b.x.reply.KeepAlive(nil))
	case !b.x.reading.Can.NoComments:
		return b.x.reply.KeepAlive(dst)
	case b.opened:
		return append(dst, ' ')
	case len(b.x.reading.Choices) > 0 && len(b.x.reading.Open()) == 0: // there may be no next event
		return dst
	}
	b.opened = true
	return append(append(dst, dataField...), ' ')
}

const dataField = "data:"

// join lets the output continue the event that a keep-alive has begun. If it does not
// begin with an event's data, one that says nothing comes first.
func (b *body) join() {
	switch {
	case !b.opened:
	case bytes.HasPrefix(b.out, []byte(dataField)):
		b.at = len(dataField)
	default:
		b.out = slices.Insert(b.out, 0, bytes.TrimPrefix(b.x.reply.KeepAlive(nil), []byte(dataField))...)
	}
	b.opened = false
}

// end ends the stream. It writes what the upstream sent after its last frame, then
// what was held. If the upstream broke off, it writes an error that the client can
// see.
func (b *body) end(err error) {
	b.ended = true
	switch {
	case errors.Is(err, io.EOF):
		err = b.last()
	case b.x.left():
		err = nil
	case err != b.x.reading.Failure:
		err = b.reason(err)
	}
	b.in = nil
	n := len(b.out)
	b.out = b.x.reply.End(b.out, faults.ForClient(err), &b.x.reading)
	if b.x.err = err; err == nil {
		b.x.err = b.x.reading.Failure
	}
	b.x.complete = b.x.err == nil
	b.diagnose(len(b.out))
	if b.carry(n); b.x.outgoing != nil {
		b.out = b.x.outgoing.End(b.out)
	}
	b.join()
}

// diagnose puts a comment into a stream of events, at byte at of the output, that says
// what a whole reply says in a header. It comes before the frame that ends the reply,
// since clients read no further. A stream that passes unchanged gets none.
func (b *body) diagnose(at int) {
	if b.told || b.x.clientCodec().Framing() != wire.SSE || b.x.reading.Can.NoComments || b.x.route.Display == routing.DisplayKeep {
		return
	}
	if found := b.x.reading.Findings(); found != "" {
		b.told = true
		b.out = slices.Insert(b.out, at, sse.AppendComment(nil, diagnosticsHeader+": "+found)...)
	}
}

// diagnosticsHeader is where a reply says what was found in it.
const diagnosticsHeader = "Sotto-Diagnostics"

// reason returns why the upstream broke off.
func (b *body) reason(err error) error {
	var g *guardError
	if errors.As(err, &g) || errors.Is(err, wire.ErrUnreadable) {
		return err
	}
	if cause := b.x.cause(); cause != nil {
		return cause
	}
	return fmt.Errorf("the upstream broke off: %w", faults.Quiet(err))
}

// last reads a frame without a terminator, as some servers leave their last one. A
// frame that is cut off is an error.
func (b *body) last() error {
	if b.x.carried != nil {
		return b.x.carried.Last(b.in)
	}
	if len(b.in) == 0 {
		return nil
	}
	if b.x.codec.Framing() == wire.SSE {
		b.in = append(b.in, "\n\n"...)
	} else {
		b.in = append(b.in, '\n')
	}
	f, _ := b.next(b.in)
	if f.Data == nil {
		return nil
	}
	if _, ok := chatjson.Readable(f); !ok && string(f.Data) != "[DONE]" {
		return errors.New("the upstream broke off inside a frame")
	}
	b.write(f)
	return nil
}
