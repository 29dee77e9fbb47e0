package cli

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// TestInit: without a terminal, init takes what it finds or what a flag names, writes a
// file that sotto serve accepts, and replaces none. No file and no output has a key.
func TestInit(t *testing.T) {
	t.Chdir(t.TempDir())
	upstream := httptest.NewServer(scripted.New(scripted.Options{}))
	defer upstream.Close()
	local := map[string]string{"OLLAMA_HOST": strings.TrimPrefix(upstream.URL, "http://"), "OPENROUTER_API_KEY": "canary-of-the-key"}
	status, out, errs := runWith(local, "init", "--yes")
	if status != 0 || !strings.Contains(out, "OLLAMA_HOST=127.0.0.1:8383") || !strings.Contains(out, "OPENAI_API_BASE_URL=http://127.0.0.1:8383/v1") {
		t.Errorf("%d\n%s%s", status, out, errs)
	}
	file, err := os.ReadFile("sotto.yaml")
	if err != nil || !strings.Contains(string(file), "upstream: "+upstream.URL+"\n") || !strings.Contains(string(file), "# The base URL of the model server: Ollama 0.17.4, with ") || strings.Contains(string(file)+out+errs, "canary") {
		t.Errorf("%v\n%s", err, file)
	}
	if info, err := os.Stat("sotto.yaml"); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v %v", info, err)
	}
	if status, _, errs := runWith(nil, "serve", "--check", "--config", "sotto.yaml"); status != 0 {
		t.Errorf("%d %s", status, errs)
	}
	if status, _, errs := runWith(nil, "init", "--upstream", "http://127.0.0.1:1"); status != 1 || !strings.Contains(errs, "--force") {
		t.Errorf("%d %s", status, errs)
	}
	if again, _ := os.ReadFile("sotto.yaml"); string(again) != string(file) {
		t.Error("the file was replaced")
	}
	if status, out, errs := runWith(nil, "init", "--upstream", "http://127.0.0.1:1", "--force"); status != 0 || !strings.Contains(errs, "sotto doctor says why") {
		t.Errorf("%d %s%s", status, out, errs)
	}
	if again, _ := os.ReadFile("sotto.yaml"); !strings.Contains(string(again), "upstream: http://127.0.0.1:1\n") {
		t.Errorf("%s", again)
	}
	if status, out, errs := runWith(nil, "init", "--upstream", "https://openrouter.ai/api/v1", "--print"); status != 0 || !strings.HasPrefix(out, "# The configuration") || !strings.Contains(out, "model server: OpenRouter.") {
		t.Errorf("%d %s%s", status, out, errs)
	}
	status, out, errs = runWith(nil, "init", "for.yaml", "--upstream", upstream.URL, "--for", "claude-code")
	if status != 0 || !strings.Contains(out, "    export ANTHROPIC_BASE_URL=http://127.0.0.1:8383 ") || !strings.Contains(out, "\n    claude\n") || strings.Contains(out, "MODEL is") {
		t.Errorf("%d\n%s%s", status, out, errs)
	}
	if file, err := os.ReadFile("for.yaml"); err != nil || !strings.Contains(string(file), "\nupstream-api: ollama\n") {
		t.Errorf("%v\n%s", err, file)
	}
	if status, out, errs := runWith(nil, "serve", "--check", "--config", "for.yaml"); status != 0 || !strings.Contains(out, "upstream-api: ollama\n") {
		t.Errorf("%d %s%s", status, out, errs)
	}
	if status, out, _ := runWith(map[string]string{"SOTTO_UPSTREAM_API": "messages"}, "serve", "--check", "--upstream", upstream.URL); status != 0 || !strings.Contains(out, "upstream-api: messages\n") {
		t.Errorf("the environment: %d %s", status, out)
	}
	if status, _, errs := runWith(nil, "serve", "--check", "--upstream", upstream.URL, "--upstream-api", "grpc"); status != 1 || !strings.Contains(errs, "want one of chat, responses, messages, ollama, gemini, bedrock") {
		t.Errorf("a wrong API: %d %s", status, errs)
	}
	for name, args := range map[string][]string{
		"an unknown client":  {"new.yaml", "--upstream", "http://127.0.0.1:1", "--for", "emacs"},
		"nothing to ask on":  {"new.yaml"},
		"not a URL":          {"new.yaml", "--upstream", "localhost:11434"},
		"a key in the URL":   {"new.yaml", "--upstream", "http://user:canary@localhost"},
		"an open address":    {"new.yaml", "--upstream", "http://127.0.0.1:1", "--listen", ":8383"},
		"its own address":    {"new.yaml", "--upstream", "http://127.0.0.1:8383"},
		"an address without": {"new.yaml", "--upstream", "http://127.0.0.1:1", "--listen", "nowhere"},
	} {
		if status, out, errs := runWith(nil, append([]string{"init"}, args...)...); status != 2 || strings.Contains(out+errs, "canary") {
			t.Errorf("%s: %d %s%s", name, status, out, errs)
		}
		if _, err := os.Stat("new.yaml"); err == nil {
			t.Errorf("%s: a file was written", name)
		}
	}
}
