package serving

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
)

// Listen opens an address. flag is the flag that sets another.
func Listen(flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	number, _ := errors.AsType[syscall.Errno](err)
	why := err
	if number != 0 {
		why = number
	}
	err = fmt.Errorf("listen on %s: %w", address, why)
	switch number {
	case syscall.EADDRINUSE:
		return nil, errorhint.Add(err, "another program, maybe another sotto, uses this port: choose another with "+flag)
	case syscall.EACCES:
		return nil, errorhint.Add(err, "ports below 1024 need administrator rights: choose another with "+flag)
	case syscall.EADDRNOTAVAIL:
		return nil, errorhint.Add(err, "this machine does not have that address: choose another with "+flag)
	}
	return nil, err
}

// Reach returns the URL by which this machine reaches a listener.
func Reach(l net.Listener) *url.URL {
	host, port, _ := net.SplitHostPort(l.Addr().String())
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	return &url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}
}
