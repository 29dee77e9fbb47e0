package cli

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// TestChatModel: sotto chat --model talks to a model of a server by each API.
func TestChatModel(t *testing.T) {
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	defer up.Close()
	for _, provider := range []string{"ollama", "openai", "anthropic"} {
		var out, errs bytes.Buffer
		status := Run([]string{"chat", "--model", "minimax-m2", "--provider", provider, "--url", up.URL, "--data", t.TempDir()}, strings.NewReader("What is the capital of Canada?\nAgain?\n"), &out, &errs, func(string) string { return "" })
		if text := out.String(); status != 0 || text != "Ottawa.\nOttawa.\n" {
			t.Errorf("%s: %d %q %s", provider, status, text, errs.String())
		}
	}
}
