package settings

import (
	"strings"
	"testing"
)

// TestUpstreamKeyUnencrypted: a key that would go over the network unencrypted is warned
// about, and one that stays on this machine or goes over TLS is not.
func TestUpstreamKeyUnencrypted(t *testing.T) {
	f := refreshing{t, t.TempDir()}
	f.write("key", "key-1")
	for url, warns := range map[string]bool{
		"http://models.example": true, "http://10.0.0.1:8000": true, "https://models.example": false,
		"http://localhost:1": false, "http://127.0.0.1:1": false, "http://[::1]:1": false,
	} {
		for _, key := range []string{"", ", key-file: key"} {
			f.write("sotto.yaml", "upstream: http://localhost:1\nupstreams:\n  two: {url: \""+url+"\""+key+"}\nroutes:\n  - {models: [x], upstream: two}\n")
			s := f.read(nil)
			if len(s.Faults) > 0 {
				t.Fatal(s.Faults[0])
			}
			said := strings.Contains(strings.Join(s.Warnings, "\n"), "the key of the upstream two goes to")
			if want := warns && key != ""; said != want {
				t.Errorf("%s%s: warned %v, want %v: %q", url, key, said, want, s.Warnings)
			}
		}
	}
}

// TestThinkingLimitInTokens: a token counts as four bytes.
func TestThinkingLimitInTokens(t *testing.T) {
	for text, want := range map[string]int{"16000 tokens": 64000, "1 tokens": 4, "64KiB": 65536, "100": 100} {
		s, faults := readText("thinking-limit: " + text + "\n")
		if got := s.Gateway.Default.ThinkingLimit; faults != "" || got != want {
			t.Errorf("%q: %d bytes, want %d; %s", text, got, want, faults)
		}
	}
}
