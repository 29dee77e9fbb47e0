package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/headers"
	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/wire"
)

// exchangeKey is the context key of an exchange.
type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// upstreamRequest gives a request the body that goes to the upstream.
func (x *exchange) upstreamRequest(r *http.Request) *http.Request {
	r.Header.Set("Accept-Encoding", "identity")
	r.Header.Del("Expect")
	r.TransferEncoding = nil
	maps.Copy(r.Header, x.outward)
	if x.stored {
		u := *r.URL
		withoutStart(&u)
		r.URL, r.Body, r.ContentLength = &u, http.NoBody, 0
		return r
	}
	// GetBody lets the transport try again if an idle connection was closed before
	// a byte was sent.
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.body)), nil }
	r.Body, _ = r.GetBody()
	r.ContentLength = int64(len(x.body))
	return r
}

// reverseProxy returns what passes requests to the upstreams of a gateway.
func (g *ruleset) reverseProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        g.rewrite,
		ModifyResponse: g.modify,
		ErrorHandler:   g.proxyError,
		ErrorLog:       log.New(serving.QuietLog(g.engine.config.Logger), "", 0),
		Transport:      withoutProofs{sender{g.engine}},
		FlushInterval:  -1,
		BufferPool:     &buffers{},
	}
}

// rewrite makes the upstream's request from the client's.
func (g *ruleset) rewrite(p *httputil.ProxyRequest) {
	if !endpoints.HasEncodedSlash(p.Out.URL) && !keepsPath(p.Out.URL) {
		p.Out.URL.RawPath = "" // use the usual encoding of the path
	}
	if x := exchangeOf(p.Out.Context()); x != nil && x.bridge != nil {
		x.bridge.Request(p.Out, x.outward)
	}
	g.address(p.Out, targetOf(p.Out.Context()))
}

// address makes a request one to an upstream.
func (g *ruleset) address(out *http.Request, to *target) {
	out.URL = endpoints.Below(to.url, out.URL)
	out.Host = to.url.Host
	g.access.GoesOn(out, to.key)
}

// targetOf returns where the request of a context goes.
func targetOf(ctx context.Context) *target {
	if x := exchangeOf(ctx); x != nil {
		return x.to
	}
	return passageOf(ctx).to
}

// keepsPath reports whether a path belongs to an API whose clients encode it in a way of
// their own.
func keepsPath(u *url.URL) bool {
	f := endpoints.Look(endpoints.Segments(u.Path), func(*endpoints.Endpoint) bool { return true })
	p := endpoints.Provider(f.Codec)
	return p != nil && p.KeepsPath
}

func (g *ruleset) modify(resp *http.Response) error {
	dropped := g.lawOf(resp.Request.Context()).Pass(resp)
	g.engine.undelivered(resp.Request, dropped)
	if resp.StatusCode == http.StatusSwitchingProtocols && !upgrades(resp) {
		return errors.New("the upstream switched to a protocol that was not requested")
	}
	if x := exchangeOf(resp.Request.Context()); x != nil {
		if x.bridge != nil {
			x.bridge.Response(resp)
		}
		return x.replied(resp)
	}
	if p := passageOf(resp.Request.Context()); p != nil {
		return p.modify(resp)
	}
	return nil
}

// lawOf returns which headers of the response to a request pass.
func (g *ruleset) lawOf(ctx context.Context) headers.Law {
	l := headers.Law{Hides: g.engine.config.hides(), Cookies: !g.engine.several()}
	if x := exchangeOf(ctx); x != nil {
		l.Hides = x.route.Display == routing.DisplayHide
	}
	return l
}

// undelivered writes to the log which headers of a response stayed here.
func (e *engine) undelivered(r *http.Request, names []string) {
	log := e.config.Logger
	if len(names) == 0 || !log.Enabled(r.Context(), slog.LevelDebug) {
		return
	}
	fields := []any{"names", faults.Plain(strings.Join(names, " "))}
	if x := exchangeOf(r.Context()); x != nil {
		fields = append(x.identity.Fields(), fields...)
	}
	log.Debug("headers of the upstream's response are not passed on", fields...)
}

// upgrades reports whether an upstream switches to the protocol that it was asked
// for.
func upgrades(resp *http.Response) bool {
	return resp.Request.Header.Get("Upgrade") == "websocket" && len(resp.Header["Upgrade"]) == 1 &&
		strings.EqualFold(resp.Header.Get("Upgrade"), "websocket")
}

// proxyError answers a request if the upstream does not answer, or answers with a
// fault.
func (g *ruleset) proxyError(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r.Context())
	c := codec(nil)
	if x != nil {
		c = x.clientCodec()
		if cause := x.cause(); cause != nil {
			err = cause
		}
	} else if p := passageOf(r.Context()); p != nil {
		err = p.reason(err)
	}
	name, status, text := failure(err)
	g.engine.limited(w, r, c, err)
	if x != nil {
		x.err, x.status = err, status
		w.Header().Set(observing.IDHeader, x.identity.ID)
	}
	if bad, ofTurn := errors.AsType[*wire.TurnError](err); ofTurn {
		if socket, ok := c.(wire.SocketCodec); ok {
			status, body := socket.TurnError(bad)
			faults.RefuseWith(w, name, status, body)
			return
		}
	}
	said, ok := errors.AsType[*wire.Fault](err)
	faults.RefuseAs(w, c, name, &wire.Fault{Status: status, TooLong: ok && said.TooLong, Text: text}) // nobody reads it if the client has left
}

// cause returns why our side ended the exchange, if it did.
func (x *exchange) cause() error {
	if x.ctx == nil {
		return nil
	}
	cause := context.Cause(x.ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return errDeadline
	}
	return cause
}

// errDeadline ends an exchange whose request has a deadline. Such a deadline is set
// by a handler around the gateway, or by the caller of the transport.
var errDeadline = errors.New("the deadline of the request passed before the reply ended")

// UpstreamTransport returns what reaches the upstream of a configuration that has no
// [Config.Transport]: a copy of [http.DefaultTransport] for one upstream that many
// clients share. Use it in a transport of your own that passes most requests on.
func UpstreamTransport(l Limits) http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = int64(l.withDefaults().Header)
	t.DisableCompression = true
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = 512
	plain := t.Clone()
	plain.IdleConnTimeout = plainIdle
	return &upstreamTransport{plain: plain, secure: t}
}

// plainIdle is how long a connection without TLS is kept for the next request. Servers that people
// run close one after 5 s (uvicorn, llama.cpp, Node), some after 2 s (gunicorn), and a request that is
// sent at that moment is lost. To connect again costs less than a millisecond there.
const plainIdle = time.Second

// An upstreamTransport keeps connections with and without TLS for different times.
type upstreamTransport struct{ plain, secure *http.Transport }

func (t *upstreamTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "https" {
		return t.secure.RoundTrip(r)
	}
	return t.plain.RoundTrip(r)
}

// CloseIdleConnections closes the connections that no request uses.
func (t *upstreamTransport) CloseIdleConnections() {
	t.plain.CloseIdleConnections()
	t.secure.CloseIdleConnections()
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
