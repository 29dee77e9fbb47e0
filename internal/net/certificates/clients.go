package certificates

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// clients are the authorities whose clients are served.
type clients struct {
	stamps files.Stamps
	pool   *x509.CertPool // nil if clients need no certificate
}

// pause is how long the file of the authorities may be missing or wrong, as it is for a
// moment while it is written in place.
const pause = 100 * time.Millisecond

// readClients reads the authorities of clients, if clients need a certificate.
func (s *Source) readClients() (c clients, err error) {
	if s.files.ClientCA == "" {
		return c, nil
	}
	c.stamps = files.StampsOf(s.files.ClientCA)
	data, err := readFile("the authorities of clients", s.files.ClientCA)
	if err != nil {
		return c, err
	}
	c.pool = x509.NewCertPool()
	if !c.pool.AppendCertsFromPEM(data) {
		return c, fmt.Errorf("%s: %w", s.files.ClientCA, errNoAuthority)
	}
	return c, nil
}

// refreshClients returns the authorities of clients as the file has them, and whether they
// are others. A file that cannot be read, or has no certificate, trusts no client: the
// authority that is missing may be the one that was removed.
func (s *Source) refreshClients(old clients) (clients, bool) {
	if s.files.ClientCA == "" || files.StampsOf(s.files.ClientCA).Same(old.stamps) {
		return old, false
	}
	next, err := s.readClients()
	if err != nil {
		time.Sleep(pause)
		next, err = s.readClients()
	}
	if err != nil {
		next.pool = x509.NewCertPool()
		s.log.Error("no client is trusted: the authorities of clients cannot be read", "error", err.Error())
		return next, true
	}
	s.log.Info("the authorities of clients were read again", "file", s.files.ClientCA)
	return next, true
}

// Handler tells a handler whether the certificate of a request's client is still trusted,
// for [access.Control]. A connection that began before an authority was removed gets no
// answer but 401 after that.
func (s *Source) Handler(h http.Handler) http.Handler {
	if s == nil || s.files.ClientCA == "" {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		state := r.TLS
		h.ServeHTTP(w, access.Certified(r, func() bool { return s.trusts(state) }))
	})
}

// trusts reports whether the certificate of a client is one of today's authorities.
func (s *Source) trusts(state *tls.ConnectionState) bool {
	if state == nil || len(state.PeerCertificates) == 0 {
		return false
	}
	s.Refresh()
	return s.current.Load().trusts(state.PeerCertificates, s.now())
}

// known are the certificates of clients that were found to be trusted, since to find out
// costs more than the rest of a request.
type known struct {
	mu   sync.Mutex
	sums map[[sha256.Size]byte]bool
}

// maxKnown bounds them.
const maxKnown = 1024

func (r *read) trusts(chain []*x509.Certificate, now time.Time) bool {
	leaf := chain[0]
	if now.After(leaf.NotAfter) {
		return false
	}
	sum := sha256.Sum256(leaf.Raw)
	r.known.mu.Lock()
	defer r.known.mu.Unlock()
	if r.known.sums[sum] {
		return true
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: r.clients.pool, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return false
	}
	if r.known.sums == nil || len(r.known.sums) >= maxKnown {
		r.known.sums = map[[sha256.Size]byte]bool{}
	}
	r.known.sums[sum] = true
	return true
}
