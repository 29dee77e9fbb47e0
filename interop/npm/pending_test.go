package npm_test

import (
	"slices"
	"strings"
)

// A pending is what clients still get wrong through the gateway.
type pending struct {
	aspect  string
	clients []string
	models  string // names with a space between; if empty, all
	why     string
}

var pendings = []pending{
	{
		reasoning, []string{"@langchain/openai, responses"}, "",
		"of a stream it reads the summaries, and then all of them again from the last event",
	},
	{
		history, []string{"@langchain/ollama", "llamaindex, ollama"}, "deepseek-v3.2 kimi-k2.6",
		"nothing is restored where the client makes call ids of its own",
	},
	{
		history, []string{"openai, chat"}, "claude ollama-native openrouter qwen3:8b",
		"the client sends the last delta back, and the gateway does not remember these models' replies",
	},
	{
		history, []string{"ai 6, openrouter", "ai 7, openrouter"}, "openrouter",
		"the client joins the deltas wrong, and the gateway does not remember the model's replies",
	},
}

// A watch knows which failures the list expects, and which of them happened.
type watch map[string]bool

// expects returns the reason why a conversation may fail in an aspect. It is empty if
// the conversation may not.
func (w watch) expects(client *npmClient, c *conversation, aspect string) (why string) {
	for i := range pendings {
		p := &pendings[i]
		if p.aspect == aspect && slices.Contains(p.clients, client.Name) && (p.models == "" || slices.Contains(strings.Fields(p.models), c.Model)) {
			w[p.name(client.Name, c.Model)] = true
			return p.why
		}
	}
	return ""
}

// stale returns what is pending of the clients that ran, and did not fail.
func (w watch) stale(all []*conversation) (stale []string) {
	ran := map[string]bool{}
	for _, c := range all {
		ran[c.Client] = true
	}
	for i := range pendings {
		p := &pendings[i]
		models := strings.Fields(p.models)
		if len(models) == 0 {
			models = []string{""}
		}
		for _, client := range p.clients {
			for _, model := range models {
				if name := p.name(client, model); ran[client] && !w[name] {
					stale = append(stale, name)
				}
			}
		}
	}
	return stale
}

// name is what one client gets wrong with one model, or with all if the entry names none.
func (p *pending) name(client, model string) string {
	if p.models == "" {
		model = ""
	}
	return strings.TrimSpace(p.aspect + " of " + client + " " + model)
}
