// Package replicas keeps what the replicas of a gateway share, in Redis or in a server
// that speaks its protocol, such as Valkey. It sees keys and sealed values, and no text.
//
// Every command is bounded in time. A server that fails is left alone for a while, and
// the gateway works without it: that is logged once when it begins and once when it
// ends, and counted.
package replicas

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/history"
)

var _ gateway.Shared = (*Store)(nil)

// Options say how a store is used. Zero means the default.
type Options struct {
	// Entries bounds the replies of one caller whose reasoning is kept: 4096. The
	// oldest is dropped first.
	Entries int
	// Age is how long an entry is kept after it was written: 6 h.
	Age time.Duration
	// Starts bounds the learned starts: 4096.
	Starts int
	// Write and Read bound a request: 50 ms, for which the end of a reply may wait, and
	// 250 ms, for which a request may.
	Write, Read time.Duration
	// Keep bounds a request for a kept conversation: 2 s.
	Keep time.Duration
	// Password is that of the server; the user is in the address.
	Password string
	TLS      *tls.Config
	Metrics  prometheus.Registerer // if nil, nothing is counted
	Log      *slog.Logger          // if nil, nothing is logged
}

const (
	// firstRest and longestRest bound the time for which a server that failed is left
	// alone. It doubles with each failure.
	firstRest   = 500 * time.Millisecond
	longestRest = 15 * time.Second

	prefix = "sotto:1:"
)

// A Store is the shared state. It is safe for concurrent use.
type Store struct {
	o        Options
	at       endpoint
	pool     *redis.Pool
	replies  atomic.Int64 // bytes of the replies that are being read
	requests *prometheus.CounterVec

	mu    sync.Mutex
	until time.Time     // the server is left alone until then
	rest  time.Duration // how long it was left alone last; 0 while it works
	broke time.Time     // when a request failed last
}

// Open returns the store at an address such as redis://localhost:6379/0. It does not
// wait for the server.
func Open(address string, o Options) (*Store, error) {
	at, err := parse(address)
	if err != nil {
		return nil, err
	}
	if o.Entries == 0 {
		o.Entries = 4096
	}
	if o.Age == 0 {
		o.Age = 6 * time.Hour
	}
	if o.Starts == 0 {
		o.Starts = 4096
	}
	if o.Write == 0 {
		o.Write = 50 * time.Millisecond
	}
	if o.Read == 0 {
		o.Read = 250 * time.Millisecond
	}
	if o.Keep == 0 {
		o.Keep = 2 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{o: o, at: at, requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "sotto", Name: "shared_requests_total",
		Help: "Requests to the state that replicas share, by what was asked and how it ended: ok, failed, or skipped after a failure.",
	}, []string{"operation", "outcome"})}
	if o.Metrics != nil {
		if err := o.Metrics.Register(s.requests); err != nil {
			return nil, err
		}
	}
	s.pool = &redis.Pool{
		TestOnBorrow: func(_ redis.Conn, returned time.Time) error { return s.stale(returned) },
		MaxIdle:      16, MaxActive: 256, Wait: true, IdleTimeout: time.Minute,
		DialContext: func(ctx context.Context) (redis.Conn, error) { return s.dial(ctx, s.at.host) },
	}
	return s, nil
}

// Close closes the connections.
func (s *Store) Close() error { return s.pool.Close() }

// do runs commands on a connection within the given time, unless the server is left
// alone.
func (s *Store) do(operation string, wait time.Duration, commands func(run func(script *redis.Script, args ...any) (any, error)) error) bool {
	if !s.may() {
		s.requests.WithLabelValues(operation, "skipped").Inc()
		return false
	}
	return s.try(operation, wait, commands) == nil
}

// try runs commands on a connection within the given time.
func (s *Store) try(operation string, wait time.Duration, commands func(run func(script *redis.Script, args ...any) (any, error)) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	err := s.with(ctx, commands)
	s.settle(err)
	outcome := "ok"
	if err != nil {
		outcome = "failed"
	}
	s.requests.WithLabelValues(operation, outcome).Inc()
	return err
}

func (s *Store) with(ctx context.Context, commands func(run func(script *redis.Script, args ...any) (any, error)) error) error {
	c, err := s.pool.GetContext(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return commands(func(script *redis.Script, args ...any) (any, error) { return script.DoContext(ctx, c, args...) })
}

// may reports whether the server is asked now.
func (s *Store) may() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !time.Now().Before(s.until)
}

var errStale = errors.New("the connection is from before the server failed")

// stale refuses a connection that waits since before the last failure. Otherwise each
// of them would fail in turn after the server has come back.
func (s *Store) stale(returned time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if returned.Before(s.broke) {
		return errStale
	}
	return nil
}

// settle notes how a request ended, and says when the server fails and when it works
// again.
func (s *Store) settle(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		if s.rest == 0 {
			s.o.Log.Warn("the shared state cannot be reached: this replica continues alone", "error", err)
		}
		s.rest = min(max(2*s.rest, firstRest), longestRest)
		s.broke = time.Now()
		s.until = s.broke.Add(s.rest)
	case s.rest > 0:
		s.rest, s.until = 0, time.Time{}
		s.o.Log.Info("the shared state can be reached again")
	}
}

// name is a key as text.
func name(k history.Key) string { return base64.RawURLEncoding.EncodeToString(k[:]) }
