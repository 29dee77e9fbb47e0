package firstconfig

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/check/doctor"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// read reads a configuration as sotto serve does.
func read(t *testing.T, text string) *settings.Setup {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"sotto.yaml": text, "token.txt": strings.Repeat("t", 40), "upstream.key": "k"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := settings.Read(settings.Sources{File: filepath.Join(dir, "sotto.yaml"), Getenv: func(string) string { return "" }, Given: func(string) bool { return false }}, new(dialectset.Set))
	if err != nil || len(s.Faults) > 0 {
		t.Errorf("%s\n%v %v", text, err, s.Faults)
	}
	return s
}

// commented is a key that is commented out.
var commented = regexp.MustCompile(`(?m)^# ( *(?:- )?[a-z-]+:(?: .*)?)$`)

// TestYAML: sotto serve takes the file, with the values of the plan; and it takes the
// file with every key in it that was commented out.
func TestYAML(t *testing.T) {
	for name, p := range map[string]Plan{
		"a local server": {Listen: "127.0.0.1:8383", Upstream: "http://127.0.0.1:11434", About: "Ollama 0.17.4, with 3 models", Display: "field", File: "sotto.yaml"},
		"a service":      {Listen: "[::1]:8383", Upstream: "https://openrouter.ai/api/v1", About: "OpenRouter", Variable: "OPENROUTER_API_KEY", Display: "hide", Record: "audit # yes", File: "my file.yaml"},
		"an API":         {Listen: "127.0.0.1:8383", Upstream: "http://127.0.0.1:1", API: "chat", Display: "field", File: "sotto.yaml"},
		"several APIs":   {Listen: "127.0.0.1:8383", Upstream: "http://127.0.0.1:1", API: "ollama", Several: true, Display: "field", File: "sotto.yaml"},
		"no upstream":    {Listen: "127.0.0.1:8383", Display: "tags", File: "sotto.yaml"},
		"hostile texts":  {Listen: "127.0.0.1:8383", Upstream: "http://127.0.0.1:1", About: "x\nupstream: http://evil.example\n\x1b[2J", Display: "keep", File: "a\nlisten: :1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			text := p.YAML()
			s := read(t, text)
			upstream := ""
			if s.Upstream != nil {
				upstream = s.Upstream.String()
			}
			record := ""
			if s.Recording.Record != "" {
				record = filepath.Base(s.Recording.Record)
			}
			if want := map[bool]string{false: p.API}[p.Several]; s.Gateway.UpstreamAPI != want {
				t.Errorf("%s\nsays the API %q, want %q", text, s.Gateway.UpstreamAPI, want)
			}
			if s.Listen != p.Listen || upstream != p.Upstream || string(s.Gateway.Default.Display) != p.Display || record != p.Record {
				t.Errorf("%s\nis read as %s, %s, %s, %s", text, s.Listen, upstream, s.Gateway.Default.Display, record)
			}
			if strings.ContainsAny(text, "\x1b\r") {
				t.Errorf("%q", text)
			}
			more := commented.ReplaceAllString(text, "$1")
			if s := read(t, more); s.Gateway.Routes == nil || !s.Guarded() || more == text {
				t.Errorf("not everything is uncommented:\n%s", more)
			}
		})
	}
}

// TestServices: a key in the environment is known by the name of its variable, and its
// value is in no text.
func TestServices(t *testing.T) {
	found := Services(func(name string) string {
		if name == "DEEPSEEK_API_KEY" || name == "OPENAI_API_KEY" {
			return "canary"
		}
		return ""
	})
	if len(found) != 2 || found[0].Name != "OpenAI" || found[1].URL != "https://api.deepseek.com/v1" {
		t.Fatalf("%+v", found)
	}
	p := Plan{Listen: "127.0.0.1:8383", Upstream: found[1].URL, About: found[1].Name, Variable: found[1].Variable, Display: "field", File: "sotto.yaml"}
	if text := p.YAML() + p.Command(); strings.Contains(text, "canary") || !strings.Contains(text, `SOTTO_UPSTREAM_KEY="$DEEPSEEK_API_KEY" sotto serve`) {
		t.Error(text)
	}
	for _, s := range services {
		read(t, Plan{Listen: "127.0.0.1:8383", Upstream: s.URL, About: s.Name, Variable: s.Variable, Display: "field", File: "f"}.YAML())
	}
}

// TestClients: the settings name the address that clients can reach.
func TestClients(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:8383": "http://127.0.0.1:8383/v1", ":99": "http://127.0.0.1:99/v1", "0.0.0.0:99": "http://127.0.0.1:99/v1", "[::]:99": "http://127.0.0.1:99/v1", "[::1]:99": "http://[::1]:99/v1",
	} {
		if got := Clients(listen, doctor.VLLM, false); len(got) != 3 || got[0].Setting != "OPENAI_BASE_URL="+want {
			t.Errorf("%s: %+v", listen, got)
		}
	}
	if got := Clients("127.0.0.1:8383", doctor.Ollama, false); len(got) != 5 || got[3].Setting != "OLLAMA_HOST=127.0.0.1:8383" {
		t.Errorf("%+v", got)
	}
}

// TestApplications: what a user pastes names the gateway and the model, each as one word of a shell.
func TestApplications(t *testing.T) {
	for _, name := range Applications() {
		a, ok := ApplicationNamed(name)
		lines := a.Lines(":8383", "it's/a b")
		text := strings.Join(lines, "\n")
		if !ok || len(lines) != 2 || !strings.Contains(text, "http://127.0.0.1:8383") || !strings.Contains(text, `it'\''s/a b`) {
			t.Errorf("%s: %v", name, lines)
		}
	}
	if _, ok := ApplicationNamed("emacs"); ok {
		t.Error("emacs is known")
	}
}

// TestWord: a text is one word of a shell, whatever it holds.
func TestWord(t *testing.T) {
	for text, want := range map[string]string{"sotto.yaml": "sotto.yaml", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$(x)": "'$(x)'"} {
		if got := Word(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
