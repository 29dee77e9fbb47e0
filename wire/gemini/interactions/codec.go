package interactions

import (
	"errors"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/gemini/internal/googleerror"
	"github.com/sotto-llm/sotto/wire/internal/blocks"
	"github.com/sotto-llm/sotto/wire/written"
)

// Codec is the codec of the API.
var Codec wire.Codec = codec{}

type codec struct{}

const apiName = "gemini.interactions"

var errUnfinished = errors.New("the upstream ended the stream before the interaction was completed")

// The kinds of steps that are read.
const (
	outputStep  = "model_output"
	thoughtStep = "thought"
	callStep    = "function_call"
)

func (codec) Name() string          { return apiName }
func (codec) Framing() wire.Framing { return wire.SSE }

func (codec) Capabilities() wire.Capabilities {
	return wire.Capabilities{Kind: thinking, Texts: true, Adjacent: true, Items: true, Kept: "interactions", Calls: true}
}

// thinking is the name of thoughts that have a step of their own.
const thinking = "thinking"

func (codec) Reply(s wire.Settings) wire.Reply {
	y := &reply{set: s, opaque: -1}
	if !s.Written {
		y.flow.To = y
		return y
	}
	y.set, y.beside = written.Settings(s), true
	y.flow.To = blocks.Nowhere{}
	return written.Reply(y, codec{}.Writer(s), s)
}

// Error returns Google's error object.
func (codec) Error(status int, message string) []byte {
	return googleerror.Append(nil, status, message)
}

// FaultKind implements [wire.FaultCodec].
func (codec) FaultKind(_, raw string) (status int, tooLong bool) { return googleerror.Kind(raw) }

// ends are the statuses of an interaction that has ended.
var ends = map[string]sotto.Ending{
	"completed": sotto.EndStopped, calling: sotto.EndStopped,
	"incomplete": sotto.EndCut, "budget_exceeded": sotto.EndCut, "requires_continuation": sotto.EndCut,
	"failed": sotto.EndAborted, "cancelled": sotto.EndAborted,
}

// calling is the status of an interaction that waits for results of calls.
const calling = "requires_action"

// endOf reads a status. Of one that is under way in the background, nothing is known.
func endOf(status gjson.Result) sotto.Ending { return ends[status.Str] }

// counted reports token counts. Those of thoughts are not among those of the output.
func counted(u gjson.Result, r wire.Reader) {
	if !u.IsObject() {
		return
	}
	usage := wire.Usage{
		Input: chatjson.Count(u.Get("total_input_tokens")), Output: chatjson.Count(u.Get("total_output_tokens")),
		Reasoning: chatjson.Count(u.Get("total_thought_tokens")), CacheRead: chatjson.Count(u.Get("total_cached_tokens")), CacheWrite: -1,
	}
	if usage.Output >= 0 {
		usage.Output += max(usage.Reasoning, 0)
	}
	r.Found(wire.Event{Kind: wire.EventUsage, Usage: usage})
}

// kindOf returns what a step holds.
func kindOf(step gjson.Result) blocks.Kind {
	switch step.Get("type").Str {
	case outputStep:
		return blocks.Text
	case thoughtStep:
		return blocks.Thinking
	}
	return blocks.Other
}

// listOf is the member of a step with its texts.
func listOf(k blocks.Kind) string {
	if k == blocks.Thinking {
		return "summary"
	}
	return "content"
}

// isText reports whether a content is a text.
func isText(content gjson.Result) bool {
	return content.Get("type").Str == "text" || !content.Get("type").Exists() && content.Get("text").Exists()
}

// contents are the elements of a list; a single one may stand without.
func contents(list gjson.Result) []gjson.Result {
	if list.IsObject() {
		return []gjson.Result{list}
	}
	return list.Array()
}

// textsOf joins the texts of a list of contents.
func textsOf(list gjson.Result) string {
	var all strings.Builder
	for _, c := range contents(list) {
		if isText(c) {
			all.Write(chatjson.ValueText(c.Get("text")))
		}
	}
	return all.String()
}

// call reports a call, or the beginning of one.
func call(step gjson.Result, choice, index int, r wire.Reader) {
	arguments := step.Get("arguments").Raw
	if len(step.Get("arguments").Map()) == 0 && !step.Get("arguments").IsArray() {
		arguments = "" // its pieces follow
	}
	r.Found(wire.Event{Kind: wire.EventCall, Choice: choice, Index: index, ID: step.Get("id").Str, Name: step.Get("name").Str, Text: []byte(arguments), Raw: step.Raw})
}

// named reports the model and the id of an interaction.
func named(of gjson.Result, r wire.Reader) {
	if id, model := of.Get("id").Str, of.Get("model").Str; id != "" || model != "" {
		r.Found(wire.Event{Kind: wire.EventModel, ID: id, Name: model})
	}
}

func says(v gjson.Result) bool { return v.Exists() && v.Type != gjson.Null }
