package interop_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/interop/internal/displays"
)

var update = flag.Bool("update", false, "write the table of SDKs for Go to docs/evidence/clients.md")

// A goClient is an SDK for Go, by one API.
type goClient struct {
	name, api string
	talk      func(*talk)
	does      displays.Client
}

var goClients = []goClient{
	{"openai-go, chat", "openai.chat", (*talk).chat, displays.Client{}},
	{"openai-go, completions", "openai.completions", once(askCompletions), displays.Client{}},
	{"openai-go, responses", "openai.responses", (*talk).responses, displays.Client{}},
	{"anthropic-sdk-go", "anthropic.messages", (*talk).messages, displays.Client{}},
	{"aws-sdk-go-v2, bedrockruntime", "bedrock.converse", (*talk).converse, displays.Client{}},
	{"google.golang.org/genai", "gemini.generate", (*talk).content, displays.Client{Drops: true}},
	{"ollama/api, chat", "ollama.chat", (*talk).ollamaChat, displays.Client{}},
	{"ollama/api, generate", "ollama.generate", once(askOllamaGenerate), displays.Client{}},
}

// TestDisplays holds the law of [displays] for every SDK under every display, whole and streamed.
func TestDisplays(t *testing.T) {
	var rows []displays.Row
	for _, client := range goClients {
		rows = append(rows, displays.Row{Name: client.name, API: client.api, Client: client.does})
		for _, model := range displays.Models(client.api) {
			for _, stream := range []bool{false, true} {
				for _, display := range routing.Displays() {
					t.Run(fmt.Sprintf("%s/%s/stream=%v/%s", client.name, model, stream, display), func(t *testing.T) {
						s := displays.New(t, display, routing.Route{})
						k := &talk{T: t, base: s.URL, model: model, stream: stream, prompts: displays.Prompts}
						client.talk(k)
						key := "client-key"
						if strings.HasPrefix(client.api, "ollama.") {
							key = "" // this SDK has none
						}
						c := &displays.Conversation{API: client.api, Model: model, Display: display, Client: client.does, Stream: stream, Turns: k.turns,
							Before: settled(s.Before.Of(key)), After: settled(s.After.Of(key))}
						for _, wrong := range c.Judge() {
							t.Error(wrong)
						}
					})
				}
			}
		}
	}
	displays.CheckDocument(t, "../docs/evidence/clients.md", "displays, SDKs for Go, from: go test . -update", displays.Table(rows), *update)
}
