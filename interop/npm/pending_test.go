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
		reasoning, []string{"openai, responses", "@langchain/openai, responses", "@openai/agents, responses", "ai 6, openai responses", "ai 7, openai responses"}, "",
		"reasoning is not sent as a summary",
	},
	{
		tools, []string{
			"@langchain/openai, chat", "@openai/agents, chat", "llamaindex, openai", "ai 6, openai", "ai 7, openai",
			"ai 6, openai-compatible", "ai 7, openai-compatible", "ai 6, openrouter", "ai 7, openrouter",
		}, "gemini",
		"a call's thought_signature that the client drops is not restored",
	},
	{
		history, []string{"ai 6, openai responses", "ai 7, openai responses"}, "deepseek-v3.2 kimi-k2.6",
		"an item that the client drops is not restored",
	},
	{
		history, []string{"@anthropic-ai/sdk", "@langchain/anthropic", "ai 6, anthropic", "ai 7, anthropic"}, "ollama-native openrouter",
		"a block without signature that the upstream itself sent goes back as text",
	},
	{
		history, []string{"ai 6, anthropic", "ai 7, anthropic"}, "deepseek-v3.2 kimi-k2.6",
		"a block that the client drops is not restored after a stream",
	},
	{
		history, []string{"@langchain/ollama", "llamaindex, ollama"}, "deepseek-v3.2 kimi-k2.6",
		"nothing is restored where the client makes call ids of its own",
	},
	{
		history, []string{"ai 6, ollama", "ai 7, ollama", "ollama, chat"}, "gpt-oss:20b qwen3:8b",
		"the member thinking does not go back into the text that it came from",
	},
	{
		history, []string{"openai, chat", "ai 6, openrouter", "ai 7, openrouter"}, "claude kimi-k2.6 ollama-native openrouter qwen3:8b",
		"a stream's reasoning that the client sends back incomplete is not restored",
	},
}

// pendingFor returns why a conversation may fail in an aspect, or nil.
func pendingFor(client *npmClient, c *conversation, aspect string) *pending {
	for i, p := range pendings {
		if p.aspect == aspect && slices.Contains(p.clients, client.Name) && (p.models == "" || slices.Contains(strings.Fields(p.models), c.Model)) {
			return &pendings[i]
		}
	}
	return nil
}
