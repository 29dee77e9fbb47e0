package doctor

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/check/modelserver"
)

// What Sotto does is observed: each reply that came is played again, from memory, as the
// upstream of a gateway. So no further token is used.

// A played upstream answers every request with what the server answered.
type played struct {
	path      string // of the model's requests
	reply     *modelserver.Response
	templates map[string]*modelserver.Response // by path
}

func (p *played) RoundTrip(r *http.Request) (*http.Response, error) {
	res := p.templates[r.URL.Path]
	if strings.HasSuffix(r.URL.Path, p.path) {
		res = p.reply
	}
	if res == nil {
		res = &modelserver.Response{Status: http.StatusNotFound}
	}
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	header := http.Header{}
	if kind := res.Header.Get("Content-Type"); kind != "" {
		header.Set("Content-Type", kind)
	}
	return &http.Response{
		StatusCode: res.Status, Status: http.StatusText(res.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, ContentLength: int64(len(res.Body)), Body: io.NopCloser(bytes.NewReader(res.Body)), Request: r,
	}, nil
}

// behind returns a reply as a client of the gateway gets it. The gateway has learned
// nothing yet, as at the first request.
func (d *diagnosis) behind(a *asked, route *routing.Route) (*modelserver.Reply, error) {
	config := gateway.Config{
		Upstream: &url.URL{Scheme: "http", Host: "127.0.0.1"}, Templates: true,
		Named: d.options.Named, ForModel: d.options.ForModel,
		Transport: &played{d.api.path, a.response, d.templates},
	}
	if route != nil {
		config.Routes = []routing.Route{*route}
	}
	g, err := gateway.New(config)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	body, err := d.api.codec.WriteTurn(nil, a.request)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(d.ctx, d.options.Time)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1"+d.api.path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	w := &written{header: http.Header{}, status: http.StatusOK}
	g.ServeHTTP(w, req)
	res := &modelserver.Response{Status: w.status, Header: w.header, Body: w.body.Bytes()}
	res.Kind, _, _ = strings.Cut(w.header.Get("Content-Type"), ";")
	return modelserver.Read(d.api.codec, res, a.way.stream), nil
}

// written is the response of a handler, kept in memory.
type written struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *written) Header() http.Header         { return w.header }
func (w *written) WriteHeader(status int)      { w.status = status }
func (w *written) Write(p []byte) (int, error) { return w.body.Write(p) }
func (w *written) Flush()                      {}
