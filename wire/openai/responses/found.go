package responses

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// What the codec reports in addition to the texts of messages and the pieces of
// reasoning.

// foundItem reports an item, at its beginning or whole. A whole item repeats all
// that its deltas said.
func (y *reply) foundItem(item gjson.Result, index int) { foundItem(item, index, y.choices, y.r) }

func foundItem(item gjson.Result, index, choice int, r wire.Reader) {
	switch kind := item.Get("type").Str; {
	case kind == "reasoning":
		foundThought(item, index, choice, r)
	case strings.HasSuffix(kind, "_call"):
		f := wire.Event{
			Kind: wire.EventCall, Index: index, Raw: item.Raw, Own: kind != "function_call" && kind != "custom_tool_call",
			ID:   cmp.Or(item.Get("call_id").Str, item.Get("id").Str),
			Name: cmp.Or(item.Get("name").Str, strings.TrimSuffix(kind, "_call")),
		}
		for _, name := range []string{"arguments", "input", "action"} {
			if f.Text = chatjson.ValueText(item.Get(name)); len(f.Text) > 0 {
				f.Whole = true
				break
			}
		}
		r.Found(f)
	}
}

func foundThought(item gjson.Result, index, choice int, r wire.Reader) {
	f := wire.Event{Kind: wire.EventThought, Choice: choice, Index: index, Again: true, Whole: true, Raw: item.Raw}
	for _, list := range []string{"summary", "content"} {
		f.Name, f.Text = list, nil
		for i, part := range item.Get(list).Array() {
			if i > 0 && list == "summary" {
				f.Text = append(f.Text, "\n\n"...)
			}
			f.Text = append(f.Text, chatjson.ValueText(part.Get("text"))...)
		}
		if len(f.Text) > 0 {
			r.Found(f)
		}
	}
	f.Kind, f.Name, f.Text = wire.EventSealed, "encrypted_content", chatjson.ValueText(item.Get("encrypted_content"))
	if len(f.Text) > 0 {
		r.Found(f)
	}
}

// foundPart reports a part of a message that has no text which is read: a refusal, or
// another kind of output.
func (y *reply) foundPart(part gjson.Result, index int) {
	f := wire.Event{Kind: wire.EventOther, Choice: y.choices, Index: index, Name: part.Get("type").Str}
	if f.Name == "refusal" {
		f.Kind, f.Name, f.Text = wire.EventRefusal, "", chatjson.ValueText(part.Get("refusal"))
	}
	y.r.Found(f)
}

// foundRefusal reports a piece of a refusal.
func (y *reply) foundRefusal(e *event) {
	if string(e.name) != "response.refusal.delta" {
		return
	}
	var text []byte
	text, y.text = jsonedit.TextOf(y.text, e.text.Of(e.Data))
	y.r.Found(wire.Event{Kind: wire.EventRefusal, Choice: y.choices, Index: max(e.content, 0), Text: text})
}

// foundCallDelta reports a piece of a call's arguments.
func (y *reply) foundCallDelta(e *event) {
	var text []byte
	text, y.text = jsonedit.TextOf(y.text, e.text.Of(e.Data))
	y.r.Found(wire.Event{Kind: wire.EventCall, Index: max(e.output, 0), Text: text})
}

// foundResponse reports what a whole response says in addition to its items.
func (y *reply) foundResponse(response gjson.Result, end sotto.Ending) {
	if model := response.Get("model").Str; model != "" {
		y.r.Found(wire.Event{Kind: wire.EventModel, Name: model, ID: response.Get("id").Str})
	}
	foundEnd(response, response.Get("status").Str, y.choices, end, y.r)
}

// foundEnd reports how a response ended.
func foundEnd(response gjson.Result, status string, choice int, end sotto.Ending, r wire.Reader) {
	if response.Get("error").IsObject() {
		r.Found(wire.Event{Kind: wire.EventFault, Raw: response.Raw})
	}
	if u := response.Get("usage"); u.IsObject() {
		r.Found(wire.Event{Kind: wire.EventUsage, Usage: wire.Usage{
			Input: chatjson.Count(u.Get("input_tokens")), Output: chatjson.Count(u.Get("output_tokens")),
			Reasoning: chatjson.Count(u.Get("output_tokens_details.reasoning_tokens")),
			CacheRead: chatjson.Count(u.Get("input_tokens_details.cached_tokens")), CacheWrite: -1,
		}})
	}
	r.Found(wire.Event{Kind: wire.EventFinish, Choice: choice, Name: status, End: end})
	r.Found(wire.Event{Kind: wire.EventEnd})
}
