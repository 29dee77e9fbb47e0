package gateway

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/wire"
)

// A watch is the body of an upstream's stream whose frames wait for a guard. It reads
// the reply ahead, as the exchange itself will read it, and gives the texts to the
// guard. A frame goes on when all text that came with it, and before it, is judged, so
// nothing in it passes unjudged, such as the probabilities of its tokens. The exchange
// reads the frames that go on as if they came from the upstream: a stream that passes
// leaves as it would without a guard.
//
//	upstream → watch: read ahead, judge → frames that may go on → body → client
//
// What waits is bounded by the bytes after which a guard is asked, by time, and by
// Limits.Frame; or by Limits.Body if the guard wants to see the reply whole.
type watch struct {
	*judge
	src   io.ReadCloser
	ahead *body // reads ahead, and delivers nothing

	chunks chan chunk // from the upstream
	begin  sync.Once
	done   chan struct{} // nobody reads any more
	closed sync.Once

	// Places in the stream are counted in bytes from its beginning. held begins at base.
	// Frames are read up to seen, and may go up to ready. Where replies pass unchanged, no
	// text is undecided before clear.
	held                     []byte
	base, seen, ready, clear int64
	marks                    []mark // of the frames that wait, in order
	hideAt                   int64  // where the reply begins to hide reasoning; -1 if it does not, or did
	err                      error  // after what is ready
}

// A chunk is what one read of the upstream returned.
type chunk struct {
	bytes []byte
	err   error
}

// A mark says that the bytes from a place on wait until so much of a part is judged.
type mark struct {
	from int64
	part *heardPart
	upto int64
}

// guard returns a stream whose frames wait for the guard, if the route has one.
func (x *exchange) guard(src io.ReadCloser) io.ReadCloser {
	if x.route.Guard.Guard == nil {
		return src
	}
	ahead := x.readAhead()
	if x.carrier != nil {
		ahead.carried = x.carrier.Begin(x.settings())
	}
	w := &watch{judge: x.newJudge(&ahead.reading), src: src, ahead: &body{x: ahead}, hideAt: -1, chunks: make(chan chunk), done: make(chan struct{})}
	w.cutsAt = w.hideFrom
	x.guarded = w
	return w
}

// hideFrom notes the place from which the reply hides reasoning: the first frame that
// waits for a text of the part that is cut.
func (w *watch) hideFrom(p *heardPart) {
	i := slices.IndexFunc(w.marks, func(m mark) bool { return m.part == p && m.upto > p.judged })
	if w.x.reading.Allowance.Cut || i < 0 {
		return // it hides already
	}
	w.hideAt = w.marks[i].from
}

// readAhead returns an exchange that reads the reply as x will, and delivers nothing. It
// sees all that the upstream sends, so what is recorded of the reply is taken from it.
func (x *exchange) readAhead() *exchange {
	a := &exchange{engine: x.engine, codec: x.codec, route: x.route, request: x.request, family: x.family}
	a.reading = reading.Reading{Limits: x.reading.Limits, Manner: x.reading.Manner, Room: x.reading.Room, Account: x.reading.Account}
	a.reading.Remembers = false
	a.reply = a.newReply()
	x.reading.Room, x.reading.Account = nil, nil
	x.ahead = &a.reading
	if x.reading.Notes {
		x.reading.Ahead = &a.reading
	}
	return a
}

func (w *watch) Close() error {
	w.closed.Do(func() { close(w.done) })
	return w.src.Close()
}

// Read returns frames that may go on. It returns none, and no error, if something came
// that must wait.
func (w *watch) Read(p []byte) (int, error) {
	for {
		if n := w.due(); n > 0 {
			n = copy(p, w.held[:n])
			w.held = w.held[n:]
			w.base += int64(n)
			return n, nil
		}
		if w.err != nil {
			return 0, w.err
		}
		c, ok := w.receive()
		if !ok {
			w.settle(true)
			continue
		}
		w.note(c)
		if w.due() == 0 && w.err == nil {
			return 0, nil
		}
	}
}

// due returns how many bytes may go on now. Where the reply must begin to hide, the
// frames before that place go first.
func (w *watch) due() int {
	n := w.ready - w.base
	switch {
	case w.hideAt < 0:
	case w.base < w.hideAt:
		n = min(n, w.hideAt-w.base)
	default:
		wire.Hide(w.x.reply)
		w.hideAt = -1
	}
	return int(n)
}

// receive waits for the upstream, or until text has waited for too long.
func (w *watch) receive() (c chunk, ok bool) {
	w.begin.Do(func() { go w.pump() })
	var late <-chan time.Time
	if since, waits := w.oldest(); waits {
		t := time.NewTimer(time.Until(since.Add(w.rule.Wait)))
		defer t.Stop()
		late = t.C
	}
	select {
	case c := <-w.chunks:
		return c, true
	case <-late:
		return chunk{}, false
	}
}

// pump reads the upstream while a guard is asked about what came before, one chunk
// ahead.
func (w *watch) pump() {
	buffers := [2][]byte{make([]byte, bufferSize), make([]byte, bufferSize)}
	for i := 0; ; i = 1 - i {
		n, err := w.src.Read(buffers[i])
		select {
		case w.chunks <- chunk{buffers[i][:n], err}:
		case <-w.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// note reads ahead what came, and has it judged.
func (w *watch) note(c chunk) {
	w.held = append(w.held, c.bytes...)
	for w.open() {
		f, n := w.ahead.next(w.held[w.seen-w.base:])
		if n == 0 {
			break
		}
		w.frame(f)
		w.seen += int64(n)
		w.mark(w.seen - int64(n))
		w.settle(false)
	}
	w.ahead.forget()
	if c.err != nil {
		w.finish(c.err)
		return
	}
	w.settle(false) // text may have waited for too long, or the rest of a frame be large
}

// open reports whether frames are read on. After a fault the exchange finds the same
// fault, and ends.
func (w *watch) open() bool { return w.end == nil && !w.ahead.failed() }

// frame reads a frame ahead.
func (w *watch) frame(f wire.Frame) {
	if f.Raw == nil {
		return
	}
	w.ahead.write(f)
	w.ahead.out = w.ahead.out[:0]
	if w.x.route.Display != routing.DisplayKeep || len(f.Data) == 0 {
		return
	}
	if _, ok := chatjson.Readable(f); !ok && string(f.Data) != "[DONE]" { // it would pass as it came
		w.end = wire.ErrUnreadable
	}
}

// mark notes that the frames from a place on wait until the texts that just came are
// judged. Where replies pass unchanged, the frame of a text may be an earlier one, which
// came while the text was undecided.
func (w *watch) mark(from int64) {
	if keeps := w.x.route.Display == routing.DisplayKeep; keeps {
		from = w.clear
		if !w.ahead.x.reading.Undecided() {
			w.clear = w.seen
		}
	}
	for _, p := range w.touched {
		w.marks = append(w.marks, mark{from, p, p.heard})
	}
	w.touched = w.touched[:0]
}

// large handles a reply that is too large to be held whole: it is judged in pieces, if it
// may go on without the guard.
func (w *watch) large() {
	limit := w.x.engine.config.Limits.Body
	w.fails()
	w.x.judged(observing.Judgement{Err: fmt.Errorf("the reply is larger than %d bytes, and cannot be held whole", limit)})
	w.rule.Every = guard.Usual().Every
	w.ask(true)
}

// settle has judged what is due, or all if that is late, and releases the frames whose
// texts are judged.
func (w *watch) settle(late bool) {
	limit := w.x.engine.config.Limits
	switch held := int64(len(w.held)); {
	case w.rule.Every >= 0:
		w.ask(late || held > int64(limit.Frame))
	case held > limit.Body:
		w.large()
	}
	w.release()
}

// release moves ready over the frames whose texts are judged.
func (w *watch) release() {
	n := 0
	for n < len(w.marks) && w.marks[n].part.judged >= w.marks[n].upto {
		n++
	}
	w.marks = w.marks[n:]
	switch {
	case len(w.marks) > 0:
		w.ready = w.marks[0].from
	case w.x.route.Display == routing.DisplayKeep:
		w.ready = w.clear
	default:
		w.ready = w.seen
	}
	w.err = w.end
}

// finish ends the reply that is read ahead, as the exchange will end it.
func (w *watch) finish(err error) {
	a := w.ahead
	if w.open() {
		fault := err
		if errors.Is(err, io.EOF) {
			a.in = slices.Clone(w.held[w.seen-w.base:])
			fault = a.last()
		}
		a.x.reply.End(nil, fault, &a.x.reading)
		w.mark(w.seen)
	}
	w.last()
	w.release()
	if w.end == nil {
		w.ready, w.err = w.base+int64(len(w.held)), err
	}
}

// cutUnsent returns the frames by which a reply is cut of which no frame went on. What
// they need of the upstream's frames, such as an id, is known from those that were read
// ahead.
func (w *watch) cutUnsent() (frames []byte, ok bool) {
	if w == nil {
		return nil, false
	}
	return wire.Cut(w.ahead.x.reply, unsent{&w.x.reading, &w.ahead.x.reading})
}

// unsent is the reading of a reply whose choices were all read ahead, and not delivered.
type unsent struct {
	*reading.Reading
	ahead *reading.Reading
}

// Open returns all choices that came, also those that the upstream has ended.
func (u unsent) Open() (list []int) {
	for i, c := range u.ahead.Choices {
		if c != nil {
			list = append(list, i)
		}
	}
	return list
}

// size is how many bytes of memory the watch holds.
func (w *watch) size() int {
	if w == nil {
		return 0
	}
	return cap(w.held) + cap(w.ahead.in) + w.ahead.x.reading.Weight + w.unjudged() + 2*bufferSize
}
