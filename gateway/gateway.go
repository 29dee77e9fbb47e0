package gateway

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/serving"
	"github.com/sotto-llm/sotto/wire"
)

// A Handler is the gateway: an [http.Handler] for one upstream. Make one with
// [New].
type Handler struct {
	config   Config
	proxy    *httputil.ReverseProxy
	access   admission
	learned  *Learned
	store    *history.Store
	families families
	metrics  *metrics
	budget   *budget
	recorder *recorder // nil if nothing is recorded
	log      *slog.Logger
	open     atomic.Int64 // exchanges under way
	closing  atomic.Bool
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
	learned, err := OpenLearned(c.Data, c.Limits.Learned)
	if err != nil {
		return nil, err
	}
	g := &Handler{
		config:   c,
		access:   newAdmission(c),
		families: families{max: c.Limits.Learned},
		learned:  learned,
		store:    history.NewStore(c.Limits.Restored, c.Limits.RestoredBytes, c.Limits.RestoredFor),
		log:      c.Logger,
	}
	if g.metrics, err = newMetrics(c.Metrics, c.Limits.Labels, &g.open); err != nil {
		return nil, err
	}
	g.budget = newBudget(c)
	g.recorder = newRecorder(c)
	g.proxy = &httputil.ReverseProxy{
		Rewrite:        g.rewrite,
		ModifyResponse: modify,
		ErrorHandler:   g.proxyError,
		ErrorLog:       log.New(serving.QuietLog(g.log), "", 0),
		Transport:      quietly{c.Transport, c.Limits.Header},
		FlushInterval:  -1,
		BufferPool:     &buffers{},
	}
	return g, nil
}

// Learned returns what the gateway has learned of how replies begin.
func (g *Handler) Learned() *Learned { return g.learned }

// Metrics returns the registry that holds the gateway's metrics.
func (g *Handler) Metrics() *prometheus.Registry { return g.config.Metrics }

// Drain makes /readyz answer 503, so that load balancers send no new exchanges.
// Those under way continue, and new ones are still served. [Handler.Close] calls it
// too.
func (g *Handler) Drain() { g.closing.Store(true) }

// Close saves what was learned, closes the upstream's idle connections, and hands
// what still waits to the record. Call it when the exchanges have ended, and before
// you close the record.
func (g *Handler) Close() error {
	g.Drain()
	if t, ok := g.config.Transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
	g.recorder.close()
	return g.learned.flush()
}

func (g *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r, done := serving.Body(w, r, serving.Pace{Idle: min(g.config.Silence, bodyIdle)})
	defer done()
	e, r, ok := g.access.admit(w, r)
	if !ok || g.operations(w, r, e) {
		return
	}
	var c codec
	if e.kind == replies {
		c = e.codec
	}
	if limit := g.config.Limits.Header; headerSize(r.Header)+len(r.RequestURI) > limit {
		refuse(w, c, http.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf("the header of the request is larger than %d bytes", limit))
		return
	}
	if n := g.open.Add(1); n > int64(g.config.Limits.Exchanges) {
		g.open.Add(-1)
		refuse(w, c, http.StatusServiceUnavailable, "too many exchanges at once")
		return
	}
	defer g.open.Add(-1)
	if c == nil {
		g.pass(w, r)
		return
	}
	g.serve(w, r, c)
}

// bodyIdle is the longest time in which a request's body may make no progress.
const bodyIdle = 30 * time.Second

// Open returns how many exchanges are under way.
func (g *Handler) Open() int { return int(g.open.Load()) }

// serve handles one exchange. It reads the whole request before it sends anything
// on. The history needs the whole request. Also, a server that closes an unread
// body when the response begins makes the transport drop the upstream's connection.
func (g *Handler) serve(w http.ResponseWriter, r *http.Request, c codec) {
	hold, err := g.budget.open()
	if err != nil {
		g.refuse(w, r, c, err)
		return
	}
	defer hold.leave()
	body, err := readBody(w, r, g.config.Limits.Body, hold)
	if err != nil {
		g.refuse(w, r, c, err)
		return
	}
	x, err := g.exchange(c, body, g.config.Upstream.Host, r, hold)
	if err != nil {
		g.refuse(w, r, c, err)
		return
	}
	x.note(r, g.config.Upstream)
	ctx, cancel := context.WithCancelCause(fewInformational(context.WithValue(r.Context(), exchangeKey{}, x)))
	defer cancel(nil)
	x.ctx, x.cancel = ctx, cancel
	defer x.finish() // before its context ends, which would look as if the client had left
	control := http.NewResponseController(w)
	defer x.watch(g.config.Silence, cancel, func() { _ = control.SetWriteDeadline(time.Now()) })()
	r = r.WithContext(ctx)
	x.send(r)
	g.proxy.ServeHTTP(w, r)
}

var _ wire.Reader = (*reading)(nil)
