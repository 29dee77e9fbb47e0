package certificates

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/net/certificates/certificatestest"
	"github.com/sotto-llm/sotto/internal/net/serving"
)

// An authority is a server in the place of one that speaks ACME.
type authority struct {
	config ACME
	data   string
	asked  atomic.Int64
	source *Source
	log    bytes.Buffer
}

// newAuthority has an issuer of two domains, and a server with a handler.
func newAuthority(t *testing.T, h func(w http.ResponseWriter, r *http.Request, base string)) *authority {
	t.Helper()
	a := &authority{data: t.TempDir()}
	var server *httptest.Server
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.asked.Add(1)
		h(w, r, server.URL)
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := filepath.Join(a.data, "ca.pem")
	writeFiles(t, map[string][]byte{ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})})
	a.config = ACME{Domains: []string{"one.example", "TWO.example"}, Accepted: true, Directory: server.URL + "/dir", CA: ca}
	return a
}

func (a *authority) open(t *testing.T) {
	t.Helper()
	var err error
	if a.source, err = OpenACME(a.config, Files{}, a.data, slog.New(slog.NewTextHandler(&a.log, nil))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.source.Close)
}

// serve serves with the source, and returns where.
func (a *authority) serve(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := serving.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	server.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	go server.Serve(a.source.Listener(serving.Bound(l, serving.Bounds{})))
	t.Cleanup(func() { server.Close() })
	return l.Addr().String()
}

// TestClientsAskNobody: no client makes the server ask the authority or wait for it,
// whatever name and protocol it asks for.
func TestClientsAskNobody(t *testing.T) {
	a := newAuthority(t, func(w http.ResponseWriter, r *http.Request, _ string) { w.WriteHeader(http.StatusInternalServerError) })
	a.open(t)
	at := a.serve(t)
	for _, tt := range []struct {
		name, protocol, want string
	}{
		{"one.example", "http/1.1", "internal error"},
		{"one.example", "acme-tls/1", "internal error"},
		{"three.example", "http/1.1", "unrecognized name"},
		{"three.example", "acme-tls/1", "unrecognized name"},
		{"one.example.three.example", "http/1.1", "unrecognized name"},
		{"", "http/1.1", "unrecognized name"},
		{"..", "http/1.1", "unrecognized name"},
		{"one.example", "h2", "no application protocol"},
	} {
		c, err := tls.Dial("tcp", at, &tls.Config{ServerName: tt.name, InsecureSkipVerify: true, NextProtos: []string{tt.protocol}})
		if err == nil {
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q, %s: %v, want %s", tt.name, tt.protocol, err, tt.want)
		}
	}
	if n := a.asked.Load(); n != 0 || a.log.Len() > 0 {
		t.Errorf("%d requests to the authority; the log: %s", n, &a.log)
	}
	if got := a.source.Expires(); got.Unix() != 0 {
		t.Errorf("expires %v", got)
	}
}

// TestKept: a certificate that is kept is used at once, and nobody is asked. One that has
// expired, or is of another name, is not.
func TestKept(t *testing.T) {
	a := newAuthority(t, func(w http.ResponseWriter, r *http.Request, _ string) { w.WriteHeader(http.StatusInternalServerError) })
	ca, until := certificatestest.NewAuthority(t, "ca"), time.Now().Add(80*24*time.Hour).Truncate(time.Second)
	keep := func(name, of string, until time.Time) {
		cert, key := ca.Server(of, until)
		if err := os.MkdirAll(a.config.Folder(a.data), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFiles(t, map[string][]byte{a.config.File(a.data, name): append(key, cert...)})
	}
	keep("one.example", "one.example", until)
	for what, tt := range map[string]struct {
		of    string
		until time.Time
		ready bool
	}{
		"a good one":      {"two.example", until.Add(time.Hour), true},
		"one that is old": {"two.example", time.Now().Add(-time.Minute), false},
		"another's":       {"three.example", until, false},
	} {
		keep("two.example", tt.of, tt.until)
		a.open(t)
		at := a.serve(t)
		for name, ready := range map[string]bool{"one.example": true, "TWO.example": tt.ready} {
			c, err := tls.Dial("tcp", at, &tls.Config{ServerName: name, RootCAs: ca.Pool()})
			if err == nil {
				c.Close()
			}
			if (err == nil) != ready {
				t.Errorf("%s, %s: %v", what, name, err)
			}
		}
		if got := a.source.Expires(); tt.ready && !got.Equal(until) || !tt.ready && got.Unix() != 0 {
			t.Errorf("%s: expires %v", what, got)
		}
		a.source.Close()
	}
	if n := a.asked.Load(); n != 0 {
		t.Errorf("%d requests to the authority", n)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if u := a.source.Reach(l).String(); u != "https://one.example:"+port {
		t.Error(u)
	}
}

// TestAuthorityIsForeign: whatever the authority sends, it is bounded, goes nowhere else,
// and what it says can be logged.
func TestAuthorityIsForeign(t *testing.T) {
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another host was asked") }))
	defer elsewhere.Close()
	for what, tt := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request, base string)
		want   string // in the reason or the error
	}{
		"endless": {func(w http.ResponseWriter, r *http.Request, _ string) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}, "longer than 1048576 bytes"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, "307"},
		"another host": {func(w http.ResponseWriter, r *http.Request, _ string) {
			io.WriteString(w, `{"newNonce":"`+elsewhere.URL+`/nonce","newAccount":"`+elsewhere.URL+`/account","newOrder":"`+elsewhere.URL+`/order"}`)
		}, "another host"},
		"a problem": {func(w http.ResponseWriter, r *http.Request, base string) {
			if r.URL.Path == "/dir" {
				io.WriteString(w, `{"newNonce":"`+base+`/nonce","newAccount":"`+base+`/account","newOrder":"`+base+`/order"}`)
				return
			}
			w.Header().Set("Replay-Nonce", "abc")
			if r.Method == http.MethodPost {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusForbidden)
				io.WriteString(w, `{"type":"urn:ietf:params:acme:error:unauthorized","detail":"`+strings.Repeat("no \\u001b[31m", 500)+`"}`)
			}
		}, "unauthorized: no "},
	} {
		t.Run(what, func(t *testing.T) {
			a := newAuthority(t, tt.answer)
			a.open(t)
			i := a.source.issuer
			i.pause = time.Millisecond
			reason, err := i.obtain(i.domains[0])
			text := i.explain(err, reason)
			if err == nil || !strings.Contains(text, tt.want) || strings.Contains(text, "\x1b") || len(text) > 2*maxReason {
				t.Errorf("%q", text)
			}
			if (reason != "") != (what == "a problem") {
				t.Errorf("refused for the reason %q", reason)
			}
			if i.domains[0].ready.Load() {
				t.Error("there is a certificate")
			}
		})
	}
}

// TestEnded: nobody is asked after the end.
func TestEnded(t *testing.T) {
	a := newAuthority(t, func(w http.ResponseWriter, r *http.Request, _ string) {})
	a.open(t)
	a.source.Close()
	if _, err := a.source.issuer.obtain(a.source.issuer.domains[0]); err == nil || a.asked.Load() != 0 {
		t.Errorf("%v, %d requests", err, a.asked.Load())
	}
	r, _ := http.NewRequest(http.MethodGet, a.config.Directory, http.NoBody)
	if _, err := a.source.issuer.client.Do(r); err == nil || a.asked.Load() != 0 {
		t.Errorf("%v, %d requests", err, a.asked.Load())
	}
}

// TestProblems: the refusal of a request, an order or a challenge is kept, and an old
// nonce, which is not one, is not.
func TestProblems(t *testing.T) {
	var p problems
	for _, tt := range []struct {
		status     int
		body, want string
	}{
		{200, `{"status":"valid","error":{"type":"x","detail":"y"}}`, ""},
		{400, `{"type":"urn:ietf:params:acme:error:badNonce","detail":"old"}`, ""},
		{429, `{"type":"urn:ietf:params:acme:error:rateLimited","detail":"too many"}`, "rateLimited: too many"},
		{200, `{"status":"invalid","challenges":[{"type":"tls-alpn-01","error":{"type":"urn:ietf:params:acme:error:connection","detail":"refused"}},{"type":"dns-01"}]}`, "connection: refused"},
		{200, `{"status":"invalid","error":{"type":"urn:ietf:params:acme:error:caa","detail":"forbidden"}}`, "caa: forbidden"},
		{500, `{"other":1}`, "caa: forbidden"},
	} {
		if p.see(tt.status, gjson.Parse(tt.body)); p.last() != tt.want {
			t.Errorf("%d %s: %q, want %q", tt.status, tt.body, p.last(), tt.want)
		}
	}
}

// TestAuthorityFolder: each authority has a folder of its own, and none is elsewhere.
func TestAuthorityFolder(t *testing.T) {
	seen := map[string]string{}
	for directory, want := range map[string]string{
		LetsEncrypt: "acme-v02.api.letsencrypt.org-directory",
		"https://acme-staging-v02.api.letsencrypt.org/directory": "acme-staging-v02.api.letsencrypt.org-directory",
		"https://CA.internal:9000/acme/acme/directory":           "ca.internal-9000-acme-acme-directory",
		"https://../../etc":                      "-.-..-etc",
		"https://a/" + strings.Repeat("b", 1000): "a-" + strings.Repeat("b", 98),
	} {
		got := ACME{Directory: directory}.Folder("data")
		if got != filepath.Join("data", "acme", want) {
			t.Errorf("%s: %s, want %s", directory, got, want)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s have one folder", directory, other)
		}
		seen[got] = directory
	}
}
