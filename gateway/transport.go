package gateway

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/headers"
	"github.com/sotto-llm/sotto/gateway/internal/sending"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// A Transport is the gateway inside a Go client: an [http.RoundTripper] that edits
// the history of requests, and reads the replies of models. Requests that do not go
// to a model's route pass unchanged.
type Transport struct {
	engine *engine
	hides  bool // some route hides reasoning
}

// A TransportConfig configures a [Transport]. Its zero value is right for one client. Each
// field means what the field of [Config] with its name does.
type TransportConfig struct {
	Default       routing.Route
	Routes        []routing.Route
	Named         func(name string) (*sotto.Grammar, error)
	ForModel      func(model string) (g *sotto.Grammar, known bool)
	Separated     func(model string) bool
	Exact         Exactness
	HistoryDryRun bool

	Data         string
	Shared       Shared
	SharedSecret []byte
	OldSecrets   [][]byte

	Limits    Limits
	KeepAlive time.Duration
	Silence   time.Duration

	Logger        *slog.Logger
	Observers     []Observer
	Recorder      Recorder
	RecordHeaders []string

	Transport http.RoundTripper // reaches the servers
}

func (c TransportConfig) config() Config {
	return Config{
		Default: c.Default, Routes: c.Routes, Named: c.Named, ForModel: c.ForModel, Separated: c.Separated, Exact: c.Exact, HistoryDryRun: c.HistoryDryRun,
		Data: c.Data, Shared: c.Shared, SharedSecret: c.SharedSecret, OldSecrets: c.OldSecrets,
		Limits: c.Limits, KeepAlive: c.KeepAlive, Silence: c.Silence,
		Logger: c.Logger, Observers: c.Observers, Recorder: c.Recorder, RecordHeaders: c.RecordHeaders,
		Transport: c.Transport,
	}
}

// NewTransport returns a transport. Requests go where the client sends them, with the
// client's key and in its API. Nothing is translated. An error has a [*ConfigError] for
// each fault of the configuration.
func NewTransport(c TransportConfig) (*Transport, error) {
	all := c.config()
	if faults := all.faults(); len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	e, err := newEngine(all)
	if err != nil {
		return nil, err
	}
	return &Transport{e, e.config.hides()}, nil
}

// Close saves what was learned.
func (t *Transport) Close() error { return t.engine.close() }

// Learned returns what the transport has learned of how replies begin.
func (t *Transport) Learned() *Learned { return &Learned{t.engine.learned} }

// endpoint returns where a request goes, and whether its reply is read.
func (t *Transport) endpoint(r *http.Request) (e endpoints.Endpoint, read bool, err error) {
	e = endpoints.Look(endpoints.Segments(r.URL.Path), func(e *endpoints.Endpoint) bool { return e.Takes(r.Method) }).Endpoint
	if (e.Kind == endpoints.Unread || e.Kind == endpoints.Results || e.Kind == endpoints.Audio) && t.hides {
		return e, false, errors.New("reasoning is hidden, and the gateway does not read what this route returns")
	}
	return e, e.Read(r.Method) != nil && (e.Kind == endpoints.Stored || r.Body != nil), nil
}

func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	next := t.engine.config.Transport
	e, read, err := t.endpoint(r)
	if err != nil {
		return nil, err
	}
	if !read {
		resp, err := next.RoundTrip(r)
		if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
			t.engine.overlook(r, e, resp)
		}
		return resp, err
	}
	x, hold, err := t.open(e, r)
	if err != nil {
		return nil, err
	}
	ctx, stop := x.start(r.Context(), func() {})
	end := sync.OnceFunc(func() {
		stop()
		hold.Leave()
	})
	r = x.upstreamRequest(r.Clone(ctx))
	if x.changesNothing() {
		r = sending.Replayable(r, func(why string) { t.engine.resentOf(x, x.to, why) })
	}
	resp, err := withoutProofs{headers.Quietly{RoundTripper: next, Header: t.engine.config.Limits.Header}}.RoundTrip(r)
	var src *closeOnce
	if err == nil {
		headers.Law{Hides: x.route.Display == routing.DisplayHide, All: true}.Pass(resp)
		src = &closeOnce{ReadCloser: resp.Body}
		resp.Body = src
		err = x.replied(resp)
		if err != nil {
			resp.Body.Close()
		}
	}
	if err != nil {
		x.err = faults.Quiet(err)
		end()
		return nil, err
	}
	resp.Body = &endingBody{body: resp.Body, end: end, wake: func() {
		x.cancel(nil)
		src.Close()
	}}
	return resp, nil
}

// open reads a request and begins its exchange. The caller must release its charge.
func (t *Transport) open(e endpoints.Endpoint, r *http.Request) (*exchange, *budget.Charge, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	hold, err := t.engine.budget.Open()
	if err != nil {
		return nil, nil, err
	}
	x, err := t.begin(e, r, hold)
	if err != nil {
		hold.Leave()
		return nil, nil, err
	}
	return x, hold, nil
}

// begin begins the exchange of a request.
func (t *Transport) begin(e endpoints.Endpoint, r *http.Request, hold *budget.Charge) (*exchange, error) {
	server := t.engine.elsewhere(&url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host})
	if e.Kind == endpoints.Stored {
		return t.engine.beginStored(e.Codec, r, server, hold)
	}
	body, err := bodies.Read(r.Body, r.ContentLength, t.engine.config.Limits.Body, hold)
	if err != nil {
		return nil, err
	}
	x, err := t.engine.begin(e.Codec, body, r, server, hold)
	if p := endpoints.Provider(e.Codec); err == nil && p.Refuses != nil && !bytes.Equal(x.body, body) { // its server would refuse an edited body
		if err := p.Refuses(r); err != nil {
			return nil, err
		}
	}
	return x, err
}

// An endingBody ends its exchange when the client has read all of it, or closes it.
// As with other bodies, Close may be called while Read waits. It makes Read return,
// and then ends the exchange.
type endingBody struct {
	wake func() // makes a Read that waits for the upstream return
	end  func()

	mu     sync.Mutex
	body   io.ReadCloser
	closed bool
}

func (b *endingBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := b.body.Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}

func (b *endingBody) Close() error {
	b.wake()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	err := b.body.Close()
	b.end()
	return err
}

// A closeOnce is a body that is closed once, and keeps the error of that.
type closeOnce struct {
	io.ReadCloser
	once sync.Once
	err  error
}

func (c *closeOnce) Close() error {
	c.once.Do(func() { c.err = c.ReadCloser.Close() })
	return c.err
}
