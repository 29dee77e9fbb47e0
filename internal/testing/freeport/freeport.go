// Package freeport finds ports for programs of tests that must be told their port beforehand.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Find returns the address of a port of this machine that nothing uses, as host:port. It is
// below the ports that systems give to whoever asks for any, so that no test beside this one
// gets it in the meantime.
func Find(t testing.TB) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 15_000+rand.IntN(15_000)))
		if err == nil {
			l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}
