package sending

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
)

// Burst is how many bytes one read takes of what has already come.
const Burst = 32 << 10

// bursts are buffers for what a read brought beyond the caller's buffer. A connection that
// waits for its first bytes holds none.
var bursts = sync.Pool{New: func() any { return new([Burst]byte) }}

// A Conn is a connection to an upstream. net/http reads 4 KiB at a time, so that a reply that
// comes at once would take a system call for each. A Conn reads more at a time after a read that
// filled the caller's buffer. Use one with [Bursts].
type Conn struct {
	net.Conn
	burst *[Burst]byte // nil unless rest is in it, or it is being read into
	rest  []byte       // what was read and not yet given
	full  bool         // the last read took as much as the caller's buffer holds: there may be more
}

func (c *Conn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		if !c.full || len(p) >= Burst {
			n, err := c.Conn.Read(p)
			c.full = n == len(p)
			return n, err
		}
		c.burst = bursts.Get().(*[Burst]byte)
		n, err := c.Conn.Read(c.burst[:])
		c.full, c.rest = n >= len(p), c.burst[:n]
		if n == 0 {
			c.giveBack()
			return 0, err
		}
		// An error that came with bytes comes again.
	}
	n := copy(p, c.rest)
	if c.rest = c.rest[n:]; len(c.rest) == 0 {
		c.giveBack()
	}
	return n, nil
}

func (c *Conn) giveBack() {
	bursts.Put(c.burst)
	c.burst, c.rest = nil, nil
}

// ReadFrom lets a request's body be sent as the connection does it best.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.Conn, r) }

// Waiting returns how many bytes have come that nobody has read. Only the goroutine that reads a
// response may call it, and not after the response's end.
func (c *Conn) Waiting() int { return len(c.rest) }

// Holds returns how many bytes of memory a connection holds, or takes with its next read.
func (c *Conn) Holds() int {
	if c.full || c.burst != nil {
		return Burst
	}
	return 0
}

// Bursts lets a transport read what comes at once in few reads, if it does not use TLS.
func Bursts(t *http.Transport) {
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &Conn{Conn: conn}, nil
	}
}

// connected returns a request of which got gets each connection that it takes.
func connected(r *http.Request, got func(net.Conn)) *http.Request {
	return r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { got(i.Conn) }}))
}
