package anthropic

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
)

// What the codec reports in addition to texts and thinking, which its flow reports.

// sealed reports the signature of a thought, or a piece of it. It may be empty. Where the
// reply is written, what an earlier thought became ends before it.
func (y *reply) sealed(w *blocks.Flow, signature gjson.Result, r wire.Reader) {
	if y.set.Written && w.In.Kind == thinking && signature.Str != "" {
		w.Sign(r)
	}
	if signature.Type == gjson.String {
		r.Found(wire.Event{Kind: wire.EventSealed, Choice: w.Choice, Index: w.Block, Name: "signature", Text: decode(signature)})
	}
}

// foundOther counts a block that is neither text nor thinking, and reports it. calls says
// that it calls a tool.
func (y *reply) foundOther(w *blocks.Flow, block gjson.Result, r wire.Reader) (calls bool) {
	w.Block++
	f := wire.Event{Choice: w.Choice, Index: w.Block, Raw: block.Raw}
	switch kind := block.Get("type").Str; {
	case kind == "redacted_thinking":
		f.Kind, f.Name, f.Text = wire.EventSealed, kind, chatjson.ValueText(block.Get("data"))
	case strings.HasSuffix(kind, "tool_use"):
		f.Kind, f.ID, f.Name = wire.EventCall, block.Get("id").Str, block.Get("name").Str
		f.Own = kind != "tool_use"
		y.block(w, shownCalls, block, r)
		if in := block.Get("input"); in.IsObject() && in.Raw != "{}" || in.IsArray() {
			f.Text = chatjson.ValueText(in)
		}
	default:
		f.Kind, f.Name = wire.EventOther, kind
		if y.set.Written {
			f.Raw = shownOf(w.Choice, wire.MembersOfBlock, shownOthers, block.Raw, r)
		}
	}
	r.Found(f)
	return f.Kind == wire.EventCall
}

// begun reports what a message says at its beginning.
func begun(message gjson.Result, r wire.Reader) {
	if model := message.Get("model").Str; model != "" {
		r.Found(wire.Event{Kind: wire.EventModel, Name: model, ID: message.Get("id").Str})
	}
	counted(message.Get("usage"), r)
}

// counted reports token counts.
func counted(u gjson.Result, r wire.Reader) {
	if !u.IsObject() {
		return
	}
	r.Found(wire.Event{Kind: wire.EventUsage, Usage: wire.Usage{
		Input: chatjson.Count(u.Get("input_tokens")), Output: chatjson.Count(u.Get("output_tokens")),
		Reasoning: chatjson.Count(u.Get("output_tokens_details.reasoning_tokens")),
		CacheRead: chatjson.Count(u.Get("cache_read_input_tokens")), CacheWrite: chatjson.Count(u.Get("cache_creation_input_tokens")), Apart: true,
	}})
}

// stopped reports why a message ended.
func stopped(w *blocks.Flow, reason gjson.Result, end sotto.Ending, r wire.Reader) {
	r.Found(wire.Event{Kind: wire.EventFinish, Choice: w.Choice, Name: reason.Str, End: end})
}
