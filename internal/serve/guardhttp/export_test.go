package guardhttp

import (
	"net"
	"sync/atomic"
)

// Verdict is verdict, for tests.
var Verdict = verdict

// A Counted listener counts what it accepts.
type Counted struct {
	net.Listener
	N *atomic.Int64
}

// Accept counts a connection.
func (c *Counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.N.Add(1)
	}
	return conn, err
}
