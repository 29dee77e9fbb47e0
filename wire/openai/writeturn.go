package openai

import (
	"strings"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire/internal/message"
	"github.com/sotto-llm/sotto/wire/turn"
)

// Path implements [turn.API].
func (chat) Path(*turn.Request) string { return "/v1/chat/completions" }

// WriteTurn implements [turn.API].
func (c chat) WriteTurn(dst []byte, q *turn.Request) ([]byte, error) {
	q.LeaveOut(c.name, turn.OfFailed)
	var o jsonwrite.Object
	if q.Model != "" {
		o.Text("model", q.Model)
	}
	var messages jsonwrite.List
	for _, m := range turn.Joined(q.Messages) {
		if err := c.writeMessage(&messages, &m); err != nil {
			return dst, err
		}
	}
	o.List("messages", messages)
	if q.Stream {
		o.Bool("stream", true)
	}
	if q.Usage != nil {
		var in jsonwrite.Object
		in.Bool("include_usage", *q.Usage)
		o.Object("stream_options", in)
	}
	if q.Tools != nil {
		tools, err := message.WriteTools(q.Tools, c.name)
		if err != nil {
			return dst, err
		}
		o.List("tools", tools)
	}
	c.writeChoice(&o, &q.Choice)
	if q.Parallel != nil {
		o.Bool("parallel_tool_calls", *q.Parallel)
	}
	if q.MaxTokens != "" {
		name := q.MaxName
		if name != "max_completion_tokens" {
			name = "max_tokens"
		}
		o.Raw(name, string(q.MaxTokens))
	}
	writeSampling(&o, q)
	if len(q.Stop) > 0 {
		var list jsonwrite.List
		for _, s := range q.Stop {
			list.Text(s)
		}
		o.List("stop", list)
	}
	c.writeFormat(&o, &q.Format)
	if err := q.WriteThinking(&o, c.name); err != nil {
		return dst, err
	}
	q.Extra.Write(&o, c.name)
	return append(dst, o.End()...), nil
}

func writeSampling(o *jsonwrite.Object, q *turn.Request) {
	s := &q.Sampling
	for _, n := range []struct{ key, value string }{
		{"temperature", string(s.Temperature)}, {"top_p", string(s.TopP)}, {"top_k", string(s.TopK)}, {"min_p", string(s.MinP)},
		{"presence_penalty", string(s.PresencePenalty)}, {"frequency_penalty", string(s.FrequencyPenalty)},
		{"seed", string(s.Seed)}, {"n", string(q.Choices)},
	} {
		if n.value != "" {
			o.Raw(n.key, n.value)
		}
	}
}

// writeChoice writes which tools may be called. A list of several is a set of allowed ones.
func (c chat) writeChoice(o *jsonwrite.Object, choice *turn.Choice) {
	function := func(name string) (f jsonwrite.Object) {
		var in jsonwrite.Object
		in.Text("name", name)
		f.Text("type", "function")
		f.Object("function", in)
		return f
	}
	switch {
	case choice.Mode == "":
	case len(choice.Names) == 0:
		o.Text("tool_choice", choice.Mode)
	case len(choice.Names) == 1 && choice.Mode == turn.Required:
		o.Object("tool_choice", function(choice.Names[0]))
	default:
		var in, out jsonwrite.Object
		var list jsonwrite.List
		for _, name := range choice.Names {
			list.Object(function(name))
		}
		in.Text("mode", choice.Mode)
		in.List("tools", list)
		out.Text("type", "allowed_tools")
		out.Object("allowed_tools", in)
		o.Object("tool_choice", out)
	}
}

func (c chat) writeFormat(o *jsonwrite.Object, f *turn.Format) {
	kind := map[string]string{turn.PlainText: "text", turn.JSON: "json_object", turn.Schema: "json_schema"}[f.Mode]
	if kind == "" {
		return
	}
	var format jsonwrite.Object
	format.Text("type", kind)
	if f.Mode == turn.Schema {
		var in jsonwrite.Object
		if f.Name != "" {
			in.Text("name", f.Name)
		} else if f.Extra.API != c.name {
			in.Text("name", "answer") // the API requires one
		}
		if f.Description != "" {
			in.Text("description", f.Description)
		}
		if f.Strict != nil {
			in.Bool("strict", *f.Strict)
		}
		in.Raw("schema", f.Schema)
		format.Object("json_schema", in)
	}
	o.Object("response_format", format)
}

// writeMessage writes a message. Each result is a message of its own, before the rest of the
// message that has it.
func (c chat) writeMessage(list *jsonwrite.List, m *turn.Message) error {
	if m.Extra.API == c.name && m.Extra.Whole != "" {
		list.Raw(m.Extra.Whole)
		return nil
	}
	rest := turn.Message{Role: m.Role, Name: m.Name, Extra: m.Extra}
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind != turn.Result {
			rest.Parts = append(rest.Parts, *p)
			continue
		}
		var o jsonwrite.Object
		o.Text("role", string(turn.ToolRole))
		if m.Role == turn.ToolRole && m.Extra.API == c.name && p.Name != "" {
			o.Text("name", p.Name)
		}
		if p.ID != "" {
			o.Text("tool_call_id", p.ID)
		}
		if err := c.writeContent(&o, p.Results, m.Role != turn.ToolRole || m.Extra.API != c.name); err != nil {
			return err
		}
		if m.Role == turn.ToolRole {
			m.Extra.Write(&o, c.name)
		}
		list.Object(o)
	}
	if m.Role == turn.ToolRole || len(rest.Parts) == 0 && len(m.Parts) > 0 {
		return nil
	}
	var o jsonwrite.Object
	o.Text("role", string(rest.Role))
	if rest.Name != "" {
		o.Text("name", rest.Name)
	}
	if err := c.writeParts(&o, &rest); err != nil {
		return err
	}
	rest.Extra.Write(&o, c.name)
	list.Object(o)
	return nil
}

// writeParts writes what a message says: its content, and beside it refusals, thoughts and calls.
func (c chat) writeParts(o *jsonwrite.Object, m *turn.Message) error {
	var content []turn.Part
	var calls, pictures jsonwrite.List
	var refusal strings.Builder
	var thoughts thoughtMembers
	refuses := false
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Kind == turn.Call:
			calls.Raw(string(c.writeCall(p)))
		case p.Kind == turn.Image && p.Name == images && p.Extra.API == c.name && p.Extra.Whole != "":
			pictures.Raw(p.Extra.Whole)
		case p.Kind == turn.Thought && !c.isPart(p):
			thoughts.add(p, c.name)
		case p.Kind == turn.Refusal && m.Role == turn.Assistant && !(p.Extra.API == c.name && p.Extra.Path != ""):
			refuses = true
			refusal.WriteString(p.Text)
		default:
			content = append(content, *p)
		}
	}
	if len(content) == 0 && !(calls.Empty() && pictures.Empty()) && !m.Extra.Has(c.name, "content") {
		o.Raw("content", "null") // many servers require the member
	} else if err := c.writeContent(o, content, m.Extra.API != c.name); err != nil {
		return err
	}
	if refuses {
		o.Text("refusal", refusal.String())
	}
	if !pictures.Empty() {
		o.List(images, pictures)
	}
	thoughts.write(o)
	if !calls.Empty() {
		o.List("tool_calls", calls)
	}
	return nil
}

// isPart reports whether a thought was a part of the content, as Mistral has it.
func (c chat) isPart(p *turn.Part) bool {
	return p.Extra.API == c.name && strings.HasPrefix(p.Extra.Whole, "{")
}

// thoughtMembers are the members for reasoning, each once.
type thoughtMembers struct {
	names []string
	texts map[string]*strings.Builder
	lists []string // reasoning_details, whose elements are joined
}

// add takes a thought. One of another API goes to the member that most servers read. What is
// sealed is for the server that has sealed it.
func (t *thoughtMembers) add(p *turn.Part, api string) {
	own := p.Extra.API == api
	if own && p.Extra.Whole != "" {
		t.lists = append(t.lists, p.Extra.Whole)
		return
	}
	if p.Text == "" && !own {
		return
	}
	if own && p.Name == details {
		t.lists = append(t.lists, string(chatjson.DetailsOf(p.Text)))
		return
	}
	name := "reasoning_content"
	if own && chatjson.IsNativeField(p.Name) {
		name = p.Name
	}
	if t.texts[name] == nil {
		if t.texts == nil {
			t.texts = map[string]*strings.Builder{}
		}
		t.names, t.texts[name] = append(t.names, name), new(strings.Builder)
	}
	t.texts[name].WriteString(p.Text)
}

func (t *thoughtMembers) write(o *jsonwrite.Object) {
	for _, name := range t.names {
		o.Text(name, t.texts[name].String())
	}
	if len(t.lists) == 1 {
		o.Raw(details, t.lists[0])
	} else if len(t.lists) > 1 {
		var all jsonwrite.List
		for _, list := range t.lists {
			for _, e := range jsonedit.Members(jsonedit.Parse([]byte(list))) {
				all.Raw(e.Value.Raw)
			}
		}
		o.List(details, all)
	}
}

func (c chat) writeCall(p *turn.Part) []byte {
	if p.Extra.API == c.name && p.Extra.Whole != "" {
		return []byte(p.Extra.Whole)
	}
	kind, arguments := "function", "arguments"
	if p.Free {
		kind, arguments = "custom", "input"
	}
	var o, in jsonwrite.Object
	if p.ID != "" {
		o.Text("id", p.ID)
	}
	if !p.Extra.Has(c.name, "type") {
		o.Text("type", kind)
	}
	in.Text("name", p.Name)
	in.Text(arguments, p.Arguments)
	o.Object(kind, in)
	if key, value := chatjson.SignatureMember(p.Signature); p.Signature != "" && !p.Extra.Has(c.name, key) {
		o.Raw(key, value)
	}
	p.Extra.Write(&o, c.name)
	return o.End()
}
