package replicas

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

const dialWait = time.Second

// An endpoint is what the address of a store says.
type endpoint struct {
	host     string // with its port
	database int
	user     string
	tls      bool
}

// forms are the addresses that are understood.
const forms = "redis://HOST:PORT/DATABASE, or rediss:// for TLS"

// CheckURL returns what is wrong with the address of a server. No error contains a
// password.
func CheckURL(address string) error {
	_, err := parse(address)
	return err
}

// parse reads the address of a store.
func parse(address string) (e endpoint, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return e, errors.New("not a URL")
	}
	_, password := u.User.Password()
	switch {
	case u.Scheme != "redis" && u.Scheme != "rediss":
		return e, fmt.Errorf("scheme %q: want %s", u.Scheme, forms)
	case u.Hostname() == "":
		return e, errors.New("no host: want " + forms)
	case password:
		return e, errors.New("the URL holds a password: give it with shared-password-file or SOTTO_SHARED_PASSWORD")
	case u.RawQuery != "" || u.Fragment != "":
		return e, errors.New("nothing may follow the database")
	}
	if text := strings.TrimPrefix(u.Path, "/"); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return e, errors.New("the database is not a number: want " + forms)
		}
		e.database = int(n)
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	e.host, e.user, e.tls = net.JoinHostPort(u.Hostname(), port), u.User.Username(), u.Scheme == "rediss"
	return e, nil
}

// dial connects to a server.
func (s *Store) dial(ctx context.Context, host string) (redis.Conn, error) {
	wait := max(s.o.Write, s.o.Read, s.o.Keep, dialWait) // at most: each request has its own
	options := []redis.DialOption{
		redis.DialContextFunc(s.connect), redis.DialReadTimeout(wait), redis.DialWriteTimeout(wait),
		redis.DialClientName("sotto"), redis.DialDatabase(s.at.database),
	}
	if s.o.Password != "" {
		options = append(options, redis.DialUsername(s.at.user), redis.DialPassword(s.o.Password))
	}
	return redis.DialContext(ctx, "tcp", host, options...)
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
	return &bounded{Conn: c, replies: &s.replies}, nil
}
