//go:build unix

package cli

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/sotto-llm/sotto/internal/testing/waiting"
)

// TestServeDebug: the log level of a running gateway is changed by a signal and by the
// debug server, which needs the gateway's token and ends with
// the gateway. At the level error, the log has no line of a shutdown.
func TestServeDebug(t *testing.T) {
	const token = "a-token-of-sixteen-or-more"
	r := startServeWith(t, func(name string) string { return map[string]string{"SOTTO_TOKEN": token}[name] },
		"--scripted-pause=0s", "--debug-listen=localhost:0")
	level := func(method, body, key string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, r.debug+"/debug/log-level", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, strings.TrimSpace(string(text))
	}
	if status, text := level("GET", "", "wrong"); status != http.StatusUnauthorized {
		t.Errorf("with a wrong token: %d %s", status, text)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	waiting.For(t, "the level after the signal", func() error {
		if _, text := level("GET", "", token); text != "debug" {
			return errors.New(text)
		}
		return nil
	})
	if status, text := level("PUT", "error", token); status != http.StatusOK || text != "error" {
		t.Errorf("%d %s", status, text)
	}
	r.client.CloseIdleConnections()
	r.signals <- os.Interrupt
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	said := <-r.log
	for _, line := range []string{`from=info to=debug signal="user defined signal 1"`, "from=debug to=error by=/debug/log-level caller=token"} {
		if !strings.Contains(said, line) {
			t.Errorf("the log does not say %s: %s", line, said)
		}
	}
	if strings.Contains(said, "shutting down") {
		t.Errorf("the level error is not kept: %s", said)
	}
	if _, err := r.client.Get(r.debug + "/debug/"); err == nil {
		t.Error("the debug server outlives the gateway")
	}
}
