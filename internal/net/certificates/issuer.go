package certificates

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/retry"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/sleep"
)

// An issuer has the certificates of domains. Package autocert speaks with the authority,
// keeps what it gets in a folder, and renews it in time. The issuer decides when an
// authority is asked the first time: at the start and after a while, and never because a
// client came. So no client can make it ask, and none waits for it.
type issuer struct {
	config   ACME
	data     string // folder
	log      *slog.Logger
	domains  []*domain
	asking   sync.Mutex // one at a time: the first makes the account
	end      context.CancelCauseFunc
	ended    context.Context
	client   *http.Client
	problems problems

	pause              time.Duration // before one request is sent again
	unreached, refused retry.Policy  // when all is tried again
}

// A domain is one that the issuer has a certificate of, or wants one.
type domain struct {
	name    string
	manager atomic.Pointer[autocert.Manager] // that asks, or has asked last
	answers atomic.Pointer[http.Handler]     // its answers to http-01
	ready   atomic.Bool                      // the manager has a certificate
}

// newIssuer takes up what the folder has. It asks nobody before start.
func newIssuer(a ACME, data string, log *slog.Logger) (*issuer, error) {
	i := &issuer{config: a, data: data, log: log, pause: time.Second,
		unreached: retry.Policy{First: 10 * time.Second, Longest: time.Hour},
		// Let's Encrypt allows five failures of a domain in an hour.
		refused: retry.Policy{First: 4 * time.Minute, Longest: time.Hour},
	}
	i.ended, i.end = context.WithCancelCause(context.Background())
	var err error
	if i.client, err = i.newClient(); err != nil {
		return nil, err
	}
	for _, name := range a.Domains {
		name = asciiName(name)
		if slices.ContainsFunc(i.domains, func(d *domain) bool { return d.name == name }) {
			continue
		}
		d := &domain{name: name}
		i.domains = append(i.domains, d)
		i.use(d)
		if _, err := a.Kept(data, name, time.Now()); err == nil {
			_, err := d.certificate() // reads it, and has it renewed
			d.ready.Store(err == nil)
		}
	}
	return i, nil
}

// errEnded is the error of requests to the authority after the end.
var errEnded = errors.New("the server ends")

// start begins to ask for the certificates that are missing, and to look after the
// others.
func (i *issuer) start() {
	for _, d := range i.domains {
		go i.look(d)
	}
}

// use gives a domain a manager that has asked for nothing yet.
func (i *issuer) use(d *domain) {
	m := &autocert.Manager{
		Prompt:     func(string) bool { return i.config.Accepted },
		Cache:      autocert.DirCache(i.config.Folder(i.data)),
		HostPolicy: autocert.HostWhitelist(d.name),
		Email:      i.config.Email,
		Client: &acme.Client{DirectoryURL: i.config.Directory, HTTPClient: i.client, UserAgent: "sotto",
			RetryBackoff: func(n int, _ *http.Request, _ *http.Response) time.Duration {
				if n > askAgain { // the next attempt comes later
					return 0
				}
				return time.Duration(n) * i.pause
			}},
	}
	if i.config.Listen != "" {
		h := m.HTTPHandler(http.HandlerFunc(noAnswer))
		d.answers.Store(&h)
	}
	d.manager.Store(m)
}

// askAgain is how often one request is sent again at once.
const askAgain = 5

// certificate returns the certificate of a domain. If its manager has none, it asks for
// one.
func (d *domain) certificate() (*tls.Certificate, error) {
	// One kind of key is enough: every client of today knows these curves.
	return d.manager.Load().GetCertificate(&tls.ClientHelloInfo{ServerName: d.name,
		SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256}, SupportedCurves: []tls.CurveID{tls.CurveP256},
		CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}})
}

// of returns the domain that has a name, or nil.
func (i *issuer) of(name string) *domain {
	name = asciiName(name)
	for _, d := range i.domains {
		if d.name == name {
			return d
		}
	}
	return nil
}

// certificate is the certificate for a client. Without error and certificate, the client
// is told that there is no such name.
func (i *issuer) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	d := i.of(hello.ServerName)
	if d == nil {
		return nil, nil
	}
	if !d.ready.Load() {
		return nil, fmt.Errorf("there is no certificate of %s yet", d.name)
	}
	return d.certificate()
}

// challenged reports whether a client is an authority that checks a domain, by
// tls-alpn-01 (RFC 8737).
func challenged(hello *tls.ClientHelloInfo) bool {
	return len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == acme.ALPNProto
}

// answer is the configuration for an authority that checks a domain. It has no
// certificate of a client, and gets no further than the handshake: package net/http
// serves no connection of this protocol.
func (i *issuer) answer() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{acme.ALPNProto},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			d := i.of(hello.ServerName)
			if d == nil {
				return nil, nil
			}
			return d.manager.Load().GetCertificate(hello)
		},
	}
}

// look asks for the certificate of a domain until there is one, and then sees that it is
// renewed.
func (i *issuer) look(d *domain) {
	unreached, refused := i.unreached.Start(), i.refused.Start()
	for !d.ready.Load() {
		reason, err := i.obtain(d)
		if err == nil {
			break
		}
		series := unreached
		if reason != "" {
			series = refused
		}
		wait, _ := series.Next(retry.Verdict{Again: true})
		if i.ended.Err() == nil {
			i.log.Error("there is no certificate: TLS clients of this domain are refused", "domain", d.name, "authority", i.config.Directory,
				"error", i.explain(err, reason), "again_in", wait.Round(time.Second).String(), "hint", i.hint(reason))
		}
		if sleep.For(i.ended, wait) != nil {
			return
		}
	}
	i.follow(d)
}

// obtain asks for the certificate of a domain. reason is what the authority said if it
// refused, or "" if it could not be asked.
func (i *issuer) obtain(d *domain) (reason string, err error) {
	i.asking.Lock()
	defer i.asking.Unlock()
	if err := context.Cause(i.ended); err != nil {
		return "", err
	}
	i.problems.forget()
	i.use(d) // one that failed tells nothing new for a minute
	c, err := d.certificate()
	if err != nil {
		return i.problems.last(), err
	}
	d.ready.Store(true)
	i.log.Info("a certificate was obtained", "domain", d.name, "authority", i.config.Directory, "expires", c.Leaf.NotAfter.UTC().Format(time.RFC3339))
	return "", nil
}

// follow logs when a certificate is renewed, and when it should have been.
func (i *issuer) follow(d *domain) {
	last, err := d.certificate()
	if err != nil {
		i.log.Error("the certificate cannot be used", "domain", d.name, "error", err.Error())
		return
	}
	said := time.Time{}
	for {
		lifetime := last.Leaf.NotAfter.Sub(last.Leaf.NotBefore)
		if sleep.For(i.ended, min(max(lifetime/60, time.Second), time.Hour)) != nil {
			return
		}
		now, err := d.certificate()
		switch {
		case err == nil && !now.Leaf.Equal(last.Leaf):
			i.log.Info("a certificate was renewed", "domain", d.name, "expires", now.Leaf.NotAfter.UTC().Format(time.RFC3339))
			last, said = now, time.Time{}
		case time.Until(last.Leaf.NotAfter) < late(lifetime) && time.Since(said) > sayAgain:
			said = time.Now()
			reason := i.problems.last()
			i.log.Error("the certificate should have been renewed", "domain", d.name, "expires", last.Leaf.NotAfter.UTC().Format(time.RFC3339),
				"authority", i.config.Directory, "error", i.explain(nil, reason), "hint", i.hint(reason))
		}
	}
}

// sayAgain is how often it is said that a certificate should have been renewed.
const sayAgain = 12 * time.Hour

// late is how long before its end a certificate should have been renewed. Package
// autocert begins when a third of its life is left, or 30 days.
func late(lifetime time.Duration) time.Duration { return min(lifetime/3, 30*24*time.Hour) * 3 / 4 }

// explain says why there is no certificate, in words that can be logged.
func (i *issuer) explain(err error, reason string) string {
	text := reason
	if err != nil && reason == "" {
		text = err.Error()
	}
	if text == "" {
		text = "the authority could not be reached"
	}
	return shorttext.Escape(text, maxReason)
}

// maxReason bounds what is logged of what an authority says, in bytes.
const maxReason = 600

func (i *issuer) hint(reason string) string {
	switch {
	case reason == "":
		return "see that this machine reaches the authority, and acme-directory and acme-ca"
	case i.config.Listen == "":
		return "the authority must reach this server at port 443 of the domain; if it cannot, answer at port 80 with acme-listen"
	}
	return "the authority must reach this server at port 443 of the domain, or acme-listen at port 80"
}

// expires returns when the first certificate expires; long ago if one is missing.
func (i *issuer) expires() time.Time {
	var first time.Time
	for _, d := range i.domains {
		if !d.ready.Load() {
			return time.Unix(0, 0)
		}
		c, err := d.certificate()
		if err != nil {
			return time.Unix(0, 0)
		}
		if first.IsZero() || c.Leaf.NotAfter.Before(first) {
			first = c.Leaf.NotAfter
		}
	}
	return first
}

// OpenACME takes up the certificates that are kept in the folder for data. f may have
// the authorities of clients, and nothing else. [Source.Start] asks for those that are
// missing.
func OpenACME(a ACME, f Files, data string, log *slog.Logger) (*Source, error) {
	if key, err := a.Check(f, data); err != nil {
		return nil, errorhint.Add(fmt.Errorf("%s: %w", key, err), "")
	}
	i, err := newIssuer(a, data, log)
	if err != nil {
		return nil, err
	}
	return open(&Source{files: f, log: log, now: time.Now, issuer: i})
}

// Start begins to ask an authority for certificates that are missing, if there is one.
// The folder for data must be open.
func (s *Source) Start() {
	if s != nil && s.issuer != nil {
		s.issuer.start()
	}
}

// Close ends what Start began. Connections go on.
func (s *Source) Close() {
	if s != nil && s.issuer != nil {
		s.issuer.end(errEnded)
	}
}
