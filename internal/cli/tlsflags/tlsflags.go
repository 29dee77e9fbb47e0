// Package tlsflags has the flags of commands that serve over TLS.
package tlsflags

import (
	"fmt"
	"log/slog"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/net/certificates"
)

// Files holds the flags that name the files of a certificate.
type Files struct {
	TLSCert     string `name:"tls-cert" placeholder:"FILE" help:"Serve over TLS with the certificates in FILE (PEM), the server's own first. A new file is used without a restart."`
	TLSKey      string `name:"tls-key" placeholder:"FILE" help:"The file with the key of that certificate (PEM)."`
	TLSClientCA string `name:"tls-client-ca" placeholder:"FILE" help:"Serve only clients with a certificate of an authority in FILE (PEM)."`
}

// Given reports whether there is any of the flags.
func (f Files) Given() bool { return f != Files{} }

// Closed reports whether clients need a certificate.
func (f Files) Closed() bool { return f.TLSClientCA != "" }

// Open reads the files. The source is nil if there are none.
func (f Files) Open(log *slog.Logger) (*certificates.Source, error) {
	named := certificates.Files{Cert: f.TLSCert, Key: f.TLSKey, ClientCA: f.TLSClientCA}
	if key, err := named.Check(); err != nil {
		return nil, errorhint.Usage(fmt.Errorf("--%s: %w", key, err), "TLS needs --tls-cert and --tls-key")
	}
	if !f.Given() {
		return nil, nil
	}
	source, err := certificates.Open(named, log)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert: %w", err)
	}
	for _, w := range source.Warnings() {
		log.Warn(w)
	}
	return source, nil
}
