package servecmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// TestReadinessIsCached: however many ask at once and again, the upstream is asked once
// in a while, and a change is seen after that.
func TestReadinessIsCached(t *testing.T) {
	var count atomic.Int64
	var down atomic.Bool
	now := time.Unix(1000, 0)
	r := &readiness{log: slog.New(slog.DiscardHandler), now: func() time.Time { return now }, upstreams: []*asked{{ask: func(ctx context.Context) error {
		count.Add(1)
		if _, ok := ctx.Deadline(); !ok {
			t.Error("the upstream may take any time")
		}
		if down.Load() {
			return errors.New("away")
		}
		return nil
	}}}}
	all := func(want error) {
		t.Helper()
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				if err := r.check(); err != want {
					t.Errorf("%v", err)
				}
			})
		}
		group.Wait()
	}
	all(nil)
	down.Store(true)
	now = now.Add(readyEvery - 1)
	all(nil)
	now = now.Add(1)
	all(errUpstream)
	down.Store(false)
	all(errUpstream)
	now = now.Add(readyEvery)
	all(nil)
	if n := count.Load(); n != 3 {
		t.Errorf("the upstream was asked %d times", n)
	}
}

// TestReadinessAsks: an upstream that answers anything can be reached, unless it is a
// proxy whose server is away. It gets no credentials.
func TestReadinessAsks(t *testing.T) {
	status := http.StatusNotFound
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead || r.URL.Path != "/base" || r.Header.Get("Authorization") != "" {
			t.Errorf("%s %s %v", r.Method, r.URL.Path, r.Header)
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	at, err := url.Parse(server.URL + "/base")
	if err != nil {
		t.Fatal(err)
	}
	s := &settings.Setup{}
	s.Gateway.Upstream, s.Gateway.UpstreamKey = at, "secret"
	r, closes := newReadiness(s, slog.New(slog.DiscardHandler))
	defer closes()
	for _, tt := range []struct {
		status int
		want   error
	}{{404, nil}, {401, nil}, {500, nil}, {302, nil}, {502, errUpstream}, {503, errUpstream}, {504, errUpstream}} {
		status, r.last = tt.status, time.Time{}
		if err := r.check(); err != tt.want {
			t.Errorf("%d: %v", tt.status, err)
		}
	}
	server.Close()
	r.last = time.Time{}
	if err := r.check(); err != errUpstream {
		t.Errorf("without a server: %v", err)
	}
}

// TestReadinessOfSeveral: a gateway is ready while one of its upstreams can be reached, and
// names those that cannot.
func TestReadinessOfSeveral(t *testing.T) {
	away := map[string]bool{}
	r := &readiness{log: slog.New(slog.DiscardHandler), now: time.Now}
	for _, name := range []string{"default", "one", "two"} {
		r.upstreams = append(r.upstreams, &asked{name: name, ask: func(context.Context) error {
			if away[name] {
				return errors.New("away: 10.1.2.3")
			}
			return nil
		}})
	}
	for _, tt := range []struct{ down, want string }{
		{"", "<nil>"}, {"one", "ready, but these upstreams cannot be reached: one"}, {"default two", "ready, but these upstreams cannot be reached: default, two"},
		{"default one two", "the upstream cannot be reached"}, {"", "<nil>"},
	} {
		clear(away)
		for _, name := range strings.Fields(tt.down) {
			away[name] = true
		}
		r.last = time.Time{}
		err := r.check()
		if _, some := errors.AsType[*gateway.DegradedError](err); fmt.Sprint(err) != tt.want || some != strings.HasPrefix(tt.want, "ready") {
			t.Errorf("without %q: %v", tt.down, err)
		}
	}
}
