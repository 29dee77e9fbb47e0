package serving

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Bounds say how many connections a listener may have open at once. A connection of
// HTTP/2 counts as one for each request under way on it, and at least as one.
type Bounds struct {
	// Connections bounds the total. If zero, [DefaultConnections].
	Connections int
	// PerAddress bounds connections from one address: an IPv4 address, or the /64
	// network of an IPv6 address, because one caller usually has all of that
	// network. If zero, it is half of Connections, and loopback addresses have no
	// bound of their own, because all local clients and a reverse proxy on this
	// machine share one.
	PerAddress int
	// Refused, if set, is called for every connection that is closed because of a
	// bound, and every request of HTTP/2 that is refused. Accepted is called for every
	// other. Neither may block.
	Refused, Accepted func()
}

func (b Bounds) withDefaults() Bounds {
	if b.Connections == 0 {
		b.Connections = DefaultConnections()
	}
	return b
}

// perAddress returns the bound for one address.
func (b Bounds) perAddress(a netip.Addr) int {
	switch {
	case b.PerAddress > 0:
		return min(b.PerAddress, b.Connections)
	case !a.IsValid() || a.IsLoopback():
		return b.Connections
	}
	return max(1, b.Connections/2)
}

// DefaultConnections is derived from the number of files that the process may have
// open. Each connection may need another one to an upstream. An eighth of the
// files, and at least 32, is reserved for other files.
func DefaultConnections() int { return connectionsFor(openFiles()) }

// maxConnections bounds the default, because each connection also costs memory.
const maxConnections = 16384

func connectionsFor(files int) int {
	rest := files - max(32, files/8)
	return min(max(rest/2, 8), maxConnections)
}

// A Listener is a [net.Listener] with bounds. It accepts a connection beyond a
// bound and closes it at once. This way, the client does not wait for an answer
// that never comes, and one address cannot fill the queue of connections ahead of
// others. Make one with [Bound].
type Listener struct {
	net.Listener
	bounds  Bounds
	refused atomic.Uint64

	mu     sync.Mutex
	open   int
	counts map[netip.Addr]int
}

// Bound puts bounds on a listener.
func Bound(l net.Listener, b Bounds) *Listener {
	return &Listener{Listener: l, bounds: b.withDefaults(), counts: map[netip.Addr]int{}}
}

// Accept returns the next connection within the bounds.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := addressOf(c.RemoteAddr())
		if !l.admits(from) {
			l.refused.Add(1)
			c.Close()
			call(l.bounds.Refused)
			continue
		}
		call(l.bounds.Accepted)
		release := sync.OnceFunc(func() { l.give(from) })
		more := more{l, from}
		if tcp, ok := c.(*net.TCPConn); ok {
			return &tcpConn{tcp, more, release}, nil
		}
		return &conn{c, more, release}, nil
	}
}

// more counts what a connection brings beside itself.
type more struct {
	l    *Listener
	from netip.Addr
}

// another implements [counted].
func (m more) another() (release func(), ok bool) {
	if !m.l.admits(m.from) {
		m.l.refused.Add(1)
		call(m.l.bounds.Refused)
		return nil, false
	}
	call(m.l.bounds.Accepted)
	return func() { m.l.give(m.from) }, true
}

func call(f func()) {
	if f != nil {
		f()
	}
}

func (l *Listener) admits(from netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.bounds.Connections || l.counts[from] >= l.bounds.perAddress(from) {
		return false
	}
	l.open++
	l.counts[from]++
	return true
}

func (l *Listener) give(from netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.counts[from]--; l.counts[from] == 0 {
		delete(l.counts, from)
	}
}

// Open returns how many connections count as open.
func (l *Listener) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// Refused returns how many connections and requests were refused because of a bound.
func (l *Listener) Refused() uint64 { return l.refused.Load() }

// Bounds returns the effective bounds.
func (l *Listener) Bounds() Bounds { return l.bounds }

// addressOf returns what the connections of one caller share. If there is no IP
// address (a Unix socket), it is the zero address for all.
func addressOf(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	if ip.Is6() && !ip.IsLoopback() {
		if p, err := ip.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return ip
}

// A tcpConn keeps the methods of a TCP connection that net/http looks for. net/http
// half-closes a connection whose client may still be sending, so that the answer
// arrives.
type tcpConn struct {
	*net.TCPConn
	more
	release func()
}

func (c *tcpConn) Close() error {
	defer c.release()
	return c.TCPConn.Close()
}

type conn struct {
	net.Conn
	more
	release func()
}

func (c *conn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
