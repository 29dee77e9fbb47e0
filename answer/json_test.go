package answer

import (
	"encoding/json"
	"strings"
	"testing"
)

// lastFound returns the text of the last span that a task finds, or "" if there is
// none.
func lastFound(task Task, text string, p Problem) string {
	found := task.Form().Find(text, p)
	if len(found) == 0 {
		return ""
	}
	last := found[len(found)-1]
	return text[last.Start:last.End]
}

func TestJSONFind(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"a": 1}`, `{"a": 1}`},
		{`Example {"a": 0}, and mine: {"a": 1}.`, `{"a": 1}`},
		{"```json\n{\"a\": 1}\n```\nThat is it.", `{"a": 1}`},
		{"```\n[1, 2]\n```", `[1, 2]`},
		{"```json\n{\"a\": 1,}\n```", `{"a": 1,}`},
		{"```json\n{\"a\": 1}\n", `{"a": 1}`},
		{"```python\nd = {\"a\": 1}\n```", ``},
		{"{\"a\": 0}\n```python\nd = {\"a\": 1}\n```", `{"a": 0}`},
		{"```json\n{\"a\": 0}\n```\nor\n{\"a\": 1}", `{"a": 1}`},
		{`{"a": {"b": 1}, oops}`, `{"a": {"b": 1}, oops}`},
		{`{"a": 1`, `{"a": 1`},
		{`{"a": "\sqrt{2}"}`, `{"a": "\sqrt{2}"}`},
		{"[1, 2, 3]", "[1, 2, 3]"},
		{"Answer: [1, 2]", "[1, 2]"},
		{"as in [1] and [2]", ""},
		{"[1] A book.", ""},
		{`\text{} and x^{2} and \frac{1}{2}`, ""},
		{"if (x) {return 1}", ""},
		{"no value", ""},
		{" 42\n", "42"},
		{"", ""},
	} {
		if got := lastFound(JSON, c.text, Problem{}); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

const schemaOfItems = `{
	"type": "object",
	"properties": {
		"items": {"type": "array", "minItems": 1, "prefixItems": [{"type": "string"}], "items": {"$ref": "#/$defs/price"}},
		"kind": {"enum": ["a", "b"]}, "one": {"const": 1}, "code": {"type": "string", "pattern": "^[A-Z]+$", "maxLength": 3},
		"any": {"anyOf": [{"type": "null"}, {"type": "integer"}]}, "not": {"not": {"type": "string"}}
	},
	"required": ["items"],
	"additionalProperties": false,
	"$defs": {"price": {"type": "number", "minimum": 0, "multipleOf": 0.01}}
}`

func TestJSONSchema(t *testing.T) {
	for _, c := range []struct {
		value  string
		want   Reason
		detail string
	}{
		{`{"items": ["x", 1, 2.25]}`, ReasonOK, ""},
		{`{"items": ["x"], "kind": "a", "one": 1.0, "code": "AB", "any": null, "not": 1}`, ReasonOK, ""},
		{`{"items": ["x", -1]}`, NotSchema, "at /items/1: minimum"},
		{`{"items": [1]}`, NotSchema, "at /items/0: got number, want string"},
		{`{"items": []}`, NotSchema, "at /items: minItems"},
		{`{"items": ["x"], "more": 1}`, NotSchema, "at the root: additional"},
		{`{}`, NotSchema, "at the root: missing property 'items'"},
		{`{"items": ["x"], "kind": "c"}`, NotSchema, "at /kind: "},
		{`{"items": ["x"], "code": "ab"}`, NotSchema, "at /code: "},
		{`{"items": ["x"], "any": "x"}`, NotSchema, "at /any: "},
		{`[1]`, NotSchema, "at the root: got array"},
		{`{"items": ["x",]}`, NotJSON, "at byte 15: want a value"},
		{`{"items": ["x"`, NotJSON, "at byte 14: the text ends too early"},
		{`{'items': 1}`, NotJSON, "at byte 1: want a key in double quotes"},
		{`{"items": 1} 2`, NotJSON, "at byte 13: there is text after"},
		{`{"items": "\sqrt"}`, NotJSON, "at byte 11: an escape"},
		{`{"items": ["x", 1e999999999]}`, TooLarge, "at byte 16: a number too long"},
		{strings.Repeat("[", 1e5), TooLarge, "at byte 1000: nested too deep"},
		{"", Empty, ""},
	} {
		v := JSONStrict.Validate(JSONStrict.Normalise(c.value), Problem{Schema: []byte(schemaOfItems)})
		if v.Reason != c.want || v.OK != (c.want == ReasonOK) || !strings.HasPrefix(v.Detail, c.detail) {
			t.Errorf("%.60q: %+v, want %s %s", c.value, v, c.want, c.detail)
		}
	}
}

func TestBadSchemas(t *testing.T) {
	for _, schema := range []string{
		`{"type": "objekt"}`, `{`, `{"$ref": "file:///etc/passwd"}`, `{"$ref": "https://example.com/schema"}`,
		`{"$ref": "#/$defs/none"}`, `{"pattern": "("}`, `{"minimum": 1e999999999}`,
	} {
		if _, err := compileSchema(schema); err == nil {
			t.Errorf("%s passes", schema)
		}
		v := JSON.Validate("{}", Problem{Schema: []byte(schema)})
		if v.OK || v.Reason != BadGold || !strings.HasPrefix(v.Detail, "the schema: ") {
			t.Errorf("%s: %+v", schema, v)
		}
	}
	if v := JSON.Validate("1", Problem{Schema: []byte(`{"$ref": "#"}`)}); v.OK {
		t.Errorf("a schema that refers to itself: %+v", v)
	}
	if _, err := compileSchema(schemaOfItems); err != nil {
		t.Error(err)
	}
}

func TestJSONGold(t *testing.T) {
	for _, c := range []struct {
		value, gold string
		want        Verdict
	}{
		{`{"a": 1}`, `{"a": 1}`, Verdict{OK: true, Reason: ReasonOK, By: byString}},
		{`{"b": [1.0, null], "a": "x"}`, `{"a":"x","b":[1,null]}`, Verdict{OK: true, Reason: ReasonOK, By: byElement}},
		{`{"a": 1}`, `{"a": 1, "b": 2}`, Verdict{Reason: Different, By: byNone}},
		{`[1, 2]`, `[2, 1]`, Verdict{Reason: Different, By: byNone}},
		{`"1"`, `1`, Verdict{Reason: Different, By: byNone}},
		{`1`, `{`, Verdict{Reason: BadGold, Detail: "{"}},
		{`1`, ``, Verdict{OK: true, Reason: ReasonOK}},
		{"```json\n[1]\n```", "[1]", Verdict{OK: true, Reason: ReasonOK, By: byString}},
	} {
		if v := JSON.Validate(JSON.Normalise(c.value), Problem{Gold: c.gold}); v != c.want {
			t.Errorf("%q against %q: %+v, want %+v", c.value, c.gold, v, c.want)
		}
	}
}

func TestJSONAnswer(t *testing.T) {
	for _, c := range []struct{ text, found, want string }{
		{`{"answer": "Paris"}`, `"Paris"`, `Paris`},
		{`{"thought": "the \"answer\": no", "answer": 42}`, `42`, `42`},
		{`First {"answer": 1}. Then {"x": 2}. Last {"answer": 3} so`, `3`, `3`},
		{`{"answer": "\frac{1}{2}"}`, `"\frac{1}{2}"`, `\frac{1}{2}`},
		{`{"answer": "\\frac{1}{2}"}`, `"\\frac{1}{2}"`, `\frac{1}{2}`},
		{`{"answer": "\sqrt{2} \times \beta"}`, `"\sqrt{2} \times \beta"`, `\sqrt{2} \times \beta`},
		{`{"answer": "one\ntwo"}`, `"one\ntwo"`, "one\ntwo"},
		{`{"answer": "\u00e9\"x\""}`, `"\u00e9\"x\""`, `é"x"`},
		{`{"answer": {"a": [1]}, "b": 1}`, `{"a": [1]}`, `{"a": [1]}`},
		{`{"answer": "no end`, `"no end`, `no end`},
		{`{"answer":`, ``, ``},
		{`{"Answer": 1}`, `1`, `1`},
		{`{"final_answer": 2, "answer": "because"}`, `2`, `2`},
		{`{'answer': 'x'}`, `'x'`, `x`},
		{`{"answers": 1}`, ``, ``},
	} {
		found := lastFound(JSONAnswer, c.text, Problem{})
		if got := JSONAnswer.Normalise(found); found != c.found || got != c.want {
			t.Errorf("%q: %q, %q; want %q, %q", c.text, found, got, c.found, c.want)
		}
	}
	for _, c := range []struct{ candidate, gold, by string }{
		{`\frac{1}{2}`, `0.5`, byRational}, {`Paris`, `"Paris"`, byString}, {`{"answer": "\frac12"}`, `\frac{1}{2}`, byString}, {"3", "4", byNone},
	} {
		if v := JSONAnswer.Validate(JSONAnswer.Normalise(c.candidate), Problem{Gold: c.gold}); v.By != c.by {
			t.Errorf("%q against %q: %+v", c.candidate, c.gold, v)
		}
	}
}

func FuzzCheckJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e3,true,null,"\u00e9\n"]}`, `[`, `01`, `{"a":1,}`, ` 1 `, "\"\x01\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		bad := checkJSON(s)
		if bad != nil && bad.large() {
			return
		}
		if valid := json.Valid([]byte(s)); valid != (bad == nil) {
			t.Errorf("%q: %+v, encoding/json says %v", s, bad, valid)
		}
	})
}
