package dialectfile

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/dialect"
)

func TestParse(t *testing.T) {
	const one = `{"name": "x", "markers": [{"role": "reasoning", "tag": "think"}]}`
	for _, tc := range []struct {
		file  string
		names []string
	}{
		{one, []string{"x"}},
		{"\ufeff" + one, []string{"x"}},
		{"[" + one + "]", []string{"x"}},
		{`{"v": 1, ` + one[1:], []string{"x"}},
		{`{"v": 1, "dialects": [` + one + `]}`, []string{"x"}},
		{`{"dialects": [` + one + `, {"name": "y", "header": {"begin": ["<|c|>"], "body": ["<|m|>"], "channels": {"plan": "reasoning", "": "text"}}}]}`, []string{"x", "y"}},
	} {
		got, err := Parse([]byte(tc.file))
		if err != nil {
			t.Errorf("%s: %v", tc.file, err)
			continue
		}
		var names []string
		for _, d := range got {
			names = append(names, d.Name)
		}
		if !reflect.DeepEqual(names, tc.names) {
			t.Errorf("%s: %q", tc.file, names)
		}
	}
}

func TestParseEveryField(t *testing.T) {
	off := false
	want := dialect.Dialect{
		Name: "all", Title: "a title", Sources: []string{"s"}, Models: []string{"m*"}, PreOpens: "prompt", Prompt: "p",
		Markers: []dialect.Marker{
			{Role: dialect.RoleReasoning, Tag: "plan", Family: "f", Rescue: true},
			{Role: dialect.RoleTool, Name: "t", Open: []string{"[T]"}, Close: []string{"[/T]"}, Special: true},
			{Role: dialect.RoleWrapper, Name: "w", Open: []string{"Answer:"}, Phrase: true},
		},
		Header: &dialect.Header{
			Begin: []string{"<|s|>", "<|e|>"}, Body: []string{"<|m|>"}, Lead: []string{" to="}, End: []string{"<|x|>"}, Close: []string{"<|e|>"},
			Name: []string{"<|s|>"}, Tokens: []string{"<|k|>"}, Channels: map[string]dialect.Role{"a": dialect.RoleAside, "": dialect.RoleText},
			Recipients: map[string]dialect.Role{"*": dialect.RoleTool, "self": dialect.RoleReasoning}, Between: "text", MaxHeader: 99,
		},
		Placement: "leading", Start: "inside:plan", Output: "leading", Close: "family", OnDoubt: "deliver", AfterTool: dialect.RoleReasoning,
		Code: &off, Stray: &off, MaxMarker: 64, MaxHold: -1,
	}
	data, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got[0], want) {
		t.Errorf("read %+v\nwant %+v", got[0], want)
	}
}

func TestParseFaults(t *testing.T) {
	const think = `{"role": "reasoning", "tag": "think"}`
	for _, tc := range []struct {
		name, file   string
		line, column int
		key          string
		says         string // a part of the message
	}{
		{"empty", "", 1, 1, "", "empty"},
		{"blank", " \n ", 1, 1, "", "empty"},
		{"no JSON", "{\n  \"name\": }", 2, 11, "", "not JSON"},
		{"cut off", `{"name": "x"`, 1, 12, "", "not JSON"},
		{"trailing comma", "[\n1,\n]", 3, 1, "", "not JSON"},
		{"two values", "{}\n{}", 2, 1, "", "not JSON"},
		{"not UTF-8", "{\"name\": \"\xff\"}", 1, 11, "", "UTF-8"},
		{"a string", `"think"`, 1, 1, "", "a string"},
		{"no dialects", `{"dialects": []}`, 1, 14, "dialects", "no dialect"},
		{"dialects an object", `{"dialects": {}}`, 1, 14, "dialects", "a list"},
		{"empty list", `[]`, 1, 1, "", "no dialect"},
		{"a list of strings", `["qwen3"]`, 1, 2, "[0]", "an object"},
		{"key beside dialects", `{"dialects": [], "name": "x"}`, 1, 18, "name", "next to dialects"},
		{"key twice", "{\"name\": \"x\",\n \"name\": \"y\"}", 2, 2, "name", "twice"},
		{"deep", strings.Repeat("[", 200) + strings.Repeat("]", 200), 1, 102, strings.Repeat("[0]", 101), "nested"},

		{"later version", `{"v": 2, "name": "x"}`, 1, 7, "v", "version 1"},
		{"version within", `[{"v": 1, "name": "x"}]`, 1, 3, "[0].v", "unknown key"},

		{"no name", "{\n  \"markers\": [" + think + "]\n}", 1, 1, "name", "missing"},
		{"empty name", `{"name": "", "markers": [` + think + `]}`, 1, 10, "name", "missing"},
		{"bad name", `{"name": "a b", "markers": [` + think + `]}`, 1, 10, "name", "white space"},
		{"name no string", `{"name": 7, "markers": [` + think + `]}`, 1, 10, "name", "write a string"},
		{"names alike", "[{\"name\": \"x\", \"markers\": [" + think + "]},\n {\"name\": \"x\", \"markers\": [" + think + "]}]", 2, 11, "[1].name", "[0]: give each dialect"},
		{"no markers", `{"name": "x"}`, 1, 1, "markers", "missing"},
		{"nothing reasons", `{"name": "x", "markers": [{"role": "output", "tag": "output"}]}`, 1, 26, "markers", "reasoning"},
		{"header does not reason", `{"name": "x", "header": {"begin": ["b"], "body": ["c"], "channels": {"a": "text"}}}`, 1, 1, "markers", "reasoning"},

		{"unknown key", "{\n  \"name\": \"x\",\n  \"markres\": []\n}", 3, 3, "markres", `did you mean "markers"?`},
		{"key in upper case", `{"Name": "x"}`, 1, 2, "Name", `did you mean "name"?`},
		{"key with a hyphen", `{"name": "x", "pre-opens": "no"}`, 1, 15, "pre-opens", `did you mean "pre_opens"?`},
		{"key of no likeness", `{"name": "x", "colour": 1}`, 1, 15, "colour", "write one of name, title,"},
		{"unknown key deep down", "{\"dialects\": [{\"name\": \"x\",\n  \"markers\": [\n    {\"role\": \"reasoning\", \"tga\": \"think\"}]}]}", 3, 27, "dialects[0].markers[0].tga", `did you mean "tag"?`},
		{"removed key nest", `{"name": "x", "nest": false}`, 1, 15, "nest", "removed: openers nest wherever"},
		{"removed key duplicates", `{"name": "x", "duplicates": true}`, 1, 15, "duplicates", "removed: doubled openers"},
		{"removed key bodies", `{"name": "x", "bodies": "last"}`, 1, 15, "bodies", "removed: several output bodies are joined"},
		{"removed key auto_window", `{"name": "x", "auto_window": 4096}`, 1, 15, "auto_window", "removed: an undecided start"},
		{"removed key in a marker", `{"name": "x", "markers": [{"nest": true}]}`, 1, 28, "markers[0].nest", "unknown key"},
		{"unknown key in header", `{"name": "x", "header": {"begins": []}}`, 1, 26, "header.begins", `did you mean "begin"?`},

		{"since as a list", `{"name": "x", "pre_opens": "yes", "pre_opens_since": ["3.1"]}`, 1, 54, "pre_opens_since", "write a string"},
		{"since and no value", `{"name": "x", "markers": [` + think + `], "pre_opens_since": "3.1"}`, 1, 86, "pre_opens_since", "write pre_opens"},

		{"null", `{"name": "x", "markers": null}`, 1, 26, "markers", "leave the key out"},
		{"string for a list", `{"name": "x", "markers": [{"role": "reasoning", "open": "[T]", "close": ["[/T]"]}]}`, 1, 57, "markers[0].open", "in [ ]"},
		{"object for a list", `{"name": "x", "markers": {}}`, 1, 26, "markers", "a list"},
		{"string for a switch", `{"name": "x", "code": "on", "markers": [` + think + `]}`, 1, 23, "code", "true or false"},
		{"fraction", `{"name": "x", "max_marker": 1.5, "markers": [` + think + `]}`, 1, 29, "max_marker", "whole number"},
		{"number too great", `{"name": "x", "max_hold": 99999999999999999999, "markers": [` + think + `]}`, 1, 27, "max_hold", "whole number"},
		{"string for a number", `{"name": "x", "max_hold": "1", "markers": [` + think + `]}`, 1, 27, "max_hold", "whole number"},
		{"list for an object", `{"name": "x", "header": []}`, 1, 25, "header", "an object"},
		{"list for channels", `{"name": "x", "header": {"channels": []}}`, 1, 38, "header.channels", "maps names"},

		{"no role", `{"name": "x", "markers": [{"tag": "think"}]}`, 1, 27, "markers[0].role", "reasoning, narration"},
		{"unknown role", `{"name": "x", "markers": [{"role": "reasonning", "tag": "think"}]}`, 1, 36, "markers[0].role", `did you mean "reasoning"?`},
		{"removed role", `{"name": "x", "markers": [{"role": "aside", "tag": "co"}]}`, 1, 36, "markers[0].role", "aside was removed"},
		{"channel after a tool", `{"name": "x", "after_tool": "tool", "markers": [` + think + `]}`, 1, 29, "after_tool", "write text or reasoning"},
		{"unknown word", `{"name": "x", "output": "anywere", "markers": [` + think + `]}`, 1, 25, "output", `did you mean "anywhere"?`},
		{"unknown start", `{"name": "x", "start": "inside:plan", "markers": [` + think + `]}`, 1, 24, "start", `"plan"`},
		{"unknown channel", `{"name": "x", "header": {"begin": ["b"], "body": ["c"], "channels": {"a": "reason"}}}`, 1, 75, "header.channels.a", "unknown channel"},
		{"channel markup", `{"name": "x", "header": {"begin": ["b"], "body": ["c"], "channels": {"a": "markup"}}}`, 1, 75, "header.channels.a", "cannot be markup"},
		{"no strings", `{"name": "x", "markers": [` + think + `, {"role": "tool"}]}`, 1, 66, "markers[1]", "no marker strings"},
		{"empty string", `{"name": "x", "markers": [{"role": "reasoning", "open": [""], "close": ["b"]}]}`, 1, 58, "markers[0].open[0]", "holds no visible character"},
		{"no close", `{"name": "x", "markers": [{"role": "reasoning", "open": ["a"]}]}`, 1, 27, "markers[0].close", "missing"},
		{"tag with brackets", `{"name": "é", "markers": [{"role": "reasoning", "tag": "<think>"}]}`, 1, 56, "markers[0].tag", "the name alone"},
		{"tag with a space", `{"name": "x", "markers": [{"role": "reasoning", "tag": "my think"}]}`, 1, 56, "markers[0].tag", "the name alone"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse([]byte(tc.file))
			var fault *ParseError
			if !errors.As(err, &fault) {
				t.Fatalf("%v is no ParseError", err)
			}
			if fault.Line != tc.line || fault.Column != tc.column || fault.Key != tc.key || !strings.Contains(fault.Err.Error(), tc.says) {
				t.Errorf("%v\nwant line %d, column %d: %s: …%s…", err, tc.line, tc.column, tc.key, tc.says)
			}
		})
	}
}

// TestTable compares what package dialect has with the file that it was made from.
func TestTable(t *testing.T) {
	data, err := os.ReadFile("../dialects.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(dialect.All(), want) {
		t.Error("dialect/table.go is not what dialects.json says: run go generate ./dialect")
	}
}

func TestParseErrorMessage(t *testing.T) {
	_, err := Parse([]byte("{\n  \"name\": \"mine\",\n  \"markers\": [{\"rol\": \"reasoning\"}]\n}"))
	const want = `line 3, column 16: markers[0].rol: unknown key: did you mean "role"?`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

func TestReadResponseTemplate(t *testing.T) {
	const template = `{
  "defaults": {"role": "assistant"},
  "start_anchor": ["<|im_start|>assistant\n"],
  "fields": {
    "thinking": {"open": ["<think>", "<think_fast>"], "close": "</think>", "content": "text"},
    "tool_calls": {"open": "<tool_call>", "close": "</tool_call>", "repeats": true, "content": "json", "transform": {"type": "function", "function": "{content}"}},
    "citations": {"open": "<co>", "close": "</co>", "optional": false},
    "content": {"close": ["<|im_end|>", "<|endoftext|>"], "content": "text"}
  }
}`
	want := []dialect.Marker{
		{Role: dialect.RoleReasoning, Name: "thinking", Open: []string{"<think>", "<think_fast>"}, Close: []string{"</think>"}},
		{Role: dialect.RoleTool, Name: "tool_calls", Open: []string{"<tool_call>"}, Close: []string{"</tool_call>"}},
		{Role: dialect.RoleWrapper, Name: "end of content", Open: []string{"<|im_end|>", "<|endoftext|>"}},
		{Role: dialect.RoleReasoning, Name: "citations", Open: []string{"<co>"}, Close: []string{"</co>"}},
	}
	for _, tc := range []struct{ name, file string }{
		{"checkpoint", template},
		{"smollm3-3b", `{"tokenizer_class": "X", "added_tokens_decoder": {"0": {"content": "<s>"}}, "name_or_path": "HuggingFaceTB/SmolLM3-3B", "response_template": ` + template + `}`},
	} {
		list, err := Parse([]byte(tc.file))
		if err != nil {
			t.Fatal(err)
		}
		d := list[0]
		if d.Name != tc.name || d.Start != "auto" || *d.Code || *d.Stray {
			t.Errorf("read %+v", d)
		}
		if !reflect.DeepEqual(d.Markers, want) {
			t.Errorf("markers %+v", d.Markers)
		}
		if err := d.Check(); err != nil {
			t.Error(err)
		}
	}
}

func TestReadResponseTemplateForms(t *testing.T) {
	for _, tc := range []struct {
		name, fields string
		markers      int
	}{
		{"content alone is wrapped", `{"content": {"open": "<|START_RESPONSE|>", "close": "<|END_RESPONSE|>"}}`, 1},
		{"to the end of the reply", `{"thinking": {"open": "[T]", "close": "[/T]"}, "content": {"open": "[A]", "close": "eos"}}`, 2},
		{"no close", `{"reasoning_content": {"open": "[T]", "close": "[/T]"}, "content": {"open": "[A]"}}`, 2},
		{"all between", `{"reasoning": {"open": "[T]", "close": "[/T]"}, "content": {"content": "text"}}`, 1},
		{"all between, to eos", `{"reasoning": {"open": "[T]", "close": "[/T]"}, "content": {"close": "eos"}}`, 1},
		{"a string twice", `{"reasoning": {"open": ["[T]", "[T]"], "close": "[/T]"}}`, 1},
	} {
		list, err := Parse([]byte(`{"fields": ` + tc.fields + `}`))
		if err != nil || len(list[0].Markers) != tc.markers {
			t.Errorf("%s: %+v, %v", tc.name, list, err)
		}
	}
}

func TestReadResponseTemplateFaults(t *testing.T) {
	for _, tc := range []struct{ name, file, key, says string }{
		{"open pattern", `{"response_template": {"fields": {"tool_calls": {"open_pattern": "<f=(?P<name>\\w+)>", "close": "</f>"}}}}`,
			"response_template.fields.tool_calls.open_pattern", "regular expression"},
		{"close pattern", `{"fields": {"thinking": {"open": "<t>", "close_pattern": "</t>|$"}}}`, "fields.thinking.close_pattern", "regular expression"},
		{"unknown field key", `{"fields": {"thinking": {"opens": "<t>"}}}`, "fields.thinking.opens", `did you mean "open"?`},
		{"unknown key", `{"fields": {}, "start_ancor": "x"}`, "start_ancor", `did you mean "start_anchor"?`},
		{"unknown version", `{"version": 2, "fields": {"content": {}}}`, "version", "version 1"},
		{"no fields", `{"response_template": {}}`, "response_template.fields", "missing"},
		{"empty fields", `{"fields": {}}`, "fields", "missing"},
		{"null template", `{"tokenizer_class": "X", "response_template": null}`, "response_template", "an object"},
		{"field no object", `{"fields": {"thinking": "<think>"}}`, "fields.thinking", "write an object"},
		{"delimiter no string", `{"fields": {"thinking": {"open": 1, "close": "x"}}}`, "fields.thinking.open", "a string or a list"},
		{"delimiter in list no string", `{"fields": {"thinking": {"open": ["<t>", 1], "close": "x"}}}`, "fields.thinking.open[1]", "write a string"},
		{"empty delimiter", `{"fields": {"thinking": {"open": "", "close": "x"}}}`, "fields.thinking.open", "holds no visible character"},
		{"empty list", `{"fields": {"thinking": {"open": [], "close": "x"}}}`, "fields.thinking.open", "a string or a list"},
		{"eos and more", `{"fields": {"content": {"close": ["x", "eos"]}}}`, "fields.content.close[1]", "end of the reply"},
		{"reasoning without end", `{"fields": {"thinking": {"open": "<t>"}}}`, "fields.thinking.close", "hide every answer"},
		{"reasoning between", `{"fields": {"thinking": {"close": "</t>"}}}`, "fields.thinking.open", "only content"},
		{"two between", `{"fields": {"content": {"close": "</t>"}, "thinking": {"close": "</u>"}}}`, "fields.thinking", "only one field"},
		{"nothing to find", `{"fields": {"content": {}}}`, "fields", "have no delimiters"},
		{"one opener for two", `{"fields": {"thinking": {"open": "<t>", "close": "</t>"}, "content": {"open": "<t>"}}}`, "fields", "one kind of block"},
		{"older form", `{"tokenizer_class": "X", "response_schema": {"type": "object"}}`, "", "without response_template"},
		{"plain configuration", `{"tokenizer_class": "X", "chat_template": "{{ x }}"}`, "", "without response_template"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse([]byte(tc.file))
			var fault *ParseError
			if !errors.As(err, &fault) {
				t.Fatalf("%v is no ParseError", err)
			}
			if fault.Key != tc.key || !strings.Contains(fault.Err.Error(), tc.says) {
				t.Errorf("%v\nwant %s: …%s…", err, tc.key, tc.says)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	shipped, err := os.ReadFile("../dialects.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(shipped[:2000])
	for _, s := range []string{
		`{"name": "x", "markers": [{"role": "reasoning", "tag": "think"}]}`,
		`[{"name": "x", "header": {"begin": ["<|c|>"], "body": ["\n"], "channels": {"a": "reasoning"}}}]`,
		`{"fields": {"thinking": {"open": ["<t>"], "close": "eos"}, "content": {"close": "</s>"}}}`,
		`{"response_template": {"fields": {"content": {}}}}`,
		`{"dialects": [`, "[1,]", "\ufeff{}", "{\"a\": \xff}", `{"a": {"b": [null, true, 1e9]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := Parse(data)
		if err != nil {
			var fault *ParseError
			if !errors.As(err, &fault) {
				t.Fatalf("%T: %v", err, err)
			}
			if fault.Line < 1 || fault.Column < 1 || fault.Line > 1+strings.Count(string(data), "\n") {
				t.Fatalf("out of the file: %v", err)
			}
			return
		}
		if len(list) == 0 {
			t.Fatal("no dialect and no error")
		}
		for _, d := range list {
			if err := d.Check(); err != nil {
				t.Fatalf("read, and does not stand: %v", err)
			}
			written, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse(written)
			if d.HasReasoning() && err != nil {
				t.Fatalf("%s: %v", written, err)
			}
			if err == nil && again[0].Name != d.Name {
				t.Fatalf("%q came back as %q", d.Name, again[0].Name)
			}
		}
	})
}
