package cli

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/net/certificates/certificatestest"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
)

// TestHealth: a gateway that serves is ready. One that is about to stop is alive and not
// ready, and one that has ended is neither. The settings say where the gateway is.
func TestHealth(t *testing.T) {
	r := startServe(t, "--scripted-pause=0s", "--shutdown-delay=1h")
	address := strings.TrimPrefix(r.gateway, "http://")
	config := filepath.Join(t.TempDir(), "sotto.yaml")
	if err := os.WriteFile(config, []byte("v: 1\nlisten: "+address+"\ndisplay: nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"SOTTO_LISTEN": address}
	check := func(status int, text string, env map[string]string, args ...string) {
		t.Helper()
		got, out, errs := runWith(env, append([]string{"health"}, args...)...)
		if all := out + errs; got != status || !strings.Contains(all, text) || strings.Count(all, "\n") != 1 {
			t.Errorf("%q: status %d\n%s", args, got, all)
		}
	}
	check(0, "ready: "+r.gateway, nil, r.gateway)
	check(0, "ready: "+r.gateway, nil, "--config", config)
	check(0, "ready: "+r.gateway, env)
	check(0, "alive: "+r.gateway, nil, "--live", r.gateway)
	check(1, "is not ready: 404", nil, r.gateway+"/v1/nowhere")
	r.signals <- syscall.SIGTERM
	waiting.For(t, "not being ready after the signal", func() error {
		if status, _, errs := runWith(nil, "health", r.gateway); status != 1 || !strings.Contains(errs, "is not ready: 503 Service Unavailable shutting down") {
			return fmt.Errorf("%d %s", status, errs)
		}
		return nil
	})
	check(0, "alive: "+r.gateway, nil, "--live", r.gateway)
	r.signals <- syscall.SIGTERM
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	<-r.log
	check(1, "connection refused", nil, "--live", r.gateway)
}

// TestHealthTLS: the certificate must be the one in the settings, or one of the
// authorities that the command line names. A gateway that asks for a certificate gets it.
func TestHealthTLS(t *testing.T) {
	ca, other, dir := certificatestest.NewAuthority(t, "ca"), certificatestest.NewAuthority(t, "other"), t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	cert, key := ca.Server("gateway.example", time.Now().Add(time.Hour))
	wrong, wrongKey := ca.Server("gateway.example", time.Now().Add(time.Hour))
	client := ca.Client("probe")
	clientKey, err := x509.MarshalPKCS8PrivateKey(client.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"cert": cert, "key": key, "ca": ca.PEM, "other": other.PEM, "wrong": wrong, "wrongkey": wrongKey,
		"client":    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: client.Certificate[0]}),
		"clientkey": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: clientKey}),
	} {
		if err := os.WriteFile(file(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := startServe(t, "--scripted-pause=0s", "--tls-cert="+file("cert"), "--tls-key="+file("key"))
	config := func(cert, key string) string {
		name := file("sotto-" + cert + ".yaml")
		if err := os.WriteFile(name, []byte(fmt.Sprintf("v: 1\nlisten: %s\ntls-cert: %s\ntls-key: %s\n", strings.TrimPrefix(r.gateway, "https://"), cert, key)), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, tt := range []struct {
		status int
		text   string
		args   []string
	}{
		{0, "ready: https://", []string{"--config", config("cert", "key")}},
		{1, "the server has another certificate", []string{"--config", config("wrong", "wrongkey")}},
		{1, "certificate signed by unknown authority", []string{r.gateway}},
		{1, "certificate", []string{"--ca", file("other"), r.gateway}},
		{0, "ready: https://", []string{"--ca", file("ca"), r.gateway}},
		{1, "there is no certificate in it", []string{"--ca", file("key"), r.gateway}},
	} {
		if status, out, errs := runWith(nil, append([]string{"health"}, tt.args...)...); status != tt.status || !strings.Contains(out+errs, tt.text) {
			t.Errorf("%q: %d %s%s", tt.args, status, out, errs)
		}
	}
	r.signals <- syscall.SIGTERM
	<-r.ended
	<-r.log
	r = startServe(t, "--scripted-pause=0s", "--tls-cert="+file("cert"), "--tls-key="+file("key"), "--tls-client-ca="+file("ca"))
	if status, _, errs := runWith(nil, "health", "--ca", file("ca"), r.gateway); status != 1 || !strings.Contains(errs, "give one with --client-cert and --client-key") {
		t.Errorf("without a certificate: %d %s", status, errs)
	}
	if status, _, errs := runWith(nil, "health", "--ca", file("ca"), "--client-cert", file("client"), "--client-key", file("clientkey"), r.gateway); status != 0 {
		t.Errorf("with a certificate: %d %s", status, errs)
	}
	r.signals <- syscall.SIGTERM
	<-r.ended
	<-r.log
}

// TestHealthHostile: an answer of any length, one that never comes, and a redirect are
// not healthy.
func TestHealthHostile(t *testing.T) {
	var came atomic.Bool
	left := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/endless/readyz":
			w.WriteHeader(http.StatusInternalServerError)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
					return
				}
			}
		case "/silent/readyz":
			came.Store(true)
			<-r.Context().Done()
			close(left)
		case "/moved/readyz":
			http.Redirect(w, r, "/", http.StatusFound)
		}
	}))
	defer server.Close()
	for path, want := range map[string]string{"/endless": "500 Internal Server Error xxx", "/silent": "no answer in 50ms", "/moved": "302 Found"} {
		status, out, errs := runWith(nil, "health", "--time=50ms", server.URL+path)
		if path == "/endless" { // its time may be over before its first byte
			want = "sotto: error: " + server.URL + path
		}
		if status != 1 || out != "" || !strings.Contains(errs, want) || len(errs) > 500 {
			t.Errorf("%s: %d %s%.600s", path, status, out, errs)
		}
	}
	if came.Load() { // on a busy machine, the time may be over before the client asks
		<-left
	}
}

// TestHealthUsage: what names no gateway is wrong usage.
func TestHealthUsage(t *testing.T) {
	for _, args := range [][]string{{"gateway:8383"}, {"ftp://gateway"}, {"http://u:p@gateway"}, {"--time=0s"}, {"--client-cert=x"}, {"--config=x", "http://gateway"}} {
		if status, _, errs := runWith(nil, append([]string{"health"}, args...)...); status != 2 {
			t.Errorf("%q: %d %s", args, status, errs)
		}
	}
	if status, _, errs := runWith(map[string]string{"SOTTO_LISTEN": "127.0.0.1:0"}, "health"); status != 2 || !strings.Contains(errs, "name the gateway by its URL") {
		t.Errorf("%d %s", status, errs)
	}
}
