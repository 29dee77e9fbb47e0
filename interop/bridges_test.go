package interop_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/interop/internal/bridged"
	"github.com/sotto-llm/sotto/interop/internal/displays"
	"github.com/sotto-llm/sotto/interop/internal/wiretap"
)

// bridgedClients are the SDKs that talk over bridges: how they speak which API, and the module that has them. Some
// forget: they send no thoughts back.
var bridgedClients = []struct {
	name, api, module string
	talk              func(*talk)
	forgets           bool
}{
	{"openai-go, chat", "chat", "github.com/openai/openai-go/v3", (*talk).chat, true},
	{"openai-go, responses", "responses", "github.com/openai/openai-go/v3", (*talk).responses, false},
	{"anthropic-sdk-go", "messages", "github.com/anthropics/anthropic-sdk-go", (*talk).messages, false},
	{"ollama/api", "ollama", "github.com/ollama/ollama", (*talk).ollamaChat, false},
	{"google.golang.org/genai", "gemini", "google.golang.org/genai", (*talk).content, false},
	{"aws-sdk-go-v2, bedrockruntime", "bedrock", "github.com/aws/aws-sdk-go-v2/service/bedrockruntime", (*talk).converse, false},
}

// bridgedUpstreams are the APIs of the upstreams, in the order of the table.
var bridgedUpstreams = []string{"chat", "responses", "messages", "ollama", "gemini", "bedrock", "cohere"}

// settled leaves out the requests that were asked again: of those that say the same, the last
// one stays. See [converse].
func settled(all []wiretap.Request) (list []wiretap.Request) {
	for i, r := range all {
		if !slices.ContainsFunc(all[i+1:], func(later wiretap.Request) bool { return string(later.Body) == string(r.Body) }) {
			list = append(list, r)
		}
	}
	return list
}

// TestBridges: every SDK has a conversation with an upstream of every other API, whole and streamed: two prompts, each
// with two calls of a tool. It reads what the model says, and the upstream, which refuses a call without its thought,
// gets its thoughts back.
func TestBridges(t *testing.T) {
	var table strings.Builder
	table.WriteString("| SDK | version | speaks | upstreams | remarks |\n| --- | --- | --- | --- | --- |\n")
	for _, client := range bridgedClients {
		var over []string
		for _, api := range bridgedUpstreams {
			if api == client.api {
				continue
			}
			over = append(over, "`"+api+"`")
			m, ok := scripted.Find(bridged.Models[api])
			if !ok {
				t.Fatal(bridged.Models[api])
			}
			text := squeeze(m.Call.Visible + m.Again.Visible + m.Result.Visible)
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/stream=%v", client.name, api, stream), func(t *testing.T) {
					s := bridged.New(t, api, nil)
					k := &talk{T: t, base: s.URL, model: s.Model, stream: stream, prompts: displays.Prompts}
					client.talk(k)
					for i, turn := range k.turns {
						if squeeze(turn.Text) != text || turn.Calls != bridged.Calls {
							t.Errorf("turn %d: %d calls and the text %q, want %d and %q", i, turn.Calls, turn.Text, bridged.Calls, text)
						}
					}
					key := "client-key"
					if client.api == "ollama" {
						key = "" // this SDK has none
					}
					if asked := len(settled(s.Before.Of(key))); asked != len(displays.Prompts)*(bridged.Calls+1) {
						t.Errorf("the gateway got %d requests", asked)
					}
					for _, wrong := range s.Judge(bridged.Client{Key: key, Forgets: client.forgets}, len(displays.Prompts)) {
						t.Errorf("%.2000s", wrong)
					}
				})
			}
		}
		note := ""
		if client.forgets {
			note = "it sends no thoughts back; the gateway remembers them"
		}
		fmt.Fprintf(&table, "| %s | %s | `%s` | %s | %s |\n", client.name, versionOf(t, client.module), client.api, strings.Join(over, ", "), note)
	}
	displays.CheckDocument(t, "../docs/evidence/bridge.md", "SDKs for Go over bridges, from: go test . -run Bridges -update", table.String(), *update)
}

// squeeze takes the white space out of a text: an API may have its texts in pieces that clients join differently.
func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }

// versionOf is the version of a module that go.mod requires.
func versionOf(t *testing.T, module string) string {
	t.Helper()
	file, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^\t(\S+) v(\S+)`).FindAllStringSubmatch(string(file), -1)
	i := slices.IndexFunc(lines, func(line []string) bool { return line[1] == module })
	if i < 0 {
		t.Fatalf("go.mod does not require %s", module)
	}
	return lines[i][2]
}
