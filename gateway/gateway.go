package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/sotto-llm/sotto/internal/access"
	"github.com/sotto-llm/sotto/internal/serving"
	"github.com/sotto-llm/sotto/wire"
)

// A Handler is the gateway: an [http.Handler] for one upstream. Make one with
// [New].
type Handler struct {
	engine  *engine
	proxy   *httputil.ReverseProxy
	access  admission
	sockets *sockets
	closing atomic.Bool
}

// New returns a gateway, or everything that is wrong with its configuration.
func New(c Config) (*Handler, error) {
	if faults := c.Check(); len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return build(c)
}

func build(c Config) (*Handler, error) {
	c = c.withDefaults()
	e, err := newEngine(c)
	if err != nil {
		return nil, err
	}
	g := &Handler{engine: e, access: newAdmission(c), sockets: newSockets(c)}
	if c.Templates {
		e.below = func(out *http.Request, upstream *url.URL) {
			out.URL = upstreamURL(upstream, out.URL)
			out.Host = upstream.Host
			g.access.goesOn(out)
		}
	}
	g.proxy = g.reverseProxy()
	return g, nil
}

// Learned returns what the gateway has learned of how replies begin.
func (g *Handler) Learned() *Learned { return g.engine.learned }

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
	return g.engine.close()
}

func (g *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r, done := serving.Body(w, r, serving.Pace{Idle: min(g.engine.config.Silence, bodyIdle)})
	defer done()
	e, r, ok := g.access.admit(w, r)
	if !ok || g.operations(w, r, e) {
		return
	}
	if e.kind == socketed {
		g.serveSocket(w, r, e)
		return
	}
	c := e.read(r.Method)
	slot, err := g.engine.open.Take(access.Caller(r.Context()))
	if err != nil {
		refuse(w, c, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer slot.GiveBack()
	if c == nil {
		g.pass(w, r, e)
		return
	}
	g.serve(w, r, e)
}

// bodyIdle is the longest time in which a request's body may make no progress.
const bodyIdle = 30 * time.Second

// Open returns how many exchanges are under way.
func (g *Handler) Open() int { return g.engine.open.Taken() }

// serve handles one exchange. It reads the whole request before it sends anything
// on. The history needs the whole request. Also, a server that closes an unread
// body when the response begins makes the transport drop the upstream's connection.
func (g *Handler) serve(w http.ResponseWriter, r *http.Request, e endpoint) {
	r = identified(r)
	hold, err := g.engine.budget.open()
	if err != nil {
		g.refuse(w, r, e.codec, err)
		return
	}
	defer hold.leave()
	x, err := g.begin(w, r, e, hold)
	if err != nil {
		g.refuse(w, r, e.codec, err)
		return
	}
	w = &clientWriter{ResponseWriter: w}
	x.client = w
	control := http.NewResponseController(w)
	ctx := fewInformational(context.WithValue(r.Context(), exchangeKey{}, x))
	ctx, end := x.start(ctx, func() { _ = control.SetWriteDeadline(time.Now()) })
	defer end()
	g.proxy.ServeHTTP(w, x.upstreamRequest(r.WithContext(ctx)))
}

// begin begins the exchange of a request.
func (g *Handler) begin(w http.ResponseWriter, r *http.Request, e endpoint, hold *charge) (*exchange, error) {
	if e.kind == stored {
		return g.engine.beginStored(e.codec, r, g.engine.config.Upstream, hold)
	}
	body, err := readBody(w, r, g.engine.config.Limits.Body, hold)
	if err != nil {
		return nil, err
	}
	return g.engine.begin(e.codec, body, r, g.engine.config.Upstream, hold)
}

var _ wire.Reader = (*reading)(nil)
