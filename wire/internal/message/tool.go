package message

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire/turn"
)

// ReadTools reads the tools of a request: {"type": "function", "function": {…}}, and others whole.
func ReadTools(list gjson.Result, api string) []turn.Tool {
	tools := []turn.Tool{}
	for i, v := range list.Array() {
		tools = append(tools, readTool(v, api, "tools["+strconv.Itoa(i)+"]"))
	}
	return tools
}

func readTool(v gjson.Result, api, path string) turn.Tool {
	f := turn.FieldsOf(v)
	kind := f.Text("type")
	if kind == "" && v.Get("function").IsObject() { // some clients leave it out
		kind = "function"
	}
	in := turn.FieldsOf(f.Peek(kind))
	t := turn.Tool{Name: in.Text("name"), Description: in.Text("description"), Free: kind == "custom"}
	if kind != "function" && kind != "custom" || t.Name == "" {
		return turn.Tool{Extra: turn.Extra{API: api, Path: path, Whole: v.Raw}}
	}
	if t.Free {
		readGrammar(&t, in)
	}
	if kind == "function" {
		if p := in.Peek("parameters"); p.IsObject() {
			t.Schema = in.Take("parameters").Raw
		}
		t.Strict = in.Bool("strict")
	}
	f.Take(kind)
	t.Extra = Nested(f, in, kind, v, api, path)
	for i := range t.Extra.Members {
		m := &t.Extra.Members[i]
		m.Same = m.Key == "custom.format" && isText([]byte(m.Value)) // as a tool without a format
	}
	return t
}

// NoCalls marks a list of calls that has none: some clients write it, and it says nothing.
func NoCalls(e *turn.Extra) {
	for i := range e.Members {
		if m := &e.Members[i]; m.Key == "tool_calls" && m.Value == "[]" {
			m.Aside, m.Same = true, true
		}
	}
}

// isText reports whether the format of a free-form tool says that any text is one.
func isText(format []byte) bool {
	v := jsonedit.Parse(format)
	return v.Get("type").Str == "text" && turn.HasOnly(v, "type")
}

// readGrammar reads what the text for a free-form tool must fit.
func readGrammar(t *turn.Tool, in *turn.Fields) {
	v := in.Peek("format")
	g := turn.FieldsOf(v.Get("grammar"))
	syntax, grammar := g.Text("syntax"), g.Text("definition")
	if v.Get("type").Str == "grammar" && turn.HasOnly(v, "type", "grammar") && turn.HasOnly(v.Get("grammar"), "syntax", "definition") && syntax != "" && grammar != "" {
		in.Take("format")
		t.Syntax, t.Grammar = syntax, grammar
	}
}

// Nested returns the extra of an object that has an object in its member of a name. If that has
// members left, the extra is the whole, and names them.
func Nested(outer, inner *turn.Fields, name string, whole gjson.Result, api, path string, aside ...string) turn.Extra {
	e := outer.Rest(api, path, aside...)
	for _, m := range inner.Rest(api, path, aside...).Members {
		e.Whole = whole.Raw
		m.Key = name + "." + m.Key
		e.Members = append(e.Members, m)
	}
	return e
}

// WriteTools writes the tools of a request. schema is that of a tool without one.
func WriteTools(tools []turn.Tool, api string) (jsonwrite.List, error) {
	var list jsonwrite.List
	for i := range tools {
		t := &tools[i]
		if t.Extra.API == api && t.Extra.Whole != "" {
			list.Raw(t.Extra.Whole)
			continue
		}
		kind := "function"
		var in, o jsonwrite.Object
		in.Text("name", t.Name)
		if t.Description != "" {
			in.Text("description", t.Description)
		}
		switch {
		case t.Free:
			kind = "custom"
			if t.Grammar != "" {
				var format, grammar jsonwrite.Object
				grammar.Text("syntax", t.Syntax)
				grammar.Text("definition", t.Grammar)
				format.Text("type", "grammar")
				format.Object("grammar", grammar)
				in.Object("format", format)
			}
		case t.Schema != "":
			in.Raw("parameters", t.Schema)
		}
		if t.Strict != nil && !t.Free {
			in.Bool("strict", *t.Strict)
		}
		if !t.Extra.Has(api, "type") {
			o.Text("type", kind)
		}
		o.Object(kind, in)
		t.Extra.Write(&o, api)
		list.Object(o)
	}
	return list, nil
}
