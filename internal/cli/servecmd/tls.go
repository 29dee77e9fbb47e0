package servecmd

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/internal/net/certificates"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// certificate opens the certificate of the settings. It is nil without one.
func certificate(s *settings.Settings, metrics prometheus.Registerer, log *slog.Logger) (*certificates.Source, error) {
	var c *certificates.Source
	var err error
	switch {
	case len(s.ACME.Domains) > 0:
		c, err = certificates.OpenACME(s.ACME, s.TLS, s.Gateway.Data, log)
	case s.TLS.Cert != "":
		c, err = certificates.Open(s.TLS, log)
	}
	if c == nil || err != nil {
		return nil, err
	}
	metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "sotto", Name: "tls_certificate_expires_seconds",
		Help: "When the gateway's certificate expires, as seconds since 1970: of several, the first one; 0 if a domain has none yet."}, func() float64 { return float64(c.Expires().Unix()) }))
	return c, nil
}
