package responses

import (
	"errors"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

var _ turn.API = codec{}

// Members on which the answer does not depend: what the provider keeps, bills, counts, caches
// or returns beside the answer. background, truncation and others are among them only with
// the value that they have if they are missing: see idle.
var asideOfRequest = []string{
	"metadata", "client_metadata", "user", "safety_identifier", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
	"service_tier", "store", "include", "stream_options", "top_logprobs",
	"client_metadata", // what a program says of itself
	"max_tool_calls",  // it counts calls of tools that the provider runs; those are in tools
}

// idle are values that say what a missing member says.
var idle = map[string]string{
	"background": "false", "truncation": `"disabled"`, "tools": "[]", "input": "[]", "instructions": `""`, "text": "{}", "reasoning": "{}",
}

// ReadTurn implements [turn.API]. Each item is a message, with Item set.
func (codec) ReadTurn(body []byte) (*turn.Request, error) {
	root := jsonedit.Parse(body)
	if !root.IsObject() {
		return nil, errors.New("the request is not a JSON object")
	}
	f := turn.FieldsOf(root)
	q := &turn.Request{Model: someText(f, "model")}
	if s := f.Bool("stream"); s != nil {
		q.Stream = *s
	}
	if text := someText(f, "instructions"); text != "" {
		q.Messages = append(q.Messages, turn.Message{Role: turn.System, Apart: true, Parts: []turn.Part{{Text: text}}})
	}
	if err := readInput(q, f); err != nil {
		return nil, err
	}
	readTools(q, f)
	readChoice(q, f)
	q.Parallel = f.Bool("parallel_tool_calls")
	readSwitches(q, f, body)
	q.MaxTokens = numberOf(f, "max_output_tokens")
	for _, n := range numbersOf(&q.Sampling) {
		*n.number = numberOf(f, n.member)
	}
	text, rest := readFormat(q, f)
	shows := onlySummary(f.Peek("reasoning"))
	q.Extra = f.Rest(apiName, "", asideOfRequest...)
	for i := range q.Extra.Members {
		m := &q.Extra.Members[i]
		m.Aside = m.Aside || idle[m.Key] == m.Value && m.Value != "" || m.Key == "reasoning" && shows
	}
	if rest {
		q.Extra.Members = append(q.Extra.Members, turn.Member{Key: "text", Value: text})
	}
	for i := range q.Extra.Members {
		m := &q.Extra.Members[i]
		v := jsonedit.Parse([]byte(m.Value))
		m.Aside = m.Aside || m.Key == "text" && onlyHas(v, "verbosity") && v.Get("verbosity").Str == "medium" // the default
	}
	return q, nil
}

// readInput reads the items. A text is a user's message.
func readInput(q *turn.Request, f *turn.Fields) error {
	switch input := f.Peek("input"); {
	case input.Type == gjson.String:
		text := f.Text("input")
		q.Messages = append(q.Messages, turn.Message{Role: turn.User, Item: true, Parts: []turn.Part{{Text: text}}})
	case input.Type == gjson.Null: // a stored prompt, or a conversation's next turn
	case !input.IsArray():
		return errors.New("input is not a string or a list")
	default:
		from := len(q.Messages)
		for i, item := range jsonedit.Members(input) {
			q.Messages = append(q.Messages, turnItem(item.Value, element("input", i)))
		}
		if len(q.Messages) > from {
			f.Take("input")
		}
	}
	return nil
}

// readTools reads the tools. One that is not a function or a free-form tool is whole.
func readTools(q *turn.Request, f *turn.Fields) {
	list := f.Peek("tools")
	if !list.IsArray() {
		return
	}
	for i, m := range jsonedit.Members(list) {
		q.Tools = append(q.Tools, readTool(m.Value, element("tools", i)))
	}
	if len(q.Tools) > 0 {
		f.Take("tools")
	}
}

func readTool(v gjson.Result, path string) turn.Tool {
	whole := turn.Tool{Extra: turn.Extra{API: apiName, Path: path, Whole: v.Raw}}
	if !v.IsObject() {
		return whole
	}
	f := turn.FieldsOf(v)
	kind := f.Text("type")
	t := turn.Tool{Name: someText(f, "name"), Description: someText(f, "description"), Free: kind == "custom"}
	switch {
	case isOffline(kind, v):
		whole.Extra.Aside = true
		return whole
	case kind == "namespace" && t.Name != "":
		return readGroup(t, f, whole)
	case kind != "function" && !t.Free || t.Name == "":
		return whole
	case t.Free:
		readGrammar(&t, f)
	default:
		t.Schema = f.Take("parameters", gjson.JSON).Raw
		t.Strict = f.Bool("strict")
	}
	t.Extra = f.Rest(apiName, path, "defer_loading")
	for i := range t.Extra.Members {
		m := &t.Extra.Members[i]
		v := jsonedit.Parse([]byte(m.Value))
		m.Same = m.Key == "format" && v.Get("type").Str == "text" && turn.HasOnly(v, "type") // as one without a format
	}
	return t
}

// isOffline reports whether a tool is the provider's search without access to the web, which finds
// only what the provider has kept. Some programs offer it in each request.
func isOffline(kind string, v gjson.Result) bool {
	return kind == "web_search" && v.Get("external_web_access").Type == gjson.False
}

// readGroup reads a group of tools, which also stays whole. One with tools of the provider is read as
// a tool of the provider.
func readGroup(t turn.Tool, f *turn.Fields, whole turn.Tool) turn.Tool {
	list := f.Take("tools")
	if !list.IsArray() {
		return whole
	}
	t.Within = []turn.Tool{}
	for i, m := range jsonedit.Members(list) {
		in := readTool(m.Value, element(whole.Extra.Path+".tools", i))
		if in.Name == "" || in.Within != nil {
			return whole
		}
		t.Within = append(t.Within, in)
	}
	t.Extra = f.Rest(apiName, whole.Extra.Path)
	t.Extra.Whole = whole.Extra.Whole
	return t
}

// readGrammar reads what the text for a free-form tool must fit.
func readGrammar(t *turn.Tool, f *turn.Fields) {
	v := f.Peek("format")
	in := turn.FieldsOf(v)
	syntax, grammar := someText(in, "syntax"), someText(in, "definition")
	if v.Get("type").Str == "grammar" && onlyHas(v, "type", "syntax", "definition") && syntax != "" && grammar != "" {
		f.Take("format")
		t.Syntax, t.Grammar = syntax, grammar
	}
}

// readChoice reads tool_choice. A choice among tools of the provider stays in the request's
// extra.
func readChoice(q *turn.Request, f *turn.Fields) {
	v := f.Peek("tool_choice")
	c := turn.Choice{Mode: v.Str, Extra: turn.Extra{API: apiName, Path: "tool_choice"}}
	switch c.Mode {
	case turn.Auto, turn.None, turn.Required:
		f.Take("tool_choice")
		q.Choice = turn.Choice{Mode: c.Mode}
		return
	}
	if !v.IsObject() {
		return
	}
	of := turn.FieldsOf(v)
	switch kind := of.Text("type"); kind {
	case "function", "custom":
		c.Mode, c.Names = turn.Required, []string{someText(of, "name")}
		if c.Names[0] == "" {
			return
		}
		c.Extra = of.Rest(apiName, "tool_choice")
		if kind == "custom" { // in neutral words it is a name as others
			c.Extra.Whole = v.Raw
		}
	case "allowed_tools":
		c.Mode, c.Names = someText(of, "mode"), allowedNames(of.Take("tools", gjson.JSON))
		if c.Mode != turn.Auto && c.Mode != turn.Required || c.Names == nil {
			return
		}
		c.Extra = of.Rest(apiName, "tool_choice")
		c.Extra.Whole = v.Raw
	default:
		return
	}
	f.Take("tool_choice")
	q.Choice = c
}

// allowedNames returns the names of a list of functions and free-form tools, or nil if it has
// anything else.
func allowedNames(list gjson.Result) (names []string) {
	if !list.IsArray() {
		return nil
	}
	for _, m := range jsonedit.Members(list) {
		f := turn.FieldsOf(m.Value)
		kind, name := f.Text("type"), someText(f, "name")
		if !m.Value.IsObject() || kind != "function" && kind != "custom" || name == "" || len(f.Rest(apiName, "").Members) > 0 {
			return nil
		}
		names = append(names, name)
	}
	return names
}

// switchMembers are the members that are read as a switch of thinking, and what an object
// there may have. With anything else in it, it stays in the request's extra.
var switchMembers = map[string][]string{
	"reasoning":            {"effort", "enabled", "max_tokens", "summary", "generate_summary"},
	"thinking":             {"type", "budget_tokens", "token_budget"},
	"chat_template_kwargs": {"enable_thinking", "thinking", "reasoning_effort", "thinking_budget"},
	"reasoning_effort":     nil, "enable_thinking": nil, "thinking_budget": nil, "think": nil,
}

// readSwitches reads whether the model is to think. A value that nobody knows stays in the
// request's extra.
func readSwitches(q *turn.Request, f *turn.Fields, body []byte) {
	q.Thinking.Extra = turn.Extra{API: apiName}
	says, members, err := switches.Find(body)
	if err != nil {
		return
	}
	q.Thinking.Setting = says
	for _, name := range members {
		v := f.Peek(name)
		if allowed, known := switchMembers[name]; known && v.Exists() && onlyHas(v, allowed...) {
			f.Take(name)
			q.Thinking.Extra.Members = append(q.Thinking.Extra.Members, turn.Member{Key: name, Value: v.Raw})
		}
	}
}

// onlyHas reports whether a value that may be an object has no other members.
func onlyHas(v gjson.Result, names ...string) bool {
	return !v.IsObject() || !slices.ContainsFunc(jsonedit.Members(v), func(m jsonedit.Member) bool { return !slices.Contains(names, m.Key) })
}

// onlySummary reports whether reasoning says only how it is shown.
func onlySummary(v gjson.Result) bool {
	return v.IsObject() && onlyHas(v, "summary", "generate_summary")
}

// readFormat reads text.format, and returns what else text has, if it has anything.
func readFormat(q *turn.Request, f *turn.Fields) (rest string, has bool) {
	text := f.Peek("text")
	if !text.IsObject() {
		return "", false
	}
	of := turn.FieldsOf(text)
	format := of.Take("format", gjson.JSON)
	if !format.IsObject() {
		return "", false
	}
	in := turn.FieldsOf(format)
	var to turn.Format
	switch in.Text("type") {
	case "text":
		to.Mode = turn.PlainText
	case "json_object":
		to.Mode = turn.JSON
	case "json_schema":
		to.Mode, to.Name, to.Description = turn.Schema, someText(in, "name"), someText(in, "description")
		if !in.Peek("schema").IsObject() {
			return "", false
		}
		to.Schema, to.Strict = in.Take("schema").Raw, in.Bool("strict")
	default:
		return "", false
	}
	to.Extra = in.Rest(apiName, "text.format")
	q.Format = to
	f.Take("text")
	var left jsonwrite.Object
	e := of.Rest(apiName, "text")
	e.Write(&left, apiName)
	return string(left.End()), !left.Empty()
}

// Word implements [turn.API].
func (codec) Word(f turn.Field) string { return fieldWords[f] }

var fieldWords = map[turn.Field]string{
	turn.OfStream: "stream", turn.OfChoice: "tool_choice", turn.OfParallel: "parallel_tool_calls", turn.OfThinking: "reasoning.effort",
	turn.OfFormat: "text.format", turn.OfMaxTokens: "max_output_tokens", turn.OfTemperature: "temperature", turn.OfTopP: "top_p",
	turn.OfPresence: "presence_penalty", turn.OfFrequency: "frequency_penalty",
	turn.OfDetail: "detail", turn.OfFailed: "status", turn.OfStrict: "strict", turn.OfDescription: "description",
}
