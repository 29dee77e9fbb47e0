package certificates

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/net/serving"
)

// Check returns which of the settings tls-cert, tls-key and tls-client-ca is wrong
// because of the others, and why. It reads no file.
func (f Files) Check() (key string, err error) {
	switch {
	case f.Cert == "" && f.Key != "":
		return "tls-key", errors.New("needs tls-cert")
	case f.Cert == "" && f.ClientCA != "":
		return "tls-client-ca", errors.New("needs tls-cert and tls-key")
	case f.Cert != "" && f.Key == "":
		return "tls-cert", errors.New("needs tls-key")
	}
	return "", nil
}

// Warnings returns what is not wrong yet: a key that every user of the machine can read,
// and a certificate that expires soon.
func (s *Source) Warnings() (all []string) {
	if w := files.WarnOpen(s.files.Key); w != "" {
		all = append(all, w)
	}
	if at := s.Expires(); time.Until(at) < soonExpired {
		all = append(all, fmt.Sprintf("the certificate %s expires on %s", s.files.Cert, at.UTC().Format(time.DateOnly)))
	}
	return all
}

// soonExpired is when a certificate that expires is worth a warning.
const soonExpired = 7 * 24 * time.Hour

// Listener serves a listener over TLS; if s is nil, without it. The bounds on
// connections come before it, so that clients count before they say anything.
func (s *Source) Listener(bounded net.Listener) net.Listener {
	if s == nil {
		return bounded
	}
	return tls.NewListener(bounded, s.Config())
}

// HTTP2Listener is Listener for a server that speaks HTTP/2 as well: see
// [serving.OfferHTTP2].
func (s *Source) HTTP2Listener(bounded net.Listener) net.Listener {
	if s == nil {
		return bounded
	}
	return tls.NewListener(bounded, s.config(func(r *read) *tls.Config { return r.http2 }))
}

// Reach returns the URL by which this machine reaches a listener, which is served over
// TLS if s is not nil.
func (s *Source) Reach(l net.Listener) *url.URL {
	u := serving.Reach(l)
	if s == nil {
		return u
	}
	u.Scheme = "https"
	if s.issuer != nil { // the certificate has this name, and not that of the machine
		u.Host = hostPort(s.issuer.domains[0].name, u.Port())
	}
	return u
}
