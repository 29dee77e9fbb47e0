package interop_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/check/chatprobe"
	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/interop/engine"
)

// TestProbeOllama: the probe finds the thoughts that a real Ollama writes into its text,
// in whole answers, streams and cut ones; it finds nothing with a model that does not
// think, and nothing through the gateway.
func TestProbeOllama(t *testing.T) {
	direct := engine.Run(t).URL
	through := serve(t, direct)
	for range 2 { // what the gateway learns from them
		askChat(t, through, engine.Preopened().Name, false)
	}
	for _, m := range engine.Models() {
		for _, base := range []string{direct, through} {
			report, err := chatprobe.Run(t.Context(), base, chatprobe.Options{Model: m.Name, Transport: http.DefaultTransport})
			if err != nil {
				t.Fatal(err)
			}
			leaks := map[string]bool{}
			for _, c := range report.Checks {
				if c.Status == checks.Finding {
					leaks[c.Name] = true
				}
			}
			want := base == direct && m.Name != engine.Plain().Name && (strings.Contains(m.Text, "think") || strings.Contains(m.Text, "THINK"))
			if leaks["answer leak"] != want || leaks["stream leak"] != want || !want && len(leaks) > 0 {
				t.Errorf("%s at %s: %q gives %v, want leaks: %v\n%+v", m.Name, base, m.Text, leaks, want, report.Checks)
			}
		}
	}
}
