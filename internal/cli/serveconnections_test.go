package cli

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestServeConnections: the settings bound the connections of the gateway, the
// metrics count them, and the log reports once that some are refused.
func TestServeConnections(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sotto.yaml")
	if err := os.WriteFile(file, []byte("limits: {connections: 3}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := startServe(t, "--config="+file)
	u, err := url.Parse(r.gateway)
	if err != nil {
		t.Fatal(err)
	}
	metrics := func() string {
		resp, err := r.client.Get(r.gateway + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		got, _ := io.ReadAll(resp.Body)
		return string(got)
	}
	metrics() // keeps a connection
	refused := 0
	for range 12 {
		c, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); !os.IsTimeout(err) {
			refused++
		}
	}
	if refused != 10 {
		t.Errorf("%d connections were refused, want 10", refused)
	}
	for _, line := range []string{"\nsotto_connections 3\n", "\nsotto_connections_refused_total 10\n"} {
		if got := metrics(); !strings.Contains(got, line) {
			t.Errorf("no %q in the metrics", line)
		}
	}
	r.client.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	r.signals <- os.Interrupt
	r.signals <- os.Interrupt
	<-r.ended
	if log := <-r.log; strings.Count(log, "connections are refused") != 1 {
		t.Errorf("the log: %s", log)
	}
}
