package replicas

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

const dialWait = time.Second

// dial connects to a server.
func (s *Store) dial(ctx context.Context, host string) (redis.Conn, error) {
	options := s.options(redis.DialDatabase(s.at.database))
	if s.o.Password != "" {
		options = append(options, redis.DialUsername(s.at.user), redis.DialPassword(s.o.Password))
	}
	return redis.DialContext(ctx, "tcp", host, options...)
}

func (s *Store) options(more ...redis.DialOption) []redis.DialOption {
	wait := max(s.o.Write, s.o.Read, s.o.Keep, dialWait) // at most: each request has its own
	return append(more, redis.DialContextFunc(s.connect), redis.DialReadTimeout(wait), redis.DialWriteTimeout(wait), redis.DialClientName("sotto"))
}

// connect opens a connection whose replies are bounded. TLS is below the bounds, so
// that they see the replies.
func (s *Store) connect(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWait)
	defer cancel()
	var plain net.Dialer
	dial := plain.DialContext
	if s.at.tls {
		dial = (&tls.Dialer{NetDialer: &plain, Config: s.o.TLS}).DialContext
	}
	c, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	s.reached(c)
	return &bounded{Conn: c, replies: &s.replies}, nil
}

// dialMaster connects to the server that the sentinels call the master. A server that
// is not one any more says so itself.
func (s *Store) dialMaster(ctx context.Context) (redis.Conn, error) {
	var faults []error
	for _, sentinel := range s.sentinels() {
		c, err := s.masterOf(ctx, sentinel)
		if err == nil {
			s.prefer(sentinel)
			return c, nil
		}
		faults = append(faults, fmt.Errorf("sentinel %s: %w", sentinel, err))
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(faults...)
}

// masterOf connects to the master that one sentinel names.
func (s *Store) masterOf(ctx context.Context, sentinel string) (redis.Conn, error) {
	part, cancel := context.WithTimeout(ctx, sentinelWait)
	defer cancel()
	c, err := redis.DialContext(part, "tcp", sentinel, s.options()...)
	if err != nil && strings.HasPrefix(err.Error(), "NOAUTH") && s.o.Password != "" { // it wants a password, and gets the same one
		c, err = redis.DialContext(part, "tcp", sentinel, s.options(redis.DialUsername(s.at.user), redis.DialPassword(s.o.Password))...)
	}
	if err != nil {
		return nil, err
	}
	defer c.Close()
	at, err := redis.Strings(redis.DoContext(c, part, "SENTINEL", "get-master-addr-by-name", s.at.master))
	switch {
	case errors.Is(err, redis.ErrNil):
		return nil, fmt.Errorf("it knows no master %q", s.at.master)
	case err != nil:
		return nil, err
	case len(at) != 2:
		return nil, errors.New("its answer is not an address")
	}
	master, err := s.dial(ctx, net.JoinHostPort(at[0], at[1]))
	if err != nil {
		return nil, err
	}
	if err := isMaster(ctx, master); err != nil {
		return nil, errors.Join(err, master.Close())
	}
	return master, nil
}

// isMaster asks a server for its role.
func isMaster(ctx context.Context, c redis.Conn) error {
	role, err := redis.Values(redis.DoContext(c, ctx, "ROLE"))
	if err != nil {
		return err
	}
	if len(role) == 0 {
		return errors.New("the server has no role")
	}
	if word, err := redis.String(role[0], nil); err != nil || word != "master" {
		return fmt.Errorf("the server's role is %q and not master", word)
	}
	return nil
}

// sentinelWait is how long one sentinel may take, so that the others are asked too.
const sentinelWait = 200 * time.Millisecond

// sentinels are those of the address, beginning with the one that answered last.
func (s *Store) sentinels() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(append([]string{}, s.at.hosts[s.answered:]...), s.at.hosts[:s.answered]...)
}

func (s *Store) prefer(sentinel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, host := range s.at.hosts {
		if host == sentinel {
			s.answered = i
		}
	}
}
