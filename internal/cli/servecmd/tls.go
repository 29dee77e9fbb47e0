package servecmd

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/internal/certificates"
	"github.com/sotto-llm/sotto/internal/settings"
)

// certificate opens the certificate of the settings. It is nil without one.
func certificate(s *settings.Settings, metrics prometheus.Registerer, log *slog.Logger) (*certificates.Source, error) {
	if s.TLS.Cert == "" {
		return nil, nil
	}
	c, err := certificates.Open(s.TLS, log)
	if err != nil {
		return nil, err
	}
	metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "sotto", Name: "tls_certificate_expires_seconds",
		Help: "When the gateway's certificate expires, as seconds since 1970."}, func() float64 { return float64(c.Expires().Unix()) }))
	return c, nil
}
