package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonschema"
)

// A toolbox holds the tools of a turn, ready to be called.
type toolbox struct {
	list    []Tool
	names   []string
	schemas map[string]*jsonschema.Schema
}

func newToolbox(list []Tool) (*toolbox, error) {
	b := &toolbox{list: list, schemas: map[string]*jsonschema.Schema{}}
	for _, t := range list {
		spec := t.Spec()
		if !toolName.MatchString(spec.Name) {
			return nil, fmt.Errorf("tool %q: want a name of 1 to 64 letters, digits, _ or -", spec.Name)
		}
		if slices.Contains(b.names, spec.Name) {
			return nil, fmt.Errorf("tool %q: two tools have this name", spec.Name)
		}
		schema, err := compileSchema(spec.Schema)
		if err != nil {
			return nil, fmt.Errorf("tool %q: its schema: %w", spec.Name, err)
		}
		b.names = append(b.names, spec.Name)
		b.schemas[spec.Name] = schema
	}
	return b, nil
}

func (b *toolbox) named(name string) Tool {
	if i := slices.Index(b.names, name); i >= 0 {
		return b.list[i]
	}
	return nil
}

// compileSchema compiles the schema of a tool's arguments.
func compileSchema(text []byte) (*jsonschema.Schema, error) {
	var top struct{ Type any }
	if json.Unmarshal(text, &top) != nil || top.Type != "object" {
		return nil, errors.New(`want a JSON Schema with "type": "object"`)
	}
	return jsonschema.CompileText(text)
}

// readArguments returns a call's arguments as a JSON object that fits the schema,
// or an error that tells the model what is wrong. The error quotes no reasoning
// from the arguments.
func readArguments(g *sotto.Grammar, schema *jsonschema.Schema, text string, limit int) (map[string]any, error) {
	if len(text) > limit {
		return nil, fmt.Errorf("the arguments have %d bytes: the limit is %d", len(text), limit)
	}
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	if err := foreignjson.Check([]byte(text)); foreignjson.OverLimit(err) {
		return nil, fmt.Errorf("the arguments are refused: the JSON %w", err)
	}
	v, err := decodeArguments(text)
	if err != nil {
		return nil, err
	}
	if schema.Check(v) != nil {
		faults := schema.Check(cleanAll(g, v))
		if faults == nil {
			return nil, errors.New("the arguments contain reasoning, and do not match the schema with it")
		}
		return nil, errors.New(strings.Join(complaints(faults), "; "))
	}
	return v.(map[string]any), nil
}

// decodeArguments reads a JSON object. Nothing may follow it.
func decodeArguments(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		var syntax *json.SyntaxError
		switch {
		case errors.As(err, &syntax):
			return nil, fmt.Errorf("the arguments are not valid JSON: syntax error at byte %d of %d", syntax.Offset, len(text))
		case errors.Is(err, io.ErrUnexpectedEOF):
			return nil, fmt.Errorf("the arguments are not valid JSON: they end at byte %d, inside a value", len(text))
		}
		return nil, errors.New("the arguments are not valid JSON")
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, errors.New("the arguments are not a JSON object: want {\"name\": value, …}")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more text after the arguments, at byte %d", d.InputOffset())
	}
	return v, nil
}

// complaints lists what does not fit, by place; at most five.
func complaints(faults []jsonschema.Fault) []string {
	var list []string
	for _, f := range faults[:min(len(faults), 5)] {
		where := "the arguments"
		if len(f.Path) > 0 {
			where = strings.Join(f.Path, ".")
		}
		list = append(list, where+": "+f.What)
	}
	return list
}

// clean takes reasoning out of the prose among arguments. It reports whether it
// found any.
func clean(g *sotto.Grammar, arguments map[string]any, prose []string) bool {
	changed := false
	for _, name := range prose {
		if s, ok := arguments[name].(string); ok {
			if t := remembered(g, s); t != s {
				arguments[name], changed = t, true
			}
		}
	}
	return changed
}

// cleanAll takes reasoning out of every text in a JSON value.
func cleanAll(g *sotto.Grammar, v any) any {
	return eachText(v, func(text string) string { return remembered(g, text) })
}

// eachText changes every text in a JSON value, also the names of members.
func eachText(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			v[i] = eachText(v[i], change)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, x := range v {
			out[change(name)] = eachText(x, change)
		}
		return out
	}
	return v
}

// remembered returns a text without its reasoning: the part that may be kept or
// delivered. A text that cannot be cleaned is withheld.
func remembered(g *sotto.Grammar, text string) string {
	s, err := g.Strip(text, sotto.BeginAuto)
	if err != nil {
		return ""
	}
	return s
}

// encode writes a JSON value on one line, without escaping HTML in its texts.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("agent: %v as JSON: %v", v, err)) // it holds only texts, numbers and lists
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
