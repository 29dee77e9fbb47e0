package cli

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/sotto-llm/sotto/internal/net/certificates/certificatestest"
	"github.com/sotto-llm/sotto/internal/testing/freeport"
)

// A pebble is an authority that speaks ACME: Pebble, the test server of Let's Encrypt. It
// checks domains by connecting to this machine.
type pebble struct {
	t          *testing.T
	dir        string
	program    string
	ca         *certificatestest.Authority // of its API
	listen     string
	management string
	tlsPort    string // where it connects to check a domain by tls-alpn-01
	httpPort   string // and by http-01
	validity   time.Duration
}

func newPebble(t *testing.T) *pebble {
	t.Helper()
	program, err := exec.LookPath("pebble")
	if err != nil {
		t.Skip("Pebble is not here: go install github.com/letsencrypt/pebble/v2/cmd/pebble@v2.10.1")
	}
	p := &pebble{t: t, dir: t.TempDir(), program: program, ca: certificatestest.NewAuthority(t, "pebble"), validity: 90 * 24 * time.Hour}
	p.listen, p.management = "127.0.0.1:"+freePort(t), "127.0.0.1:"+freePort(t)
	p.tlsPort, p.httpPort = freePort(t), freePort(t)
	return p
}

func freePort(t *testing.T) string {
	t.Helper()
	_, port, _ := net.SplitHostPort(freeport.Find(t))
	return port
}

func (p *pebble) file(name string) string { return filepath.Join(p.dir, name) }

// flags are those of a gateway that it gives certificates to.
func (p *pebble) flags(domains ...string) []string {
	if err := os.WriteFile(p.file("ca"), p.ca.PEM, 0o600); err != nil {
		p.t.Fatal(err)
	}
	all := []string{"--acme-accept-terms", "--acme-directory=https://" + p.listen + "/dir", "--acme-ca=" + p.file("ca"), "--acme-email=ann@sotto.example"}
	for _, name := range domains {
		all = append(all, "--tls-domain="+name)
	}
	return all
}

// start starts the authority.
func (p *pebble) start() {
	t := p.t
	t.Helper()
	cert, key := p.ca.Server("localhost", time.Time{})
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": p.listen, "managementListenAddress": p.management, "certificate": p.file("cert"), "privateKey": p.file("key"),
		"httpPort": json.Number(p.httpPort), "tlsPort": json.Number(p.tlsPort), "retryAfter": map[string]int{"authz": 1, "order": 1},
		"profiles": map[string]any{"default": map[string]any{"description": "the only one", "validityPeriod": int(p.validity.Seconds())}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"cert": cert, "key": key, "config": config} {
		if err := os.WriteFile(p.file(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(p.program, "-config", p.file("config"), "-dnsserver", p.serveNames())
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1")
	out, err := os.Create(p.file("log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); out.Close() })
	p.root()
}

// orders says how many certificates the authority was asked for.
func (p *pebble) orders() int {
	log, err := os.ReadFile(p.file("log"))
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Count(string(log), "POST /order-plz ")
}

// serveNames answers DNS: every name below example is this machine, others are unknown.
func (p *pebble) serveNames() (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answerNames(c)
		}
	}()
	return l.Addr().String()
}

// answerNames answers the questions of a connection, each behind its length.
func answerNames(c net.Conn) {
	defer c.Close()
	for in := make([]byte, 1<<16); ; {
		if _, err := io.ReadFull(c, in[:2]); err != nil {
			return
		}
		n := binary.BigEndian.Uint16(in)
		if _, err := io.ReadFull(c, in[:n]); err != nil {
			return
		}
		out, err := answerName(in[:n])
		if err != nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...)); err != nil {
			return
		}
	}
}

func answerName(query []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil, fmt.Errorf("%d questions: %w", len(m.Questions), err)
	}
	q := m.Questions[0]
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	switch {
	case !strings.HasSuffix(q.Name.String(), ".example."):
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1},
			Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
		}}
	}
	return m.Pack()
}

// root is what clients trust who know the authority.
func (p *pebble) root() *x509.CertPool {
	t := p.t
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.ca.Pool()}, DisableKeepAlives: true}}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		resp, err := client.Get("https://" + p.management + "/roots/0")
		if err != nil {
			if time.Now().After(end) {
				t.Fatal(err)
			}
			continue
		}
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p.file("root"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(data) {
			t.Fatalf("no certificate: %s", data)
		}
		return pool
	}
}

// An acmeGateway is a gateway that has its certificates from a pebble.
type acmeGateway struct {
	t    *testing.T
	port string
	cmd  *exec.Cmd
	over chan struct{}

	mu  sync.Mutex
	log strings.Builder
}

// serve starts the gateway at the port that the authority connects to.
func (p *pebble) serve(data, port string, args ...string) *acmeGateway {
	t := p.t
	t.Helper()
	g := &acmeGateway{t: t, port: port, over: make(chan struct{})}
	g.cmd = exec.Command("sotto", append([]string{"serve", "--listen=127.0.0.1:" + port, "--scripted-listen=127.0.0.1:0", "--scripted-pause=0s", "--log-format=json", "--log-level=debug", "--data=" + data}, args...)...)
	said, err := g.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(g.over)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			g.mu.Lock()
			g.log.WriteString(lines.Text() + "\n")
			g.mu.Unlock()
		}
	}()
	t.Cleanup(func() { _ = g.cmd.Process.Kill(); <-g.over; _ = g.cmd.Wait() })
	return g
}

func (g *acmeGateway) said() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.log.String()
}

// says waits until the log has a line with all of the texts.
func (g *acmeGateway) says(texts ...string) {
	g.t.Helper()
	for end := time.Now().Add(90 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		for line := range strings.Lines(g.said()) {
			all := true
			for _, text := range texts {
				all = all && strings.Contains(line, text)
			}
			if all {
				return
			}
		}
		if time.Now().After(end) {
			g.t.Fatalf("the log does not have %q:\n%s", texts, g.said())
		}
	}
}

// stop ends the gateway as a service manager does.
func (g *acmeGateway) stop() {
	g.t.Helper()
	_ = g.cmd.Process.Signal(os.Interrupt)
	<-g.over
	if err := g.cmd.Wait(); err != nil {
		g.t.Errorf("%v:\n%s", err, g.said())
	}
}

// dial shakes hands for a domain.
func (g *acmeGateway) dial(domain string, root *x509.CertPool, protocols []string, certs ...tls.Certificate) (*tls.Conn, error) {
	d := &net.Dialer{Timeout: time.Minute}
	return tls.DialWithDialer(d, "tcp", "127.0.0.1:"+g.port, &tls.Config{ServerName: domain, RootCAs: root, NextProtos: protocols, Certificates: certs})
}

// shown returns the certificate that a client gets for a domain.
func (g *acmeGateway) shown(domain string, root *x509.CertPool) *x509.Certificate {
	g.t.Helper()
	c, err := g.dial(domain, root, nil)
	if err != nil {
		g.t.Fatalf("%v\n%s", err, g.said())
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0]
}

// client is one that finds every domain at the gateway.
func (g *acmeGateway) client(root *x509.CertPool, certs ...tls.Certificate) *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: root, Certificates: certs},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:"+g.port)
		},
	}}
}
