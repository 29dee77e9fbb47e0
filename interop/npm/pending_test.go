package npm_test

import "strings"

// A pending is what a client still gets wrong through the gateway.
type pending struct {
	aspect string
	apis   string
	models string
	why    string
}

var pendings = []pending{
	{reasoning, "openai.responses", "", "reasoning is not sent as a summary"},
	{tools, "openai.chat", "gemini", "a call's thought_signature that the client drops is not restored"},
	{history, "openai.responses", "", "a remembered reply is restored twice or not at all"},
	{history, "anthropic.messages ollama.chat", "qwen3:8b openrouter ollama-native kimi-k2.6 deepseek-v3.2 gpt-oss:20b", "a reply that calls a tool is not restored"},
	{history, "openai.chat", "qwen3:8b claude openrouter kimi-k2.6 ollama-native", "reasoning beside a call does not go back to where it was"},
}

// pendingFor returns why a conversation may fail in an aspect, or nil.
func pendingFor(client *npmClient, c *conversation, aspect string) *pending {
	for i, p := range pendings {
		if p.aspect == aspect && p.of(client) && (p.models == "" || strings.Contains(" "+p.models+" ", " "+c.Model+" ")) {
			return &pendings[i]
		}
	}
	return nil
}

func (p *pending) of(client *npmClient) bool {
	return strings.Contains(" "+p.apis+" ", " "+client.API+" ")
}
