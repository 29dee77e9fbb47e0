package responses

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

// Path implements [turn.API].
func (codec) Path(*turn.Request) string { return "/v1/responses" }

// WriteTurn implements [turn.API]. A message that is not an item becomes several.
func (codec) WriteTurn(dst []byte, q *turn.Request) ([]byte, error) {
	if err := placeless(q); err != nil {
		return dst, err
	}
	var o jsonwrite.Object
	text(&o, "model", q.Model)
	messages := q.Messages
	if len(messages) > 0 && isInstructions(&messages[0]) {
		text(&o, "instructions", messages[0].Parts[0].Text)
		messages = messages[1:]
	}
	if err := writeInput(&o, q, messages); err != nil {
		return dst, err
	}
	if q.Stream {
		o.Bool("stream", true)
	}
	if err := writeTools(&o, q); err != nil {
		return dst, err
	}
	writeChoice(&o, q)
	flag(&o, "parallel_tool_calls", q.Parallel)
	if err := writeSwitches(&o, q); err != nil {
		return dst, err
	}
	numberMember(&o, "max_output_tokens", q.MaxTokens)
	for _, n := range numbersOf(&q.Sampling) {
		numberMember(&o, n.member, *n.number)
	}
	if err := writeFormat(&o, q); err != nil {
		return dst, err
	}
	if q.Unkept && q.Extra.API != apiName {
		o.Bool("store", false)
	}
	if q.Sealed && q.Extra.API != apiName {
		o.Raw("include", `["reasoning.encrypted_content"]`)
	}
	if q.Extra.API == apiName {
		for _, m := range q.Extra.Members {
			if m.Key != "text" { // it is written with the format
				o.Raw(m.Key, m.Value)
			}
		}
	}
	return append(dst, o.End()...), nil
}

func unsupported(what string) error { return &turn.UnsupportedError{What: what, API: apiName} }

// unsaid is the error of a member of the request.
func unsaid(of turn.Field, what string) error {
	return &turn.UnsupportedError{What: what, API: apiName, Of: of}
}

// placeless returns an error if the request has a setting that the API does not have.
func placeless(q *turn.Request) error {
	switch {
	case q.Sampling.TopK != "":
		return unsaid(turn.OfTopK, "top_k")
	case q.Sampling.Cuts():
		return unsaid(turn.OfMinP, "min_p")
	case q.Sampling.Seed != "":
		return unsaid(turn.OfSeed, "a seed")
	case len(q.Stop) > 0:
		return unsaid(turn.OfStop, "stop sequences")
	case q.Choices != "" && q.Choices != "1":
		return unsaid(turn.OfChoices, "several replies to one request")
	}
	return nil
}

// isInstructions reports whether a message can be the instructions of a request, which are a
// text.
func isInstructions(m *turn.Message) bool {
	return m.Role == turn.System && m.Apart && m.Name == "" && len(m.Parts) == 1 && isPlain(&m.Parts[0])
}

// isPlain reports whether a part is a text and nothing else.
func isPlain(p *turn.Part) bool {
	return p.Kind == turn.Text && p.Signature == "" && p.Sealed == "" && !p.Extra.Of(apiName)
}

func writeTools(o *jsonwrite.Object, q *turn.Request) error {
	var list jsonwrite.List
	for i := range q.Tools {
		t := &q.Tools[i]
		if t.Extra.API == apiName && t.Extra.Whole != "" {
			list.Raw(t.Extra.Whole)
			continue
		}
		if t.Name == "" {
			return turn.At(unsupported("a tool that only "+cmp.Or(t.Extra.API, "another API")+" has"), t.Extra.Path)
		}
		var one jsonwrite.Object
		one.Text("type", toolType(t.Free))
		one.Text("name", t.Name)
		text(&one, "description", t.Description)
		if t.Grammar != "" {
			var format jsonwrite.Object
			format.Text("type", "grammar")
			format.Text("syntax", t.Syntax)
			format.Text("definition", t.Grammar)
			one.Object("format", format)
		}
		if !t.Free {
			if t.Schema != "" {
				one.Raw("parameters", t.Schema)
			}
			flag(&one, "strict", strictOf(t))
		}
		t.Extra.Write(&one, apiName)
		list.Object(one)
	}
	if !list.Empty() {
		o.List("tools", list)
	}
	return nil
}

func toolType(free bool) string {
	if free {
		return "custom"
	}
	return "function"
}

// strictOf says whether the arguments of a tool must fit its schema. In this API a tool that
// does not say it is strict, and its schema is changed for that; in all others it is not.
func strictOf(t *turn.Tool) *bool {
	if t.Strict == nil && t.Extra.API != apiName {
		return new(bool)
	}
	return t.Strict
}

func writeChoice(o *jsonwrite.Object, q *turn.Request) {
	c := &q.Choice
	switch {
	case c.Extra.API == apiName && c.Extra.Whole != "":
		o.Raw("tool_choice", c.Extra.Whole)
	case c.Mode == turn.None, len(c.Names) == 0:
		text(o, "tool_choice", c.Mode)
	case c.Mode == turn.Required && len(c.Names) == 1:
		one := toolRef(q, c.Names[0])
		c.Extra.Write(&one, apiName)
		o.Object("tool_choice", one)
	default:
		var one jsonwrite.Object
		var tools jsonwrite.List
		for _, name := range c.Names {
			tools.Object(toolRef(q, name))
		}
		one.Text("type", "allowed_tools")
		one.Text("mode", cmp.Or(c.Mode, turn.Auto))
		one.List("tools", tools)
		o.Object("tool_choice", one)
	}
}

// toolRef names a tool of the request.
func toolRef(q *turn.Request, name string) (o jsonwrite.Object) {
	free := slices.ContainsFunc(q.Tools, func(t turn.Tool) bool { return t.Free && t.Name == name })
	o.Text("type", toolType(free))
	o.Text("name", name)
	return o
}

// writeSwitches writes whether the model is to think: as it came, or in the words of the
// server.
func writeSwitches(o *jsonwrite.Object, q *turn.Request) error {
	if q.Thinking.Extra.API == apiName {
		q.Thinking.Extra.Write(o, apiName)
		return nil
	}
	most, _ := strconv.Atoi(string(q.MaxTokens))
	members, err := switches.Members(apiName, q.Thinking.Words, q.Thinking.Setting, most)
	if err != nil {
		return err
	}
	for _, m := range jsonedit.Members(jsonedit.Parse(members)) {
		o.Raw(m.Key, m.Value.Raw)
	}
	return nil
}

// writeFormat writes text: the format of the reply, and what else only this API has there.
func writeFormat(o *jsonwrite.Object, q *turn.Request) error {
	rest := q.Extra.Member(apiName, "text")
	f := &q.Format
	if f.Mode == "" {
		if rest != "" {
			o.Raw("text", rest)
		}
		return nil
	}
	var format, all jsonwrite.Object
	switch f.Mode {
	case turn.PlainText:
		format.Text("type", "text")
	case turn.JSON:
		format.Text("type", "json_object")
	case turn.Schema:
		format.Text("type", "json_schema")
		name := f.Name
		if name == "" && f.Extra.API != apiName {
			name = "reply" // the API wants one
		}
		text(&format, "name", name)
		text(&format, "description", f.Description)
		format.Raw("schema", cmp.Or(f.Schema, "{}"))
		flag(&format, "strict", f.Strict)
	default:
		return unsaid(turn.OfFormat, "the format "+f.Mode)
	}
	f.Extra.Write(&format, apiName)
	all.Object("format", format)
	if v := jsonedit.Parse(jsonedit.BytesOf(rest)); v.IsObject() {
		for _, m := range jsonedit.Members(v) {
			all.Raw(m.Key, m.Value.Raw)
		}
	}
	o.Object("text", all)
	return nil
}

// text adds a text that is not empty, numberMember a number, and flag what is true or false.
func text(o *jsonwrite.Object, key, value string) {
	if value != "" {
		o.Text(key, value)
	}
}

func numberMember(o *jsonwrite.Object, key string, value json.Number) {
	if value != "" {
		o.Raw(key, string(value))
	}
}

func flag(o *jsonwrite.Object, key string, value *bool) {
	if value != nil {
		o.Bool(key, *value)
	}
}
