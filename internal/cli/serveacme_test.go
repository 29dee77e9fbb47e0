package cli

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/net/certificates/certificatestest"
)

// TestServeACME: the gateway obtains a certificate and serves clients with it. The next
// gateway has it from the data folder, and asks for that of the domain that is new alone,
// although clients need a certificate now and the authority has none.
func TestServeACME(t *testing.T) {
	p := newPebble(t)
	p.start()
	root, data := p.root(), t.TempDir()
	g := p.serve(data, p.tlsPort, p.flags("gateway.example")...)
	g.says("a certificate was obtained", `"domain":"gateway.example"`)
	first := g.shown("gateway.example", root)
	url := "https://gateway.example:" + p.tlsPort
	resp, err := g.client(root).Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"minimax-m2","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	frames, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || !strings.HasSuffix(string(frames), "data: [DONE]\n\n") {
		t.Errorf("%v: %s", err, frames)
	}
	if curl, err := exec.LookPath("curl"); err == nil {
		out, err := exec.Command(curl, "-sS", "--cacert", p.file("root"), "--connect-to", "gateway.example:"+p.tlsPort+":127.0.0.1:"+p.tlsPort, url+"/healthz").CombinedOutput()
		if err != nil {
			t.Errorf("curl: %v: %s", err, out)
		}
	}
	if status, out, errs := runWith(map[string]string{"SOTTO_LISTEN": "127.0.0.1:" + p.tlsPort, "SOTTO_DATA_DIR": data, "SOTTO_TLS_DOMAIN": "gateway.example,second.example", "SOTTO_ACME_DIRECTORY": "https://" + p.listen + "/dir"}, "health"); status != 0 {
		t.Errorf("sotto health: %d %s%s", status, out, errs)
	}
	g.otherNames(root)
	g.keptPrivate(data)
	asked := p.orders()
	if asked == 0 {
		t.Error("no order is counted")
	}
	g.stop()
	if strings.Contains(g.said(), `"level":"WARN"`) || strings.Contains(g.said(), `"level":"ERROR"`) {
		t.Errorf("the log: %s", g.said())
	}

	ca := certificatestest.NewAuthority(t, "clients")
	if err := os.WriteFile(p.file("clients"), ca.PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	g = p.serve(data, p.tlsPort, append(p.flags("gateway.example", "second.example"), "--tls-client-ca="+p.file("clients"))...)
	g.says("a certificate was obtained", `"domain":"second.example"`)
	ann := g.client(root, ca.Client("ann"))
	for _, domain := range []string{"gateway.example", "second.example"} {
		resp, err := ann.Get("https://" + domain + ":" + p.tlsPort + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if domain == "gateway.example" && !resp.TLS.PeerCertificates[0].Equal(first) {
			t.Error("the certificate that was kept is not used")
		}
		if strings.Contains(string(text), "\nsotto_tls_certificate_expires_seconds 0\n") || !strings.Contains(string(text), "\nsotto_tls_certificate_expires_seconds ") {
			t.Error("the metric does not have the time of the first certificate")
		}
	}
	if n := p.orders() - asked; n == 0 || strings.Contains(g.said(), `was obtained","domain":"gateway.example"`) {
		t.Errorf("%d orders: %s", n, g.said())
	}
	if _, err := g.client(root).Get(url + "/healthz"); err == nil {
		t.Error("a client without a certificate is served")
	}
	g.noSideEntrance()
	g.stop()
}

// otherNames checks that clients that ask for other names are told so.
func (g *acmeGateway) otherNames(root *x509.CertPool) {
	g.t.Helper()
	for _, name := range []string{"other.example", "127.0.0.1", "gateway.example.other.example"} {
		c, err := g.dial(name, root, nil)
		if err == nil {
			c.Close()
			g.t.Errorf("%s is served", name)
		} else if !strings.Contains(err.Error(), "unrecognized name") {
			g.t.Errorf("%s: %v", name, err)
		}
	}
}

// noSideEntrance checks that the protocol by which an authority checks domains, for which
// no certificate is needed, leads no further than the handshake.
func (g *acmeGateway) noSideEntrance() {
	g.t.Helper()
	for _, protocols := range [][]string{{"acme-tls/1"}, {"acme-tls/1", "http/1.1"}, {"http/1.1", "acme-tls/1"}} {
		c, err := tls.Dial("tcp", "127.0.0.1:"+g.port, &tls.Config{ServerName: "gateway.example", InsecureSkipVerify: true, NextProtos: protocols})
		if err != nil {
			continue
		}
		io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: gateway.example\r\n\r\n")
		if answer, _ := io.ReadAll(c); len(answer) > 0 {
			g.t.Errorf("%v: %s", protocols, answer)
		}
		c.Close()
	}
}

// keptPrivate checks that nobody else can read the keys.
func (g *acmeGateway) keptPrivate(data string) {
	g.t.Helper()
	folder, n := filepath.Join(data, "acme"), 0
	err := filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			g.t.Errorf("%s has mode %v", name, info.Mode())
		}
		n++
		return err
	})
	if err != nil || n < 4 { // two folders, an account, a certificate
		g.t.Errorf("%v, %d files", err, n)
	}
}

// TestServeACMEWithoutAuthority: while the authority cannot be reached, the gateway runs
// and says what is wrong. Later it asks again, by itself.
func TestServeACMEWithoutAuthority(t *testing.T) {
	if effort.Brief() {
		t.Skip("it waits for the next attempt: set SOTTO_EFFORT=1")
	}
	p := newPebble(t)
	g := p.serve(t.TempDir(), p.tlsPort, p.flags("gateway.example")...)
	g.says("there is no certificate", `"domain":"gateway.example"`, "connection refused", "acme-directory")
	if c, err := g.dial("gateway.example", nil, nil); err == nil {
		c.Close()
		t.Error("there is a certificate")
	}
	p.start()
	g.says("a certificate was obtained")
	g.shown("gateway.example", p.root())
	g.stop()
}

// TestServeACMERefused: what the authority says of a domain is in the log, and other
// domains are served.
func TestServeACMERefused(t *testing.T) {
	p := newPebble(t)
	p.start()
	g := p.serve(t.TempDir(), p.tlsPort, p.flags("nowhere.invalid", "gateway.example")...)
	g.says("there is no certificate", `"domain":"nowhere.invalid"`, "nowhere.invalid", "acme-listen", "again_in")
	g.says("a certificate was obtained", `"domain":"gateway.example"`)
	g.shown("gateway.example", p.root())
	g.stop()
}

// TestServeACMEByHTTP: where the authority cannot reach the gateway's own port, it is
// answered without TLS, and browsers are sent on.
func TestServeACMEByHTTP(t *testing.T) {
	p := newPebble(t)
	p.start()
	port := freePort(t)
	g := p.serve(t.TempDir(), port, append(p.flags("gateway.example"), "--acme-listen=127.0.0.1:"+p.httpPort)...)
	g.says("a certificate was obtained")
	g.shown("gateway.example", p.root())
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: &http.Transport{DisableKeepAlives: true}}
	for _, tt := range []struct {
		method, host, path string
		status             int
		location           string
	}{
		{"GET", "gateway.example", "/v1/models?a=b", http.StatusTemporaryRedirect, "https://gateway.example:" + port + "/v1/models?a=b"},
		{"GET", "GATEWAY.example:80", "//elsewhere.example/", http.StatusTemporaryRedirect, "https://gateway.example:" + port + "//elsewhere.example/"},
		{"POST", "gateway.example", "/v1/chat/completions", http.StatusBadRequest, ""},
		{"GET", "elsewhere.example", "/", http.StatusNotFound, ""},
		{"GET", "gateway.example", "/.well-known/acme-challenge/other", http.StatusNotFound, ""},
	} {
		r, err := http.NewRequest(tt.method, "http://127.0.0.1:"+p.httpPort+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = tt.host
		resp, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.status || resp.Header.Get("Location") != tt.location {
			t.Errorf("%s %s%s: %s to %q", tt.method, tt.host, tt.path, resp.Status, resp.Header.Get("Location"))
		}
	}
	g.stop()
}

// TestServeACMETakeover: the gateway that takes over has the certificate of the one before
// it, on the same sockets, and nobody asks the authority again.
func TestServeACMETakeover(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no sockets are passed on")
	}
	p := newPebble(t)
	p.start()
	root, data := p.root(), t.TempDir()
	args := append(p.flags("gateway.example"), "--takeover", "--acme-listen=127.0.0.1:"+p.httpPort)
	first := p.serve(data, p.tlsPort, args...)
	first.says("a certificate was obtained")
	before, orders := first.shown("gateway.example", root), p.orders()
	second := p.serve(data, p.tlsPort, args...)
	second.says("the gateway is up")
	<-first.over
	if after := second.shown("gateway.example", root); !after.Equal(before) {
		t.Error("the certificate is another one")
	}
	resp, err := http.Post("http://127.0.0.1:"+p.httpPort+"/", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if n := p.orders() - orders; n != 0 {
		t.Errorf("%d orders", n)
	}
	second.stop()
	if log := first.said() + second.said(); strings.Contains(log, `"level":"ERROR"`) {
		t.Error(log)
	}
}

// TestServeACMERenewal: a certificate is renewed in time, and connections that are open
// go on.
func TestServeACMERenewal(t *testing.T) {
	if effort.Brief() {
		t.Skip("it waits for a certificate of 20 seconds: set SOTTO_EFFORT=1")
	}
	p := newPebble(t)
	p.validity = 20e9
	p.start()
	root, data := p.root(), t.TempDir()
	g := p.serve(data, p.tlsPort, p.flags("gateway.example")...)
	g.says("a certificate was obtained")
	first := g.shown("gateway.example", root)
	open, err := g.dial("gateway.example", root, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	answers := bufio.NewReader(open)
	ask := func() {
		io.WriteString(open, "GET /healthz HTTP/1.1\r\nHost: gateway.example\r\n\r\n")
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%v, %s", err, resp.Status)
		}
	}
	ask()
	g.says("a certificate was renewed", `"domain":"gateway.example"`)
	if second := g.shown("gateway.example", root); second.Equal(first) || !second.NotAfter.After(first.NotAfter) {
		t.Errorf("%v, then %v", first.NotAfter, second.NotAfter)
	}
	ask()
	g.stop()
}
