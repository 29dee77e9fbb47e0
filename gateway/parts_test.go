package gateway

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
)

// What a configuration leaves out has the values that its documentation names.
func TestDefaultValues(t *testing.T) {
	l := Limits{}.withDefaults()
	want := Limits{
		MemoryBytes: l.MemoryBytes, Body: 64 << 20, Frame: 4 << 20, Header: 64 << 10, Exchanges: 10_000, Choices: 1024, Hold: 256 << 10, Learned: 4096, Restored: 4096,
		RestoredBytes: 64 << 20, RestoredFor: 6 * time.Hour, Recorded: 4 << 20, Labels: 64,
	}
	if diff := cmp.Diff(want, l); diff != "" || l.MemoryBytes <= 0 {
		t.Error(diff, l.MemoryBytes)
	}
	own := Limits{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}
	if got := own.withDefaults(); got != own {
		t.Errorf("%+v", got)
	}
	c := Config{Routes: []routing.Route{{Models: []string{"a"}}, {Name: "b", Display: routing.DisplayHide}}}.withDefaults()
	if c.KeepAlive != 10*time.Second || c.Silence != 10*time.Minute || c.Logger == nil || c.Transport == nil || c.Default.Name != "default" || c.Routes[0].Name != "routes[0]" || c.Routes[1].Name != "b" {
		t.Errorf("%+v", c)
	}
	d := c.Default
	if d.Display != routing.DisplayField || fmt.Sprint(d.ReasoningFields) != "[reasoning_content]" || d.Narration != routing.NarrationText || d.History != history.Auto || d.OnNoAnswer != routing.NoAnswerEmpty || d.OnThinkingLimit != routing.ThinkingStop || d.OnThinkingLoop != routing.ThinkingIgnore || d.ResponsesReasoning != routing.ReasoningContent || d.ThinkingSignature != routing.SignatureSotto || d.Calls != routing.CallsText {
		t.Errorf("%+v", d)
	}
	if c.Routes[0].Display != routing.DisplayField || c.Routes[1].Display != routing.DisplayHide || c.Routes[1].Narration != routing.NarrationText {
		t.Errorf("%+v", c.Routes)
	}
	kept := Config{KeepAlive: 1, Silence: 2, Default: routing.Route{Name: "d"}}.withDefaults()
	if kept.KeepAlive != 1 || kept.Silence != 2 || kept.Default.Name != "d" {
		t.Errorf("%+v", kept)
	}
}

// Every value that is wrong is a fault at its key, in its route, and nothing else is a fault.
func TestFaultsOfConfigs(t *testing.T) {
	base := &url.URL{Scheme: "http", Host: "h"}
	route := func(r routing.Route) Config { return Config{Upstream: base, Routes: []routing.Route{r}} }
	for want, c := range map[string]Config{
		"": {Upstream: base}, "upstream: none is given": {}, `upstream: "ftp://h": want http`: {Upstream: &url.URL{Scheme: "ftp", Host: "h"}}, `upstream: "http:" has no host`: {Upstream: &url.URL{Scheme: "http"}}, "has a password": {Upstream: &url.URL{Scheme: "http", Host: "h", User: url.UserPassword("u", "p")}},
		`path-prefix: "/a/"`: {Upstream: base, PathPrefix: "/a/"}, `path-prefix: "a"`: {Upstream: base, PathPrefix: "a"}, `path-prefix: "/a/../b"`: {Upstream: base, PathPrefix: "/a/../b"}, `path-prefix: "/a b"`: {Upstream: base, PathPrefix: "/a b"},
		`allow-hosts: ""`: {Upstream: base, AllowHosts: []string{"ok.example", ""}}, `allow-hosts: "http://h"`: {Upstream: base, AllowHosts: []string{"http://h"}}, `allow-hosts: "h:80"`: {Upstream: base, AllowHosts: []string{"h:80"}}, "allow-origins: null is": {Upstream: base, AllowOrigins: []string{"null"}},
		`record-headers: "X Y"`: {Upstream: base, RecordHeaders: []string{"X Y"}}, "record-headers: X-Api-Key holds": {Upstream: base, RecordHeaders: []string{"X-Api-Key"}}, "record-headers: Set-Cookie holds": {Upstream: base, RecordHeaders: []string{"Set-Cookie"}}, `record-headers: "` + strings.Repeat("X", 65): {Upstream: base, RecordHeaders: []string{strings.Repeat("X", 65)}},
		`ask-upstream: "x": want one of`: {Upstream: base, AskUpstream: "x"}, "limits.labels: ": {Upstream: base, Limits: Limits{Labels: -1}}, "limits.restored-for: ": {Upstream: base, Limits: Limits{RestoredFor: -1}}, "keep-alive: ": {Upstream: base, KeepAlive: -1}, "silence: ": {Upstream: base, Silence: -1}, "upstream-header-timeout: ": {Upstream: base, UpstreamHeaderTimeout: -1},
		"routes[0].dialect: ": route(routing.Route{Dialect: "none"}), "routes[0].start: ": route(routing.Route{Start: "middle"}), `routes[0].display: "x": want one of field, hide, keep, tags`: route(routing.Route{Display: "x"}), `routes[0].narration: "x": want one of text, field, drop`: route(routing.Route{Narration: "x"}), "routes[0].history: ": route(routing.Route{History: "x"}),
		"routes[0].on-no-answer: \"x\"": route(routing.Route{OnNoAnswer: "x"}), "routes[0].on-no-answer: promote would show": route(routing.Route{OnNoAnswer: routing.NoAnswerPromote, Display: routing.DisplayHide}), "routes[0].on-thinking-limit: ": route(routing.Route{OnThinkingLimit: "x"}), "routes[0].on-thinking-loop: ": route(routing.Route{OnThinkingLoop: "x"}), "routes[0].thinking-limit: is negative": route(routing.Route{ThinkingLimit: -1}),
		"routes[0].thinking-switch: ": route(routing.Route{ThinkingSwitch: "x"}), `routes[0].responses-reasoning: "x": want one of content, summary`: route(routing.Route{ResponsesReasoning: "x"}), `routes[0].thinking-signature: "x": want one of empty, sotto`: route(routing.Route{ThinkingSignature: "x"}), "routes[0].calls: ": route(routing.Route{Calls: "x"}), `routes[0].name: "a b"`: route(routing.Route{Name: "a b"}), `routes[0].name: "` + strings.Repeat("n", 65): route(routing.Route{Name: strings.Repeat("n", 65)}),
		`routes[0].models: "A"`: route(routing.Route{Models: []string{"a", "A"}}), `routes[0].models: ""`: route(routing.Route{Models: []string{""}}), `routes[0].models: "a:b"`: route(routing.Route{Models: []string{"a:b"}}), `routes[0].apis: "x": want one of`: route(routing.Route{APIs: []string{"x"}}), `routes[0].reasoning-field: "content" cannot`: route(routing.Route{ReasoningFields: []string{"content"}}), `routes[0].reasoning-field: "role" cannot`: route(routing.Route{ReasoningFields: []string{"role"}}), `routes[0].reasoning-field: "a b" cannot`: route(routing.Route{ReasoningFields: []string{"x", "a b"}}), `routes[0].reasoning-field: "" cannot`: route(routing.Route{ReasoningFields: []string{""}}),
		"display: \"x\"": {Upstream: base, Default: routing.Route{Display: "x"}},
	} {
		faults := c.Check()
		if want == "" && len(faults) > 0 || want != "" && (len(faults) != 1 || !strings.Contains(faults[0].Error(), want)) {
			t.Errorf("%s: %v", want, faults)
		}
	}
	good := Config{
		Upstream: &url.URL{Scheme: "https", Host: "h:1"}, PathPrefix: "/openai/v1", AllowHosts: []string{"*", "Chat.example", "a-b_c"}, AllowOrigins: []string{"https://x"}, RecordHeaders: []string{strings.Repeat("X", 64)}, Default: routing.Route{OnNoAnswer: routing.NoAnswerPromote},
		Routes: []routing.Route{{Name: strings.Repeat("n", 64), Models: []string{"llama-3.1", "qwen3*"}, Start: sotto.BeginAuto, ReasoningFields: []string{"reasoning"}, Dialect: "qwen3"}, {Start: "inside:NAME", Dialect: "none"}},
	}
	faults := good.Check()
	if len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), "routes[1].dialect: ") {
		t.Errorf("%v", faults)
	}
	var fault *ConfigError
	if !errors.As(faults[0], &fault) || fault.Route != 1 || fault.Unwrap() == nil {
		t.Errorf("%+v", fault)
	}
}

// The default upstream has no name among the targets.
func TestUpstreamKey(t *testing.T) {
	if upstreamKey(defaultUpstream) != "" || upstreamKey("x") != "x" {
		t.Error("the default upstream has a key")
	}
}
