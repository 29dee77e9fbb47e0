package account

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"
)

// response reads the responses API: an event, or a whole response.
func (a *Account) response(root gjson.Result, kind string) {
	if t := root.Get("type").Str; t != "" {
		kind = t
	}
	index := int(root.Get("output_index").Int())
	switch kind {
	case "response.output_item.added", "response.output_item.done":
		a.item(index, root.Get("item"))
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		a.say(a.itemCall(index), textOf(root.Get("delta")))
	case "response.reasoning_text.delta", "response.reasoning.delta":
		a.say(a.itemThought(index, "content"), textOf(root.Get("delta")))
	case "response.reasoning_summary_text.delta", "response.reasoning_summary.delta":
		a.say(a.itemThought(index, "summary"), textOf(root.Get("delta")))
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		a.output(root.Get("response"))
	default:
		if root.Get("object").Str == "response" || root.Get("output").IsArray() {
			a.output(root)
		}
	}
}

// output reads a whole response. From items that events have shown already it takes
// nothing more.
func (a *Account) output(response gjson.Result) {
	a.fault(response.Get("error"))
	a.tokens(response.Get("usage"))
	if len(a.parts) > 0 {
		return
	}
	a.texts = 0
	n := -1
	response.Get("output").ForEach(func(_, item gjson.Result) bool {
		n++
		a.item(n, item)
		for _, c := range item.Get("content").Array() {
			if c.Get("type").Str == "output_text" && c.Get("text").Str != "" {
				a.texts++
			}
		}
		return true
	})
}

// item reads an item, at its beginning or whole. A whole item repeats all that its
// deltas said.
func (a *Account) item(index int, item gjson.Result) {
	switch kind := item.Get("type").Str; {
	case kind == "reasoning":
		a.reasoning(index, item)
	case strings.HasSuffix(kind, "_call"):
		p := a.itemCall(index)
		a.called(p, cmp.Or(item.Get("call_id").Str, item.Get("id").Str), cmp.Or(item.Get("name").Str, strings.TrimSuffix(kind, "_call")))
		for _, name := range []string{"arguments", "input", "action"} {
			if text := textOf(item.Get(name)); len(text) > 0 {
				a.anew(p, text)
				break
			}
		}
	}
}

// itemCall returns the call of an item, whichever texts came since.
func (a *Account) itemCall(index int) *part {
	if p := a.items[key{0, index, ""}]; p != nil {
		return p
	}
	return a.addItem(key{0, index, ""}, key{a.latest(), index, ""}, true)
}

// anew replaces what the deltas said with the whole text.
func (a *Account) anew(p *part, text []byte) {
	a.news++
	if p == nil || string(p.text) == string(text) {
		return
	}
	a.room.Left += len(p.text)
	p.text = append(p.text[:0], a.room.Take(text)...)
}

func (a *Account) reasoning(index int, item gjson.Result) {
	for _, list := range []string{"summary", "content"} {
		var text []byte
		for i, part := range item.Get(list).Array() {
			if i > 0 && list == "summary" {
				text = append(text, "\n\n"...)
			}
			text = append(text, textOf(part.Get("text"))...)
		}
		if len(text) > 0 {
			a.anew(a.itemThought(index, list), text)
		}
	}
	if sealed := textOf(item.Get("encrypted_content")); len(sealed) > 0 {
		if p := a.itemThought(index, "encrypted_content"); p != nil {
			p.sealed = true
			a.anew(p, sealed)
		}
	}
}

func (a *Account) itemThought(index int, field string) *part {
	if p := a.items[key{0, index, field}]; p != nil {
		return p
	}
	return a.addItem(key{0, index, field}, key{a.coming(), index, field}, false)
}

// addItem adds the part of an item that is found only by its index and field.
func (a *Account) addItem(by, k key, call bool) *part {
	p := a.add(k, call)
	if p != nil {
		if a.items == nil {
			a.items = map[key]*part{}
		}
		a.items[by] = p
	}
	return p
}
