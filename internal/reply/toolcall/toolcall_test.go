package toolcall

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

const schema = `{"type":"object","$defs":{"size":{"type":"integer"}},"properties":{
	"city":{"type":"string"},"n":{"type":"integer"},"share":{"type":"number"},"on":{"type":"boolean"},
	"list":{"type":"array"},"map":{"type":"object"},"maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},
	"either":{"type":["string","integer"]},"size":{"$ref":"#/$defs/size"},"mode":{"enum":[1,2]},
	"loop":{"$ref":"#/properties/loop"},"capital":{"type":"INTEGER"}}}`

// TestForms has the form of each family, as its models write it.
func TestForms(t *testing.T) {
	for _, test := range []struct{ name, markup, want string }{
		{"hermes", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\":  1.0}}\n</tool_call>", `f {"a":  1.0}`},
		{"parameters", `<tool_call>{"name":"f","parameters":{"a":1}}</tool_call>`, `f {"a":1}`},
		{"arguments first", `<tool_call>{"arguments":{"a":1},"name":"f"}</tool_call>`, `f {"a":1}`},
		{"arguments in a string", `<tool_call>{"name":"f","arguments":"{\"a\": \"\u00e9\"}"}</tool_call>`, `f {"a": "é"}`},
		{"no arguments", `<tool_call>{"name":"f"}</tool_call>`, `f {}`},
		{"as in the field", `<tool_call>{"type":"function","function":{"name":"f","arguments":{}}}</tool_call>`, `f {}`},
		{"two in a row", "<tool_call>{\"name\":\"f\",\"arguments\":{}}\n{\"name\":\"g\",\"arguments\":{}}</tool_call>", "f {}; g {}"},
		{"list", `<TOOLCALL>[{"name":"f","arguments":{}},{"name":"g","arguments":{}}]</TOOLCALL>`, "f {}; g {}"},
		{"no close", `<tool_call>{"name":"f","arguments":{}}`, "f {}"},
		{"function, JSON", `<function=f>{"a": 1}</function>`, `f {"a": 1}`},
		{"function, parameters", "<tool_call>\n<function=f>\n<parameter=city>\nParis\n</parameter>\n<parameter=n>\n3\n</parameter>\n</function>\n</tool_call>", `f {"city":"Paris","n":3}`},
		{"function, two", "<tool_call><function=f></function><function=g></function></tool_call>", "f {}; g {}"},
		{"function, the close that follows", "<function=f></function>\n</tool_call>", "f {}"},
		{"a text with markers", "<function=f><parameter=city>\na</parameter>b\n\n</parameter></function>", `f {"city":"a</parameter>b\n"}`},
		{"keyed", "<tool_call>f\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n<arg_key>n</arg_key>\n<arg_value>3</arg_value>\n</tool_call>", `f {"city":"Paris","n":3}`},
		{"keyed, nothing", "<tool_call>f</tool_call>", `f {}`},
		{"mistral, list", `[TOOL_CALLS][{"name":"f","arguments":{"a": 1}},{"name":"g","arguments":{}}]`, `f {"a": 1}; g {}`},
		{"mistral, names", `[TOOL_CALLS]f[ARGS]{"a": 1}`, `f {"a": 1}`},
		{"mistral, ids", `[TOOL_CALLS]f[CALL_ID]123456789[ARGS]{"a": 1}[TOOL_CALLS]g[ARGS]{}`, `f {"a": 1}; g {}`},
		{"pythonic", `<|python_tag|>[f(city="Paris", n=3), g()]`, `f {"city":"Paris","n":3}; g {}`},
		{"pythonic, one", `<|python_tag|>weather.get(on=True, list=[1, 'a', None,], map={"k": (1,)})<|eom_id|>`, `weather.get {"on":true,"list":[1,"a",null],"map":{"k":[1]}}`},
		{"pythonic, JSON", `<|python_tag|>{"name": "f", "parameters": {"a": "1"}}`, `f {"a": "1"}`},
		{"pythonic, JSON, the end of the message", `<|python_tag|>{"name": "f", "parameters": {"a": "1"}}; {"name": "g", "parameters": {}}<|eom_id|>`, `f {"a": "1"}; g {}`},
		{"llama 4", `<|python_start|>[f(city="Paris"), g()]<|python_end|><|eot_id|>`, `f {"city":"Paris"}; g {}`},
		{"lfm2", `<|tool_call_start|>[f(a='it\'s "x"', b="\u00e9\n", c=-1.5e3, d=1_000, e=.5)]<|tool_call_end|>`, `f {"a":"it's \"x\"","b":"é\n","c":-1.5e3,"d":1000,"e":0.5}`},
		{"deepseek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": 1}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", `f {"a": 1}; g {}`},
		{"deepseek 3.1", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", `f {"a": 1}`},
		{"deepseek 3.2", "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"city\" string=\"true\">3</｜DSML｜parameter>\n<｜DSML｜parameter name=\"x\" string=\"false\">[1, 2]</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>", `f {"city":"3","x":[1, 2]}`},
		{"kimi", `<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|><|tool_calls_section_end|>`, `f {"a": 1}`},
		{"minimax", "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"city\">Paris</parameter>\n<parameter name=\"n\">3</parameter>\n</invoke>\n</minimax:tool_call>", `f {"city":"Paris","n":3}`},
		{"seed", "<seed:tool_call>\n<function=f>\n<parameter=n>3</parameter>\n</function>\n</seed:tool_call>", `f {"n":3}`},
		{"command", `<|START_ACTION|>[{"tool_call_id":"0","tool_name":"f","parameters":{"a": 1}}]<|END_ACTION|>`, `f {"a": 1}`},
		{"harmony", `<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>`, `f {"a": 1}`},
		{"harmony, the role", `<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{"a": 1}`, `f {"a": 1}`},
	} {
		if got := calls(test.markup); got != test.want {
			t.Errorf("%s: %s: got %q, want %q", test.name, test.markup, got, test.want)
		}
	}
}

// TestNoCalls has markup that is not understood: it is text.
func TestNoCalls(t *testing.T) {
	for _, markup := range []string{
		"", "<tool_call>", "<tool_call></tool_call>", "<tool_call>{}</tool_call>", `<tool_call>{"name":"f","arguments":[]}</tool_call>`,
		`<tool_call>{"name":"f","arguments":{}} and more</tool_call>`, `<tool_call>{"name":"f","arguments":{"a":}}</tool_call>`,
		`<tool_call>{"name":"f","name":"g","arguments":{}}</tool_call>`, `<tool_call>{"name":"f","arguments":{},"parameters":{}}</tool_call>`,
		`<tool_call>{"name":"f g","arguments":{}}</tool_call>`, `{"name":"f","arguments":{}}`,
		"<function=f><parameter=a>1</function>", "<function=f><parameter=a>1</parameter><parameter=a>2</parameter></function>", "<function=f>x</function>",
		`[TOOL_CALLS]f{}`, `[TOOL_CALLS]f[ARGS]`, `<|python_tag|>f(1)`, `<|python_tag|>f(a=b)`, `<|python_tag|>f(a=1`, `<|python_tag|>f(a=1, a=2)`, `<|python_tag|>print("x") + 1`,
		`<|channel|>commentary to=python<|message|>{}<|call|>`, `<|channel|>commentary<|message|>{}`,
		"<function=f><parameter=n>three</parameter></function>", "<function=f><parameter=n>1.5</parameter></function>", "<function=f><parameter=on>yes</parameter></function>",
		"<function=f><parameter=list>{}</parameter></function>", "<function=f><parameter=n></parameter></function>",
	} {
		if got := calls(markup); got != "" {
			t.Errorf("%s: got %s, want no calls", markup, got)
		}
	}
}

// TestTypes converts a text by the schema of its parameter.
func TestTypes(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"city", "3", `"3"`}, {"city", `"x"`, `"\"x\""`}, {"city", "null", `"null"`}, {"city", "é\x01", `"é\u0001"`}, {"unknown", "3", `"3"`},
		{"n", "3", "3"}, {"n", " 3\n", "3"}, {"share", "3", "3"}, {"share", "0.50", "0.50"}, {"on", "true", "true"}, {"on", "True", "true"},
		{"list", "[1, 2]", "[1, 2]"}, {"list", "['a', True]", `["a",true]`}, {"map", `{"a": 1}`, `{"a": 1}`}, {"maybe", "null", "null"}, {"maybe", "None", "null"}, {"maybe", "1", "1"},
		{"either", "1", "1"}, {"either", "one", `"one"`}, {"size", "3", "3"}, {"mode", "2", "2"}, {"loop", "3", `"3"`}, {"capital", "3", "3"},
	} {
		c := Call{Params: []Param{{Name: test.name, Text: test.text}}}
		got, ok := NewTool(schema).Arguments(c)
		if want := `{"` + test.name + `":` + test.want + `}`; !ok || string(got) != want {
			t.Errorf("%s=%q: got %s, %v, want %s", test.name, test.text, got, ok, want)
		}
	}
}

// calls is what Parse reads, with the arguments by the schema, or "" if it is not calls.
func calls(markup string) string {
	all, ok := Parse(markup)
	if !ok {
		return ""
	}
	var parts []string
	tool := NewTool(schema)
	for _, c := range all {
		args, ok := tool.Arguments(c)
		if !ok {
			return ""
		}
		parts = append(parts, c.Name+" "+string(args))
	}
	return strings.Join(parts, "; ")
}

// canonical writes a call in each form with a close, as a model would.
var canonical = []func(name, args string) string{
	func(name, args string) string {
		return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + args + "}\n</tool_call>"
	},
	func(name, args string) string { return "<function=" + name + ">" + args + "</function>" },
	func(name, args string) string {
		return "<|channel|>commentary to=functions." + name + " <|constrain|>json<|message|>" + args + "<|call|>"
	},
	func(name, args string) string {
		return "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>" + name + "<｜tool▁sep｜>" + args + "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
	},
	func(name, args string) string {
		return "<|tool_calls_section_begin|><|tool_call_begin|>functions." + name + ":0<|tool_call_argument_begin|>" + args + "<|tool_call_end|><|tool_calls_section_end|>"
	},
}

// TestRoundTrip writes random calls in each form. They are read with their arguments
// byte for byte, and nothing less than the whole markup is closed, or complete with its
// close missing and something of the arguments too.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 * effort.Times() {
		name, args := "f"+strings.Repeat("_x", r.IntN(3)), randomJSON(r, 0)
		for i, write := range canonical {
			markup := write(name, args)
			all, ok := Parse(markup)
			if !ok || len(all) != 1 || all[0].Name != name || string(all[0].JSON) != args {
				t.Fatalf("form %d: %s: got %v, %v", i, markup, all, ok)
			}
			for cut := range len(markup) {
				if Closed([]byte(markup[:cut])) {
					t.Fatalf("form %d: %q is closed before its end", i, markup[:cut])
				}
				if all, ok := Parse(markup[:cut]); ok && string(all[0].JSON) != args {
					t.Fatalf("form %d: %q: half a call was read: %s", i, markup[:cut], all[0].JSON)
				}
			}
			if !Closed([]byte(markup)) {
				t.Fatalf("form %d: %s is not closed", i, markup)
			}
		}
	}
}

// randomJSON is an object, written with spaces here and there.
func randomJSON(r *rand.Rand, depth int) string {
	var b strings.Builder
	b.WriteString("{")
	for i := range r.IntN(4) {
		if i > 0 {
			b.WriteString([]string{",", ", ", " ,\n"}[r.IntN(3)])
		}
		b.WriteString(`"` + string(rune('a'+i)) + `":` + []string{"", " "}[r.IntN(2)])
		if kind := r.IntN(6); kind == 0 && depth < 3 {
			b.WriteString(randomJSON(r, depth+1))
		} else {
			b.WriteString([]string{"1.0", `"\u00e9 é \" </tool"`, "[1, 2]", "null", "-0", `"{"`}[kind])
		}
	}
	b.WriteString("}")
	return b.String()
}

// TestBounds has markup that is too much.
func TestBounds(t *testing.T) {
	for name, markup := range map[string]string{
		"size":           `<tool_call>{"name":"f","arguments":{"a":"` + strings.Repeat("x", MaxMarkup) + `"}}</tool_call>`,
		"depth":          `<tool_call>{"name":"f","arguments":{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}</tool_call>`,
		"depth, Python":  `<|python_tag|>f(a=` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `)`,
		"calls":          "<tool_call>" + strings.Repeat("<function=f></function>", MaxCalls+1) + "</tool_call>",
		"calls, list":    "<tool_call>[" + strings.TrimSuffix(strings.Repeat(`{"name":"f"},`, MaxCalls+1), ",") + "]</tool_call>",
		"the name":       "<function=" + strings.Repeat("f", maxName+1) + "></function>",
		"a control name": "<function=f\x00></function>",
	} {
		if all, ok := Parse(markup); ok {
			t.Errorf("%s: %d calls were read", name, len(all))
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, write := range canonical {
		f.Add(write("f", `{"city": "Paris"}`))
	}
	for _, markup := range []string{`<|python_tag|>[f(a='b', n=[1, {"k": None}])]`, "<tool_call>f<arg_key>n</arg_key><arg_value>3</arg_value></tool_call>",
		"<function=f><parameter=n>3</parameter></function>", `[TOOL_CALLS]f[ARGS]{}`} {
		f.Add(markup)
	}
	f.Fuzz(func(t *testing.T, markup string) {
		Closed([]byte(markup))
		all, ok := Parse(markup)
		if ok != (len(all) > 0) {
			t.Fatalf("ok is %v with %d calls", ok, len(all))
		}
		for _, c := range all {
			args, ok := NewTool(schema).Arguments(c)
			if ok && (!json.Valid(args) || bytes.TrimLeft(args, " ")[0] != '{') {
				t.Fatalf("%q: not an object: %s", markup, args)
			}
		}
	})
}
