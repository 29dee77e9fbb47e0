package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/internal/base/faultname"
)

// Replies that nobody waits for: the request is answered at once, and the client asks for the reply later.

// A holding is what a request holds until it ends: places, and shares of limits.
type holding struct{ ends []func() }

// holdingKey is the context key of a request's holding.
type holdingKey struct{}

func (h *holding) add(end func()) { h.ends = append(h.ends, end) }

func (h *holding) end() {
	for i := range h.ends {
		h.ends[len(h.ends)-1-i]()
	}
	h.ends = nil
}

// takeHolding takes what a request holds, so that it does not end with the request.
func takeHolding(ctx context.Context) *holding {
	h, ok := ctx.Value(holdingKey{}).(*holding)
	if !ok {
		return &holding{}
	}
	taken := &holding{h.ends}
	h.ends = nil
	return taken
}

// errCancelled ends a reply that its client does not want any more.
var errCancelled = errors.New("the reply was cancelled")

// Jobs are the replies that are under way in the background.
type jobs struct {
	mu      sync.Mutex
	all     map[string]*job
	closed  bool
	running sync.WaitGroup
}

type job struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
}

func newJobs() *jobs { return &jobs{all: map[string]*job{}} }

// begin adds a job, unless the gateway ends.
func (l *jobs) begin(id string, cancel context.CancelCauseFunc) (ended func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, false
	}
	j := &job{cancel, make(chan struct{})}
	l.all[id] = j
	l.running.Add(1)
	return func() {
		l.mu.Lock()
		delete(l.all, id)
		l.mu.Unlock()
		close(j.done)
		l.running.Done()
	}, true
}

// stop cancels a job and waits for its end. It reports whether there was one.
func (l *jobs) stop(ctx context.Context, id string) bool {
	l.mu.Lock()
	j := l.all[id]
	l.mu.Unlock()
	if j == nil {
		return false
	}
	j.cancel(errCancelled)
	select {
	case <-j.done:
	case <-ctx.Done():
	}
	return true
}

// end ends all jobs; no further one begins.
func (l *jobs) end() {
	l.mu.Lock()
	l.closed = true
	for _, j := range l.all {
		j.cancel(ErrShutdown)
	}
	l.mu.Unlock()
	l.running.Wait()
}

// wait lets the jobs end by themselves until the context ends.
func (l *jobs) wait(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	idle := make(chan struct{})
	go func() { l.running.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		l.end()
		return ctx.Err()
	}
}

// inBackground answers a request whose reply nobody waits for, and goes on with its exchange.
func (g *ruleset) inBackground(w http.ResponseWriter, r *http.Request, x *exchange, streams bool) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	refuse := func(err error) {
		cancel(nil)
		x.err = err
		x.finish()
		g.refuse(w, r, x.clientCodec(), err)
	}
	ended, ok := g.engine.jobs.begin(x.kept.ID, cancel)
	if !ok {
		refuse(faults.New(faultname.GatewayStopping, http.StatusServiceUnavailable, ErrShutdown))
		return
	}
	now, err := x.kept.Begin(x.model)
	if err != nil {
		ended()
		refuse(keptFault(err))
		return
	}
	to := &relay{header: http.Header{}, began: make(chan struct{}), gone: !streams}
	to.r, to.w = io.Pipe()
	held, charge := takeHolding(r.Context()), x.charge
	charge.Keep()
	// The proxy must not panic if the upstream breaks off: nothing would catch it.
	out := r.WithContext(context.WithValue(ctx, http.ServerContextKey, nil))
	out.Body = http.NoBody
	go func() {
		defer cancel(nil)
		defer ended()
		defer held.end()
		defer charge.Leave()
		defer to.end()
		defer g.survive(x)
		g.exchange(to, out, x)
	}()
	if streams {
		to.copyTo(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(now)))
	_, _ = w.Write(now) // the client asks again if it has not got it
}

// survive ends an exchange, and not the process, if its code panics, as net/http does for a request.
func (g *ruleset) survive(x *exchange) {
	if why := recover(); why != nil {
		g.engine.config.Logger.Error("a reply in the background failed", "error", faults.Plain(fmt.Sprint(why)))
		x.closeKept()
	}
}

// closeKept ends the turn of a conversation that the gateway keeps.
func (x *exchange) closeKept() {
	if x.kept == nil {
		return
	}
	text := fmt.Sprintf("the upstream answered with the status %d, and no reply that ended", x.status)
	if x.err != nil {
		_, _, text = failure(x.err)
	}
	x.kept.Close(x.ctx != nil && errors.Is(context.Cause(x.ctx), errCancelled), faults.Plain(text))
}

// cancel ends a reply that is under way in the background, and returns it as it is then.
func (q *keptRequest) cancel() ([]byte, error) {
	if _, err := q.store.Reply(q.caller, q.codec, q.id); err != nil {
		return nil, err
	}
	q.rules.engine.jobs.stop(q.r.Context(), q.id)
	reply, err := q.store.Reply(q.caller, q.codec, q.id)
	if err == nil && q.store.UnderWay(q.caller, q.id) {
		err = faults.New(faultname.ReplyElsewhere, http.StatusConflict, errors.New("this reply is under way at another replica of the gateway: ask for it until it has ended"))
	}
	return reply, err
}

var _ http.ResponseWriter = (*relay)(nil)

// A relay is what a reply in the background is written to. It goes on to a client that reads its stream, and
// nowhere after that has left.
type relay struct {
	header http.Header
	r      *io.PipeReader
	w      *io.PipeWriter

	mu     sync.Mutex
	status int
	began  chan struct{} // closed with the header
	gone   bool          // nobody reads
}

func (y *relay) Header() http.Header              { return y.header }
func (y *relay) FlushError() error                { return nil }
func (y *relay) SetWriteDeadline(time.Time) error { return nil }
func (y *relay) reads() bool                      { y.mu.Lock(); defer y.mu.Unlock(); return !y.gone }
func (y *relay) WriteHeader(status int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.status == 0 && status >= 200 {
		y.status = status
		close(y.began)
	}
}

func (y *relay) Write(b []byte) (int, error) {
	y.WriteHeader(http.StatusOK)
	if y.reads() {
		_, _ = y.w.Write(b) // it fails if the client has left
	}
	return len(b), nil
}

func (y *relay) end() {
	y.WriteHeader(http.StatusBadGateway)
	_ = y.w.Close()
}

// copyTo copies what is written to a client until the end, or until that leaves.
func (y *relay) copyTo(w http.ResponseWriter, r *http.Request) {
	defer func() {
		y.mu.Lock()
		y.gone = true
		y.mu.Unlock()
		_ = y.r.Close()
	}()
	select {
	case <-y.began:
	case <-r.Context().Done():
		return
	}
	stop := context.AfterFunc(r.Context(), func() { _ = y.r.Close() })
	defer stop()
	for name, values := range y.header {
		w.Header()[name] = values
	}
	w.WriteHeader(y.status)
	control, buffer := http.NewResponseController(w), make([]byte, 16<<10)
	for {
		n, err := y.r.Read(buffer)
		if n > 0 {
			if _, failed := w.Write(buffer[:n]); failed != nil {
				return
			}
			_ = control.Flush()
		}
		if err != nil {
			return
		}
	}
}
