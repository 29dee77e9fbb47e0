package anthropic

import (
	"strconv"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire/internal/turns"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

func unsupported(what string) error { return &turn.UnsupportedError{What: what, API: apiName} }

// Path implements [turn.API].
func (messages) Path(*turn.Request) string { return "/v1/messages" }

// WriteTurn writes a request. Messages of the system stand beside the conversation, as in the
// OpenAI-compatible endpoint of this API, unless the codec has read them at their place.
func (messages) WriteTurn(dst []byte, q *turn.Request) ([]byte, error) {
	own := q.Extra.API == apiName
	if err := turns.Unsupported(q, apiName); err != nil {
		return dst, err
	}
	q.LeaveOut(apiName, turn.OfDetail)
	var o jsonwrite.Object
	if q.Model != "" {
		o.Text("model", q.Model)
	}
	most := q.MaxTokens.String()
	if most == "" && !own {
		most = turns.Default
	}
	number(&o, "max_tokens", most)
	if err := writeMessages(&o, q.Messages, own); err != nil {
		return dst, err
	}
	if len(q.Tools) > 0 {
		var tools jsonwrite.List
		for i := range q.Tools {
			tools.Raw(writeTool(&q.Tools[i]))
		}
		o.List("tools", tools)
	}
	writeChoice(&o, q)
	if q.Stream {
		o.Bool("stream", true)
	}
	number(&o, "temperature", q.Sampling.Temperature.String())
	number(&o, "top_p", q.Sampling.TopP.String())
	number(&o, "top_k", q.Sampling.TopK.String())
	if len(q.Stop) > 0 {
		var stop jsonwrite.List
		for _, s := range q.Stop {
			stop.Text(s)
		}
		o.List("stop_sequences", stop)
	}
	members, err := writeMembers(q, most)
	if err != nil {
		return dst, err
	}
	for _, m := range members {
		o.Raw(m.Key, m.Value)
	}
	return append(dst, o.End()...), nil
}

func number(o *jsonwrite.Object, key, value string) {
	if value != "" {
		o.Raw(key, value)
	}
}

// writeMembers returns the switches of thinking, the format and what only this API has, as
// members of the request. Several of them may be in one object.
func writeMembers(q *turn.Request, most string) ([]turn.Member, error) {
	var all []turn.Member
	if q.Extra.API == apiName {
		all = append(all, q.Extra.Members...)
	}
	if q.Thinking.Extra.Of(apiName) {
		for _, m := range q.Thinking.Extra.Members {
			all = turns.Put(all, m.Key, m.Value)
		}
	} else {
		n, _ := strconv.Atoi(most)
		said, err := switches.Members(apiName, q.Thinking.Words, q.Thinking.Setting, n)
		if err != nil {
			return nil, err
		}
		for _, m := range jsonedit.Members(jsonedit.Parse(said)) {
			all = turns.Put(all, m.Key, m.Value.Raw)
		}
		if q.Thinking.Shown && jsonedit.Parse(said).Get("thinking.type").Str == "adaptive" { // otherwise it is left out
			all = turns.Put(all, "thinking", `{"display":"summarized"}`)
		}
	}
	format := &q.Format
	if format.Mode != turn.Schema {
		return all, nil // a text is what a reply is
	}
	var o, config jsonwrite.Object
	o.Text("type", "json_schema")
	o.Raw("schema", format.Described())
	format.Extra.Write(&o, apiName)
	if format.Extra.API == apiName && format.Extra.Path == oldFormat {
		return turns.Put(all, oldFormat, string(o.End())), nil
	}
	config.Object(formatMember, o)
	return turns.Put(all, configMember, string(config.End())), nil
}

// writeMessages writes the members system and messages.
func writeMessages(o *jsonwrite.Object, all []turn.Message, own bool) error {
	system, all := turns.Split(turns.Identified(all, apiName, 0), apiName, false)
	content, n, err := writeParts(system.Parts)
	if err != nil {
		return err
	}
	if n > 0 || system.Extra.API == apiName {
		o.Raw("system", content)
	}
	var list jsonwrite.List
	for _, m := range all {
		content, n, err := writeParts(m.Parts)
		if err != nil {
			return err
		}
		if n == 0 && m.Extra.API != apiName {
			continue // the API refuses an empty message
		}
		var message jsonwrite.Object
		message.Text("role", string(m.Role))
		message.Raw("content", content)
		m.Extra.Write(&message, apiName)
		list.Object(message)
	}
	if list.Empty() && !own {
		return unsupported("a conversation that has no message")
	}
	o.List("messages", list)
	return nil
}

func writeTool(t *turn.Tool) string {
	if t.Extra.API == apiName && t.Extra.Whole != "" {
		return t.Extra.Whole
	}
	var o jsonwrite.Object
	o.Text("name", t.Name)
	if t.Description != "" {
		o.Text("description", t.Description)
	}
	if t.Schema == "" {
		o.Raw("input_schema", `{"type":"object","properties":{}}`)
	} else {
		o.Raw("input_schema", t.Schema)
	}
	if t.Strict != nil {
		o.Bool("strict", *t.Strict)
	}
	t.Extra.Write(&o, apiName)
	return string(o.End())
}

// writeChoice writes which tools may be called, and whether several may be at once.
func writeChoice(o *jsonwrite.Object, q *turn.Request) {
	mode := q.Choice.Mode
	// The API refuses a choice without tools.
	if len(q.Tools) == 0 && mode != turn.Required && q.Extra.API != apiName {
		return
	}
	// Parallel calls are the default.
	if mode == "" && q.Parallel != nil && !*q.Parallel {
		mode = turn.Auto
	}
	var c jsonwrite.Object
	switch {
	case mode == "":
		return
	case len(q.Choice.Names) > 0:
		c.Text("type", "tool")
		c.Text("name", q.Choice.Names[0])
	case mode == turn.Required:
		c.Text("type", "any")
	default:
		c.Text("type", mode)
	}
	if q.Parallel != nil && mode != turn.None {
		c.Bool("disable_parallel_tool_use", !*q.Parallel)
	}
	q.Choice.Extra.Write(&c, apiName)
	o.Object("tool_choice", c)
}
