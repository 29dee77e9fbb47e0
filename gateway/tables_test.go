package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/llamacpp"
	"github.com/sotto-llm/sotto/wire/ollama"
	"github.com/sotto-llm/sotto/wire/openai"
	"github.com/sotto-llm/sotto/wire/openai/responses"
)

// Requests show where their replies begin, and how far that can be believed.
func TestRequestEvidence(t *testing.T) {
	for _, c := range []struct {
		codec codec
		body  string
		want  requestEvidence
	}{
		{openai.Chat, `{"messages":[{"role":"user","content":"q"}]}`, requestEvidence{}},
		{openai.Chat, `{"messages":[]}`, requestEvidence{}},
		{openai.Chat, `{"messages":[{"role":"assistant","content":"a"},{"role":"user","content":"q"}]}`, requestEvidence{}},
		{openai.Chat, `{"messages":[{"role":"assistant","content":" \n"}]}`, requestEvidence{}},
		{openai.Chat, `{"messages":[{"role":"assistant","content":"a"}]}`, requestEvidence{resumed: true, prefilled: true}},
		{openai.Chat, `{"messages":[{"role":"assistant","content":"<think>a"}]}`, requestEvidence{start: sotto.BeginInside("think"), resumed: true, prefilled: true}},
		{openai.Chat, `{"continue_final_message":true,"messages":[{"role":"assistant","content":"<think>a</think>b"}]}`, requestEvidence{start: sotto.BeginOutside, sure: true, unusual: true, resumed: true, prefilled: true}},
		{openai.Chat, `{"messages":[{"role":"assistant","content":"","reasoning_content":"a"}]}`, requestEvidence{unusual: true, resumed: true, prefilled: true}},
		{openai.Chat, `{"messages":[{"role":"assistant","content":"a","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`, requestEvidence{}},
		{openai.Chat, `{"messages":[{"role":"assistant","content":"a"},{"role":"assistant","content":""}]}`, requestEvidence{unusual: true, resumed: true, prefilled: true}},
		{openai.Chat, `{"messages":[{"role":"assistant","reasoning_content":"a"},{"role":"user","content":"q"},{"role":"assistant","content":"b"}]}`, requestEvidence{resumed: true, prefilled: true}},
		{responses.Codec, `{"input":[{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"a"}]},{"role":"assistant","content":""}]}`, requestEvidence{unusual: true, resumed: true, prefilled: true}},
		{openai.Chat, `{"stop":"x","messages":[]}`, requestEvidence{cuts: true}},
		{openai.Chat, `{"chat_template":"x","messages":[]}`, requestEvidence{unusual: true}},
		{openai.Chat, `{"chat_template_kwargs":{"enable_thinking":false},"messages":[]}`, requestEvidence{off: true}},
		{openai.Chat, `{"chat_template_kwargs":{"thinking":true,"other":1},"messages":[]}`, requestEvidence{unusual: true}},
		{ollama.Chat, `{"messages":[{"role":"assistant","content":"a"}]}`, requestEvidence{sure: true, resumed: true, prefilled: true}},
		{openai.Completions, `{"prompt":"<|im_start|>assistant\n<think>a"}`, requestEvidence{start: sotto.BeginInside("think"), likely: true, resumed: true}},
		{openai.Completions, `{"prompt":["a"]}`, requestEvidence{likely: true, resumed: true}},
		{openai.Completions, `{"prompt":["a","b"]}`, requestEvidence{unusual: true, resumed: true}},
		{openai.Completions, `{"prompt":[1]}`, requestEvidence{unusual: true, resumed: true}},
		{openai.Completions, `{"prompt":[]}`, requestEvidence{}},
		{openai.Completions, `{"prompt":"a","echo":true}`, requestEvidence{likely: true, resumed: true, unusual: true, echoes: true}},
		{llamacpp.Completion, `{"prompt":"<think>a</think>"}`, requestEvidence{start: sotto.BeginOutside, sure: true, likely: true, resumed: true}},
	} {
		q, err := endpoints.ReadRequest(c.codec, "", []byte(c.body))
		if err != nil {
			t.Fatalf("%s: %v", c.body, err)
		}
		x := &exchange{codec: c.codec, request: q, body: []byte(c.body), family: &family{grammar: sotto.Default()}}
		if got := evidenceOf(x); got != c.want {
			t.Errorf("%s of %s:\n%+v, want\n%+v", c.body, c.codec.Name(), got, c.want)
		}
	}
	for s, want := range map[requestEvidence]string{
		{}: "false false true", {start: sotto.BeginInside("think")}: "true true true", {start: sotto.BeginOutside}: "false false true", {start: sotto.BeginOutside, sure: true, unusual: true}: "true true false", {start: sotto.BeginOutside, likely: true}: "false true true", {start: sotto.BeginOutside, likely: true, unusual: true}: "false false false", {cuts: true}: "false false false", {resumed: true}: "false false false",
	} {
		if got := fmt.Sprint(s.settles(true), s.settles(false), s.teaches()); got != want {
			t.Errorf("%+v: %s, want %s", s, got, want)
		}
	}
	for word, want := range map[string]bool{"": false, "enable_thinking=false": true, "think=true": false, "a=1,b=off": true, "include_reasoning=false": false, "include_reasoning=false,think=none": true, "x=disabled": true, "x=0": true, "x=no": true, "off": false} {
		if turnsOff(word) != want {
			t.Errorf("%s turns thinking off: %v", word, !want)
		}
	}
}

// A route is the first whose models and APIs match; its replies are read in its dialect, or
// in that of the model. Where another model may answer, the stricter of the routes holds.
func TestRoutes(t *testing.T) {
	e := &engine{config: Config{
		Default: routing.Route{Name: "default"},
		Routes: []routing.Route{
			{Name: "chat", Models: []string{"a*"}, APIs: []string{"openai.chat"}}, {Name: "a", Models: []string{"a*"}, Display: routing.DisplayKeep}, {Name: "hidden", Models: []string{"h*"}, Display: routing.DisplayHide}, {Name: "tagged", Models: []string{"t"}, Dialect: "magistral"}, {Name: "any", APIs: []string{"ollama.chat"}},
		},
		Separated: func(model string) bool { return model == "s" },
	}.withDefaults()}
	for _, c := range []struct {
		api, model string
		fallbacks  []string
		want       string
	}{
		{"openai.chat", "a1", nil, "chat "}, {"openai.responses", "a1", nil, "a keep"}, {"openai.chat", "b", nil, "default "}, {"ollama.chat", "b", nil, "any "}, {"ollama.chat", "h", nil, "hidden hide"},
		{"openai.chat", "b", []string{"c", "h"}, "hidden hide"}, {"openai.chat", "h", []string{"b"}, "hidden hide"}, {"openai.chat", "b", []string{"a"}, "default "},
	} {
		r := e.routeOf(c.api, &wire.Request{Model: c.model, Fallbacks: c.fallbacks})
		display := r.Display
		if display == routing.DisplayField {
			display = ""
		}
		if got := fmt.Sprint(r.Name, " ", display); got != c.want {
			t.Errorf("%s %s %v: %s, want %s", c.api, c.model, c.fallbacks, got, c.want)
		}
	}
	for _, c := range []struct {
		model, dialect string
		named          bool
	}{{"s", "separated", true}, {"t", "magistral", true}, {"unknown", sotto.Default().Dialect().Name, false}, {"qwen3", "", true}} {
		g, named, err := e.grammar(e.routeOf("openai.chat", &wire.Request{Model: c.model}), c.model)
		if err != nil || named != c.named || c.dialect != "" && g.Dialect().Name != c.dialect {
			t.Errorf("%s: named %v, %v", c.model, named, err)
		}
	}
	if _, _, err := e.grammar(chosen{Route: routing.Route{Dialect: "none"}}, "m"); err == nil {
		t.Error("a dialect that is not known is found")
	}
}

// A key that a client sent as a model's name is cut out of it, the longest first, before the
// name is shortened.
func TestShownModel(t *testing.T) {
	e := &engine{}
	long := strings.Repeat("m", modelname.Most-4)
	for _, c := range []struct {
		name string
		keys []string
		want string
	}{
		{"gpt", nil, "gpt"}, {"x-key1-key12", []string{"key1", "key12"}, "x-[secret]-[secret]"}, {"key12", []string{"key12", "key1"}, "[secret]"}, {"key12", []string{"key1", "key12"}, "[secret]"}, {"abc", []string{"abc"}, "abc"}, {"abcd", []string{"abcd"}, "[secret]"}, {"a\nb", nil, `a\nb`},
	} {
		if got := e.shownModel(c.name, c.keys); got != c.want {
			t.Errorf("%q with %q: %q, want %q", c.name, c.keys, got, c.want)
		}
	}
	if got := e.shownModel(long+"secret-1", []string{"secret-1"}); strings.Contains(got, "secret-1") || strings.Contains(got, "secr…") {
		t.Error(got)
	}
}

// A shelf keeps what replicas share, and notes when nobody follows it any more.
type shelf struct {
	values map[history.Key][]byte
	left   atomic.Bool
}

func (s *shelf) Put(history.LevelEntry)                           {}
func (s *shelf) Get(history.Key, []history.Key) [][]byte          { return nil }
func (s *shelf) Resolve(history.Key, []history.Key) []history.Key { return nil }

func (s *shelf) Change(field history.Key, change func([]byte) []byte) {
	s.values[field] = change(s.values[field])
}

func (s *shelf) Follow(ctx context.Context, seen func(history.Key, []byte), ready func()) {
	for field, value := range s.values {
		seen(field, value)
	}
	ready()
	<-ctx.Done()
	for range 100 {
		runtime.Gosched() // so that a gateway that does not wait is closed first
	}
	s.left.Store(true)
}

// A gateway that is closed has stopped following its replicas.
func TestClosedFollowsNoMore(t *testing.T) {
	s := &shelf{values: map[history.Key][]byte{}}
	g, err := New(Config{Upstream: &url.URL{Scheme: "http", Host: "localhost:1"}, Shared: s, SharedSecret: []byte(strings.Repeat("s", 32))})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if !s.left.Load() {
		t.Error("something follows the replicas still")
	}
}

// Lines of results that are held without room for them end the file; an earlier fault stays.
func TestResultLinesReserve(t *testing.T) {
	c, err := budget.New(2*budget.BaseCost, slog.New(slog.DiscardHandler)).Open()
	if err != nil {
		t.Fatal(err)
	}
	const most = 2 * budget.BaseCost // a stream may overdraw the budget by half
	l := &resultLines{charge: c, in: make([]byte, 0, most/2), out: make([]byte, 0, most/2)}
	if l.reserve(); l.err != nil || c.Held() != budget.BaseCost+most {
		t.Errorf("%v, %d bytes", l.err, c.Held())
	}
	l.in = make([]byte, 0, most)
	if l.reserve(); l.err != budget.ErrOverdrawn {
		t.Errorf("lines without room for them: %v", l.err)
	}
	l.err = http.ErrBodyNotAllowed
	if l.reserve(); l.err != http.ErrBodyNotAllowed {
		t.Errorf("an earlier fault became %v", l.err)
	}
}
