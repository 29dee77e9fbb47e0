package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sotto-llm/sotto/gateway/internal/admission"
	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/headers"
	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/gateway/internal/sending"
	"github.com/sotto-llm/sotto/gateway/internal/sockets"
	"github.com/sotto-llm/sotto/gateway/internal/things"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/wire"
)

// A Handler is the gateway: an [http.Handler] for one upstream. Make one with
// [New].
//
// Its configuration can be replaced while it serves: see [Handler.Reload].
type Handler struct {
	rules   atomic.Pointer[ruleset]
	sockets *sockets.Sockets
	closing atomic.Bool
	reload  sync.Mutex // held while the rules are replaced
	closed  bool       // under reload
}

// now returns the rules that are in force. A request asks once, at its start, and keeps
// them to its end.
func (g *Handler) now() *ruleset { return g.rules.Load() }

// A ruleset is one configuration in force. A request is handled by one of them from its
// start to its end, so that it never sees parts of two configurations.
type ruleset struct {
	engine *engine
	proxy  *httputil.ReverseProxy
	access *admission.Control
}

func newRuleset(e *engine) *ruleset {
	g := &ruleset{engine: e, access: newAdmission(e.config)}
	if e.config.Templates {
		e.below = g.address
	}
	g.proxy = g.reverseProxy()
	return g
}

// New returns a gateway, or everything that is wrong with its configuration.
func New(c Config) (*Handler, error) {
	if faults := c.Check(); len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return build(c)
}

func build(c Config) (*Handler, error) {
	e, err := newEngine(c)
	if err != nil {
		return nil, err
	}
	if e.kept, err = openKept(&e.config); err != nil {
		return nil, errors.Join(err, e.close())
	}
	g := &Handler{}
	g.sockets = sockets.New(e.config.Limits.Exchanges, e.config.Limits.MemoryBytes, func() sockets.Rules { return host{g.now()} })
	g.rules.Store(newRuleset(e))
	return g, nil
}

// Learned returns what the gateway has learned of how replies begin.
func (g *Handler) Learned() *Learned { return &Learned{g.now().engine.learned} }

// ErrShutdown is the cause with which a server cancels the contexts of requests that it
// ends because it stops. Such exchanges have failed; with any other cause, the client
// has left.
var ErrShutdown = errors.New("the gateway was shut down")

// Drain makes /readyz answer 503, so that load balancers send no new exchanges.
// Those under way continue, and new ones are still served. [Handler.Close] calls it
// too.
func (g *Handler) Drain() { g.closing.Store(true) }

// Close saves what was learned, closes the upstream's idle connections, and hands
// what still waits to the record. Call it when the exchanges have ended, and before
// you close the record.
func (g *Handler) Close() error {
	g.Drain()
	g.reload.Lock()
	defer g.reload.Unlock()
	g.closed = true
	return g.now().engine.close()
}

func (g *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rules := g.now()
	r, done := serving.Body(w, r, serving.Pace{Idle: min(rules.engine.config.Silence, bodies.MaxIdle)})
	defer done()
	e, r, ok := rules.access.Admit(w, r)
	if !ok || g.operations(w, r, e) {
		return
	}
	r, chosen, ok := rules.byBody(w, r, &e)
	defer chosen()
	if !ok {
		return
	}
	r, read, ok := rules.compacting(w, r, &e)
	defer read()
	if !ok || rules.answerKept(w, r, &e) {
		return
	}
	if err := rules.asker(r).Path(r, &e); err != nil {
		rules.refuseThing(w, &e, err)
		return
	}
	if e.Kind == endpoints.Socketed {
		g.sockets.Serve(host{rules}, w, r, e)
		return
	}
	r, end, ok := rules.limit(w, r, &e)
	if !ok {
		return
	}
	held := &holding{ends: []func(){end}}
	defer held.end()
	c := e.Read(r.Method)
	place, r, err := rules.arrive(w, r, &e)
	if err != nil {
		faults.Refuse(w, c, faultname.PlacesTaken, http.StatusServiceUnavailable, err.Error())
		return
	}
	held.add(place.Leave)
	if c == nil {
		rules.pass(w, r, e)
		return
	}
	rules.serve(w, r.WithContext(context.WithValue(r.Context(), holdingKey{}, held)), e)
}

// Open returns how many exchanges are under way.
func (g *Handler) Open() int { return g.now().engine.places.Open.Taken() }

// serve handles one exchange. It reads the whole request before it sends anything
// on. The history needs the whole request. Also, a server that closes an unread
// body when the response begins makes the transport drop the upstream's connection.
func (g *ruleset) serve(w http.ResponseWriter, r *http.Request, e endpoints.Endpoint) {
	r = observing.Identified(r)
	hold, err := g.engine.budget.Open()
	if err != nil {
		g.refuse(w, r, e.Codec, err)
		return
	}
	defer hold.Leave()
	x, err := g.begin(w, r, e, hold)
	if err != nil {
		g.refuse(w, r, e.Codec, err)
		return
	}
	if background, streams := x.kept.Background(); background {
		g.inBackground(w, r, x, streams)
		return
	}
	g.exchange(w, r, x)
}

// exchange sends the request of an exchange that has begun to the upstream, and the reply to the client.
func (g *ruleset) exchange(w http.ResponseWriter, r *http.Request, x *exchange) {
	ctx := sending.FewInformational(context.WithValue(r.Context(), exchangeKey{}, x))
	w = &bodies.Writer{ResponseWriter: headers.NewWriter(w, g.lawOf(ctx))}
	x.client = w
	control := http.NewResponseController(w)
	ctx, end := x.start(ctx, func() { _ = control.SetWriteDeadline(time.Now()) })
	defer end()
	g.proxy.ServeHTTP(w, x.upstreamRequest(r.WithContext(ctx)))
}

// begin begins the exchange of a request.
func (g *ruleset) begin(w http.ResponseWriter, r *http.Request, e endpoints.Endpoint, hold *budget.Charge) (*exchange, error) {
	if e.Kind == endpoints.Stored {
		to := g.engine.direct(r, &e, nil)
		if to.api != nil && !e.IsOf(to.api, r) {
			return nil, notSpoken(to)
		}
		return g.engine.beginStored(e.Codec, r, to, hold)
	}
	body, err := g.bodyOf(w, r, hold)
	if err != nil {
		return nil, err
	}
	turn, body, err := g.continued(r, &e, body, hold)
	if err != nil {
		return nil, err
	}
	err = compactionOf(r.Context()).keepUsers(body, hold)
	if err == nil {
		err = g.asker(r).Body(http.Header{}, body)
	}
	if err == nil {
		var x *exchange
		var to *target // by the model, unless the path names a thing, which only one upstream has
		if _, one := e.Thing(r.URL); e.Of != "" && one {
			to = g.engine.direct(r, &e, nil)
		}
		if x, err = g.engine.begin(e.Codec, body, r, to, hold); err == nil {
			x.owner, x.kept = things.OwnerOf(g.engine.owners, r, &e, g.owner(r)), turn
			return x, nil
		}
	}
	turn.Drop()
	return nil, err
}

var _ wire.Reader = (*reading.Reading)(nil)
