package ollama

import (
	"strings"

	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire/internal/message"
	"github.com/sotto-llm/sotto/wire/turn"
)

// Path implements [turn.API].
func (chat) Path(*turn.Request) string { return "/api/chat" }

// WriteTurn implements [turn.API]. The API has no way to forbid calls or to ask for one.
func (c chat) WriteTurn(dst []byte, q *turn.Request) ([]byte, error) {
	q.LeaveOut(c.name, turn.OfDetail, turn.OfFailed, turn.OfStrict)
	switch {
	case q.Choices != "" && q.Choices != "1":
		return dst, &turn.UnsupportedError{What: "several replies", API: c.name, Of: turn.OfChoices}
	case q.Choice.Mode == turn.Required:
		return dst, &turn.UnsupportedError{What: "a tool that must be called", API: c.name, Of: turn.OfChoice}
	case len(q.Choice.Names) > 0:
		return dst, &turn.UnsupportedError{What: "a choice among the tools", API: c.name, Of: turn.OfChoice}
	case q.Parallel != nil && !*q.Parallel && len(q.Tools) > 0:
		return dst, &turn.UnsupportedError{What: "a limit of one call at a time", API: c.name, Of: turn.OfParallel}
	}
	var o jsonwrite.Object
	if q.Model != "" {
		o.Text("model", q.Model)
	}
	var messages jsonwrite.List
	names := turn.Names(q.Messages)
	for _, m := range turn.Joined(q.Messages) {
		if err := c.writeMessage(&messages, &m, names); err != nil {
			return dst, err
		}
	}
	o.List("messages", messages)
	if !q.Extra.Has(c.name, "stream") {
		o.Bool("stream", q.Stream)
	}
	if q.Tools != nil && q.Choice.Mode != turn.None {
		tools, err := message.WriteTools(q.Tools, c.name)
		if err != nil {
			return dst, err
		}
		o.List("tools", tools)
	}
	switch q.Format.Mode {
	case turn.JSON:
		o.Text("format", "json")
	case turn.Schema:
		o.Raw("format", q.Format.Described())
	}
	if in := c.options(q); !in.Empty() {
		o.Object(options, in)
	}
	if err := q.WriteThinking(&o, c.name); err != nil {
		return dst, err
	}
	q.Extra.Write(&o, c.name)
	return append(dst, o.End()...), nil
}

func (c chat) options(q *turn.Request) (o jsonwrite.Object) {
	s := &q.Sampling
	for _, n := range []struct{ key, value string }{
		{"num_predict", string(q.MaxTokens)}, {"temperature", string(s.Temperature)}, {"top_p", string(s.TopP)}, {"top_k", string(s.TopK)},
		{"min_p", string(s.MinP)}, {"presence_penalty", string(s.PresencePenalty)}, {"frequency_penalty", string(s.FrequencyPenalty)},
		{"seed", string(s.Seed)},
	} {
		if n.value != "" {
			o.Raw(n.key, n.value)
		}
	}
	if len(q.Stop) > 0 {
		var list jsonwrite.List
		for _, s := range q.Stop {
			list.Text(s)
		}
		o.List("stop", list)
	}
	s.Extra.Write(&o, c.name)
	return o
}

// writeMessage writes a message. Each result is a message of its own, before the rest of the
// message that has it.
func (c chat) writeMessage(list *jsonwrite.List, m *turn.Message, names map[string]string) error {
	if m.Extra.API == c.name && m.Extra.Whole != "" {
		list.Raw(m.Extra.Whole)
		return nil
	}
	if m.Name != "" && m.Role != turn.ToolRole {
		return turn.At(c.unsupported("the name of a message's author"), m.Extra.Path)
	}
	rest := turn.Message{Role: m.Role, Extra: m.Extra}
	if rest.Role == turn.Developer {
		rest.Role = turn.System
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind != turn.Result {
			rest.Parts = append(rest.Parts, *p)
			continue
		}
		var o jsonwrite.Object
		o.Text("role", string(turn.ToolRole))
		if err := c.writeParts(&o, p.Results, m.Role != turn.ToolRole || m.Extra.API != c.name); err != nil {
			return err
		}
		name := p.Name
		if name == "" && m.Extra.API != c.name {
			name = names[p.ID]
		}
		if name != "" {
			o.Text("tool_name", name)
		}
		if p.ID != "" {
			o.Text("tool_call_id", p.ID)
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
	if err := c.writeParts(&o, rest.Parts, m.Extra.API != c.name); err != nil {
		return err
	}
	rest.Extra.Write(&o, c.name)
	list.Object(o)
	return nil
}

// writeParts writes what a message says. It has one text, so that texts are joined by a line.
func (c chat) writeParts(o *jsonwrite.Object, parts []turn.Part, must bool) error {
	var texts []string
	var thoughts strings.Builder
	var images, calls jsonwrite.List
	thinks := false
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case turn.Text, turn.Refusal:
			texts = append(texts, p.Text)
		case turn.Thought:
			thinks = thinks || p.Text != "" || p.Extra.API == c.name
			thoughts.WriteString(p.Text)
		case turn.Image:
			if p.Media.Data == "" {
				return turn.At(c.unsupported("an image by a URL or an id"), p.Extra.Path)
			}
			images.Text(p.Media.Data)
		case turn.Call:
			calls.Raw(string(c.writeCall(p)))
		default:
			return turn.At(c.unsupported(p.Kind.String()), p.Extra.Path)
		}
	}
	if len(texts) > 0 || must {
		o.Text("content", strings.Join(texts, "\n"))
	}
	if thinks {
		o.Text(thinking, thoughts.String())
	}
	if !images.Empty() {
		o.List("images", images)
	}
	if !calls.Empty() {
		o.List("tool_calls", calls)
	}
	return nil
}

func (c chat) writeCall(p *turn.Part) []byte {
	if p.Extra.API == c.name && p.Extra.Whole != "" {
		return []byte(p.Extra.Whole)
	}
	var o, in jsonwrite.Object
	in.Text("name", p.Name)
	in.Raw("arguments", turn.ArgumentsObject(p.Arguments))
	if p.ID != "" {
		o.Text("id", p.ID)
	}
	o.Object("function", in)
	p.Extra.Write(&o, c.name)
	return o.End()
}

func (c chat) unsupported(what string) error { return &turn.UnsupportedError{What: what, API: c.name} }
