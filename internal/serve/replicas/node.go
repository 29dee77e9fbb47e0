package replicas

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	// firstRest and longestRest bound the time for which a server that failed is left
	// alone. It doubles with each failure.
	firstRest   = 500 * time.Millisecond
	longestRest = 15 * time.Second
)

// A node is one server, or the master that sentinels name.
type node struct {
	pool *redis.Pool
	log  *slog.Logger

	mu    sync.Mutex
	until time.Time     // the server is left alone until then
	rest  time.Duration // how long it was left alone last; 0 while it works
	broke time.Time     // when a request failed last
}

func newNode(log *slog.Logger, dial func(context.Context) (redis.Conn, error)) *node {
	n := &node{log: log}
	n.pool = &redis.Pool{
		TestOnBorrow: func(_ redis.Conn, returned time.Time) error { return n.stale(returned) },
		MaxIdle:      16, MaxActive: 256, Wait: true, IdleTimeout: time.Minute,
		DialContext: dial,
	}
	return n
}

// may reports whether the server is asked now.
func (n *node) may() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !time.Now().Before(n.until)
}

var errStale = errors.New("the connection is from before the server failed")

// stale refuses a connection that waits since before the last failure. Otherwise each
// of them would fail in turn after the server has come back, or would lead to a server
// that is not the master any more.
func (n *node) stale(returned time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if returned.Before(n.broke) {
		return errStale
	}
	return nil
}

// settle notes how a request ended, and says when the server fails and when it works
// again.
func (n *node) settle(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case err != nil:
		if n.rest == 0 {
			n.log.Warn("the shared state cannot be reached: this replica continues alone", "error", err)
		}
		n.rest = min(max(2*n.rest, firstRest), longestRest)
		n.broke = time.Now()
		n.until = n.broke.Add(n.rest)
	case n.rest > 0:
		n.rest, n.until = 0, time.Time{}
		n.log.Info("the shared state can be reached again")
	}
}

// A run runs a script.
type run = func(script *redis.Script, args ...any) (any, error)

// with runs commands on a connection. If the slot of their keys is being moved to this
// server, it is told to answer all the same.
func (n *node) with(ctx context.Context, asking bool, commands func(run) error) error {
	c, err := n.pool.GetContext(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return commands(func(script *redis.Script, args ...any) (any, error) {
		if asking {
			// The word is for one command, so that the script must be there already.
			if err := script.Load(c); err != nil {
				return nil, err
			}
			if err := c.Send("ASKING"); err != nil {
				return nil, err
			}
		}
		return script.DoContext(ctx, c, args...)
	})
}
