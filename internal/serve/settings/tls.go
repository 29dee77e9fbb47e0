package settings

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/net/certificates"
)

// Encrypted reports whether clients use TLS.
func (s *Settings) Encrypted() bool { return s.TLS.Cert != "" || len(s.ACME.Domains) > 0 }

// Hosts are the names that requests may use for the gateway, in addition to those that it
// knows: those of allow-hosts, and the domains that it has certificates of.
func (s *Settings) Hosts() []string { return slices.Concat(s.Gateway.AllowHosts, s.ACME.Domains) }

// Certificates says which certificates of the domains there are.
func (s *Settings) Certificates() (all []string) {
	for _, name := range s.ACME.Domains {
		if c, err := s.ACME.Kept(s.Gateway.Data, name, time.Now()); err == nil {
			all = append(all, fmt.Sprintf("the certificate of %s is kept, and expires on %s", name, c.NotAfter.UTC().Format(time.DateOnly)))
		} else {
			all = append(all, fmt.Sprintf("there is no certificate of %s yet: the gateway asks %s for one when it starts", name, s.ACME.Directory))
		}
	}
	return all
}

// acmeHint says what certificates of domains need.
const acmeHint = "TLS by ACME needs tls-domains, acme-accept-terms: true and a data folder; TLS by files needs tls-cert and tls-key"

// checkTLS reads the certificate, so that a fault is reported before the first client
// comes. That of a domain is obtained when the gateway runs.
func (s *Setup) checkTLS() {
	if key, err := s.ACME.Check(s.TLS, s.Gateway.Data); err != nil {
		s.fault(key, errorhint.Usage(err, acmeHint))
		return
	}
	if len(s.ACME.Domains) > 0 {
		if s.TLS.ClientCA != "" {
			if _, err := certificates.Trust(s.TLS.ClientCA); err != nil {
				s.fault("tls-client-ca", err)
			}
		}
		return
	}
	if key, err := s.TLS.Check(); err != nil {
		s.fault(key, err)
		return
	}
	if s.TLS.Cert == "" {
		return
	}
	c, err := certificates.Open(s.TLS, slog.New(slog.DiscardHandler))
	if err != nil {
		s.fault("tls-cert", err)
		return
	}
	for _, w := range c.Warnings() {
		s.warn("%s", w)
	}
}
