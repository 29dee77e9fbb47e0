package serving

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"
)

// listening returns a bounded listener whose connections are passed on.
func listening(t *testing.T, b Bounds) (*Listener, <-chan net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	bounded := Bound(l, b)
	t.Cleanup(func() { bounded.Close() })
	accepted := make(chan net.Conn, 64)
	go func() {
		for {
			c, err := bounded.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	return bounded, accepted
}

func dial(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// closedByServer waits until the other side has closed a connection.
func closedByServer(t *testing.T, c net.Conn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.ReadAll(c); err != nil && !isReset(err) {
		t.Errorf("the connection is open: %v", err)
	}
}

func isReset(err error) bool {
	ne, ok := err.(net.Error)
	return !ok || !ne.Timeout()
}

// TestBound: connections beyond the bound are closed. A connection that ends frees
// one place, however often it is closed.
func TestBound(t *testing.T) {
	for name, b := range map[string]Bounds{
		"all": {Connections: 3}, "an address": {Connections: 100, PerAddress: 3},
	} {
		t.Run(name, func(t *testing.T) {
			l, accepted := listening(t, b)
			var kept []net.Conn
			for range 3 {
				dial(t, l)
				kept = append(kept, <-accepted)
			}
			for range 5 {
				closedByServer(t, dial(t, l))
			}
			if l.Open() != 3 || l.Refused() != 5 {
				t.Errorf("%d open, %d refused, want 3 and 5", l.Open(), l.Refused())
			}
			kept[0].Close()
			kept[0].Close()
			dial(t, l)
			kept[0] = <-accepted
			closedByServer(t, dial(t, l))
			for _, c := range kept {
				c.Close()
			}
			if l.Open() != 0 || len(l.counts) != 0 {
				t.Errorf("%d open, addresses %v, after all were closed", l.Open(), l.counts)
			}
		})
	}
}

// TestHalfClose: net/http half-closes a connection whose client is still sending,
// so that the client can read the answer. The wrapper must not hide that.
func TestHalfClose(t *testing.T) {
	l, accepted := listening(t, Bounds{})
	dial(t, l)
	if _, ok := (<-accepted).(interface{ CloseWrite() error }); !ok {
		t.Error("the connection cannot be half-closed")
	}
}

// TestPerAddress: by default one address may have half of the connections.
// Loopback, which all local clients and a reverse proxy share, may have all of
// them.
func TestPerAddress(t *testing.T) {
	b := Bounds{Connections: 10}
	for address, want := range map[string]int{"127.0.0.1": 10, "::1": 10, "192.0.2.1": 5, "2001:db8::": 5} {
		if got := b.perAddress(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %d, want %d", address, got, want)
		}
	}
	b.PerAddress = 7
	if got := b.perAddress(netip.MustParseAddr("127.0.0.1")); got != 7 {
		t.Errorf("loopback, where a bound was set: %d, want 7", got)
	}
	if got := (Bounds{Connections: 1}).perAddress(netip.MustParseAddr("192.0.2.1")); got != 1 {
		t.Errorf("half of one connection is %d, want 1", got)
	}
}

// TestAddressOf: the addresses of one IPv6 network belong to one caller.
func TestAddressOf(t *testing.T) {
	same := func(a, b string) bool {
		of := func(s string) netip.Addr { return addressOf(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s))) }
		return of(a) == of(b)
	}
	for _, v := range []struct {
		a, b string
		want bool
	}{
		{"192.0.2.1:1", "192.0.2.1:2", true},
		{"192.0.2.1:1", "[::ffff:192.0.2.1]:2", true},
		{"192.0.2.1:1", "192.0.2.2:1", false},
		{"[2001:db8::1]:1", "[2001:db8::ffff:2]:1", true},
		{"[2001:db8::1]:1", "[2001:db8:0:1::1]:1", false},
		{"[fe80::1%eth0]:1", "[fe80::1%eth1]:1", true},
	} {
		if same(v.a, v.b) != v.want {
			t.Errorf("%s and %s: same is %v", v.a, v.b, !v.want)
		}
	}
}

// TestConnectionsFor: if each client connection has an upstream connection, there
// are still files left.
func TestConnectionsFor(t *testing.T) {
	for _, files := range []int{64, 256, 500, 1024, 65536, 1 << 20, 1<<31 - 1} {
		n := connectionsFor(files)
		if n < 8 || n > maxConnections || 2*n+32 > files {
			t.Errorf("%d files: %d connections", files, n)
		}
	}
	if n := DefaultConnections(); n < 8 {
		t.Errorf("%d connections on this machine", n)
	}
}
