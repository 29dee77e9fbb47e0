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
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sotto-llm/sotto/internal/base/files"
)

// Files are PEM files.
type Files struct {
	Cert, Key string // the chain of the server, its own certificate first, and the key
	// ClientCA, if it is not "", has the certificates of authorities. Only clients
	// with a certificate of one of them are served.
	ClientCA string
}

// checkEvery is the shortest time between two looks at the files.
const checkEvery = 500 * time.Millisecond

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
	failed string // the fault of the certificate that was logged last, until it is mended
}

// A read is what the files had when they were read.
type read struct {
	own     own
	clients clients
	http1   *tls.Config // of servers that speak HTTP/1 only
	http2   *tls.Config
	known   known
}

// own is the certificate of the server.
type own struct {
	stamps files.Stamps
	pair   tls.Certificate
}

// Open reads the files.
func Open(f Files, log *slog.Logger) (*Source, error) {
	return open(&Source{files: f, log: log, now: time.Now})
}

func open(s *Source) (*Source, error) {
	var r read
	var err error
	if r.own, err = s.readOwn(); err != nil {
		return nil, err
	}
	if r.clients, err = s.readClients(); err != nil {
		return nil, err
	}
	s.use(r.own, r.clients)
	s.looked = s.now()
	return s, nil
}

// Config returns the configuration of a listener for HTTP/1. Each connection is served with the
// files as they are when it begins.
func (s *Source) Config() *tls.Config { return s.config(func(r *read) *tls.Config { return r.http1 }) }

func (s *Source) config(of func(*read) *tls.Config) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if s.issuer != nil && challenged(hello) {
				return s.issuer.answer(), nil
			}
			s.Refresh()
			return of(s.current.Load()), nil
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
	return s.current.Load().own.pair.Leaf.NotAfter
}

// Shown returns the certificate that a client gets which asks for no other name, in DER: that
// of the files, or that of the first domain. It is nil if there is none yet.
func (s *Source) Shown() []byte {
	if s.issuer != nil {
		d := s.issuer.domains[0]
		if !d.ready.Load() {
			return nil
		}
		pair, err := d.certificate()
		if err != nil {
			return nil
		}
		return firstOf(pair)
	}
	s.Refresh()
	return firstOf(&s.current.Load().own.pair)
}

// firstOf returns the certificate of a chain that is the server's own.
func firstOf(pair *tls.Certificate) []byte {
	if len(pair.Certificate) == 0 {
		return nil
	}
	return pair.Certificate[0]
}

// Refresh reads the files again if they changed, at most every half second. If the
// certificate is wrong, for example because only one of its files was replaced so far, the
// old one stays, and the fault is logged once. Where the authorities of clients cannot be
// read, no client is trusted.
func (s *Source) Refresh() {
	if !s.mu.TryLock() {
		return // another connection looks
	}
	defer s.mu.Unlock()
	if s.now().Sub(s.looked) < checkEvery {
		return
	}
	s.looked = s.now()
	now := s.current.Load()
	certificate, another := s.refreshOwn(now.own)
	authorities, others := s.refreshClients(now.clients)
	if another || others {
		s.use(certificate, authorities)
	}
}

// refreshOwn returns the certificate as its files have it, and whether it is another one.
func (s *Source) refreshOwn(old own) (own, bool) {
	if s.ownStamps().Same(old.stamps) && s.failed == "" {
		return old, false
	}
	next, err := s.readOwn()
	if err != nil {
		if err.Error() != s.failed {
			s.failed = err.Error()
			s.log.Error("the TLS certificate stays as it is: the new files are wrong", "error", s.failed)
		}
		return old, false
	}
	s.failed = ""
	s.log.Info("the TLS certificate was read again", "cert", s.files.Cert, "expires", next.pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	return next, true
}

func (s *Source) ownStamps() files.Stamps {
	if s.issuer != nil {
		return nil
	}
	return files.StampsOf(s.files.Cert, s.files.Key)
}

// readOwn reads the certificate of the server, if it is not the issuer's. The stamps are
// taken first, so that a change in between is seen the next time.
func (s *Source) readOwn() (c own, err error) {
	c.stamps = s.ownStamps()
	if s.issuer == nil {
		c.pair, err = s.files.pair()
	}
	return c, err
}

// use makes the configurations of later connections.
func (s *Source) use(certificate own, authorities clients) {
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"}, // see serving.NewServer
	}
	if s.issuer != nil {
		config.GetCertificate = s.issuer.certificate
	} else {
		config.Certificates = []tls.Certificate{certificate.pair}
	}
	if s.files.ClientCA != "" {
		config.ClientCAs = authorities.pool
		config.ClientAuth = tls.RequireAndVerifyClientCert
		// A resumed session would not ask for the client's certificate again, and the
		// authorities may have changed.
		config.SessionTicketsDisabled = true
	}
	both := config.Clone()
	both.NextProtos = []string{"h2", "http/1.1"}
	s.current.Store(&read{own: certificate, clients: authorities, http1: config, http2: both})
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
