package certificates

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/net/certificates/certificatestest"
	"github.com/sotto-llm/sotto/internal/net/serving"
)

// A site is a server with a certificate, and a clock that tests move.
type site struct {
	t      *testing.T
	files  Files
	source *Source
	log    bytes.Buffer
	bound  *serving.Listener
	now    time.Time
}

func newSite(t *testing.T, client bool) *site {
	dir := t.TempDir()
	return &site{t: t, now: time.Now(), files: Files{
		Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"),
		ClientCA: map[bool]string{true: filepath.Join(dir, "ca.pem")}[client],
	}}
}

func (s *site) write(cert, key, ca []byte) {
	all := map[string][]byte{}
	for name, data := range map[string][]byte{s.files.Cert: cert, s.files.Key: key, s.files.ClientCA: ca} {
		if data != nil {
			all[name] = data
		}
	}
	writeFiles(s.t, all)
}

func writeFiles(t *testing.T, all map[string][]byte) {
	t.Helper()
	for name, data := range all {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *site) serve() {
	s.t.Helper()
	var err error
	if s.source, err = Open(s.files, slog.New(slog.NewTextHandler(&s.log, nil))); err != nil {
		s.t.Fatal(err)
	}
	s.source.looked, s.source.now = s.now, func() time.Time { return s.now }
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.bound = serving.Bound(l, serving.Bounds{})
	server := serving.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Proto)
	}))
	server.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	go server.Serve(tls.NewListener(s.bound, s.source.Config()))
	s.t.Cleanup(func() { server.Close() })
}

// ask makes a connection of its own, and returns the name on the certificate of the
// server.
func (s *site) ask(from *certificatestest.Authority, with ...tls.Certificate) (string, error) {
	t := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: from.Pool(), Certificates: with}, ForceAttemptHTTP2: true}
	defer t.CloseIdleConnections()
	resp, err := (&http.Client{Transport: t, Timeout: time.Minute}).Get("https://" + s.bound.Addr().String())
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "HTTP/1.1" {
		s.t.Errorf("%q, %v", body, err)
	}
	return resp.TLS.PeerCertificates[0].Subject.CommonName, nil
}

func (s *site) shows(from *certificatestest.Authority, want string) {
	s.t.Helper()
	if got, err := s.ask(from); err != nil || got != want {
		s.t.Errorf("the certificate of %q, %v; want %q", got, err, want)
	}
}

// TestReplaced: the files are replaced one by one. Until both are there, the old
// certificate is shown, and the fault is logged once.
func TestReplaced(t *testing.T) {
	ca, s := certificatestest.NewAuthority(t, "ca"), newSite(t, false)
	cert, key := ca.Server("one.example", time.Time{})
	s.write(cert, key, nil)
	s.serve()
	s.shows(ca, "one.example")

	soon := time.Now().Add(time.Hour).Truncate(time.Second)
	cert, key = ca.Server("two.example", soon)
	s.write(nil, key, nil)
	s.shows(ca, "one.example") // it is too early to look
	for range 3 {
		s.now = s.now.Add(checkEvery)
		s.shows(ca, "one.example")
	}
	if n := strings.Count(s.log.String(), "stays as it is"); n != 1 {
		t.Errorf("%d faults were logged: %s", n, &s.log)
	}
	s.write(cert, nil, nil)
	s.now = s.now.Add(checkEvery)
	s.shows(ca, "two.example")
	if got := s.source.Expires(); !got.Equal(soon) {
		t.Errorf("expires %v, want %v", got, soon)
	}

	// The files are gone, and come back as they were.
	for _, name := range []string{s.files.Cert, s.files.Key} {
		if err := os.Rename(name, name+".old"); err != nil {
			t.Fatal(err)
		}
	}
	s.now = s.now.Add(checkEvery)
	s.shows(ca, "two.example")
	for _, name := range []string{s.files.Cert, s.files.Key} {
		if err := os.Rename(name+".old", name); err != nil {
			t.Fatal(err)
		}
	}
	s.now = s.now.Add(checkEvery)
	s.shows(ca, "two.example")
	if n := strings.Count(s.log.String(), "was read again"); n != 2 {
		t.Errorf("read again %d times: %s", n, &s.log)
	}
}

// TestClients: only clients with a certificate of an authority are served, and the
// authorities may change. A session that began before does not go on after.
func TestClients(t *testing.T) {
	ca, other, s := certificatestest.NewAuthority(t, "ca"), certificatestest.NewAuthority(t, "other"), newSite(t, true)
	cert, key := ca.Server("one.example", time.Time{})
	s.write(cert, key, ca.PEM)
	s.serve()
	ann, bob := ca.Client("ann"), other.Client("bob")
	if _, err := s.ask(ca); err == nil {
		t.Error("a client without a certificate was served")
	}
	if _, err := s.ask(ca, bob); err == nil {
		t.Error("a client of another authority was served")
	}
	cache := tls.NewLRUClientSessionCache(8)
	resumed := func() (bool, error) {
		c, err := tls.Dial("tcp", s.bound.Addr().String(), &tls.Config{ServerName: "localhost", RootCAs: ca.Pool(), Certificates: []tls.Certificate{ann}, ClientSessionCache: cache})
		if err != nil {
			return false, err
		}
		defer c.Close()
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		_, err = io.ReadAll(c)
		return c.ConnectionState().DidResume, err
	}
	for range 2 {
		if again, err := resumed(); again || err != nil {
			t.Errorf("resumed %v, %v", again, err)
		}
	}
	s.write(nil, nil, other.PEM)
	s.now = s.now.Add(checkEvery)
	if _, err := resumed(); err == nil {
		t.Error("a client of an authority that was removed is served")
	}
	if _, err := s.ask(ca, bob); err != nil {
		t.Error(err)
	}
}

// TestTrusted: a connection that is open gets no answer of the handler's once the authority
// of its client is gone from the file, or the file is. A certificate of the server that is
// wrong at that time changes nothing.
func TestTrusted(t *testing.T) {
	for name, take := range map[string]func(s *site, other *certificatestest.Authority){
		"another authority":    func(s *site, other *certificatestest.Authority) { s.write(nil, nil, other.PEM) },
		"and a faulty key":     func(s *site, other *certificatestest.Authority) { s.write(nil, []byte("-"), other.PEM) },
		"no authority":         func(s *site, _ *certificatestest.Authority) { s.write(nil, nil, []byte("none")) },
		"no file":              func(s *site, _ *certificatestest.Authority) { os.Remove(s.files.ClientCA) },
		"expiry, and the file": func(s *site, _ *certificatestest.Authority) { s.now = s.now.AddDate(100, 0, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			ca, other, s := certificatestest.NewAuthority(t, "ca"), certificatestest.NewAuthority(t, "other"), newSite(t, true)
			cert, key := ca.Server("one.example", time.Time{})
			s.write(cert, key, ca.PEM)
			s.serve()
			ann, bob := ca.Client("ann").Leaf, other.Client("bob").Leaf
			of := func(c *x509.Certificate) bool {
				trusted := false
				h := s.source.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { trusted = access.Trusted(r) }))
				r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
				r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}}
				h.ServeHTTP(httptest.NewRecorder(), r)
				return trusted
			}
			for range 2 {
				if !of(ann) || of(bob) {
					t.Fatal("before: ann is not trusted, or bob is")
				}
			}
			take(s, other)
			s.now = s.now.Add(checkEvery)
			if of(ann) {
				t.Error("ann is still trusted")
			}
			s.source.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if access.Trusted(r) {
					t.Error("a client without a certificate is trusted")
				}
			})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		})
	}
}

// TestSilent: a client that connects and says nothing counts as a connection, and
// holds no other one up.
func TestSilent(t *testing.T) {
	ca, s := certificatestest.NewAuthority(t, "ca"), newSite(t, false)
	cert, key := ca.Server("one.example", time.Time{})
	s.write(cert, key, nil)
	s.serve()
	for range 3 {
		c, err := net.Dial("tcp", s.bound.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	s.shows(ca, "one.example")
	if n := s.bound.Open(); n < 3 {
		t.Errorf("%d connections are open", n)
	}
}

// TestPlain: who speaks plain HTTP is told so.
func TestPlain(t *testing.T) {
	ca, s := certificatestest.NewAuthority(t, "ca"), newSite(t, false)
	cert, key := ca.Server("one.example", time.Time{})
	s.write(cert, key, nil)
	s.serve()
	resp, err := http.Get("http://" + s.bound.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Error(resp.Status)
	}
}

// TestFaults: every fault names its file, and no error has a part of the key.
func TestFaults(t *testing.T) {
	ca := certificatestest.NewAuthority(t, "ca")
	cert, key := ca.Server("one.example", time.Time{})
	_, wrong := ca.Server("two.example", time.Time{})
	for name, tt := range map[string]struct {
		cert, key, ca []byte
		want          string
	}{
		"no certificate": {nil, key, nil, "the certificate CERT: no such file"},
		"no key":         {cert, nil, nil, "the key KEY: no such file"},
		"not PEM":        {[]byte("x"), key, nil, "CERT with the key KEY: tls: failed to find any PEM data"},
		"swapped":        {key, cert, nil, "CERT with the key KEY: tls: failed to find certificate PEM data"},
		"another key":    {cert, wrong, nil, "private key does not match"},
		"no authority":   {cert, key, []byte("x"), "CA: it has no certificate"},
		"a large file":   {bytes.Repeat([]byte("x"), maxFile+1), key, nil, "larger than 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, tt.ca != nil)
			s.write(tt.cert, tt.key, tt.ca)
			_, err := Open(s.files, slog.New(slog.DiscardHandler))
			want := strings.NewReplacer("CERT", s.files.Cert, "KEY", s.files.Key, "CA", s.files.ClientCA).Replace(tt.want)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "PRIVATE KEY-----") {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
	dir := t.TempDir()
	writeFiles(t, map[string][]byte{filepath.Join(dir, "key"): key})
	if _, err := Open(Files{Cert: dir, Key: filepath.Join(dir, "key")}, nil); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}
