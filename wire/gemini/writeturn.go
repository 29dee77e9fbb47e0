package gemini

import (
	"net/url"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

// WriteTurn writes a request. The model and whether the reply is streamed belong in its path.
//
// Path implements [turn.API].
func (codec) Path(q *turn.Request) string {
	model := "/v1beta/models/" + url.PathEscape(strings.TrimPrefix(q.Model, "models/"))
	if q.Stream {
		return model + ":" + streamVerb + "?alt=sse"
	}
	return model + ":" + wholeVerb
}

// The API has no place for some things that say nothing about the conversation, and they are left
// out: the name of a schema, whether schemas are strict, because they always bind, the ID of a
// thought, and whether a stream has token counts, because it always has. A refusal is a text.
func (codec) WriteTurn(dst []byte, q *turn.Request) ([]byte, error) {
	q.LeaveOut(apiName, turn.OfStrict)
	w := turnWriter{q: q}
	for _, step := range []func() error{w.messages, w.tools, w.choice, w.config} {
		if err := step(); err != nil {
			return dst, err
		}
	}
	if w.nested {
		w.root.Rest(&q.Extra, apiName, "toolConfig")
	} else {
		w.root.Rest(&q.Extra, apiName)
	}
	return append(dst, w.root.End()...), nil
}

type turnWriter struct {
	q      *turn.Request
	root   turn.Object
	nested bool // toolConfig has what the request's extra has of it
}

func unsupported(what string) error { return &turn.UnsupportedError{What: what, API: apiName} }

// messages writes the conversation. System messages are the system instruction, wherever they stand: the
// API has no other place for them.
func (w *turnWriter) messages() error {
	list := slices.Clone(w.q.Messages)
	for i := range list {
		list[i].Item = list[i].Item && list[i].Extra.API != apiName // its own contents stay as they are
	}
	list = named(turn.Joined(list))
	var system turn.Object
	var extras []*turn.Extra
	var instructions, contents jsonwrite.List
	for i := 0; i < len(list); i++ {
		m := &list[i]
		if m.Name != "" && m.Role != turn.ToolRole {
			return turn.At(unsupported("the name of who wrote a message"), m.Extra.Path)
		}
		if m.Role == turn.System || m.Role == turn.Developer {
			if err := w.parts(&instructions, m); err != nil {
				return err
			}
			extras = append(extras, &m.Extra)
			continue
		}
		// The results of calls that the model made at once are one content.
		for m.Role == turn.ToolRole && i+1 < len(list) && list[i+1].Role == turn.ToolRole && list[i+1].Extra.API != apiName {
			i++
			m.Parts = append(m.Parts[:len(m.Parts):len(m.Parts)], list[i].Parts...)
		}
		if err := w.content(&contents, m); err != nil {
			return err
		}
	}
	if !instructions.Empty() {
		system.Add("parts", string(instructions.End()))
	}
	for _, e := range extras {
		system.Rest(e, apiName)
	}
	if !system.Empty() {
		w.root.Add("systemInstruction", string(system.End()))
	}
	if !contents.Empty() {
		w.root.Add("contents", string(contents.End()))
	}
	return nil
}

// named returns the messages with the names of tools in their results, which other APIs find by the
// ID of the call. IDs are left out where they are: the API does not need them.
func named(list []turn.Message) []turn.Message {
	all := turn.Identified(list)
	for i := range all {
		for j := range all[i].Parts {
			p, was := &all[i].Parts[j], &list[i].Parts[j]
			if p.ID = was.ID; isOwn(p) {
				p.Name = was.Name
			}
		}
	}
	return all
}

func (w *turnWriter) content(to *jsonwrite.List, m *turn.Message) error {
	var o turn.Object
	var parts jsonwrite.List
	if err := w.parts(&parts, m); err != nil {
		return err
	}
	if m.Extra.Member(apiName, "role") == "" {
		role := "user"
		if m.Role == turn.Assistant {
			role = "model"
		}
		o.Text("role", role)
	}
	if !parts.Empty() || m.Extra.Member(apiName, "parts") == "" {
		o.Add("parts", string(parts.End()))
	}
	o.Rest(&m.Extra, apiName)
	to.Raw(string(o.End()))
	return nil
}

func (w *turnWriter) parts(to *jsonwrite.List, m *turn.Message) error {
	parts := turn.Filled(m.Parts, apiName)
	for i := range parts {
		if err := writePart(to, &parts[i]); err != nil {
			return err
		}
	}
	return nil
}

// tools writes the tools. Those that this codec read stand together as they did; all others are one
// element.
func (w *turnWriter) tools() error {
	var order []string
	groups := map[string]*toolGroup{}
	for i := range w.q.Tools {
		t := &w.q.Tools[i]
		key, isFunction := "", true
		if t.Extra.API == apiName {
			key, _, isFunction = strings.Cut(t.Extra.Path, ".")
		}
		g := groups[key]
		if g == nil {
			g = &toolGroup{}
			groups[key], order = g, append(order, key)
		}
		switch {
		case !isFunction:
			g.rest = t.Extra.Whole
		case t.Extra.API == apiName && t.Extra.Whole != "":
			g.functions.Raw(t.Extra.Whole)
		default:
			if err := writeTool(&g.functions, t); err != nil {
				return err
			}
		}
	}
	var list jsonwrite.List
	for _, key := range order {
		list.Raw(groups[key].json())
	}
	if !list.Empty() {
		w.root.Add("tools", string(list.End()))
	}
	return nil
}

// A toolGroup is an element of the tools.
type toolGroup struct {
	functions jsonwrite.List
	rest      string // an object of what else it has, or the whole element
}

func (g *toolGroup) json() string {
	if g.functions.Empty() {
		return g.rest
	}
	var o jsonwrite.Object
	o.List("functionDeclarations", g.functions)
	for _, m := range jsonedit.Members(jsonedit.Parse([]byte(g.rest))) {
		o.Raw(m.Key, m.Value.Raw)
	}
	return string(o.End())
}

func writeTool(to *jsonwrite.List, t *turn.Tool) error {
	switch {
	case t.Free:
		return turn.At(unsupported("a tool whose input is a text"), t.Extra.Path)
	case t.Name == "":
		return turn.At(unsupported("a tool of another API"), t.Extra.Path)
	}
	var o turn.Object
	o.Text("name", t.Name)
	addText(&o, "description", t.Description)
	if t.Schema != "" && !hasSame(&t.Extra, "parameters") {
		o.Raw("parametersJsonSchema", t.Schema)
	}
	o.Rest(&t.Extra, apiName)
	to.Raw(string(o.End()))
	return nil
}

// hasSame reports whether an extra has a member of a name that says the same as the rest.
func hasSame(e *turn.Extra, name string) bool {
	for _, m := range e.Members {
		if e.API == apiName && m.Same && chatjson.Named(m.Key, name) {
			return true
		}
	}
	return false
}

func (w *turnWriter) choice() error {
	if w.q.Parallel != nil && !*w.q.Parallel && len(w.q.Tools) > 0 {
		return &turn.UnsupportedError{What: "a limit of one call at a time", API: apiName, Of: turn.OfParallel}
	}
	c := &w.q.Choice
	var in, config turn.Object
	switch {
	case c.Mode == turn.Required:
		in.Text("mode", modeAny)
	case c.Mode == turn.Auto && len(c.Names) > 0:
		in.Text("mode", modeValidated)
	case c.Mode == turn.Auto:
		in.Text("mode", modeAuto)
	case c.Mode == turn.None:
		in.Text("mode", modeNone)
	}
	if len(c.Names) > 0 {
		in.Add("allowedFunctionNames", string(textList(c.Names).End()))
	}
	in.Rest(&c.Extra, apiName)
	if in.Empty() {
		return nil // what the request's extra has of toolConfig is written with that
	}
	config.Add("functionCallingConfig", string(in.End()))
	w.nested = true
	config.RestIn(&w.q.Extra, apiName, "toolConfig")
	w.root.Add("toolConfig", string(config.End()))
	return nil
}

func (w *turnWriter) config() error {
	q := w.q
	if q.Sampling.Cuts() {
		return &turn.UnsupportedError{What: "min_p", API: apiName, Of: turn.OfMinP}
	}
	var o turn.Object
	for _, n := range []struct{ key, value string }{
		{"temperature", string(q.Sampling.Temperature)},
		{"topP", string(q.Sampling.TopP)},
		{"topK", string(q.Sampling.TopK)},
		{"presencePenalty", string(q.Sampling.PresencePenalty)},
		{"frequencyPenalty", string(q.Sampling.FrequencyPenalty)},
		{"seed", string(q.Sampling.Seed)},
		{"maxOutputTokens", string(q.MaxTokens)},
		{"candidateCount", string(q.Choices)},
	} {
		if n.value != "" {
			o.Raw(n.key, n.value)
		}
	}
	if len(q.Stop) > 0 {
		o.Add("stopSequences", string(textList(q.Stop).End()))
	}
	writeFormat(&o, &q.Format)
	if err := writeThinking(&o, &q.Thinking); err != nil {
		return err
	}
	o.Rest(&q.Format.Extra, apiName)
	if !o.Empty() {
		w.root.Add("generationConfig", string(o.End()))
	}
	return nil
}

func writeFormat(o *turn.Object, f *turn.Format) {
	switch f.Mode {
	case turn.PlainText:
		o.Text("responseMimeType", "text/plain")
	case turn.JSON, turn.Schema:
		o.Text("responseMimeType", "application/json")
	}
	if f.Schema != "" && !hasSame(&f.Extra, "responseSchema") {
		o.Raw("responseJsonSchema", f.Described())
	}
}

// writeThinking writes the switch of thinking. Without includeThoughts the API thinks, but does not
// say what; those of others have no such switch, or another.
func writeThinking(o *turn.Object, t *turn.Thinking) error {
	if t.Extra.API == apiName {
		for _, m := range t.Extra.Members {
			o.Add(m.Key, m.Value)
		}
		return nil
	}
	list, err := switches.Members(apiName, t.Words, t.Setting, 0)
	if err != nil {
		return err
	}
	var in jsonwrite.Object
	for _, m := range jsonedit.Members(jsonedit.Parse(list).Get("generationConfig.thinkingConfig")) {
		in.Raw(m.Key, m.Value.Raw)
	}
	if in.Empty() {
		return nil
	}
	if t.Mode != switches.Off {
		in.Bool("includeThoughts", true)
	}
	o.Add("thinkingConfig", string(in.End()))
	return nil
}
