package account

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/wire"
)

// choices reads chat completions and completions.
func (a *Account) choices(root gjson.Result, _ string) {
	at := -1 // some servers do not number choices
	root.Get("choices").ForEach(func(_, c gjson.Result) bool {
		at++
		choice := at
		if i := c.Get("index"); i.Type == gjson.Number && i.Int() >= 0 {
			choice = int(i.Int())
		}
		a.speaker(choice, c.Get("delta"))
		a.speaker(choice, c.Get("message"))
		if !c.Get("delta").Exists() && !c.Get("message").Exists() {
			a.speaker(choice, c)
		}
		return true
	})
	u := root.Get("usage")
	a.count(&a.usage.Input, u.Get("prompt_tokens"))
	a.count(&a.usage.Output, u.Get("completion_tokens"))
	a.count(&a.usage.Reasoning, u.Get("completion_tokens_details.reasoning_tokens"))
}

// ollama reads Ollama's API.
func (a *Account) ollama(root gjson.Result, _ string) {
	if m := root.Get("message"); m.IsObject() {
		a.speaker(0, m)
	} else {
		a.speaker(0, root)
	}
	a.count(&a.usage.Input, root.Get("prompt_eval_count"))
	a.count(&a.usage.Output, root.Get("eval_count"))
}

// speaker reads what a choice says in addition to its text, from the object that
// holds the message.
func (a *Account) speaker(choice int, o gjson.Result) {
	o.ForEach(func(name, v gjson.Result) bool {
		switch {
		case v.Type == gjson.String && wire.IsNativeField(name.Str):
			a.thought(key{choice, 0, name.Str}, v)
		case name.Str == "reasoning_details":
			a.details(choice, v)
		case name.Str == "content" && v.IsArray():
			a.content(choice, v)
		case name.Str == "tool_calls":
			v.ForEach(func(_, call gjson.Result) bool {
				a.toolCall(choice, call)
				return true
			})
		case name.Str == "function_call" && v.IsObject():
			a.function(a.part(key{choice, -1, ""}, true), "", v)
		}
		return true
	})
}

// content reads the reasoning in a list of typed parts.
func (a *Account) content(choice int, list gjson.Result) {
	list.ForEach(func(_, e gjson.Result) bool {
		switch kind := e.Get("type").Str; kind {
		case "thinking", "reasoning", "reasoning_text":
			if text := wire.ThoughtText(e); text != "" {
				a.say(a.part(key{choice, 0, kind}, false), []byte(text))
			}
		}
		return true
	})
}

// details reads reasoning_details. Some servers repeat its texts with every frame.
// Signed or encrypted data is kept apart.
func (a *Account) details(choice int, list gjson.Result) {
	var text []byte
	sealed := false
	list.ForEach(func(_, d gjson.Result) bool {
		text = append(append(text, textOf(d.Get("text"))...), textOf(d.Get("summary"))...)
		for _, name := range []string{"signature", "data"} {
			if blob := d.Get(name); blob.Str != "" {
				sealed = true
				a.blob(key{choice, int(d.Get("index").Int()), "reasoning_details." + name}, blob)
			}
		}
		return true
	})
	if len(text) == 0 {
		return
	}
	p := a.part(key{choice, 0, "reasoning_details"}, false)
	if p == nil {
		return
	}
	p.sealed = p.sealed || sealed
	before, next := len(p.text), p.told.add(p.text, text)
	a.news++
	p.text = append(next[:before:before], a.room.Take(next[before:])...)
}

// blob notes signed or encrypted data. The same data may come again.
func (a *Account) blob(k key, v gjson.Result) {
	if p := a.part(k, false); p != nil && string(p.text) != v.Str {
		p.sealed = true
		a.say(p, textOf(v))
	}
}

// toolCall reads a call or a piece of one. It finds the call by its index, or else
// by its id.
func (a *Account) toolCall(choice int, call gjson.Result) {
	id, fn := call.Get("id").Str, call.Get("function")
	index := call.Get("index")
	var p *part
	for _, q := range slices.Backward(a.latestParts()) {
		if !q.call || q.key.choice != choice || q.key.index < 0 {
			continue
		}
		same := index.Type != gjson.Number || int(index.Int()) == q.key.index
		if same && (id == "" || q.id == "" || id == q.id) && (id != "" || index.Type == gjson.Number || fn.Get("name").Str == "") {
			p = q
			break
		}
	}
	if p == nil {
		p = a.add(key{choice, max(int(index.Int()), 0), ""}, true)
	}
	a.function(p, id, fn)
}

// function reads a name and arguments, which are a string or an object.
func (a *Account) function(p *part, id string, fn gjson.Result) {
	a.called(p, id, fn.Get("name").Str)
	a.say(p, textOf(fn.Get("arguments")))
}
