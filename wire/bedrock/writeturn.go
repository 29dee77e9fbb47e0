package bedrock

import (
	"net/url"
	"slices"

	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire/internal/turns"
	"github.com/sotto-llm/sotto/wire/turn"
)

// maxID is the length of a call's ID that the API accepts.
const maxID = 64

func unsupported(what string) error { return &turn.UnsupportedError{What: what, API: apiName} }

// Path implements [turn.API].
func (converse) Path(q *turn.Request) string {
	verb := wholeVerb
	if q.Stream {
		verb = streamVerb
	}
	return "/model/" + url.PathEscape(q.Model) + verb
}

// WriteTurn writes the body of a request. The model, and whether the reply is a stream, are in
// the path.
func (converse) WriteTurn(dst []byte, q *turn.Request) ([]byte, error) {
	if err := turns.Unsupported(q, apiName); err != nil {
		return dst, err
	}
	switch {
	case q.Choice.Mode == turn.None && len(q.Tools) > 0 && q.Extra.API != apiName && callsTools(q):
		return dst, &turn.UnsupportedError{What: "tools that must not be called", API: apiName, Of: turn.OfChoice}
	case q.Parallel != nil && !*q.Parallel && len(q.Tools) > 0:
		return dst, &turn.UnsupportedError{What: "a limit of one call at a time", API: apiName, Of: turn.OfParallel}
	}
	q.LeaveOut(apiName, turn.OfDetail)
	own, err := writeOwn(q)
	if err != nil {
		return dst, err
	}
	var o jsonwrite.Object
	if err := writeMessages(&o, q.Messages, q.Extra.API == apiName); err != nil {
		return dst, err
	}
	members := writeMembers(q)
	for _, m := range own {
		members = turns.Put(members, m.Key, m.Value)
	}
	for _, m := range members {
		o.Raw(m.Key, m.Value)
	}
	return append(dst, o.End()...), nil
}

// writeMembers returns the members of the request besides its messages.
func writeMembers(q *turn.Request) (all []turn.Member) {
	const list = toolsMember + ".tools"
	if q.Extra.API == apiName {
		for _, m := range q.Extra.Members {
			if _, ok := pointAt(m, list); !ok {
				all = append(all, m)
			}
		}
	}
	var inference, config, output jsonwrite.Object
	for _, n := range []struct{ key, value string }{
		{"maxTokens", q.MaxTokens.String()}, {"temperature", q.Sampling.Temperature.String()}, {"topP", q.Sampling.TopP.String()},
	} {
		if n.value != "" {
			inference.Raw(n.key, n.value)
		}
	}
	if len(q.Stop) > 0 {
		var stop jsonwrite.List
		for _, s := range q.Stop {
			stop.Text(s)
		}
		inference.List("stopSequences", stop)
	}
	tools := newBlocks(&q.Extra, list)
	if q.Choice.Mode != turn.None { // the API forbids calls by no other means
		for i := range q.Tools {
			tools.add(writeTool(&q.Tools[i]))
		}
	}
	if value := tools.end(); value != "[]" {
		config.Raw("tools", value)
	}
	// The API refuses a choice without tools.
	if mode := q.Choice.Mode; mode == turn.Required || mode == turn.Auto && (len(q.Tools) > 0 || q.Extra.API == apiName) {
		config.Object("toolChoice", writeChoice(&q.Choice))
	}
	if f := &q.Format; f.Mode == turn.Schema {
		output.Object("textFormat", writeFormat(f))
	}
	for _, m := range []struct {
		key string
		o   jsonwrite.Object
	}{{inferenceMember, inference}, {toolsMember, config}, {outputMember, output}} {
		if !m.o.Empty() {
			all = turns.Put(all, m.key, string(m.o.End()))
		}
	}
	return all
}

// callsTools reports whether the conversation has calls. Then the API wants the tools declared.
func callsTools(q *turn.Request) bool {
	return slices.ContainsFunc(q.Messages, func(m turn.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p turn.Part) bool { return p.Kind == turn.Call || p.Kind == turn.Result })
	})
}

func writeTool(t *turn.Tool) string {
	if t.Extra.API == apiName && t.Extra.Whole != "" {
		return t.Extra.Whole
	}
	var tool, o, schema jsonwrite.Object
	o.Text("name", t.Name)
	if t.Description != "" {
		o.Text("description", t.Description)
	}
	if t.Schema == "" {
		schema.Raw("json", `{"type":"object","properties":{}}`)
	} else {
		schema.Raw("json", t.Schema)
	}
	o.Object("inputSchema", schema)
	if t.Strict != nil {
		o.Bool("strict", *t.Strict)
	}
	t.Extra.Write(&o, apiName)
	tool.Object("toolSpec", o)
	return string(tool.End())
}

func writeChoice(c *turn.Choice) (choice jsonwrite.Object) {
	var o jsonwrite.Object
	key := "any"
	switch {
	case len(c.Names) > 0:
		key = "tool"
		o.Text("name", c.Names[0])
	case c.Mode == turn.Auto:
		key = "auto"
	}
	c.Extra.Write(&o, apiName)
	choice.Object(key, o)
	return choice
}

func writeFormat(f *turn.Format) (text jsonwrite.Object) {
	var schema, structure jsonwrite.Object
	schema.Text("schema", f.Schema)
	if f.Name != "" {
		schema.Text("name", f.Name)
	}
	if f.Description != "" {
		schema.Text("description", f.Description)
	}
	f.Extra.Write(&schema, apiName)
	structure.Object("jsonSchema", schema)
	text.Text("type", "json_schema")
	text.Object("structure", structure)
	return text
}

// writeMessages writes the members system and messages.
func writeMessages(o *jsonwrite.Object, all []turn.Message, own bool) error {
	system, all := turns.Split(turns.Identified(all, apiName, maxID), apiName, true)
	w := turnWriter{names: map[string]int{}}
	content, n, err := w.parts(&system, "system")
	if err != nil {
		return err
	}
	if n > 0 || system.Extra.API == apiName {
		o.Raw("system", content)
	}
	var list jsonwrite.List
	for i := range all {
		m := &all[i]
		content, n, err := w.parts(m, "content")
		if err != nil {
			return err
		}
		if n == 0 && m.Extra.API != apiName {
			continue // the API refuses an empty message
		}
		var message jsonwrite.Object
		message.Text("role", string(m.Role))
		message.Raw("content", content)
		if m.Extra.API == apiName {
			for _, more := range m.Extra.Members {
				if _, ok := pointAt(more, "content"); !ok {
					message.Raw(more.Key, more.Value)
				}
			}
		}
		list.Object(message)
	}
	if list.Empty() && !own {
		return unsupported("a conversation that has no message")
	}
	o.List("messages", list)
	return nil
}

// blockList is a list of blocks that gets its cache points back at their places.
type blockList struct {
	jsonwrite.List
	n      int
	points map[int]string
}

func newBlocks(e *turn.Extra, name string) blockList {
	l := blockList{points: map[int]string{}}
	if e.API == apiName {
		for _, m := range e.Members {
			if at, ok := pointAt(m, name); ok {
				l.points[at] = m.Value
			}
		}
	}
	return l
}

func (l *blockList) add(block string) {
	l.mark()
	l.Raw(block)
	l.n++
}

// mark adds the cache points that come next.
func (l *blockList) mark() {
	for point, ok := l.points[l.n]; ok; point, ok = l.points[l.n] {
		l.Raw(point)
		l.n++
	}
}

func (l *blockList) end() string {
	l.mark()
	return string(l.End())
}
