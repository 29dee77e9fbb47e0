package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/net/serving"
)

// A place is what a request holds of limits.exchanges, and of its caller's exchanges. While
// its body is on the way it holds neither, so that bodies that never arrive keep nobody
// out. It takes both with the last byte of the body, before a request to a model is read
// and before the upstream has all of an upload, or when the upstream answers before that.
type place struct {
	rules   *ruleset
	w       http.ResponseWriter
	r       *http.Request
	to      *endpoints.Endpoint
	share   *access.Share
	arrival *serving.Arrival // nil if no body is waited for

	mu   sync.Mutex // the body is read by a goroutine of the transport
	slot *access.Slot
	left bool
}

// placeKey is the context key of a request's place.
type placeKey struct{}

// arrive begins a request, if there is a place for it now. The caller must leave the place.
func (g *ruleset) arrive(w http.ResponseWriter, r *http.Request, to *endpoints.Endpoint) (*place, *http.Request, error) {
	p := &place{rules: g, w: w, r: r, to: to, share: shareOf(r.Context())}
	if err := p.take(); err != nil {
		return nil, r, err
	}
	if r.Body == nil || r.Body == http.NoBody || to.Kind == endpoints.Stored || g.asksAll(r, to) { // the latter two read none
		return p, r, nil
	}
	p.slot.GiveBack()
	p.slot = nil
	p.share.Pause()
	p.arrival = g.engine.arrivals.Begin("", serving.StopReading(w))
	r = r.WithContext(context.WithValue(r.Context(), placeKey{}, p))
	r.Body = &arriving{r.Body, p}
	return p, r, nil
}

func (p *place) take() (err error) {
	if p.slot, err = p.rules.engine.open.Take(access.Caller(p.r.Context())); err != nil {
		return faults.New(http.StatusServiceUnavailable, noPlace{err})
	}
	return nil
}

// A noPlace error says that there are as many exchanges as there may be. Like the other
// errors of load, it makes neither log nor record grow.
type noPlace struct{ error }

// ofLoad reports whether an error refuses a request only for what else is under way.
func ofLoad(err error) bool {
	_, full := errors.AsType[noPlace](err)
	_, limit := errors.AsType[*access.LimitError](err)
	return full || limit || errors.Is(err, budget.ErrSpent)
}

// whole takes the place of a request whose body has arrived.
func (p *place) whole() error {
	if err := p.arrival.Whole(); err != nil {
		return bodies.Late()
	}
	return p.enter()
}

// enter takes the place of a request, if it does not have it.
func (p *place) enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.slot != nil:
		return nil
	case p.left:
		return bodies.Late()
	}
	if refused := p.share.Resume(); refused != nil {
		p.rules.engine.observers.limited(access.Caller(p.r.Context()), refused)
		return faults.New(http.StatusTooManyRequests, refused)
	}
	return p.take()
}

// takePlace takes the place of a request that the upstream answers, whether all of its body
// has arrived or not.
func takePlace(ctx context.Context) error {
	if p, ok := ctx.Value(placeKey{}).(*place); ok {
		return p.enter()
	}
	return nil
}

func (p *place) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = true
	if p.slot != nil {
		p.slot.GiveBack()
	}
	if p.arrival != nil {
		p.arrival.End()
	}
}

// limited sets the headers of the answer to a caller that has reached a limit.
func (e *engine) limited(w http.ResponseWriter, r *http.Request, c codec, err error) {
	if refused, ok := errors.AsType[*access.LimitError](err); ok {
		e.limitHeaders(w.Header(), c, access.Account(r.Context()))
		w.Header().Set("Retry-After", strconv.Itoa(refused.Seconds()))
	}
}

// An arriving body takes the place of its request before it gives its last bytes.
type arriving struct {
	io.ReadCloser
	place *place
}

func (b *arriving) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		if no := b.place.whole(); no != nil {
			return 0, no
		}
	case errors.Is(err, os.ErrDeadlineExceeded):
	case b.place.arrival.Cut():
		return 0, bodies.Late()
	}
	return n, err
}

// arrivingMost is how many bodies may be on their way: as many as there may be exchanges,
// or leastArriving, if their requests hold no more than half of the memory.
func arrivingMost(c *Config) int {
	return min(max(c.Limits.Exchanges, leastArriving), max(1, int(c.Limits.MemoryBytes/2/budget.BaseCost)))
}

const leastArriving = 256
