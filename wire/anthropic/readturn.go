package anthropic

import (
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/internal/turns"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

var _ turn.API = messages{}

// apiName is the codec's name.
const apiName = "anthropic.messages"

// The members of an output_config, of which each says something else.
const (
	configMember = "output_config"
	effortMember = "effort"
	formatMember = "format"
)

// oldFormat is the member that had the format before output_config did.
const oldFormat = "output_format"

// asideMembers are those of a request on which the answer does not depend: who asks, how it is
// billed and cached, and how fast it is served. inference_geo is not one of them, because it
// says where a text may be read.
var asideMembers = []string{
	"metadata", "user_profile_id", "service_tier", "speed", cacheMember, "anthropic_version", "diagnostics", "fallback_credit_token",
}

// cacheMember marks the end of what is cached.
const cacheMember = "cache_control"

// contextMember says what the provider takes out of a conversation that has become long.
const contextMember = "context_management"

// keepsContext reports whether a contextMember takes nothing out: its edits keep all thoughts.
func keepsContext(value string) bool {
	edits := jsonedit.Parse([]byte(value)).Get("edits")
	for _, e := range edits.Array() {
		if e.Get("type").Str != "clear_thinking_20251015" || e.Get("keep").Str != "all" {
			return false
		}
	}
	return edits.IsArray()
}

// ReadTurn reads a request.
func (messages) ReadTurn(body []byte) (*turn.Request, error) {
	root := jsonedit.Parse(body)
	if !root.IsObject() {
		return nil, wire.ErrNoObject
	}
	f := turn.FieldsOf(root)
	q := &turn.Request{Model: turns.Text(f, "model")}
	if stream := f.Bool("stream"); stream != nil {
		q.Stream = *stream
	}
	if v := f.Peek("system"); v.Type == gjson.String || v.IsArray() {
		f.Take("system")
		q.Messages = append(q.Messages, turn.Message{
			Role: turn.System, Apart: true, Parts: readParts(v, "system", true), Extra: turn.Extra{API: apiName, Path: "system"},
		})
	}
	list := f.Take("messages")
	if !list.IsArray() {
		return nil, chatjson.ErrNoMessages
	}
	for i, m := range jsonedit.Members(list) {
		read, err := readTurnMessage(m.Value, fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return nil, err
		}
		q.Messages = append(q.Messages, read)
	}
	q.MaxTokens = turns.Number(f, "max_tokens")
	q.Sampling = turn.Sampling{Temperature: turns.Number(f, "temperature"), TopP: turns.Number(f, "top_p"), TopK: turns.Number(f, "top_k")}
	q.Stop = turns.Strings(f, "stop_sequences")
	for i, t := range turns.List(f, "tools") {
		q.Tools = append(q.Tools, readTool(t.Value, fmt.Sprintf("tools[%d]", i)))
	}
	if v := f.Peek("tool_choice"); v.IsObject() {
		if choice, parallel, ok := readChoice(v); ok {
			f.Take("tool_choice")
			q.Choice, q.Parallel = choice, parallel
		}
	}
	split := readSwitches(body, f, q)
	if v := f.Peek(oldFormat); v.IsObject() && q.Format.Mode == "" {
		if format, ok := readFormat(v, oldFormat); ok {
			f.Take(oldFormat)
			q.Format = format
		}
	}
	q.Extra = turns.Rest(f, apiName, "", asideMembers...)
	q.Extra.Members = append(q.Extra.Members, split...)
	for i := range q.Extra.Members {
		m := &q.Extra.Members[i]
		m.Aside = m.Aside || isUsual(m.Key, jsonedit.Parse([]byte(m.Value)))
	}
	return q, nil
}

// isUsual reports whether a member says what a missing one says.
func isUsual(key string, v gjson.Result) bool {
	switch key {
	case contextMember:
		return keepsContext(v.Raw)
	case configMember:
		return turn.HasOnly(v, effortMember) && v.Get(effortMember).Str == "high"
	}
	return false
}

// readSwitches reads the members that say whether and how much to think, and output_config. It
// returns what these members have besides, as members of the request.
func readSwitches(body []byte, f *turn.Fields, q *turn.Request) (rest []turn.Member) {
	says, names, err := switches.Find(body)
	if err != nil || slices.Contains(names, "generationConfig") {
		names = nil // unread, they are the API's own
	} else {
		q.Thinking.Setting, q.Thinking.Extra = says, turn.Extra{API: apiName}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name == configMember {
			continue
		}
		said, more := splitSwitch(name, f.Take(name))
		q.Thinking.Extra.Members = append(q.Thinking.Extra.Members, turn.Member{Key: name, Value: said})
		if more != "" {
			rest = append(rest, turn.Member{Key: name, Value: more})
		}
	}
	return append(rest, turns.Inside(f, apiName, configMember, func(c *turn.Fields) (took bool) {
		if slices.Contains(names, configMember) {
			var o jsonwrite.Object
			o.Raw(effortMember, c.Take(effortMember).Raw)
			q.Thinking.Extra.Members = append(q.Thinking.Extra.Members, turn.Member{Key: configMember, Value: string(o.End())})
			took = true
		}
		if v := c.Peek(formatMember); v.IsObject() {
			if format, ok := readFormat(v, configMember+"."+formatMember); ok {
				c.Take(formatMember)
				q.Format, took = format, true
			}
		}
		return took
	})...)
}

// thinkingMembers are those of a thinking object that the setting says, or that only say
// whether the reasoning is shown.
var thinkingMembers = []string{"type", "budget_tokens", "token_budget", "display"}

// splitSwitch returns a member of a request in two: what it says about thinking, and the rest
// of an object that says more than that, such as arguments of a chat template.
func splitSwitch(name string, v gjson.Result) (says, rest string) {
	if !v.IsObject() {
		return v.Raw, ""
	}
	var said, more jsonwrite.Object
	for _, m := range jsonedit.Members(v) {
		if name == "thinking" && slices.Contains(thinkingMembers, m.Key) || name != "thinking" && isSwitch(name, m) {
			said.Raw(m.Key, m.Value.Raw)
		} else if m.Value.Type != gjson.Null {
			more.Raw(m.Key, m.Value.Raw)
		}
	}
	if more.Empty() {
		return v.Raw, ""
	}
	return string(said.End()), string(more.End())
}

// isSwitch reports whether one member of an object is a switch of thinking.
func isSwitch(name string, m jsonedit.Member) bool {
	var o, body jsonwrite.Object
	o.Raw(m.Key, m.Value.Raw)
	body.Object(name, o)
	_, names, _ := switches.Find(body.End())
	return len(names) > 0
}

func readTurnMessage(v gjson.Result, path string) (m turn.Message, err error) {
	if !v.IsObject() {
		return m, fmt.Errorf("%s is not an object", path)
	}
	f := turn.FieldsOf(v)
	switch m.Role = turn.Role(f.Text("role")); m.Role {
	case turn.System, turn.User, turn.Assistant:
	default:
		return m, fmt.Errorf("%s.role: want user, assistant or system", path)
	}
	content := f.Take("content")
	if content.Type != gjson.String && !content.IsArray() {
		return m, fmt.Errorf("%s.content: want a text or a list of blocks", path)
	}
	m.Parts = readParts(content, path+".content", true)
	m.Extra = turns.Rest(f, apiName, path)
	return m, nil
}

func readTool(v gjson.Result, path string) turn.Tool {
	f := turn.FieldsOf(v)
	name, schema := turns.Text(f, "name"), f.Take("input_schema")
	// A tool of another type is one that the provider or the model knows.
	if kind := f.Take("type"); name == "" || !schema.IsObject() || kind.Type != gjson.Null && kind.Str != "custom" {
		return turn.Tool{Extra: turns.Whole(apiName, path, v)}
	}
	return turn.Tool{
		Name: name, Description: turns.Text(f, "description"), Schema: schema.Raw, Strict: f.Bool("strict"),
		// How the arguments are streamed does not change them.
		Extra: withDirect(turns.Rest(f, apiName, path, cacheMember, "eager_input_streaming", "defer_loading")),
	}
}

// withDirect marks the list of those who may call a tool, if it says that the model itself may.
func withDirect(e turn.Extra) turn.Extra {
	for i := range e.Members {
		m := &e.Members[i]
		v := jsonedit.Parse([]byte(m.Value))
		m.Aside = m.Aside || m.Key == "allowed_callers" && len(v.Array()) == 1 && v.Get("0").Str == "direct"
	}
	return e
}

// choiceModes are the modes of a choice by its type.
var choiceModes = map[string]string{"auto": turn.Auto, "any": turn.Required, "none": turn.None, "tool": turn.Required}

func readChoice(v gjson.Result) (c turn.Choice, parallel *bool, ok bool) {
	f := turn.FieldsOf(v)
	kind := f.Text("type")
	if c.Mode = choiceModes[kind]; c.Mode == "" {
		return c, nil, false
	}
	if kind == "tool" {
		name := turns.Text(f, "name")
		if name == "" {
			return c, nil, false
		}
		c.Names = []string{name}
	}
	if kind != "none" {
		if parallel = f.Bool("disable_parallel_tool_use"); parallel != nil {
			*parallel = !*parallel
		}
	}
	c.Extra = turns.Rest(f, apiName, "tool_choice", "disable_parallel_tool_use")
	return c, parallel, true
}

func readFormat(v gjson.Result, path string) (format turn.Format, ok bool) {
	f := turn.FieldsOf(v)
	schema := f.Take("schema")
	if f.Text("type") != "json_schema" || !schema.IsObject() {
		return format, false
	}
	return turn.Format{Mode: turn.Schema, Schema: schema.Raw, Extra: turns.Rest(f, apiName, path)}, true
}

// Word implements [turn.API].
func (messages) Word(f turn.Field) string { return fieldWords[f] }

var fieldWords = map[turn.Field]string{
	turn.OfStream: "stream", turn.OfChoice: "tool_choice", turn.OfParallel: "tool_choice.disable_parallel_tool_use", turn.OfThinking: "thinking",
	turn.OfFormat: configMember + "." + formatMember, turn.OfMaxTokens: "max_tokens", turn.OfStop: "stop_sequences",
	turn.OfTemperature: "temperature", turn.OfTopP: "top_p", turn.OfTopK: "top_k",
	turn.OfFailed: "is_error", turn.OfStrict: "strict",
}
