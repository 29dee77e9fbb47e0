package cli

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/net/certificates/certificatestest"
)

// A tlsFolder has the files of a certificate.
type tlsFolder struct {
	t   *testing.T
	dir string
	ca  *certificatestest.Authority
}

func newTLSFolder(t *testing.T) tlsFolder {
	f := tlsFolder{t, t.TempDir(), certificatestest.NewAuthority(t, "ca")}
	f.write("one.example")
	return f
}

func (f tlsFolder) file(name string) string { return filepath.Join(f.dir, name) }

func (f tlsFolder) write(name string) {
	f.t.Helper()
	cert, key := f.ca.Server(name, time.Time{})
	for name, data := range map[string][]byte{"cert": cert, "key": key, "ca": f.ca.PEM} {
		if err := os.WriteFile(f.file(name), data, 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
}

// start starts a command that serves over TLS at an address of every interface, and
// returns the URL that it announces.
func (f tlsFolder) start(env []string, args ...string) string {
	t := f.t
	t.Helper()
	cmd := exec.Command("sotto", append(args, "--listen=0.0.0.0:0", "--tls-cert="+f.file("cert"), "--tls-key="+f.file("key"))...)
	cmd.Dir, cmd.Env = f.dir, append(os.Environ(), env...)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hang := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(said)
	at := ""
	for at == "" && lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), " is at "); ok {
			at = url
		} else {
			t.Log(lines.Text())
		}
	}
	rest := make(chan string, 1)
	go func() {
		var all strings.Builder
		for lines.Scan() {
			all.WriteString(lines.Text() + "\n")
		}
		rest <- all.String()
	}()
	t.Cleanup(func() {
		hang.Stop()
		_ = cmd.Process.Signal(os.Interrupt)
		if log := <-rest; strings.Contains(log, "handshake") {
			t.Errorf("clients that do not speak TLS are in the log: %s", log)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	})
	if !strings.HasPrefix(at, "https://") {
		t.Fatalf("%v is at %q", args, at)
	}
	return at
}

func (f tlsFolder) client(certs ...tls.Certificate) *http.Client {
	transport := &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: f.ca.Pool(), Certificates: certs}}
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// status asks, and returns the status and the name on the server's certificate.
func (f tlsFolder) status(c *http.Client, url string) (status int, name string, err error) {
	resp, err := c.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0, "", err
	}
	if resp.TLS != nil {
		name = resp.TLS.PeerCertificates[0].Subject.CommonName
	}
	return resp.StatusCode, name, nil
}

// TestAloneTLS: the console and the MCP server serve over TLS without the gateway, by
// the same rules: a certificate of clients is access control, and a token is needed too
// if there is one.
func TestAloneTLS(t *testing.T) {
	for name, command := range map[string]struct {
		args  []string
		token string // its variable
		open  int    // status of a GET that is let in
	}{
		"console": {[]string{"console"}, "SOTTO_CONSOLE_TOKEN", http.StatusOK},
		"mcp":     {[]string{"mcp"}, "SOTTO_MCP_TOKEN", http.StatusMethodNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTLSFolder(t)
			ann := f.ca.Client("ann")
			byToken := f.start([]string{command.token + "=a-token-of-callers"}, command.args...)
			byCert := f.start(nil, append(command.args, "--tls-client-ca="+f.file("ca"))...)
			both := f.start([]string{command.token + "=a-token-of-callers"}, append(command.args, "--tls-client-ca="+f.file("ca"))...)
			for _, tt := range []struct {
				what   string
				client *http.Client
				url    string
				want   int // 0: no connection
			}{
				{"a client without a token", f.client(), byToken, http.StatusUnauthorized},
				{"plain HTTP", f.client(), strings.Replace(byToken, "https:", "http:", 1), http.StatusBadRequest},
				{"a certificate", f.client(ann), byCert, command.open},
				{"no certificate", f.client(), byCert, 0},
				{"a certificate without a token", f.client(ann), both, http.StatusUnauthorized},
				{"no certificate, no token", f.client(), both, 0},
			} {
				got, _, err := f.status(tt.client, tt.url)
				if got != tt.want {
					t.Errorf("%s: status %d, %v; want %d", tt.what, got, err, tt.want)
				}
			}
		})
	}
}

// TestAloneTokenHashes: the servers take a token in place of which they have the hash, and
// not the hash itself.
func TestAloneTokenHashes(t *testing.T) {
	const token = "a-token-of-callers"
	for name, variable := range map[string]string{"console": "SOTTO_CONSOLE_TOKEN", "mcp": "SOTTO_MCP_TOKEN"} {
		f := newTLSFolder(t)
		url := f.start([]string{variable + "=" + access.HashOf(token)}, name)
		for sent, let := range map[string]bool{token: true, access.HashOf(token): false} {
			r, err := http.NewRequest(http.MethodGet, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+sent)
			resp, err := f.client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if (resp.StatusCode != http.StatusUnauthorized) != let {
				t.Errorf("%s: a request with %q has the status %d", name, sent, resp.StatusCode)
			}
		}
	}
}

// TestAloneTLSReload: new files of a certificate are used without a restart.
func TestAloneTLSReload(t *testing.T) {
	if effort.Brief() {
		t.Skip("the files are looked at every five seconds: set SOTTO_EFFORT=1")
	}
	f := newTLSFolder(t)
	var urls []string
	for _, command := range []string{"console", "mcp"} {
		urls = append(urls, f.start(nil, command, "--tls-client-ca="+f.file("ca")))
	}
	f.write("two.example")
	c := f.client(f.ca.Client("ann"))
	for _, url := range urls {
		for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
			_, name, err := f.status(c, url)
			if err != nil {
				t.Fatal(err)
			}
			if name == "two.example" {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s still shows the certificate of %s", url, name)
			}
		}
	}
}

// TestMCPOverTLS: a client of the protocol's own SDK uses the tools over TLS, with a
// token and a certificate.
func TestMCPOverTLS(t *testing.T) {
	f := newTLSFolder(t)
	at := f.start([]string{"SOTTO_MCP_TOKEN=a-token-of-callers"}, "mcp", "--tls-client-ca="+f.file("ca"))
	h := f.client(f.ca.Client("ann"))
	h.Transport = bearer{h.Transport}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "judge", Version: "1"}, nil).
		Connect(ctx, &mcp.StreamableClientTransport{Endpoint: at, HTTPClient: h, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "split", Arguments: map[string]any{"text": "<think>a</think>b"}})
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := result.Content[0].(*mcp.TextContent); !ok || !strings.Contains(text.Text, `"visible":"b"`) {
		t.Errorf("%v", result.Content)
	}
}

// A bearer sends the token of the tests.
type bearer struct{ http.RoundTripper }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer a-token-of-callers")
	return b.RoundTripper.RoundTrip(r)
}
