package wire_test

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire"
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
		`{"messages":[{"role":"user","content":"Hi /no_think"}]}`:                                     "/no_think",
		`{"messages":[{"role":"system","content":"/no_think"},{"role":"user","content":"a /think"}]}`: "/think",
		`{"messages":[{"role":"user","content":"/think a /no_think\n"}]}`:                             "/no_think",
		`{"messages":[{"role":"user","content":"see /thinking and x/think"}]}`:                        "",
		`{"messages":[{"role":"assistant","content":"/no_think"}]}`:                                   "",
		`{"messages":[{"role":"tool","content":"/no_think"}]}`:                                        "",
	} {
		root := wire.Parse([]byte(body))
		if got := wire.SwitchOf(root, wire.ReadMessages(root.Get("messages"))); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	long := `{"reasoning_effort":"` + strings.Repeat("x", 5000) + `"}`
	if got := wire.SwitchOf(wire.Parse([]byte(long)), nil); len(got) > 128 {
		t.Errorf("%d bytes", len(got))
	}
}
