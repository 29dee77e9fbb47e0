package agent

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/model"
)

func memoryBox(t testing.TB) *toolbox {
	t.Helper()
	box, err := newToolbox(NewMemory().Tools())
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func found(box *toolbox, text string) []model.Call {
	r := sotto.Parse(text, sotto.EndStopped)
	return box.textCalls(r.Visible(), r)
}

// What models write where they should call.
func TestTextCalls(t *testing.T) {
	box := memoryBox(t)
	for text, want := range map[string][]model.Call{
		`<list/>`: {{Name: "list", Arguments: `{}`}},
		"<thinking>I look.</thinking>\n\n<list/>":                                        {{Name: "list", Arguments: `{}`}},
		"I look.\n<list></list>\nThen we see.":                                           {{Name: "list", Arguments: `{}`}},
		`<write key="a">two` + "\n" + `lines</write>`:                                    {{Name: "write", Arguments: `{"key":"a","value":"two\nlines"}`}},
		`<write><key>a</key><value>b</value></write>`:                                    {{Name: "write", Arguments: `{"key":"a","value":"b"}`}},
		`<read key='a &amp; b' />`:                                                       {{Name: "read", Arguments: `{"key":"a & b"}`}},
		`<read>{"key": "a"}</read>`:                                                      {{Name: "read", Arguments: `{"key":"a"}`}},
		`{"name": "read", "arguments": {"key": "a"}}`:                                    {{Name: "read", Arguments: `{"key":"a"}`}},
		`{"tool": "list"}`:                                                               {{Name: "list", Arguments: `{}`}},
		"```json\n{\"action\": \"read\", \"action_input\": {\"key\": \"a\"}}\n```":       {{Name: "read", Arguments: `{"key":"a"}`}},
		`{"tool_calls": [{"id": "1", "function": {"name": "list", "arguments": "{}"}}]}`: {{Name: "list", Arguments: `{}`}},
		`[{"name":"list","arguments":{}},{"name":"save","arguments":{"x":1}}]`:           {{Name: "list", Arguments: `{}`}, {Name: "save", Arguments: `{"x":1}`}},
		// In the marks of templates.
		`<tool_call>{"name": "list", "arguments": {}}</tool_call>`:                                                      {{Name: "list", Arguments: `{}`}},
		"I look.\n<tool_call>\n{\"name\": \"list\", \"arguments\": {}}\n</tool_call>":                                   {{Name: "list", Arguments: `{}`}},
		`[TOOL_CALLS][{"name": "list", "arguments": {}}]`:                                                               {{Name: "list", Arguments: `{}`}},
		`<|python_tag|>{"name": "list", "parameters": {}}<|eom_id|>`:                                                    {{Name: "list", Arguments: `{}`}},
		`<function=read>{"key": "a"}</function>`:                                                                        {{Name: "read", Arguments: `{"key":"a"}`}},
		"<tool_call>\n<function=read>\n<parameter=key>\na\n</parameter>\n</function>\n</tool_call>":                     {{Name: "read", Arguments: `{"key":"a"}`}},
		"<function_calls>\n<invoke name=\"read\">\n<parameter name=\"key\">a</parameter>\n</invoke>\n</function_calls>": {{Name: "read", Arguments: `{"key":"a"}`}},
		"I will list.\n```json\n{\"name\": \"list\", \"arguments\": {}}\n```":                                           {{Name: "list", Arguments: `{}`}},
		// No calls.
		"To list:\n```\n<list/>\nor so\n```":                          nil,
		"Two:\n```\n<list/>\n```\n\n```\nx\n```":                      nil,
		`<tool_call> is what begins a call.`:                          nil,
		`<tool_call>{"name": "list", "arguments": {}}</tool_call> so`: nil,
		`<function=dig>{}</function>`:                                 nil,
		"The tag <list/> lists.":                                      nil,
		"Write `<list/>` to list.":                                    nil,
		"An example:\n```\n<list/>\n```\nThat is it.":                 nil,
		`<div>hello</div>`:                                            nil,
		`{"name": "Ada", "born": 1815}`:                               nil,
		`{"reflection_on_progress": "a", "thought": ""}`:              nil,
		`{"name": "list", "why": "no reason"}`:                        nil,
		`<list/> is what I would call.`:                               nil,
		`[1, 2, 3]`:                                                   nil,
		`<write key="a">unclosed`:                                     nil,
	} {
		if d := cmp.Diff(want, found(box, text)); d != "" {
			t.Errorf("%q:\n%s", text, d)
		}
	}
}

// A call of any form is found in any prose that stands around it on other lines,
// with its arguments as they were.
func TestTextCallsAnywhere(t *testing.T) {
	box := memoryBox(t)
	prose := rapid.SliceOfN(rapid.StringMatching(`[A-Za-z][A-Za-z0-9 ,.!]{0,30}`), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		arguments := map[string]string{
			"key":   rapid.StringMatching(`[a-z][a-z0-9_ ]{0,10}[a-z]`).Draw(t, "key"),
			"value": rapid.StringMatching(`[A-Z][A-Za-z0-9 .,:;!?äß]{0,40}[a-z]`).Draw(t, "value"),
		}
		object := string(encode(arguments))
		forms := []string{
			`<write key="` + arguments["key"] + `">` + arguments["value"] + `</write>`,
			`<write key='` + arguments["key"] + `' value="` + arguments["value"] + `"/>`,
			`<write>` + object + `</write>`,
			"<write>\n<key>" + arguments["key"] + "</key>\n<value>" + arguments["value"] + "</value>\n</write>",
			`{"name": "write", "arguments": ` + object + `}`,
			`{"tool": "write", "input": ` + object + `}`,
			`{"function": {"name": "write", "arguments": ` + string(encode(object)) + `}}`,
		}
		form := rapid.SampledFrom(forms).Draw(t, "form")
		lines := append(prose.Draw(t, "before"), form)
		text := strings.Join(append(lines, prose.Draw(t, "after")...), "\n")
		calls := found(box, text)
		if len(calls) != 1 || calls[0].Name != "write" {
			t.Fatalf("%q: %v", text, calls)
		}
		var got map[string]string
		if err := json.Unmarshal([]byte(calls[0].Arguments), &got); err != nil || !cmp.Equal(arguments, got) {
			t.Fatalf("%q: %v, want %v", text, got, arguments)
		}
	})
}

// Prose in which no line begins with a call holds none, and nothing panics.
func TestNoTextCalls(t *testing.T) {
	box := memoryBox(t)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"<list/>", "<write key=\"a\">", "</write>", "{\"name\":", "\"list\"", "}", "[", "]", "```", "`", " ", "a", "\n"})).Draw(t, "parts")
		text := strings.Join(parts, "")
		for _, line := range strings.Split(text, "\n") {
			line = strings.TrimLeft(line, " \t")
			if strings.HasPrefix(line, "<") || strings.HasPrefix(line, "{") || strings.HasPrefix(line, "[") || strings.HasPrefix(line, "```") {
				found(box, text)
				return
			}
		}
		if calls := found(box, text); len(calls) > 0 {
			t.Fatalf("%q: %v", text, calls)
		}
	})
}

// Many beginnings of calls are tried only so often: four times the text allocates at
// most about four times as much.
func TestTextCallsHostile(t *testing.T) {
	effort.OneGoroutine(t)
	box := memoryBox(t)
	allocated := func(text string) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		box.textCalls(text, &sotto.Reply{})
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for _, line := range []string{"[1,\n", "<write key=\"a\">\n", "{\"a\":\n", "<list \n", "```\n", "<", "<list a=\"b\" "} {
		little, much := allocated(strings.Repeat(line, 1<<18/len(line))), allocated(strings.Repeat(line, 1<<20/len(line)))
		if much > 6*little+1<<20 {
			t.Errorf("%q: %d bytes allocated for 1 MiB, %d for a quarter of it", line, much, little)
		}
	}
}

func FuzzTextCalls(f *testing.F) {
	f.Add("<list/>")
	f.Add("{\"name\":\"read\",\"arguments\":{\"key\":\"a\"}}")
	f.Add("```\n<write key='a'>b</write>\n```")
	box := memoryBox(f)
	f.Fuzz(func(t *testing.T, text string) {
		if n := len(found(box, text)); n > maxTextCalls {
			t.Errorf("%d calls", n)
		}
	})
}
