// Package certificates has the TLS certificate of a server. It follows its files: a
// new certificate is used from the next connection on, and no connection is dropped. Or
// it obtains the certificates of domains from an authority, by ACME, and renews them.
//
//	c, err := certificates.Open(certificates.Files{Cert: "cert.pem", Key: "key.pem"}, log)
//	…
//	server.Serve(tls.NewListener(bounded, c.Config()))
package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sotto-llm/sotto/internal/files"
)

// Files are PEM files.
type Files struct {
	Cert, Key string // the chain of the server, its own certificate first, and the key
	// ClientCA, if it is not "", has the certificates of authorities. Only clients
	// with a certificate of one of them are served.
	ClientCA string
}

// checkEvery is the shortest time between two looks at the files.
const checkEvery = 5 * time.Second

// maxFile is the largest size of a file.
const maxFile = 1 << 20

// A Source is the certificate of a server, as its files have it. All methods are safe
// for concurrent use.
type Source struct {
	files Files
	log   *slog.Logger
	now   func() time.Time

	issuer *issuer // instead of files with a certificate; nil if there are such files

	current atomic.Pointer[read]

	mu     sync.Mutex // for what follows, and while the files are read
	looked time.Time
	failed string // the fault that was logged last, until it is mended
}

// A read is what the files had when they were read.
type read struct {
	stamps  files.Stamps
	config  *tls.Config
	expires time.Time
}

// Open reads the files.
func Open(f Files, log *slog.Logger) (*Source, error) {
	return open(&Source{files: f, log: log, now: time.Now})
}

func open(s *Source) (*Source, error) {
	r, err := s.read()
	if err != nil {
		return nil, err
	}
	s.current.Store(r)
	s.looked = s.now()
	return s, nil
}

// Config returns the configuration of a listener. Each connection is served with the
// files as they are when it begins.
func (s *Source) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if s.issuer != nil && challenged(hello) {
				return s.issuer.answer(), nil
			}
			s.Refresh()
			return s.current.Load().config, nil
		},
	}
}

// Expires returns when the server's certificate expires: of several, the first one. It is
// 1970 if a domain has no certificate yet.
func (s *Source) Expires() time.Time {
	if s.issuer != nil {
		return s.issuer.expires()
	}
	s.Refresh()
	return s.current.Load().expires
}

// Refresh reads the files again if they changed, at most every five seconds. If they
// are wrong, for example because only one of them was replaced so far, the old ones
// stay, and the fault is logged once.
func (s *Source) Refresh() {
	if !s.mu.TryLock() {
		return // another connection looks
	}
	defer s.mu.Unlock()
	if s.now().Sub(s.looked) < checkEvery {
		return
	}
	s.looked = s.now()
	if s.stamps().Same(s.current.Load().stamps) && s.failed == "" {
		return
	}
	r, err := s.read()
	switch {
	case err == nil:
		s.current.Store(r)
		s.failed = ""
		if s.issuer != nil {
			s.log.Info("the authorities of clients were read again", "file", s.files.ClientCA)
			return
		}
		s.log.Info("the TLS certificate was read again", "cert", s.files.Cert, "expires", r.expires.UTC().Format(time.RFC3339))
	case err.Error() != s.failed:
		s.failed = err.Error()
		s.log.Error("the TLS certificate stays as it is: the new files are wrong", "error", s.failed)
	}
}

func (s *Source) stamps() files.Stamps {
	return files.StampsOf(s.files.Cert, s.files.Key, s.files.ClientCA)
}

// read reads the files. The stamps are taken first, so that a change in between is
// seen the next time.
func (s *Source) read() (*read, error) {
	r := &read{stamps: s.stamps(), config: &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"}, // see serving.NewServer
	}}
	if s.issuer != nil {
		r.config.GetCertificate = s.issuer.certificate
	} else {
		pair, err := s.files.pair()
		if err != nil {
			return nil, err
		}
		r.expires = pair.Leaf.NotAfter
		r.config.Certificates = []tls.Certificate{pair}
	}
	if s.files.ClientCA == "" {
		return r, nil
	}
	authorities, err := readFile("the authorities of clients", s.files.ClientCA)
	if err != nil {
		return nil, err
	}
	r.config.ClientCAs = x509.NewCertPool()
	if !r.config.ClientCAs.AppendCertsFromPEM(authorities) {
		return nil, fmt.Errorf("%s: %w", s.files.ClientCA, errNoAuthority)
	}
	r.config.ClientAuth = tls.RequireAndVerifyClientCert
	// A resumed session would not ask for the client's certificate again, and the
	// authorities may have changed.
	r.config.SessionTicketsDisabled = true
	return r, nil
}

func (f Files) pair() (pair tls.Certificate, err error) {
	cert, err := readFile("the certificate", f.Cert)
	if err != nil {
		return pair, err
	}
	key, err := readFile("the key", f.Key)
	if err != nil {
		return pair, err
	}
	if pair, err = tls.X509KeyPair(cert, key); err != nil {
		return pair, fmt.Errorf("the certificate %s with the key %s: %w", f.Cert, f.Key, err)
	}
	return pair, nil
}

// readFile reads a regular file: a pipe could not be read again, and could block.
func readFile(what, name string) ([]byte, error) {
	data, err := files.ReadRegular(name, maxFile)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", what, name, files.Cause(err))
	}
	return data, nil
}

var errNoAuthority = errors.New("it has no certificate in the PEM format")
