package cohere

import (
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

// WriteTurn writes a request.
//
// Path implements [turn.API].
func (chat) Path(*turn.Request) string { return "/v2/chat" }

// The API has no place for some things that say nothing about the conversation, and they are left
// out: the ID and the signature of a thought, the name of a schema, whether some tools alone are
// strict, and whether a stream has token counts, because it always has. A refusal is a text. That
// any tool may be called is what the API does if nothing is said.
func (chat) WriteTurn(dst []byte, q *turn.Request) ([]byte, error) {
	w := turnWriter{q: q}
	if q.Model != "" {
		w.root.Text("model", q.Model)
	}
	if q.Stream {
		w.root.Add("stream", "true")
	}
	for _, step := range []func() error{w.writeMessages, w.tools, w.settings} {
		if err := step(); err != nil {
			return dst, err
		}
	}
	w.root.Rest(&q.Extra, apiName)
	return append(dst, w.root.End()...), nil
}

type turnWriter struct {
	q        *turn.Request
	root     turn.Object
	messages jsonwrite.List
}

func unsupported(what string) error { return &turn.UnsupportedError{What: what, API: apiName} }

// unsaid is the error of a member of the request.
func unsaid(of turn.Field, what string) error {
	return &turn.UnsupportedError{What: what, API: apiName, Of: of}
}

func (w *turnWriter) writeMessages() error {
	list := identified(turn.Joined(w.q.Messages))
	for i := range list {
		if err := w.message(&list[i]); err != nil {
			return err
		}
	}
	if !w.messages.Empty() {
		w.root.Add("messages", string(w.messages.End()))
	}
	return nil
}

// identified returns the messages with IDs, which other APIs do without. Those that this codec read
// stay as they are.
func identified(list []turn.Message) []turn.Message {
	all := turn.Identified(list)
	for i := range all {
		for j := range all[i].Parts {
			if p, was := &all[i].Parts[j], &list[i].Parts[j]; isOwn(&p.Extra) {
				p.ID, p.Name = was.ID, was.Name
			}
		}
	}
	return all
}

// isOwn reports whether this codec has read what the extra is of.
func isOwn(e *turn.Extra) bool { return e.API == apiName }

// message writes a message. Each result in it is a message, before the rest of it.
func (w *turnWriter) message(m *turn.Message) error {
	if m.Name != "" && m.Role != turn.ToolRole {
		return turn.At(unsupported("the name of who wrote a message"), m.Extra.Path)
	}
	var left []turn.Part
	for i := range m.Parts {
		if m.Parts[i].Kind != turn.Result {
			left = append(left, m.Parts[i])
		} else if err := w.result(&m.Parts[i], &m.Extra); err != nil {
			return err
		}
	}
	if len(left) == 0 && (len(m.Parts) > 0 || m.Role == turn.ToolRole) {
		return nil
	}
	left = turn.Filled(left, apiName)
	var o turn.Object
	if m.Extra.Member(apiName, "role") == "" {
		role := m.Role
		if role == turn.Developer {
			role = turn.System
		}
		o.Text("role", string(role))
	}
	said := spoken{role: m.Role}
	for i := range left {
		if err := said.part(&left[i]); err != nil {
			return turn.At(err, left[i].Extra.Path)
		}
	}
	said.write(&o, isOwn(&m.Extra))
	o.Rest(&m.Extra, apiName)
	w.messages.Raw(string(o.End()))
	return nil
}

// A spoken is what a message says, in the API's places for it.
type spoken struct {
	role    turn.Role
	content content
	plan    *turn.Part
	calls   jsonwrite.List
}

// A content is written as a text if it is nothing but one.
type content struct {
	parts jsonwrite.List
	count int
	text  string
	plain bool // the last part is only a text
}

func (c *content) add(o *turn.Object, p *turn.Part, nested ...string) {
	o.Rest(&p.Extra, apiName, nested...)
	c.parts.Raw(string(o.End()))
	c.count++
	c.plain = p.Kind == turn.Text && !(isOwn(&p.Extra) && len(p.Extra.Members) > 0) || p.Kind == turn.Refusal
	c.text = p.Text
}

// raw adds a part as it came.
func (c *content) raw(value string) {
	c.parts.Raw(value)
	c.count++
	c.plain = false
}

func (c *content) write(o *turn.Object) {
	switch {
	case c.count == 1 && c.plain:
		o.Text("content", c.text)
	case c.count > 0:
		o.Add("content", string(c.parts.End()))
	}
}

// write writes the members. Without any, a message of another API is an empty text.
func (s *spoken) write(o *turn.Object, own bool) {
	s.content.write(o)
	if s.content.count == 0 && s.plan == nil && s.calls.Empty() && !own {
		o.Text("content", "")
	}
	if s.plan != nil {
		o.Text(plan, s.plan.Text)
	}
	if !s.calls.Empty() {
		o.Add("tool_calls", string(s.calls.End()))
	}
}

// part takes a part of the message.
func (s *spoken) part(p *turn.Part) error {
	if isOwn(&p.Extra) && p.Extra.Whole != "" {
		s.content.raw(p.Extra.Whole)
		return nil
	}
	var o turn.Object
	switch p.Kind {
	case turn.Text, turn.Refusal:
		o.Text("type", "text")
		o.Text("text", p.Text)
		s.content.add(&o, p)
	case turn.Thought:
		if p.Sealed != "" {
			return unsupported("encrypted reasoning")
		}
		if p.Name == plan && s.plan == nil && s.role == turn.Assistant {
			s.plan = p
			return nil
		}
		o.Text("type", "thinking")
		o.Text("thinking", p.Text)
		s.content.add(&o, p)
	case turn.Call:
		return s.call(p)
	case turn.Image:
		return s.image(p)
	case turn.Audio:
		return unsupported("audio")
	case turn.Video:
		return unsupported("a video")
	case turn.File:
		return unsupported("a file")
	default:
		return unsupported("a part of another API")
	}
	return nil
}

func (s *spoken) image(p *turn.Part) error {
	link := p.Media.Link()
	switch {
	case link == "" && p.Media.Data != "":
		return unsupported("an image of an unknown type")
	case link == "":
		return unsupported("an image by an ID of its provider")
	case s.role != turn.User && !isOwn(&p.Extra):
		return unsupported("an image that is not the user's")
	}
	var o, in turn.Object
	o.Text("type", "image_url")
	in.Text("url", link)
	if p.Media.Detail != "" {
		in.Text("detail", p.Media.Detail)
	}
	in.RestIn(&p.Extra, apiName, "image_url")
	o.Add("image_url", string(in.End()))
	s.content.add(&o, p, "image_url")
	return nil
}

func (s *spoken) call(p *turn.Part) error {
	if p.Free {
		return unsupported("a call whose input is a text")
	}
	var o, in turn.Object
	if p.ID != "" {
		o.Text("id", p.ID)
	}
	if p.Extra.Member(apiName, "type") == "" {
		o.Text("type", "function")
	}
	if p.Name != "" {
		in.Text("name", p.Name)
	}
	switch {
	case p.Arguments != "":
		in.Text("arguments", p.Arguments)
	case !isOwn(&p.Extra):
		in.Text("arguments", "{}") // the model called it without any
	}
	if in.RestIn(&p.Extra, apiName, "function"); !in.Empty() {
		o.Add("function", string(in.End()))
		o.Rest(&p.Extra, apiName, "function")
	} else {
		o.Rest(&p.Extra, apiName)
	}
	s.calls.Raw(string(o.End()))
	return nil
}

// result writes a message with the result of a tool. What only this API has in the message stands in
// the extra of that.
func (w *turnWriter) result(p *turn.Part, message *turn.Extra) error {
	if p.ID == "" && !isOwn(&p.Extra) {
		return unsupported("the result of a call that is not in the conversation")
	}
	var o turn.Object
	o.Text("role", "tool")
	if p.ID != "" {
		o.Text("tool_call_id", p.ID)
	}
	var c content
	for i := range p.Results {
		if err := c.result(&p.Results[i], p.Failed); err != nil {
			return turn.At(err, p.Results[i].Extra.Path)
		}
	}
	if c.count == 0 && !isOwn(&p.Extra) {
		c.add(failure("", p.Failed), &turn.Part{})
		c.plain = !p.Failed
	}
	c.write(&o)
	if isOwn(&p.Extra) {
		o.Rest(message, apiName)
	}
	w.messages.Raw(string(o.End()))
	return nil
}

// result adds a part of a tool's result.
func (c *content) result(r *turn.Part, failed bool) error {
	switch {
	case isOwn(&r.Extra) && r.Extra.Whole != "":
		c.raw(r.Extra.Whole)
	case r.Kind == turn.Text:
		c.add(failure(r.Text, failed), r)
		c.plain = c.plain && !failed
	case r.Kind == turn.Image:
		return unsupported("an image in a tool's result")
	default:
		return unsupported("a tool's result that is not a text")
	}
	return nil
}

// failure is a part of a tool's result: a text, or the error of one that failed, in a document.
func failure(text string, failed bool) *turn.Object {
	var o, in, data turn.Object
	if !failed {
		o.Text("type", "text")
		o.Text("text", text)
		return &o
	}
	o.Text("type", "document")
	data.Text("error", text)
	in.Add("data", string(data.End()))
	o.Add("document", string(in.End()))
	return &o
}

func (w *turnWriter) tools() error {
	var list jsonwrite.List
	for i := range w.q.Tools {
		if err := writeTool(&list, &w.q.Tools[i]); err != nil {
			return err
		}
	}
	if list.Empty() {
		return nil
	}
	w.root.Add("tools", string(list.End()))
	if strict, all := strictOf(w.q.Tools); all {
		w.root.Bool("strict_tools", strict)
	} else {
		w.q.LeaveOut(apiName, turn.OfStrict)
	}
	return nil
}

// strictOf returns whether the tools are strict, if all say the same.
func strictOf(tools []turn.Tool) (strict, all bool) {
	var said *bool
	for i := range tools {
		t := &tools[i]
		switch {
		case t.Name == "":
		case t.Strict == nil || said != nil && *said != *t.Strict:
			return false, false
		default:
			said = t.Strict
		}
	}
	return said != nil && *said, said != nil
}

func writeTool(to *jsonwrite.List, t *turn.Tool) error {
	switch {
	case isOwn(&t.Extra) && t.Extra.Whole != "":
		to.Raw(t.Extra.Whole)
		return nil
	case t.Free:
		return turn.At(unsupported("a tool whose input is a text"), t.Extra.Path)
	case t.Name == "":
		return turn.At(unsupported("a tool of another API"), t.Extra.Path)
	}
	var o, in turn.Object
	o.Text("type", "function")
	in.Text("name", t.Name)
	if t.Description != "" {
		in.Text("description", t.Description)
	}
	switch {
	case t.Schema != "":
		in.Raw("parameters", t.Schema)
	case !isOwn(&t.Extra):
		in.Raw("parameters", `{"type":"object","properties":{}}`) // the API wants them
	}
	in.RestIn(&t.Extra, apiName, "function")
	o.Add("function", string(in.End()))
	o.Rest(&t.Extra, apiName, "function")
	to.Raw(string(o.End()))
	return nil
}

// settings writes all but the conversation and its tools.
func (w *turnWriter) settings() error {
	q := w.q
	switch {
	case q.Parallel != nil && !*q.Parallel && len(q.Tools) > 0:
		return unsaid(turn.OfParallel, "a limit of one call at a time")
	case len(q.Choice.Names) > 0:
		return unsaid(turn.OfChoice, "a choice among the tools")
	case q.Choices != "" && q.Choices != "1":
		return unsaid(turn.OfChoices, "several replies")
	case q.Sampling.Cuts():
		return unsaid(turn.OfMinP, "min_p")
	}
	if name := choices[q.Choice.Mode]; name != "" {
		w.root.Text("tool_choice", name)
	}
	for _, n := range []struct{ key, value string }{
		{"max_tokens", string(q.MaxTokens)},
		{"temperature", string(q.Sampling.Temperature)},
		{"p", string(q.Sampling.TopP)},
		{"k", string(q.Sampling.TopK)},
		{"seed", string(q.Sampling.Seed)},
		{"presence_penalty", string(q.Sampling.PresencePenalty)},
		{"frequency_penalty", string(q.Sampling.FrequencyPenalty)},
	} {
		if n.value != "" {
			w.root.Raw(n.key, n.value)
		}
	}
	if len(q.Stop) > 0 {
		var list jsonwrite.List
		for _, text := range q.Stop {
			list.Text(text)
		}
		w.root.Add("stop_sequences", string(list.End()))
	}
	w.format()
	return w.thinking()
}

func (w *turnWriter) format() {
	f := &w.q.Format
	var o turn.Object
	switch f.Mode {
	case turn.PlainText:
		o.Text("type", "text")
	case turn.JSON, turn.Schema:
		o.Text("type", "json_object")
	}
	if f.Schema != "" {
		o.Raw("json_schema", f.Described())
	}
	if o.Rest(&f.Extra, apiName); !o.Empty() {
		w.root.Add("response_format", string(o.End()))
	}
}

func (w *turnWriter) thinking() error {
	t := &w.q.Thinking
	if t.Extra.API == apiName {
		for _, m := range t.Extra.Members {
			w.root.Add(m.Key, m.Value)
		}
		return nil
	}
	list, err := switches.Members(apiName, t.Words, t.Setting, 0)
	if err != nil {
		return err
	}
	for _, m := range jsonedit.Members(jsonedit.Parse(list)) {
		w.root.Add(m.Key, m.Value.Raw)
	}
	return nil
}
