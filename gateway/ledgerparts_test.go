package gateway_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// What the messages of each API are made of, and what clients do with it.

func readMessagesBlock(b map[string]any) ledgerPart {
	switch kind := str(b["type"]); kind {
	case "text":
		return ledgerPart{kind: "text", text: str(b["text"])}
	case "thinking":
		return ledgerPart{kind: "thought", place: kind, text: str(b["thinking"]), proof: str(b["signature"])}
	case "redacted_thinking":
		return ledgerPart{kind: "thought", place: kind, proof: str(b["data"])}
	case "tool_use":
		return ledgerPart{kind: "call", id: str(b["id"]), name: str(b["name"]), text: encoded(b["input"])}
	}
	return ledgerPart{kind: "other", text: encoded(b)}
}

func readConverseBlock(b map[string]any) ledgerPart {
	reasoning, use := obj(b["reasoningContent"]), obj(b["toolUse"])
	of := obj(reasoning["reasoningText"])
	switch {
	case reasoning["redactedContent"] != nil:
		return ledgerPart{kind: "thought", place: "redactedContent", proof: str(reasoning["redactedContent"])}
	case reasoning != nil:
		return ledgerPart{kind: "thought", place: "reasoningText", text: str(of["text"]), proof: str(of["signature"])}
	case use != nil:
		return ledgerPart{kind: "call", id: str(use["toolUseId"]), name: str(use["name"]), text: encoded(use["input"])}
	case b["text"] != nil:
		return ledgerPart{kind: "text", text: str(b["text"])}
	}
	return ledgerPart{kind: "other", text: encoded(b)}
}

func readItem(b map[string]any) ledgerPart {
	p := ledgerPart{kind: "other", text: encoded(b), addressed: str(b["id"])}
	texts := func(member string) (all string) {
		if text, ok := b[member].(string); ok {
			return text
		}
		for _, part := range list(b[member]) {
			all += str(part["text"])
		}
		return all
	}
	switch {
	case b["type"] == "reasoning":
		p.kind, p.place, p.text, p.proof = "thought", "reasoning", texts("summary")+texts("content"), str(b["encrypted_content"])
	case b["type"] == "function_call":
		p.kind, p.text, p.id, p.name = "call", str(b["arguments"]), str(b["call_id"]), str(b["name"])
	case b["role"] == "assistant":
		p.kind, p.text = "text", texts("content")
	}
	return p
}

func readPart(b map[string]any) ledgerPart {
	p := ledgerPart{kind: "other", text: encoded(b), proof: str(b["thoughtSignature"])}
	text, isText := b["text"].(string)
	switch call := obj(b["functionCall"]); {
	case call != nil:
		p.kind, p.text, p.id, p.name = "call", encoded(call["args"]), str(call["id"]), str(call["name"])
	case b["thought"] == true:
		p.kind, p.place, p.text = "thought", "thought", text
	case isText:
		p.kind, p.text = "text", text
	}
	return p
}

// thoughtMembers are where messages with members have a thought, and detailsMember a list of its parts.
var thoughtMembers = []string{"reasoning_content", "reasoning", "thinking", "tool_plan"}

// parts are those of a message: of its members, or of its blocks.
func (a *ledgerAPI) parts(m map[string]any) (all []ledgerPart) {
	for _, name := range thoughtMembers {
		if text := str(m[name]); text != "" {
			all = append(all, ledgerPart{kind: "thought", place: name, text: text})
		}
	}
	for i, d := range gjson.Parse(encoded(m["reasoning_details"])).Array() {
		p := ledgerPart{kind: "thought", place: "details " + d.Get("type").Str, text: d.Get("text").Str + d.Get("summary").Str, proof: d.Get("signature").Str + d.Get("data").Str}
		if last := len(all) - 1; i > 0 && all[last].place == p.place { // pieces of one
			all[last].text, all[last].proof = all[last].text+p.text, all[last].proof+p.proof
		} else {
			all = append(all, p)
		}
	}
	if text, ok := m["content"].(string); ok {
		all = append(all, ledgerPart{kind: "text", text: text})
	}
	if a.blocks != "" {
		for _, b := range list(m[a.blocks]) {
			all = append(all, a.read(b))
		}
	}
	for _, call := range list(m["tool_calls"]) {
		function := obj(call["function"])
		arguments, ok := function["arguments"].(string)
		if !ok {
			arguments = encoded(function["arguments"])
		}
		proof := str(obj(obj(call["extra_content"])["google"])["thought_signature"])
		all = append(all, ledgerPart{kind: "call", id: str(call["id"]), name: str(function["name"]), text: arguments, proof: proof})
	}
	return all
}

// ledgerClients are what clients do with the thought of a reply before they send it back.
var ledgerClients = []struct{ name, title string }{
	{"echo", "sends it back"},
	{"drop", "drops it"},
	{"text", "sends it as text"},
	{"tags", "sends it as text in tags"},
	{"empty", "sends it without words"},
	{"renames", "sends it back, and makes ids of its own for calls"},
}

// inTags divides a text that begins with a thought in tags.
func inTags(text string) (thought, rest string, ok bool) {
	after, ok := strings.CutPrefix(text, "<think>")
	thought, rest, closed := strings.Cut(after, "</think>")
	if !ok || !closed {
		return "", text, false
	}
	return strings.TrimSpace(thought), strings.TrimLeft(rest, "\n"), true
}

// cutTags divides a text at a thought in tags, wherever it stands.
func cutTags(text string) (before, thought, rest string, ok bool) {
	i := max(0, strings.Index(text, "<think>"))
	thought, rest, ok = inTags(text[i:])
	return text[:i], thought, rest, ok
}

// asText is what the client writes before its text in place of a thought.
func asText(client, thought string) string {
	switch client {
	case "text":
		return thought + "\n\n"
	case "tags":
		return "<think>\n" + thought + "\n</think>\n\n"
	case "empty":
		return "<think>\n\n</think>\n\n"
	}
	return ""
}

// replaced is a text in which the client has treated the thought between tags. As text, that comes before the answer.
func replaced(client, before, thought, rest string) string {
	if client == "text" {
		return asText(client, thought) + before + rest
	}
	return before + asText(client, thought) + rest
}

// treat does with a message what the client does.
func (a *ledgerAPI) treat(m map[string]any, client string) {
	if client == "echo" || client == "renames" {
		return
	}
	words := ""
	for _, name := range thoughtMembers {
		if text := str(m[name]); text != "" {
			words = text
			if m[name] = ""; client != "empty" {
				delete(m, name)
			}
		}
	}
	if client != "empty" {
		delete(m, "reasoning_details")
	}
	for _, d := range list(m["reasoning_details"]) {
		d["text"] = ""
	}
	if client != "empty" {
		for _, call := range list(m["tool_calls"]) {
			delete(call, "extra_content")
		}
	}
	if a.blocks == "" {
		a.treatText(m, words, client)
		return
	}
	a.treatBlocks(m, words, client)
}

// rename gives the calls of a reply ids that the client makes: the same in each reply.
func (a *ledgerAPI) rename(m map[string]any) {
	n := 0
	id := func(of map[string]any, member string) {
		of[member] = fmt.Sprintf("call_%d", n)
		n++
	}
	for _, call := range list(m["tool_calls"]) {
		id(call, "id")
	}
	if a.blocks == "" {
		return
	}
	for _, b := range list(m[a.blocks]) {
		if a.read(b).kind != "call" {
			continue
		}
		switch use, call := obj(b["toolUse"]), obj(b["functionCall"]); {
		case use != nil:
			id(use, "toolUseId")
		case call != nil:
			id(call, "id")
		case b["type"] == "function_call":
			id(b, "call_id")
		default:
			id(b, "id")
		}
	}
}

// treatText treats a message with members.
func (a *ledgerAPI) treatText(m map[string]any, words, client string) {
	text := str(m["content"])
	if before, thought, rest, ok := cutTags(text); ok {
		words, text = "", replaced(client, before, thought, rest)
	}
	if words != "" && client != "empty" {
		text = asText(client, words) + text
	}
	if m["content"] != nil || text != "" {
		m["content"] = text
	}
}

// treatBlocks treats a message with blocks. words are those of a thought that stood beside them.
func (a *ledgerAPI) treatBlocks(m map[string]any, words, client string) {
	var out []any
	if words != "" && client != "empty" && client != "drop" {
		out = append(out, a.text(strings.TrimRight(asText(client, words), "\n")))
	}
	for _, b := range list(m[a.blocks]) {
		if client != "empty" {
			delete(b, "thoughtSignature")
		}
		p := a.read(b)
		before, thought, rest, tagged := cutTags(p.text)
		switch {
		case p.kind == "thought" && client == "empty":
			a.empty(b)
			out = append(out, b)
		case p.kind == "thought":
			if text := strings.TrimRight(asText(client, p.text), "\n"); text != "" && p.text != "" {
				out = append(out, a.text(text))
			}
		case p.kind == "text" && tagged:
			if text := replaced(client, before, thought, rest); strings.TrimSpace(text) != "" {
				out = append(out, a.text(text))
			}
		case p.kind == "text" && strings.TrimSpace(p.text) == "" && p.proof == "": // as many APIs demand
		default:
			out = append(out, b)
		}
	}
	if m[a.blocks] = out; out == nil {
		delete(m, a.blocks)
	}
}

// sent are the elements of a conversation that a message is.
func (a *ledgerAPI) sent(m map[string]any) (all []any) {
	if a.blocks != "items" {
		return []any{m}
	}
	all, _ = m["items"].([]any)
	return slices.Clone(all)
}

// turns are the replies of the model in a request to its server, as lists of their parts; the number of those
// before the user's last question; and the ids of the results.
func (a *ledgerAPI) turns(body string) (turns [][]ledgerPart, earlier int, results []string) {
	open := false
	for _, v := range gjson.Get(body, a.list).Array() {
		m := obj(v.Value())
		kind, role := str(m["type"]), str(m["role"])
		if role != "assistant" && role != "model" && kind != "reasoning" && kind != "function_call" {
			open = false
			if ids := resultIDs(v); len(ids) > 0 {
				results = append(results, ids...)
			} else {
				earlier = len(turns)
			}
			continue
		}
		if !open {
			turns = append(turns, nil)
		}
		open = true
		if a.blocks == "items" {
			m = map[string]any{"items": []any{m}}
		}
		turns[len(turns)-1] = append(turns[len(turns)-1], a.parts(m)...)
	}
	return turns, earlier, results
}

func resultIDs(v gjson.Result) (ids []string) {
	for _, path := range []string{"tool_call_id", "call_id", "content.#.tool_use_id", "content.#.toolResult.toolUseId", "parts.#.functionResponse.id"} {
		for _, id := range v.Get(path).Array() {
			ids = append(ids, id.Str)
		}
	}
	return ids
}
