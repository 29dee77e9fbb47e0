package checks

import (
	"errors"
	"fmt"
	"net"
	"net/url"
)

// ErrURL is the error of a URL that cannot be a server's.
var ErrURL = errors.New("not a URL such as https://agent.example")

// ErrUnreachable is in the error of a probe that found no server: nothing listens
// at the address, or its name is not known.
var ErrUnreachable = errors.New("the server cannot be reached")

// ParseURL reads the URL of a server. A user name in it is dropped.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%.200q: %w", text, ErrURL)
	}
	u.User = nil
	return u, nil
}

// Unreached reports whether an error says that no connection was made.
func Unreached(err error) bool {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return true
	}
	_, ok := errors.AsType[*net.DNSError](err)
	return ok
}

// Plain returns the text of an error without the URL that net/http quotes.
func Plain(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return err.Error()
}
