package cli

import (
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

	"github.com/tidwall/gjson"
)

// TestServeGuard: with --guard, the command asks the server about a reply, with the
// token, and keeps to its verdict. sotto record show prints the verdict on a line.
func TestServeGuard(t *testing.T) {
	var asked atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked.Store(r.Header.Get("Authorization") + " " + gjson.GetBytes(body, "model").Str)
		fmt.Fprint(w, `{"action":"end","reason":"not today"}`)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("canary-of-guard-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	audit := filepath.Join(t.TempDir(), "audit")
	r := startServe(t, "--guard="+server.URL, "--guard-token-file="+file, "--guard-every=whole", "--record="+audit)
	resp, err := r.client.Post(r.gateway+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"minimax-m2","messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "the guard ended the reply: not today") {
		t.Errorf("%d, %v: %s", resp.StatusCode, err, body)
	}
	if got := asked.Load(); got != "Bearer canary-of-guard-1 minimax-m2" {
		t.Errorf("the guard was asked with %v", got)
	}
	r.client.CloseIdleConnections()
	r.signals <- syscall.SIGTERM
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	if log := <-r.log; strings.Contains(log, "canary") || strings.Contains(log, "not today") {
		t.Errorf("the log has the token, or what was said of the reply: %s", log)
	}
	shown, errs, status := runSotto(t, "", "record", "show", audit)
	for _, want := range []string{": 1 piece: 1 end\n", "guard: end: reasoning from byte 0 to ", " ms: not today\n"} {
		if status != 0 || !strings.Contains(shown, want) || strings.Contains(shown, "judgements") {
			t.Errorf("%d %s: record show lacks %q:\n%s", status, errs, want, shown)
		}
	}
}
