package agent

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sotto-llm/sotto/model"
)

// chatAPIs are the APIs that a model as a tool can be asked in.
var chatAPIs = []string{"chat", "messages", "ollama"}

// chat returns a model of another server as a tool. It is an agent below that has no tools:
// its reply is read, recorded and counted as any other, and each call is a new conversation.
func (b *builder) chat(path string, t *ToolConfig) []Tool {
	before := len(b.faults)
	b.address(path+".url", t.URL)
	api := cmp.Or(t.API, chatAPIs[0])
	b.among(path+".api", api, chatAPIs...)
	if t.MaxTokens < 0 {
		b.fault(path+".max-tokens", "want a number from 1")
	}
	a := Subagent{
		Name: t.Name, Description: cmp.Or(t.Description, "Asks the model "+t.Model+"."), System: t.System, Start: t.Start,
		Request: model.Request{MaxTokens: t.MaxTokens}, Limits: Limits{ReplyTime: t.Timeout}, withhold: true,
	}
	if err := a.check(1); err != nil {
		b.fault(path+".name", "%v", err)
	}
	key := b.token(path, t)
	if len(b.faults) > before {
		return nil
	}
	m, err := b.s.Open(model.Config{Provider: api, Model: t.Model, URL: t.URL, Key: model.Secret(key)})
	if err != nil {
		b.fault(path, "%w", err)
		return nil
	}
	b.opens(m)
	a.Model, a.API, a.Grammar = m, model.API(api), b.grammar(path+".dialect", t.Dialect, string(t.Start), m)
	return b.checked(path, &subagentTool{Subagent: a, parent: &Turn{}, key: path + ".model"})
}

// chatBelow reports an agent at the lowest level that uses a model as a tool: that would be
// one level more.
func (l *linker) chatBelow(i int) {
	for j, name := range l.c.Agents[i].Tools {
		if slices.ContainsFunc(l.c.Tools, func(t ToolConfig) bool { return t.Model != "" && t.Name == name }) {
			l.once(fmt.Sprintf("%s.tools[%d]", agentPath(i), j), "%q: agents nest deeper than %d levels: the model %s counts as one", name, maxDepth, name)
		}
	}
}
