package initcmd

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/internal/serve/firstconfig"
)

// TestQuestions: the answers fill the plan, an empty answer is the default, a number that
// is not in the list is asked for again, and the end of the input writes nothing.
func TestQuestions(t *testing.T) {
	choices := []choice{{"http://127.0.0.1:11434", "Ollama 0.17.4", "Ollama", "", nil}, {"https://openrouter.ai/api/v1", "OpenRouter", "OpenRouter", "OPENROUTER_API_KEY", nil}}
	begun := firstconfig.Plan{Listen: "127.0.0.1:8383", Display: "field"}
	for name, c := range map[string]struct {
		upstream, answers string
		want              firstconfig.Plan
		server            string
		fails             bool
	}{
		"defaults":         {"", "\n\n\n", firstconfig.Plan{Upstream: "http://127.0.0.1:11434", About: "Ollama 0.17.4", Display: "field"}, "Ollama", false},
		"a service":        {"", "7\n2\nhide\naudit\n", firstconfig.Plan{Upstream: "https://openrouter.ai/api/v1", About: "OpenRouter", Variable: "OPENROUTER_API_KEY", Display: "hide", Record: "audit"}, "OpenRouter", false},
		"another":          {"", " http://10.0.0.7:8000 \n\n\n", firstconfig.Plan{Upstream: "http://10.0.0.7:8000", Display: "field"}, "", false},
		"scripted":         {"", "3\ntags\n\n", firstconfig.Plan{Display: "tags"}, "", false},
		"named by a flag":  {"http://h:1", "\n\n", firstconfig.Plan{Upstream: "http://h:1", Display: "field"}, "", false},
		"the end":          {"", "1\nfield\n", firstconfig.Plan{}, "", true},
		"an endless line":  {"", strings.Repeat("x", 100_000), firstconfig.Plan{}, "", true},
		"only wrong words": {"", "0\n-1\n9\n", firstconfig.Plan{}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			plan, server := begun, ""
			plan.Upstream = c.upstream
			err := (&questions{bufio.NewReader(strings.NewReader(c.answers)), &out}).ask(&plan, choices, &server)
			if (err != nil) != c.fails {
				t.Fatal(err)
			}
			c.want.Listen = begun.Listen
			if !c.fails && (cmp.Diff(c.want, plan) != "" || server != c.server) {
				t.Errorf("%s %q\n%s", cmp.Diff(c.want, plan), server, &out)
			}
		})
	}
}
