package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/headers"
	"github.com/sotto-llm/sotto/gateway/internal/places"
	"github.com/sotto-llm/sotto/gateway/internal/sending"
	"github.com/sotto-llm/sotto/gateway/internal/things"
	"github.com/sotto-llm/sotto/gateway/internal/unread"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// A passage is an exchange whose content is not read.
type passage struct {
	bodies.Activity
	to       *target
	harmless bool // the request changes nothing
	overlook func(resp *http.Response) error
	ctx      context.Context
	refused  atomic.Pointer[faults.Request] // why the rest of the request's body did not go on
}

// reason returns why a passage failed, which the proxy's error may not say.
func (p *passage) reason(err error) error {
	if why := p.refused.Load(); why != nil {
		return why
	}
	if cause := context.Cause(p.ctx); cause != nil {
		return cause
	}
	return err
}

// passageKey is the context key of a passage.
type passageKey struct{}

func passageOf(ctx context.Context) *passage {
	p, _ := ctx.Value(passageKey{}).(*passage)
	return p
}

// pass forwards requests to routes that are not a model's. A body of usual length
// is read whole first, as with models. A larger one is forwarded while it arrives,
// up to the limit.
func (g *ruleset) pass(w http.ResponseWriter, r *http.Request, e endpoints.Endpoint) {
	hold, err := g.engine.budget.Open()
	if err != nil {
		g.refusePassage(w, r, err)
		return
	}
	defer hold.Leave()
	if g.asksAll(r, &e) && g.list(w, r, &e) {
		return
	}
	p := &passage{Activity: bodies.Activity{Began: time.Now()}, harmless: e.Kind == endpoints.Harmless}
	who := g.asker(r)
	body, err := g.passBody(w, r, p, hold, who != nil, (e.Counts || e.Stands != nil) && g.engine.bridges())
	if err == nil {
		err = who.Body(r.Header, body)
	}
	if err != nil {
		g.refusePassage(w, r, err)
		return
	}
	p.to = g.engine.direct(r, &e, body)
	if p.to.api != nil && !e.IsOf(p.to.api, r) {
		g.foreign(w, r, &e, p.to, body, hold)
		return
	}
	owner := g.owner(r)
	p.overlook = func(resp *http.Response) error {
		if who.Lists(r, &e) {
			return who.OwnList(&e, resp, hold)
		}
		g.engine.made(r, &e, p.to, owner, resp)
		if e.Kind == endpoints.Results {
			return g.engine.readResults(r, p.to, resp, hold)
		}
		g.engine.overlook(r, e, resp)
		return nil
	}
	switch {
	case e.Kind == endpoints.Results:
		wholeFile(r)
	case (g.engine.several() || owner != "") && e.Kind != endpoints.Harmless && e.Kind != endpoints.Audio:
		r.Header.Set("Accept-Encoding", "identity") // it may say what the upstream made
	}
	ctx, cancel := context.WithCancelCause(sending.FewInformational(context.WithValue(r.Context(), passageKey{}, p)))
	defer cancel(nil)
	p.ctx = ctx
	control := http.NewResponseController(w)
	defer p.Watch(p.to.silence, cancel, func() { _ = control.SetWriteDeadline(time.Now()) })()
	g.proxy.ServeHTTP(headers.NewWriter(w, g.lawOf(ctx)), r.WithContext(ctx))
}

// overlook watches the response to a request that passes, and tells the observers if
// it looks like a model's reply: nobody took reasoning out of that.
func (e *engine) overlook(r *http.Request, to endpoints.Endpoint, resp *http.Response) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 || r.Method == http.MethodHead || to.Kind == endpoints.Harmless || to.Kind == endpoints.Audio {
		return
	}
	unread.Watch(resp, func() { e.observers.Unread(e.shownModel(r.URL.Path, access.Keys(r)), to.Path) })
}

// passBody bounds the body of a request that passes. It returns a body that was read
// whole: one of usual length, with several upstreams one that may say where it goes, one that is checked for what it
// names, and one that is read here.
func (g *ruleset) passBody(w http.ResponseWriter, r *http.Request, p *passage, hold *budget.Charge, checked, whole bool) ([]byte, error) {
	limit := g.engine.config.Limits.Body
	switch n := r.ContentLength; {
	case n > limit:
		return nil, bodies.TooLarge(limit) // unread
	case n > 0 && n <= usualBody, n != 0 && g.engine.decidesByModel() && endpoints.MayNameModel(r.Header), n != 0 && whole, n != 0 && checked && things.MayBeNamed(r.Header):
		body, err := bodies.Read(http.MaxBytesReader(w, r.Body, limit), n, limit, hold)
		if err != nil {
			return nil, err
		}
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		r.Body, _ = r.GetBody()
		r.ContentLength, r.TransferEncoding = int64(len(body)), nil
		return body, nil
	case n != 0 && r.Body != nil:
		r.Body = &uploading{http.MaxBytesReader(w, r.Body, limit), p}
	}
	return nil, nil
}

func (g *ruleset) refusePassage(w http.ResponseWriter, r *http.Request, err error) {
	g.engine.limited(w, r, nil, err)
	name, status, text := failure(err)
	faults.Refuse(w, nil, name, status, text)
}

// usualBody is larger than requests that bring no files.
const usualBody = 1 << 20

// An uploading body is forwarded to the upstream while it arrives.
type uploading struct {
	io.ReadCloser
	p *passage
}

func (u *uploading) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	u.p.Moved(true)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		u.p.refused.Store(bodies.Late())
	} else if own, ok := errors.AsType[*faults.Request](err); ok {
		u.p.refused.Store(own)
	}
	return n, err
}

// modify lets the watch see what moves in the response.
func (p *passage) modify(resp *http.Response) error {
	if err := places.Take(p.ctx); err != nil {
		return err
	}
	if both, ok := resp.Body.(io.ReadWriteCloser); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body = bodies.WatchBoth(both, &p.Activity)
		return nil
	}
	if err := p.overlook(resp); err != nil {
		return err
	}
	resp.Body = bodies.Pass(resp.Body, &p.Activity)
	return nil
}
