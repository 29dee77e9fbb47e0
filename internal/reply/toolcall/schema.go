package toolcall

import (
	"strings"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// A Tool is one that a request declares.
type Tool struct {
	schema string
	root   map[string]string // its members; nil until they are needed
	kinds  map[string]map[string]bool
	props  map[string]string
}

// NewTool returns a tool whose arguments have a JSON schema. It may be empty.
func NewTool(schema string) *Tool { return &Tool{schema: schema} }

// Arguments returns the arguments of a call as a JSON object. JSON stays byte for byte.
// Arguments that are text are converted by the tool's JSON schema: a string stays a
// string, and what is to be a number, a boolean, a list or an object must be one. ok is
// false if a text does not fit. A parameter whose type the schema does not say is a
// string.
func (t *Tool) Arguments(c Call) (args []byte, ok bool) {
	if c.JSON != nil {
		return c.JSON, true
	}
	args = []byte{'{'}
	for i, p := range c.Params {
		args = jsontext.AppendComma(args, i)
		args = append(jsontext.AppendVerbatim(args, p.Name), ':')
		if args, ok = p.appendValue(args, t.kindsOf(p.Name)); !ok {
			return nil, false
		}
	}
	return append(args, '}'), true
}

// kindsOf returns the kinds that a parameter may have. The schema is read once, because a
// reply may have many calls.
func (t *Tool) kindsOf(name string) map[string]bool {
	if t.kinds == nil {
		t.root = schemaOf(t.schema)
		t.props = schemaOf(t.root["properties"])
		t.kinds = map[string]map[string]bool{}
	}
	schema, ok := t.props[name]
	if !ok {
		return nil
	}
	kinds := t.kinds[name]
	if kinds == nil {
		k := &collector{root: t.root, kinds: map[string]bool{}, left: maxSchemas}
		k.collect(schema, 0)
		kinds, t.kinds[name] = k.kinds, k.kinds
	}
	return kinds
}

// appendValue appends the value of a parameter as one of some kinds.
func (p *Param) appendValue(dst []byte, kinds map[string]bool) ([]byte, bool) {
	v, isJSON := literalOf(p.Text)
	switch {
	case p.JSON:
		return append(dst, v...), isJSON
	case p.String:
		return jsontext.AppendVerbatim(dst, p.Text), true
	case isJSON && kindOf(v) != "string" && (kinds[kindOf(v)] || kindOf(v) == "integer" && kinds["number"]):
		return append(dst, v...), true
	case kinds["string"], len(kinds) == 0: // one in quotes is a string with quotes
		return jsontext.AppendVerbatim(dst, p.Text), true
	}
	return dst, false
}

// literalOf returns a text as JSON, if it is JSON or a literal of Python.
func literalOf(text string) (v string, ok bool) {
	text = strings.Trim(text, white)
	if _, fault := limits.Whole([]byte(text)); fault == "" {
		return text, true
	}
	py := &python{s: text}
	if !py.literal() {
		return "", false
	}
	py.space()
	return string(py.dst), py.s == ""
}

// kindOf returns the kind of a JSON value as schemas name it.
func kindOf(v string) string {
	switch v[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if strings.ContainsAny(v, ".eE") {
		return "number"
	}
	return "integer"
}

// Bounds of a schema: bytes, depth, and schemas that are read for one parameter, because
// references may lead in circles.
const (
	maxSchema      = 256 << 10
	maxSchemaDepth = 8
	maxSchemas     = 64
)

// schemaOf reads the members of a schema. It is empty for what is not an object.
func schemaOf(v string) map[string]string {
	v = strings.Trim(v, white)
	if len(v) > maxSchema || v == "" || v[0] != '{' {
		return nil
	}
	if _, fault := limits.Whole([]byte(v)); fault != "" {
		return nil
	}
	all, _ := members(v)
	m := make(map[string]string, len(all))
	for _, e := range all {
		m[e.key] = e.value
	}
	return m
}

// A collector collects the kinds that a schema allows.
type collector struct {
	root  map[string]string
	kinds map[string]bool
	left  int
}

// collect adds the kinds of a schema. Alternatives are joined.
func (k *collector) collect(schema string, depth int) {
	if k.left--; k.left < 0 || depth == maxSchemaDepth {
		return
	}
	m := schemaOf(schema)
	if ref := m["$ref"]; ref != "" {
		k.collect(resolve(text(ref), k.root), depth+1)
	}
	if v := m["type"]; v != "" {
		types, listed := members(v)
		if !listed {
			types = []member{{value: v}}
		}
		for _, t := range types {
			if kind := kindNamed(text(t.value)); kind != "" {
				k.kinds[kind] = true
			}
		}
	} else if values, _ := members(m["enum"]); len(values) > 0 {
		for _, e := range values {
			k.kinds[kindOf(e.value)] = true
		}
	} else if v := m["const"]; v != "" {
		k.kinds[kindOf(v)] = true
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		all, _ := members(m[key])
		for _, e := range all {
			k.collect(e.value, depth+1)
		}
	}
	if m["nullable"] == "true" { // OpenAPI's
		k.kinds["null"] = true
	}
}

// kinds are the kinds by the names of types. Some tools have those of a programming
// language.
var kinds = map[string]string{
	"string": "string", "str": "string", "text": "string",
	"integer": "integer", "int": "integer", "long": "integer",
	"number": "number", "float": "number", "double": "number",
	"boolean": "boolean", "bool": "boolean",
	"array": "array", "list": "array",
	"object": "object", "dict": "object", "map": "object",
	"null": "null", "none": "null",
}

// kindNamed returns the kind of a type. Some APIs write its name in capitals.
func kindNamed(name string) string { return kinds[strings.ToLower(name)] }

// resolve returns the part of the schema that a reference of the form #/$defs/NAME names.
func resolve(ref string, root map[string]string) string {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return ""
	}
	steps := strings.Split(path, "/")
	v := root[steps[0]]
	for _, step := range steps[1:min(len(steps), maxSchemaDepth)] {
		v = schemaOf(v)[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return v
}
