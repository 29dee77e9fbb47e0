package jsonschema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	other "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sotto-llm/sotto/internal/data/jsonschema"
)

func decoded(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return v
}

func compiled(t *testing.T, text string) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.CompileText([]byte(text))
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return s
}

// shown writes the faults as "at a.0: what; …".
func shown(faults []jsonschema.Fault) string {
	var list []string
	for _, f := range faults {
		list = append(list, strings.Join(f.Path, ".")+": "+f.What)
	}
	return strings.Join(list, "; ")
}

// A maker makes schemas and values at random. Both are of few names and numbers, so
// that values often fit.
type maker struct {
	*rand.Rand
	legacy bool // nothing stands beside $ref, since the other implementation heeds some of that
}

func (m maker) of(list ...any) any { return list[m.IntN(len(list))] }

func (m maker) name() string { return m.of("a", "b", "ab", "c").(string) }

func (m maker) value(depth int) any {
	switch n := m.IntN(10); {
	case n < 2 && depth > 0:
		var list []any
		for range m.IntN(4) {
			list = append(list, m.value(depth-1))
		}
		return append([]any{}, list...)
	case n < 6 && depth > 0:
		o := map[string]any{}
		for range m.IntN(4) {
			o[m.name()] = m.value(depth - 1)
		}
		return o
	}
	return m.of(nil, true, false, json.Number("0"), json.Number("1"), json.Number("1.0"), json.Number("2.5"), json.Number("-3"), json.Number("1e2"), json.Number("9007199254740993"), "", "a", "ab", "日本")
}

func (m maker) schemas(depth int) []any {
	list := []any{m.schema(depth)}
	for range m.IntN(3) {
		list = append(list, m.schema(depth))
	}
	return list
}

func (m maker) members(depth int) map[string]any {
	o := map[string]any{}
	for range 1 + m.IntN(3) {
		o[m.name()] = m.schema(depth)
	}
	return o
}

// schema makes a schema from one to three keywords.
func (m maker) schema(depth int) any {
	if m.IntN(12) == 0 {
		return m.of(true, false)
	}
	o := map[string]any{}
	for range 1 + m.IntN(3) {
		m.keyword(o, depth-1)
	}
	return o
}

func (m maker) keyword(o map[string]any, depth int) {
	number := func() any {
		return m.of(json.Number("0"), json.Number("1"), json.Number("1.5"), json.Number("9007199254740992"))
	}
	count := func() any { return m.of(json.Number("0"), json.Number("1"), json.Number("2"), json.Number("2.0")) }
	plain := []func(){
		func() { o["type"] = m.of("null", "boolean", "object", "array", "number", "string", "integer") },
		func() { o["type"] = []any{"object", m.of("array", "integer", "string", "null")} },
		func() { o["enum"] = []any{m.value(1), "other"} },
		func() { o["const"] = m.value(1) },
		func() { o[m.of("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum").(string)] = number() },
		func() { o["multipleOf"] = m.of(json.Number("0.01"), json.Number("0.5"), json.Number("3")) },
		func() {
			o[m.of("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties").(string)] = count()
		},
		func() { o["pattern"] = m.of("^a", "b$", "^$") },
		func() { o["uniqueItems"] = true },
		func() { o["required"] = []any{m.name()} },
		func() { o["dependentRequired"] = map[string]any{m.name(): []any{m.name()}} },
		func() {
			ref := m.of("#/$defs/one", "#two")
			if o["$ref"] = ref; m.legacy {
				delete(o, "$ref")
				o["allOf"] = []any{map[string]any{"$ref": ref}}
			}
		},
	}
	deep := []func(){
		func() { o["items"] = m.schema(depth) },
		func() { o["prefixItems"] = m.schemas(depth) },
		func() { o["contains"] = m.schema(depth) },
		func() { o["contains"], o["minContains"], o["maxContains"] = m.schema(depth), count(), count() },
		func() { o["properties"] = m.members(depth) },
		func() { o["patternProperties"] = map[string]any{m.of("^a", "b").(string): m.schema(depth)} },
		func() { o["additionalProperties"] = m.schema(depth) },
		func() { o["propertyNames"] = m.schema(depth) },
		func() { o["dependentSchemas"] = m.members(depth) },
		func() { o["dependencies"] = map[string]any{"a": m.schema(depth), "b": []any{m.name()}} },
		func() { o["unevaluatedProperties"] = m.schema(depth) },
		func() { o["unevaluatedItems"] = m.schema(depth) },
		func() { o[m.of("allOf", "anyOf", "oneOf").(string)] = m.schemas(depth) },
		func() { o["not"] = m.schema(depth) },
		func() { o["if"], o["then"], o["else"] = m.schema(depth), m.schema(depth), m.schema(depth) },
	}
	if depth > 0 && m.IntN(3) > 0 {
		deep[m.IntN(len(deep))]()
		return
	}
	plain[m.IntN(len(plain))]()
}

// TestDifferential: whether a value fits a schema is what another implementation
// says, for every draft.
func TestDifferential(t *testing.T) {
	m := maker{Rand: rand.New(rand.NewPCG(11, 12))}
	drafts := []string{"", "https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema", "http://json-schema.org/draft-07/schema#"}
	fits, not := 0, 0
	for range 1200 {
		top := map[string]any{"$defs": map[string]any{
			"one": map[string]any{"type": m.of("string", "integer", "object")},
			"two": map[string]any{"$anchor": "two", "properties": map[string]any{"a": m.of(true, map[string]any{"type": "integer"})}},
		}}
		draft := m.IntN(len(drafts))
		if m.legacy = draft == 3; m.legacy {
			top = map[string]any{"$defs": top["$defs"], "definitions": map[string]any{"x": map[string]any{"$id": "#two", "type": m.of("string", "integer", "array")}}}
		}
		if drafts[draft] != "" {
			top["$schema"] = drafts[draft]
		}
		for range 1 + m.IntN(3) {
			m.keyword(top, 3)
		}
		text, err := json.Marshal(top)
		if err != nil {
			t.Fatal(err)
		}
		own, err := jsonschema.CompileText(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		c := other.NewCompiler()
		doc, err := other.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("x:///s", doc); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		theirs, err := c.Compile("x:///s")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for range 10 {
			v := m.value(3)
			faults, want := own.Check(v), theirs.Validate(v)
			if (faults == nil) != (want == nil) {
				shownValue, _ := json.Marshal(v)
				t.Fatalf("%s\nof %s:\n%v\nwant %v", text, shownValue, shown(faults), want)
			}
			if faults == nil {
				fits++
			} else {
				not++
			}
		}
	}
	if fits < 2000 || not < 2000 {
		t.Errorf("%d values fit, %d do not", fits, not)
	}
}

// TestFaults: where and why a value does not fit, without any text of it.
func TestFaults(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"type":"integer","minimum":1,"multipleOf":0.5},"s":{"type":"string","pattern":"^[a-z]+$","maxLength":3},
		"list":{"type":"array","items":{"enum":["x",1]},"uniqueItems":true,"prefixItems":[true]},"any":{"anyOf":[{"type":"null"},{"type":"integer"}]}},
		"required":["n"],"additionalProperties":false,"dependentRequired":{"s":["list"]}}`
	s := compiled(t, schema)
	for value, want := range map[string]string{
		`{"n":1}`:                          "",
		`{"n":1.0,"any":null}`:             "",
		`[]`:                               ": got array, want object",
		`{}`:                               ": missing property 'n'",
		`{"n":0}`:                          "n: minimum: got 0, want 1",
		`{"n":1.5}`:                        "n: got number, want integer",
		`{"n":1,"s":"SECRET","list":[]}`:   "s: maxLength: got 6, want 3; s: the text does not match the pattern \"^[a-z]+$\"",
		`{"n":1,"s":"a"}`:                  ": missing property 'list', which 's' needs",
		`{"n":1,"list":["SECRET","y"]}`:    `list.1: want one of "x", 1`,
		`{"n":1,"list":["x","x"]}`:         "list: items at 0 and 1 are equal",
		`{"n":1,"list":[[1.0,2],[1,2.0]]}`: `list: items at 0 and 1 are equal; list.1: want one of "x", 1`,
		`{"n":1,"b":1,"a":2}`:              ": additional properties 'a', 'b' not allowed",
		`{"n":1,"any":"SECRET"}`:           "any: fits none of the 2 alternatives of anyOf",
		`{"n":1e-1001}`:                    "n: got number, want integer",
		`{"n":` + strings.Repeat("1", 1001) + `}`: "n: got number, want integer",
	} {
		if got := shown(s.Check(decoded(t, value))); got != want || strings.Contains(got, "SECRET") {
			t.Errorf("%.80s: %s, want %s", value, got, want)
		}
	}
}

// TestRefused: a schema that says something else than it may is refused, with the
// place of the fault.
func TestRefused(t *testing.T) {
	for schema, want := range map[string]string{
		`1`:                   "at the root: want a schema",
		`{`:                   "is not valid JSON",
		`{"type":"objekt"}`:   `at /type: unknown type "objekt"`,
		`{"type":["null",1]}`: "at /type: want a list of different texts",
		`{"properties":{"a/b":{"minLength":-1}}}`: "at /properties/a~1b/minLength: want a whole number",
		`{"minItems":1.5}`:                        "at /minItems: want a whole number",
		`{"minimum":"1"}`:                         "at /minimum: want a number",
		`{"minimum":1e999999999}`:                 "at /minimum: want a number of at most 1000 digits",
		`{"multipleOf":0}`:                        "at /multipleOf: want a number above 0",
		`{"pattern":"("}`:                         "at /pattern: want a regular expression",
		`{"patternProperties":{"(":true}}`:        "at /patternProperties: want a regular expression",
		`{"required":["a","a"]}`:                  "at /required: want a list of different texts",
		`{"enum":1}`:                              "at /enum: want a list",
		`{"allOf":[]}`:                            "at /allOf: want a list of schemas",
		`{"not":1}`:                               "at /not: want a schema",
		`{"properties":[]}`:                       "at /properties: want an object",
		`{"uniqueItems":1}`:                       "at /uniqueItems: want true or false",
		`{"$ref":1}`:                              "at /$ref: want a text",
		`{"$ref":"#/$defs/none"}`:                 "at /$ref: there is nothing at",
		`{"$ref":"#none"}`:                        "at /$ref: there is no anchor",
		`{"$ref":"file:///etc/passwd"}`:           "at /$ref: \"file:///etc/passwd\" is not in the schema",
		`{"$ref":"https://example.com/schema"}`:   "only references within it are followed",
		`{"$schema":"http://json-schema.org/draft-04/schema#"}`:                          "at /$schema: want draft 2020-12",
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":"#"}`: "at /$recursiveRef: this keyword is not supported",
		`{"$defs":{"a":{"$id":"x:a"},"b":{"$id":"x:a"}}}`:                                "at /$defs/b/$id: two parts have this URI",
		`{"a":` + strings.Repeat(`[`, 1001) + strings.Repeat(`]`, 1001) + `}`:            "nests deeper than 1000 levels",
		`{"allOf":[` + strings.Repeat(`{},`, 20_000) + `{}]}`:                            "the schema has more than 20000 parts",
	} {
		if _, err := jsonschema.CompileText([]byte(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", schema, err, want)
		}
	}
}

// TestHostile: a schema that refers to itself, or that multiplies its alternatives,
// ends with a fault. So does a chain that would outgrow the stack.
func TestHostile(t *testing.T) {
	doubling := &strings.Builder{} // each part checks the next one twice
	doubling.WriteString(`{"$ref":"#/$defs/0","$defs":{`)
	for i := range 64 {
		fmt.Fprintf(doubling, `"%d":{"allOf":[{"$ref":"#/$defs/%d"},{"$ref":"#/$defs/%d"}]},`, i, i+1, i+1)
	}
	doubling.WriteString(`"64":{}}}`)
	for _, c := range []struct{ schema, value, want string }{
		{`{"$ref":"#"}`, `1`, "refers to itself without end"},
		{`{"anyOf":[{"not":{"$ref":"#"}},true]}`, `1`, "refers to itself without end"},
		{`{"$dynamicRef":"#a","$dynamicAnchor":"a"}`, `{}`, "refers to itself without end"},
		{doubling.String(), `1`, "takes too long"},
		{`{"properties":{"a":{"$ref":"#"}}}`, strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000), ""},
	} {
		got := shown(compiled(t, c.schema).Check(decoded(t, c.value)))
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%.60s: %s, want %s", c.schema, got, c.want)
		}
	}
	many := compiled(t, `{"items":{"type":"string"}}`).Check(decoded(t, "["+strings.Repeat("1,", 5000)+"1]"))
	if len(many) != 20 {
		t.Errorf("%d faults", len(many))
	}
}
