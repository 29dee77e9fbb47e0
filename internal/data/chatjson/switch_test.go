package chatjson_test

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// TestSwitchOf: the same setting gives the same word, another another.
func TestSwitchOf(t *testing.T) {
	for body, want := range map[string]string{
		`{}`:                              "",
		`{"think":true}`:                  "think=true",
		`{"think":false}`:                 "think=false",
		`{"think":"high"}`:                "think=high",
		`{"think":null}`:                  "",
		`{"reasoning_effort":"low"}`:      "reasoning_effort=low",
		`{"reasoning":{"effort":"none"}}`: "reasoning.effort=none",
		`{"reasoning":{"enabled":false}}`: "reasoning.enabled=false",
		`{"thinking":{"type":"enabled","budget_tokens":1024}}`:                                        "thinking.type=enabled",
		`{"thinking":{"budget_tokens":2048,"type":"enabled"}}`:                                        "thinking.type=enabled",
		`{"chat_template_kwargs":{"enable_thinking":false}}`:                                          "chat_template_kwargs.enable_thinking=false",
		`{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}`:                                "generationConfig.thinkingConfig.thinkingBudget=0",
		`{"generation_config":{"thinking_config":{"thinking_budget":0}}}`:                             "generationConfig.thinkingConfig.thinkingBudget=0",
		`{"generationConfig":{"thinking_config":{"thinkingLevel":"low","include_thoughts":true}}}`:    "generationConfig.thinkingConfig.includeThoughts=true,generationConfig.thinkingConfig.thinkingLevel=low",
		`{"reasoning":"x","enable":{"thinking":true}}`:                                                "",
		`{"messages":[{"role":"user","content":"Hi /no_think"}]}`:                                     "/no_think",
		`{"messages":[{"role":"system","content":"/no_think"},{"role":"user","content":"a /think"}]}`: "/think",
		`{"messages":[{"role":"user","content":"/think a /no_think\n"}]}`:                             "/no_think",
		`{"messages":[{"role":"user","content":"see /thinking and x/think"}]}`:                        "",
		`{"messages":[{"role":"assistant","content":"/no_think"}]}`:                                   "",
		`{"messages":[{"role":"tool","content":"/no_think"}]}`:                                        "",
	} {
		root := jsonedit.Parse([]byte(body))
		if got := chatjson.SwitchOf(root, chatjson.ReadMessages(root.Get("messages"))); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	long := `{"reasoning_effort":"` + strings.Repeat("x", 5000) + `"}`
	if got := chatjson.SwitchOf(jsonedit.Parse([]byte(long)), nil); len(got) > 128 {
		t.Errorf("%d bytes", len(got))
	}
}

// TestSwitchHoldsNoText: whatever a client sets, the switch is of fixed words and
// digests, and another value is another switch.
func TestSwitchHoldsNoText(t *testing.T) {
	values := []string{`"CANARY"`, `"canary\u001b[31m"`, `"a,think=true"`, `" High "`, `12345678`, `-7`, `0`, `0.5`, `true`, `{"type":"CANARY"}`, `""`}
	seen := map[string]string{}
	for _, v := range values {
		body := `{"think":` + v + `}`
		got := chatjson.SwitchOf(jsonedit.Parse([]byte(body)), nil)
		if strings.Contains(strings.ToLower(got), "canary") || strings.Contains(got, "1234") || !chatjson.IsSwitch(got) {
			t.Errorf("%s: %q", body, got)
		}
		if other, ok := seen[got]; ok && !(v == "0.5" && other == "12345678") {
			t.Errorf("%s and %s are both %q", v, other, got)
		}
		seen[got] = v
	}
	all := `{"chat_template_kwargs":{"enable_thinking":"CANARY","thinking":"CANARY","reasoning_effort":"CANARY"},"enable_thinking":"CANARY","think":"CANARY","thinking":"CANARY","reasoning_effort":"CANARY"}`
	if got := chatjson.SwitchOf(jsonedit.Parse([]byte(all)), nil); len(got) > 128 || !chatjson.IsSwitch(got) {
		t.Errorf("%q", got)
	}
	for _, text := range []string{"CANARY", "think=CANARY", "canary=true", "#zz", "think=#00", "/think,x", strings.Repeat("#000000000000,", 20)} {
		if chatjson.IsSwitch(text) {
			t.Errorf("%q is a switch", text)
		}
	}
}

// BenchmarkSwitchOf reads a request with a long history: its length is walked once,
// however many members are looked for.
func BenchmarkSwitchOf(b *testing.B) {
	root := jsonedit.Parse([]byte(`{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("word ", 1<<17) + `"}],"reasoning_effort":"high"}`))
	b.SetBytes(int64(len(root.Raw)))
	b.ReportAllocs()
	for b.Loop() {
		if got := chatjson.SwitchOf(root, nil); got != "reasoning_effort=high" {
			b.Fatal(got)
		}
	}
}
