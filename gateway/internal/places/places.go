// Package places gives requests their places among the exchanges that are under way, and
// their shares of what their callers may do.
package places

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/net/serving"
)

// Places are those of a gateway.
type Places struct {
	Open     *access.Slots     // of the exchanges under way
	Arrivals *serving.Arrivals // their bodies
	Limiter  *access.Limiter
}

// A Place is what a request holds of limits.exchanges, and of its caller's exchanges. While
// its body is on the way it holds neither, so that bodies that never arrive keep nobody
// out. It takes both with the last byte of the body, before a request to a model is read
// and before the upstream has all of an upload, or when the upstream answers before that.
type Place struct {
	of      *Places
	limited func(caller string, e *access.LimitError)
	caller  string
	share   *access.Share
	arrival *serving.Arrival // nil if no body is waited for

	mu   sync.Mutex // the body is read by a goroutine of the transport
	slot *access.Slot
	left bool
}

// placeKey is the context key of a request's place.
type placeKey struct{}

// Arrive begins a request, if there is a place for it now. waits says whether its body is
// waited for, if it has one. limited is told of a limit that the caller has reached
// when the body is there. The caller must leave the place.
func (l *Places) Arrive(w http.ResponseWriter, r *http.Request, waits bool, limited func(caller string, e *access.LimitError)) (*Place, *http.Request, error) {
	p := &Place{of: l, limited: limited, caller: access.Caller(r.Context()), share: ShareOf(r.Context())}
	if err := p.occupy(); err != nil {
		return nil, r, err
	}
	if r.Body == nil || r.Body == http.NoBody || !waits {
		return p, r, nil
	}
	p.slot.GiveBack()
	p.slot = nil
	p.share.Pause()
	p.arrival = l.Arrivals.Begin("", serving.StopReading(w))
	r = r.WithContext(context.WithValue(r.Context(), placeKey{}, p))
	r.Body = &arriving{r.Body, p}
	return p, r, nil
}

func (p *Place) occupy() (err error) {
	if p.slot, err = p.of.Open.Take(p.caller); err != nil {
		return faults.New(faultname.PlacesTaken, http.StatusServiceUnavailable, noPlace{err})
	}
	return nil
}

// A noPlace error says that there are as many exchanges as there may be. Like the other
// errors of load, it makes neither log nor record grow.
type noPlace struct{ error }

// OfLoad reports whether an error refuses a request only for what else is under way.
func OfLoad(err error) bool {
	_, full := errors.AsType[noPlace](err)
	_, limit := errors.AsType[*access.LimitError](err)
	return full || limit || errors.Is(err, budget.ErrSpent)
}

// whole takes the place of a request whose body has arrived.
func (p *Place) whole() error {
	if err := p.arrival.Whole(); err != nil {
		return bodies.Late()
	}
	return p.enter()
}

// enter takes the place of a request, if it does not have it.
func (p *Place) enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.slot != nil:
		return nil
	case p.left:
		return bodies.Late()
	}
	if refused := p.share.Resume(); refused != nil {
		p.limited(p.caller, refused)
		return faults.New(faultname.LimitReached, http.StatusTooManyRequests, refused)
	}
	return p.occupy()
}

// Take takes the place of a request that the upstream answers, whether all of its body
// has arrived or not.
func Take(ctx context.Context) error {
	if p, ok := ctx.Value(placeKey{}).(*Place); ok {
		return p.enter()
	}
	return nil
}

// Leave ends what a request holds.
func (p *Place) Leave() {
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

// An arriving body takes the place of its request before it gives its last bytes.
type arriving struct {
	io.ReadCloser
	place *Place
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

// Arriving is how many bodies may be on their way: as many as there may be exchanges,
// or leastArriving, if their requests hold no more than half of the memory.
func Arriving(exchanges int, memory int64) int {
	return min(max(exchanges, leastArriving), max(1, int(memory/2/budget.BaseCost)))
}

const leastArriving = 256
