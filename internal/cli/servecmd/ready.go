package servecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// errUpstream is what /readyz says if no upstream can be reached. Anybody may read it, so
// it has no address.
var errUpstream = errors.New("the upstream cannot be reached")

// The upstreams are asked at most once in readyEvery, and have readyWait for their answers.
const (
	readyEvery = 5 * time.Second
	readyWait  = 2 * time.Second
)

// A readiness finds out which upstreams can be reached. However many ask, the upstreams
// are asked now and then only.
type readiness struct {
	upstreams []*asked
	now       func() time.Time
	log       *slog.Logger

	mu   sync.Mutex // also while the upstreams are asked: others wait for the answer
	last time.Time
}

// An asked upstream is one of a readiness.
type asked struct {
	name   string
	ask    func(context.Context) error
	failed error
}

// askUpstream lets /readyz ask the upstreams, if the settings want that. closes gives up
// what it uses.
func askUpstream(s *settings.Setup, log *slog.Logger) (closes func()) {
	if !s.ReadyUpstream {
		return func() {}
	}
	r, closes := newReadiness(s, log)
	s.Gateway.Ready = r.check
	return closes
}

// newReadiness asks the upstreams of a gateway, in the way in which requests reach them.
// close gives up its connections.
func newReadiness(s *settings.Setup, log *slog.Logger) (r *readiness, closes func()) {
	transport := gateway.UpstreamTransport(s.Gateway.Limits)
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r = &readiness{now: time.Now, log: log}
	for _, u := range upstreamsOf(&s.Settings) {
		r.upstreams = append(r.upstreams, &asked{name: u.Name, ask: func(ctx context.Context) error { return askOnce(ctx, client, u.URL) }})
	}
	closes = func() {
		if t, ok := transport.(interface{ CloseIdleConnections() }); ok {
			t.CloseIdleConnections()
		}
	}
	return r, closes
}

// upstreamsOf lists all upstreams, the default one first.
func upstreamsOf(s *settings.Settings) []settings.NamedUpstream {
	return append([]settings.NamedUpstream{{Name: "default", URL: s.Gateway.Upstream}}, s.Upstreams...)
}

// askOnce asks whether a server answers. Any answer will do, but what a proxy says whose
// server is away.
func askOnce(ctx context.Context, client *http.Client, base *url.URL) error {
	at := *base
	at.User = nil
	q, err := http.NewRequestWithContext(ctx, http.MethodHead, at.String(), http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(q)
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 1<<10)
	switch resp.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("it answers %d", resp.StatusCode)
	}
	return nil
}

// check returns errUpstream if no upstream could be reached when they were asked last. If
// some could not, the gateway is ready all the same: it serves the models of the others,
// and a load balancer that sent nothing here would not find a gateway with another one.
func (r *readiness) check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last.IsZero() || r.now().Sub(r.last) >= readyEvery {
		r.askAll()
		r.last = r.now()
	}
	var down []string
	for _, u := range r.upstreams {
		if u.failed != nil {
			down = append(down, u.name)
		}
	}
	switch len(down) {
	case 0:
		return nil
	case len(r.upstreams):
		return errUpstream
	}
	return &gateway.DegradedError{Text: "ready, but these upstreams cannot be reached: " + strings.Join(down, ", ")}
}

// askAll asks all upstreams at the same time.
func (r *readiness) askAll() {
	ctx, cancel := context.WithTimeout(context.Background(), readyWait)
	defer cancel()
	errs := make([]error, len(r.upstreams))
	var all sync.WaitGroup
	for i, u := range r.upstreams {
		all.Go(func() { errs[i] = u.ask(ctx) })
	}
	all.Wait()
	for i, u := range r.upstreams {
		switch err := errs[i]; {
		case err != nil && u.failed == nil:
			r.log.Warn("an upstream cannot be reached", "upstream", u.name, "error", err.Error())
		case err == nil && u.failed != nil:
			r.log.Info("an upstream can be reached again", "upstream", u.name)
		}
		u.failed = errs[i]
	}
}
