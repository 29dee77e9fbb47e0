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
	"net"
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

const prefix = "sotto:1:"

// A Store is the shared state. It is safe for concurrent use.
type Store struct {
	o        Options
	at       endpoint
	one      *node        // the server; of a cluster, none of whose servers is known
	cluster  *cluster     // nil if there is one server
	replies  atomic.Int64 // bytes of the replies that are being read
	requests *prometheus.CounterVec
	here     atomic.Pointer[net.IP] // from where a server was reached last

	mu       sync.Mutex
	answered int // the sentinel that answered last
}

// Open returns the store at an address such as redis://localhost:6379/0, or that of
// sentinels or of a cluster. It does not wait for the server.
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
	dial := func(ctx context.Context) (redis.Conn, error) { return s.dial(ctx, at.hosts[0]) }
	switch at.kind {
	case "sentinel":
		dial = s.dialMaster
	case "cluster":
		dial = func(context.Context) (redis.Conn, error) { return nil, errNoNode }
		s.cluster = &cluster{store: s, nodes: map[string]*node{}}
	}
	s.one = newNode(o.Log, dial)
	return s, nil
}

// Close closes the connections.
func (s *Store) Close() error {
	err := s.one.pool.Close()
	if s.cluster != nil {
		err = errors.Join(err, s.cluster.close())
	}
	return err
}

// node returns the server that has a key.
func (s *Store) node(ctx context.Context, key string) *node {
	if s.cluster != nil {
		if n := s.cluster.node(ctx, slotOf(key)); n != nil {
			return n
		}
	}
	return s.one
}

// do runs commands for a key within the given time, unless the server is left alone.
func (s *Store) do(operation, key string, wait time.Duration, commands func(run) error) bool {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	n := s.node(ctx, key)
	if !n.may() {
		if s.cluster != nil {
			s.cluster.doubt() // another server may have the key by now
		}
		s.requests.WithLabelValues(operation, "skipped").Inc()
		return false
	}
	return s.on(ctx, n, operation, key, commands) == nil
}

// try is do, even while the server is left alone.
func (s *Store) try(operation, key string, wait time.Duration, commands func(run) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	return s.on(ctx, s.node(ctx, key), operation, key, commands)
}

// on runs commands on a server, and notes how that ended.
func (s *Store) on(ctx context.Context, n *node, operation, key string, commands func(run) error) (err error) {
	if s.cluster != nil && n != s.one {
		s.one.settle(nil) // the cluster is known
		err = s.cluster.do(ctx, n, slotOf(key), commands)
	} else {
		err = n.with(ctx, false, commands)
	}
	n.settle(err)
	outcome := "ok"
	if err != nil {
		outcome = "failed"
	}
	s.requests.WithLabelValues(operation, outcome).Inc()
	return err
}

// name is a key as text.
func name(k history.Key) string { return base64.RawURLEncoding.EncodeToString(k[:]) }
