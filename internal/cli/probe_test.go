package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// TestProbe: sotto probe finds the leaks of a server and none behind the gateway. It
// reports as sotto a2a probe does: a table, or JSON, and status 1 with findings. The
// token goes to the server and into no output.
func TestProbe(t *testing.T) {
	model := scripted.New(scripted.Options{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer canary-of-the-key" {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"error":{"message":"\u001b[31mno key"}}`)
			return
		}
		model.ServeHTTP(w, r)
	}))
	defer upstream.Close()
	probing := func(token string, args ...string) (int, string) {
		var out, errs bytes.Buffer
		status := Run(append([]string{"probe", "--model", "qwen3:8b"}, args...), strings.NewReader(""), &out, &errs, func(name string) string {
			if name == "SOTTO_PROBE_TOKEN" {
				return token
			}
			return ""
		})
		return status, out.String() + errs.String()
	}
	status, text := probing("canary-of-the-key", upstream.URL)
	for _, want := range []string{"finding", "answer leak", "stream leak", "cut stream leak", "title leak", "tool result leak", `reasoning (dialect default): "<think>`, "qwen3:8b " + upstream.URL, "error: "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the report:\n%s", want, text)
		}
	}
	if status != 1 || strings.Contains(text, "canary") {
		t.Errorf("%d %s", status, text)
	}
	status, text = probing("canary-of-the-key", "--json", upstream.URL)
	var report checks.Report
	line, _, _ := strings.Cut(text, "\n")
	if err := json.Unmarshal([]byte(line), &report); err != nil || status != 1 || report.V != 1 || report.Model != "qwen3:8b" || report.Findings < 6 || report.Answers < 6 {
		t.Errorf("%d %s: %v", status, text, err)
	}
	if status, text = probing("", upstream.URL); status != 1 || !strings.Contains(text, "status 401: ") || strings.Contains(text, "\x1b") || !strings.Contains(text, "nothing is known about leaks") {
		t.Errorf("without the key: %d %s", status, text)
	}
	r := startServe(t)
	if status, text = probing("canary-of-the-key", "--all", r.gateway); status != 0 || !strings.Contains(text, ", 0 findings") || !strings.Contains(text, "tool arguments leak") {
		t.Errorf("through the gateway: %d %s", status, text)
	}
	r.signals <- syscall.SIGTERM
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	r.client.CloseIdleConnections()
}
