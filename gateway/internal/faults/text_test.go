package faults

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A client learns why its request failed, and no name or address behind the gateway.
func TestFaultTexts(t *testing.T) {
	addr := &net.TCPAddr{IP: net.IPv4(10, 9, 8, 7), Port: 99}
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Addr: addr, Err: err} }
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("plain"), "plain"}, {fmt.Errorf("upstream: %w", dial(syscall.ECONNREFUSED)), "upstream: dial: connection refused"}, {dial(os.ErrDeadlineExceeded), "dial: timed out"}, {dial(tls.AlertError(40)), "dial: tls: handshake failure"}, {dial(errors.New("10.9.8.7 fails")), "dial: the connection failed"},
		{fmt.Errorf("a: %w: b", &net.DNSError{Err: "no such host", Name: "secret.local"}), "a: its name could not be resolved: b"}, {dial(&net.DNSError{Err: "no such host", Name: "secret.local"}), "dial: its name could not be resolved"}, {&net.AddrError{Err: "bad", Addr: "10.9.8.7"}, "its address is not valid"}, {fmt.Errorf("x: %w", &tls.CertificateVerificationError{Err: errors.New("for secret.local")}), "x: its certificate could not be verified"},
	} {
		got := Text(c.err)
		if got != c.want || strings.Contains(got, "10.9") || strings.Contains(got, "secret") {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
		if e := ForClient(c.err); e.Error() != c.want || !errors.Is(e, c.err) {
			t.Errorf("%v: %v", c.err, e)
		}
	}
	if ForClient(nil) != nil {
		t.Error("no error is one")
	}
}
