package npm_test

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/interop/internal/displays"
)

// A policy is what `--history auto` does with the reasoning of replies in turns that
// call tools.
type policy struct {
	earlier  bool // it stays in the turns before the user's last message, if the client sent it
	restored bool // it is put back where the client dropped it
	all      bool // also where no tool was called
}

var policies = map[string]policy{
	"qwen3:8b":        {},
	"qwen3-tool-text": {},
	"gpt-oss:20b":     {earlier: true, restored: true},
	"plain":           {earlier: true},
	"deepseek-v3.2":   {earlier: true, restored: true},
	"kimi-k2.6":       {earlier: true, restored: true, all: true},
	"ollama-native":   {earlier: true},
	"openrouter":      {earlier: true},
	"claude":          {earlier: true},
	"gemini":          {earlier: true},
}

// places are where the upstream's own field for reasoning is, by API, or by the
// model's wire in chat completions.
var places = map[string]string{
	"openai.responses": "item", "anthropic.messages": "thinking", "ollama.chat": "thinking", "cohere.chat": "thinking", "gemini.generate": "thought", "bedrock.converse": "reasoningContent",
	"": "reasoning_content", "deepseek": "reasoning_content", "moonshot": "reasoning_content", "litellm": "reasoning_content",
	"ollama": "reasoning", "openrouter": "reasoning",
}

var callID = regexp.MustCompile(`"id":"[^"]*"`)

func withoutIDs(rest []string) (list []string) {
	for _, r := range rest {
		list = append(list, callID.ReplaceAllString(r, `"id":""`))
	}
	return list
}

// judgeHistory compares what the client sent with what the upstream got.
func judgeHistory(v verdict, client *npmClient, c *conversation, m *scripted.Model) {
	script := []*scripted.Reply{m.Call, m.Result, m.Call, m.Result}
	if m.Call.ToolCall.InText {
		script = []*scripted.Reply{m.Call, m.Call}
	}
	if c.Error != "" {
		return
	}
	if len(c.before) != len(script) || len(c.after) != len(script) {
		v.errorf(history, "%d requests, and %d at the upstream, not %d", len(c.before), len(c.after), len(script))
		return
	}
	for k := range c.after {
		before, head := displays.ReadBack(client.API, c.before[k].Body)
		after, same := displays.ReadBack(client.API, c.after[k].Body)
		if head != same {
			v.errorf(history, "request %d: the upstream got\n%s\nfor\n%s", k, same, head)
		}
		if len(after) != k || len(before) != k {
			v.errorf(history, "request %d: %d replies, and %d at the upstream", k, len(before), len(after))
			return
		}
		for i := range after {
			p := policies[m.Name]
			current := k%2 == 1 && i == k-1 && len(script) == 4
			wasSent := has(before[i], script[i])
			stays := p.restored || wasSent && (current || p.earlier)
			if client.limit(history) != nil && !m.Call.ToolCall.InText { // no call is sent back, so no provider demands its reasoning
				stays = p.all && before[i].Text != ""
				if len(before[i].Rest) > 0 {
					v.errorf(history, "request %d, reply %d: the client sends %q back", k, i, before[i].Rest)
				}
			}
			if client.Bare && script[i].ToolCall != nil && script[i].Visible != "" {
				stays = false // it is not the reply that the gateway remembers
			}
			want := expected(client.API, m, script[i], before[i], stays)
			if m.Wire == "google" {
				want.Rest = nil
				after[i].Rest = nil
			}
			if client.API == "ollama.chat" { // some clients make ids of their own; the upstream gets its own back
				want.Rest, after[i].Rest = withoutIDs(want.Rest), withoutIDs(after[i].Rest)
			}
			if after[i].Text != want.Text || !slices.Equal(after[i].Thoughts, want.Thoughts) || !slices.Equal(after[i].Rest, want.Rest) {
				v.errorf(history, "request %d, reply %d: the upstream got\n%+v\nwant\n%+v\nfrom\n%s", k, i, after[i], want, c.before[k].Body[before[i].From:before[i].To])
			}
		}
	}
}

// has reports whether a client sent a reply's reasoning back, or a part of it: some keep
// only the last delta. The upstream should get the whole of that.
func has(s displays.Said, r *scripted.Reply) bool {
	if len(r.Reasoning) == 0 {
		return false
	}
	all := s.Text
	for _, t := range s.Thoughts {
		all += t.Text
		if strings.Contains(r.Reasoning[0], t.Text) {
			return true
		}
	}
	return strings.Contains(all, r.Reasoning[0])
}

// sendsPart reports whether a client sent only a part of a thought back.
func sendsPart(s displays.Said, r *scripted.Reply) bool {
	return slices.ContainsFunc(s.Thoughts, func(t displays.Thought) bool { return t.Text != strings.Join(r.Reasoning, "") })
}

// expected is what the upstream should get of a reply.
func expected(api string, m *scripted.Model, r *scripted.Reply, before displays.Said, stays bool) displays.Said {
	want := displays.Said{Text: before.Text, Rest: before.Rest}
	if sendsPart(before, r) {
		want.Rest = slices.DeleteFunc(slices.Clone(want.Rest), func(s string) bool { return strings.HasPrefix(s, "reasoning_details") })
	}
	switch {
	case !stays || len(r.Reasoning) == 0:
	case r.Thought == nil:
		want.Text = r.Text()
	default:
		place := places[api]
		if api == "cohere.chat" && r.ToolCall != nil { // the model plans the call
			place = "tool_plan"
		}
		if place == "" {
			place = places[m.Wire]
		}
		want.Thoughts = []displays.Thought{{Place: place, Text: strings.Join(r.Thought, "")}}
	}
	return want
}
