package cli

import (
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/net/certificates/certificatestest"
)

// TestServeTLS: the gateway and its console are served over TLS, to clients with a
// certificate alone. Streams, metrics and the end are as without it, and what does not
// speak TLS is not in the log.
func TestServeTLS(t *testing.T) {
	ca, dir := certificatestest.NewAuthority(t, "ca"), t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	until := time.Now().Add(100 * 24 * time.Hour)
	cert, key := ca.Server("gateway.example", until)
	for name, data := range map[string][]byte{"cert": cert, "key": key, "ca": ca.PEM} {
		if err := os.WriteFile(file(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := startServe(t, "--scripted-pause=0s", "--tls-cert="+file("cert"), "--tls-key="+file("key"), "--tls-client-ca="+file("ca"), "--console", "--console-listen=127.0.0.1:0", "--a2a", "--a2a-model=minimax-m2")
	if !strings.HasPrefix(r.gateway, "https://") || !strings.HasPrefix(r.console, "https://") {
		t.Fatal(r.gateway, r.console)
	}
	with := func(certs ...tls.Certificate) *http.Client {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool(), Certificates: certs}, ForceAttemptHTTP2: true}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport}
	}
	r.client = with(ca.Client("ann"))
	frames, err := io.ReadAll(r.chat("minimax-m2", true).Body)
	if err != nil || !strings.HasSuffix(string(frames), "data: [DONE]\n\n") || strings.Contains(string(frames), "think>") {
		t.Errorf("%v: %s", err, frames)
	}
	for _, tt := range []struct{ url, want, proto string }{{r.gateway + "/metrics", "sotto_tls_certificate_expires_seconds ", "HTTP/2.0"}, {r.console + "/chat", "<title>", "HTTP/1.1"}} {
		resp, err := r.client.Get(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.TLS == nil || resp.Proto != tt.proto || !strings.Contains(string(body), tt.want) {
			t.Errorf("%s: %s %s", tt.url, resp.Proto, resp.Status)
		}
		for name, c := range map[string]*http.Client{"without a certificate": with(), "without TLS": http.DefaultClient} {
			url := tt.url
			if name == "without TLS" {
				url = strings.Replace(url, "https://", "http://", 1)
			}
			if resp, err := c.Get(url); err == nil {
				resp.Body.Close()
				if resp.StatusCode != http.StatusBadRequest {
					t.Errorf("%s, %s: %s", url, name, resp.Status)
				}
			}
		}
	}
	r.client.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	r.signals <- os.Interrupt
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	if log := <-r.log; strings.Contains(log, "handshake") {
		t.Errorf("the log: %s", log)
	}
}
