package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/access"
	"github.com/sotto-llm/sotto/internal/modelname"
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

func (c Config) withDefaults() Config {
	c.Limits = c.Limits.withDefaults()
	if c.KeepAlive == 0 {
		c.KeepAlive = 10 * time.Second
	}
	if c.Silence == 0 {
		c.Silence = 10 * time.Minute
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	if c.Transport == nil {
		c.Transport = transport(c.Limits.Header)
	}
	c.Default = c.Default.withDefaults()
	c.Routes = slices.Clone(c.Routes)
	for i := range c.Routes {
		c.Routes[i] = c.Routes[i].over(c.Default)
	}
	return c
}

func (r Route) withDefaults() Route {
	return r.over(Route{
		Display: DisplayField, ReasoningFields: []string{"reasoning_content"},
		Narration: NarrationText, History: history.Auto,
	})
}

// over fills in what a route leaves open from another route.
func (r Route) over(d Route) Route {
	if r.Dialect == "" {
		r.Dialect = d.Dialect
	}
	if r.Start == "" {
		r.Start = d.Start
	}
	if r.Display == "" {
		r.Display = d.Display
	}
	if len(r.ReasoningFields) == 0 {
		r.ReasoningFields = d.ReasoningFields
	}
	if r.Narration == "" {
		r.Narration = d.Narration
	}
	if r.History == "" {
		r.History = d.History
	}
	return r
}

// transport returns a copy of [http.DefaultTransport] for one upstream that many
// clients share. header bounds the header of a response, in bytes.
func transport(header int) http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = int64(header)
	t.DisableCompression = true
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = 512
	return t
}

// buffers are used to copy replies.
type buffers struct{ pool sync.Pool }

const bufferSize = 16 << 10

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return p[:]
	}
	return make([]byte, bufferSize)
}

func (b *buffers) Put(p []byte) { b.pool.Put((*[bufferSize]byte)(p)) }

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

// routeOf returns how the reply to a request is handled. If a model other than the
// named one may answer, and the reasoning of one of them is hidden, the reply's
// reasoning is hidden too.
func (g *Handler) routeOf(api string, q *wire.Request, path string) Route {
	first := g.route(api, q.Model)
	if first.Display == DisplayHide {
		return first
	}
	others := q.Fallbacks
	if name := pathModel(path); name != "" {
		others = append(slices.Clone(others), name)
	}
	for _, name := range others {
		if r := g.route(api, modelName(name)); r.Display == DisplayHide {
			return r
		}
	}
	return first
}

// route returns how replies of a model are handled.
func (g *Handler) route(api, model string) Route {
	for _, r := range g.config.Routes {
		if (len(r.APIs) == 0 || slices.Contains(r.APIs, api)) && (len(r.Models) == 0 || modelname.Match(r.Models, model) >= 0) {
			return r
		}
	}
	return g.config.Default
}

// grammar returns the dialect of a reply: the route's, or the model's.
func (g *Handler) grammar(r Route, model string) (*sotto.Grammar, error) {
	if r.Dialect != "" {
		return g.config.named(r.Dialect)
	}
	forModel := g.config.ForModel
	if forModel == nil {
		forModel = sotto.ForModel
	}
	grammar, _ := forModel(model)
	return grammar, nil
}

// exchangeKey is the context key of an exchange.
type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
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

// send sets the body of a request to the one that goes to the upstream.
func (x *exchange) send(r *http.Request) {
	// GetBody lets the transport try again if an idle connection was closed before
	// a byte was sent.
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.body)), nil }
	r.Body, _ = r.GetBody()
	r.ContentLength = int64(len(x.body))
	r.TransferEncoding = nil
	r.Header.Set("Accept-Encoding", "identity")
	r.Header.Del("Expect")
}

// rewrite makes the upstream's request from the client's.
func (g *Handler) rewrite(p *httputil.ProxyRequest) {
	if !encodedSlash(p.Out.URL) {
		p.Out.URL.RawPath = "" // use the usual encoding of the path
	}
	p.SetURL(g.config.Upstream)
	p.Out.Host = g.config.Upstream.Host
	g.access.goesOn(p.Out)
}

func modify(resp *http.Response) error {
	for name := range resp.Header {
		if strings.HasPrefix(name, "Access-Control-") || slices.Contains(ownAnswers, name) {
			delete(resp.Header, name)
		}
	}
	if resp.StatusCode == http.StatusSwitchingProtocols && !switches(resp) {
		return errors.New("the upstream switched to a protocol that it was not asked for")
	}
	if x := exchangeOf(resp.Request.Context()); x != nil {
		return x.modify(resp)
	}
	if p := passageOf(resp.Request.Context()); p != nil {
		p.modify(resp)
	}
	return nil
}

// ownAnswers are headers by which an upstream would speak for the gateway, or to a
// proxy in front of it. Access control for pages is done by the gateway, so those
// headers are included.
var ownAnswers = []string{"Alt-Svc", "X-Accel-Redirect", "X-Reproxy-Url", "X-Sendfile"}

// switches reports whether an upstream switches to the protocol that it was asked
// for.
func switches(resp *http.Response) bool {
	return resp.Request.Header.Get("Upgrade") == "websocket" && len(resp.Header["Upgrade"]) == 1 &&
		strings.EqualFold(resp.Header.Get("Upgrade"), "websocket")
}

// proxyError answers a request if the upstream does not answer, or answers with a
// fault.
func (g *Handler) proxyError(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r.Context())
	c := codec(nil)
	if x != nil {
		c = x.codec
		if cause := x.cause(); cause != nil {
			err = cause
		}
	} else if p := passageOf(r.Context()); p != nil {
		err = p.reason(err)
	}
	status, text := failure(err)
	if x != nil {
		x.err, x.status = err, status
	}
	refuse(w, c, status, text) // nobody reads it if the client has left
}

// failure returns the status and the text of an answer that replaces a reply.
func failure(err error) (status int, text string) {
	var own *requestError
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &own):
		return own.status, own.Error()
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, tooLarge(large.Limit).Error()
	case errors.Is(err, errSilent):
		return http.StatusGatewayTimeout, "upstream: " + err.Error()
	case errors.Is(err, errDeadline), errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout, errDeadline.Error()
	}
	return http.StatusBadGateway, "upstream: " + err.Error()
}

func (g *Handler) refuse(w http.ResponseWriter, r *http.Request, c codec, err error) {
	status := http.StatusInternalServerError
	var bad *requestError
	if errors.As(err, &bad) {
		status = bad.status
	}
	if errors.Is(err, errSpent) { // many of these must make neither log nor record grow
		refuse(w, c, status, err.Error())
		return
	}
	fields := []any{"api", c.Name(), "status", status, "error", plain(err.Error())}
	if caller := access.Caller(r.Context()); caller != "" {
		fields = append(fields, "caller", caller)
	}
	g.log.Warn("refused", fields...)
	g.recorder.refused(r, c.Name(), g.config.Upstream, status, err)
	refuse(w, c, status, err.Error())
}

// refuse answers with an error in the provider's own JSON format.
func refuse(w http.ResponseWriter, c codec, status int, message string) {
	if c == nil {
		c = codecs[0]
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(c.Error(status, plain(message)), '\n'))
}

var _ wire.Reader = (*reading)(nil)
