package servecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/settings"
)

// errUpstream is what /readyz says of an upstream that cannot be reached. Anybody may
// read it, so it has no address.
var errUpstream = errors.New("the upstream cannot be reached")

// The upstream is asked at most once in readyEvery, and has readyWait for its answer.
const (
	readyEvery = 5 * time.Second
	readyWait  = 2 * time.Second
)

// A readiness finds out whether the upstream can be reached. However many ask, the
// upstream is asked now and then only.
type readiness struct {
	ask func(context.Context) error
	now func() time.Time
	log *slog.Logger

	mu     sync.Mutex // also while the upstream is asked: others wait for the answer
	asked  time.Time
	failed error
}

// askUpstream lets /readyz ask the upstream, if the settings want that. closes gives up
// what it uses.
func askUpstream(s *settings.Setup, log *slog.Logger) (closes func()) {
	if !s.ReadyUpstream {
		return func() {}
	}
	r, closes := newReadiness(s, log)
	s.Gateway.Ready = r.check
	return closes
}

// newReadiness asks the upstream of a gateway, in the way in which requests reach it.
// close gives up its connection.
func newReadiness(s *settings.Setup, log *slog.Logger) (r *readiness, closes func()) {
	transport := gateway.UpstreamTransport(s.Gateway.Limits)
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	at := *s.Gateway.Upstream
	at.User = nil
	ask := func(ctx context.Context) error {
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
		switch resp.StatusCode { // what a proxy says whose server is away; any other answer is one
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return fmt.Errorf("it answers %d", resp.StatusCode)
		}
		return nil
	}
	closes = func() {
		if t, ok := transport.(interface{ CloseIdleConnections() }); ok {
			t.CloseIdleConnections()
		}
	}
	return &readiness{ask: ask, now: time.Now, log: log}, closes
}

// check returns errUpstream if the upstream could not be reached when it was asked last.
func (r *readiness) check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked.IsZero() || r.now().Sub(r.asked) >= readyEvery {
		ctx, cancel := context.WithTimeout(context.Background(), readyWait)
		err := r.ask(ctx)
		cancel()
		r.asked = r.now()
		switch {
		case err != nil && r.failed == nil:
			r.log.Warn("not ready: the upstream cannot be reached", "error", err.Error())
		case err == nil && r.failed != nil:
			r.log.Info("ready: the upstream can be reached again")
		}
		r.failed = err
	}
	if r.failed != nil {
		return errUpstream
	}
	return nil
}
