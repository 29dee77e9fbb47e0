package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai"
)

// A loud reader tells texts apart by their case: it gives lower-case letters as
// they are, upper-case ones to reasoning, and holds what stands behind a '_' to
// the end.
type loud struct {
	held  map[int][]byte
	order []int
	shut  map[int]bool
}

func newLoud() *loud { return &loud{held: map[int][]byte{}, shut: map[int]bool{}} }

func (l *loud) Text(choice int, text []byte) (parts []wire.Part) {
	if _, ok := l.held[choice]; !ok {
		l.held[choice] = nil
		l.order = append(l.order, choice)
	}
	if len(l.held[choice]) > 0 || bytes.IndexByte(text, '_') >= 0 {
		i := bytes.IndexByte(text, '_')
		if len(l.held[choice]) > 0 {
			i = 0
		}
		l.held[choice] = append(l.held[choice], text[i:]...)
		text = text[:i]
	}
	if len(text) == 0 {
		return nil
	}
	if text[0] >= 'A' && text[0] <= 'Z' {
		return []wire.Part{{Place: wire.Reasoning, Text: text}}
	}
	return []wire.Part{{Place: wire.Content, Text: text}}
}

func (l *loud) Native(_ int, text []byte) []wire.Part {
	return []wire.Part{{Place: wire.Reasoning, Text: text}}
}

func (l *loud) Found(f wire.Event) []wire.Part {
	switch {
	case f.Kind == wire.EventText:
		return l.Text(f.Choice, f.Text)
	case f.Kind == wire.EventThought && !f.Again, f.Kind == wire.EventDetails && len(f.Text) > 0:
		return l.Native(f.Choice, f.Text)
	}
	return nil
}

func (l *loud) Close(choice int, _ sotto.Ending) []wire.Part {
	held := l.held[choice]
	l.held[choice], l.shut[choice] = nil, true
	if len(held) == 0 {
		return nil
	}
	return []wire.Part{{Place: wire.Content, Text: held}}
}

func (l *loud) Fail(error) {}

func (l *loud) Open() (open []int) {
	for _, c := range l.order {
		if !l.shut[c] {
			open = append(open, c)
		}
	}
	return open
}

func (*loud) Finish(sotto.Ending) ([]wire.Part, error) { return nil, nil }
func (*loud) Findings() string                         { return "" }
func (l *loud) Share() (reasoning, all int)            { return 0, 0 }

// rewrite gives a stream to the codec of chat completions.
func rewrite(t *testing.T, set wire.Settings, stream string, end error) string {
	t.Helper()
	y := openai.Chat.Reply(set)
	var s sse.Scanner
	var out []byte
	r := newLoud()
	for in := []byte(stream); len(in) > 0; {
		f, ok := s.Next(in)
		if !ok {
			t.Fatalf("%q is no frame", in)
		}
		out = y.Frame(out, wire.Frame(f), r)
		in = in[len(f.Raw):]
	}
	return string(y.End(out, end, r))
}

func data(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "data: %s\n\n", l)
	}
	return b.String()
}

func delta(members, rest string) string {
	return `{"id":"c","choices":[{"index":0,"delta":{` + members + `}` + rest + `}],"model":"m"}`
}

// TestChatFrames shows what becomes of frames, in the order and spelling of
// their members.
func TestChatFrames(t *testing.T) {
	stop := `{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	for name, test := range map[string]struct{ in, out string }{
		"plain":                {data(delta(`"content":"a"`, ""), stop, "[DONE]"), data(delta(`"content":"a"`, ""), stop, "[DONE]")},
		"reasoning in content": {data(delta(`"x":1.0,"content":"A","y":[]`, `,"z":{}`), stop), data(delta(`"x":1.0,"reasoning_content":"A","content":"","y":[]`, `,"z":{}`), stop)},
		"role kept":            {data(delta(`"role":"assistant","content":"_"`, ""), stop), data(delta(`"role":"assistant","content":""`, ""), delta(`"content":"_"`, `,"finish_reason":null`), stop)},
		"held alone is silent": {data(delta(`"content":"a"`, ""), delta(`"content":"_b"`, ""), stop), data(delta(`"content":"a"`, ""), delta(`"content":"_b"`, `,"finish_reason":null`), stop)},
		"tail with the text":   {data(delta(`"content":"c_b"`, `,"finish_reason":"stop"`)), data(delta(`"content":"c_b"`, `,"finish_reason":"stop"`))},
		"held to the end":      {data(delta(`"content":"_b"`, ""), delta(`"content":"c"`, `,"finish_reason":"stop"`)), data(delta(`"content":"_bc"`, `,"finish_reason":null`), delta(`"content":""`, `,"finish_reason":"stop"`))},
		"tail before [DONE]":   {data(delta(`"content":"a"`, ""), delta(`"content":"_b"`, ""), "[DONE]"), data(delta(`"content":"a"`, ""), delta(`"content":"_b"`, `,"finish_reason":null`), "[DONE]")},
		"another native name":  {data(delta(`"reasoning":"R"`, ""), stop), data(delta(`"reasoning_content":"R","reasoning":"R"`, ""), stop)},
		"the native name":      {data(delta(`"reasoning_content":"R"`, ""), stop), data(delta(`"reasoning_content":"R"`, ""), stop)},
		"both names":           {data(delta(`"reasoning":"R","reasoning_content":"R"`, ""), stop), data(delta(`"reasoning":"R","reasoning_content":"R"`, ""), stop)},
		"no choices":           {data(`{"choices":[],"prompt_filter_results":[1]}`, stop), data(`{"choices":[],"prompt_filter_results":[1]}`, stop)},
		"a logprob kept":       {data(delta(`"content":"A"`, `,"logprobs":{"content":[]}`), stop), data(delta(`"reasoning_content":"A","content":""`, `,"logprobs":{"content":[]}`), stop)},
		"comments":             {": hi\n\n" + data(delta(`"content":"a"`, ""), stop) + ":\n\n", ": hi\n\n" + data(delta(`"content":"a"`, ""), stop) + ":\n\n"},
		"torn":                 {data("{torn", stop), data(stop)},
		"no JSON":              {data("ok", "", stop), data("ok", "", stop)},
		"NaN":                  {data(delta(`"content":"A"`, `,"p":NaN`), delta(`"content":"a"`, `,"p":NaN`), stop), data(delta(`"reasoning_content":"A","content":""`, `,"p":null`), delta(`"content":"a"`, `,"p":NaN`), stop)},
	} {
		got := rewrite(t, wire.Settings{Fields: []string{"reasoning_content"}}, test.in, nil)
		if got != test.out {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, test.out)
		}
	}
}

// TestChatEnds: a stream without an end, or with a fault, says so last.
func TestChatEnds(t *testing.T) {
	frame := data(delta(`"content":"a"`, ""), delta(`"content":"_b"`, ""))
	tail := data(delta(`"content":"a"`, ""), delta(`"content":"_b"`, `,"finish_reason":null`))
	for name, end := range map[string]error{"no finish": nil, "fault": fmt.Errorf("gone \"away\"")} {
		got := rewrite(t, wire.Settings{Fields: []string{"reasoning_content"}}, frame, end)
		rest, ok := strings.CutPrefix(got, tail+"data: ")
		var e struct {
			Error struct{ Message, Type, Code string }
		}
		if err := json.Unmarshal([]byte(rest), &e); !ok || err != nil || e.Error.Message == "" || e.Error.Type != "server_error" || e.Error.Code != "bad_gateway" {
			t.Errorf("%s: %v in\n%s", name, err, got)
		}
		if end != nil && e.Error.Message != end.Error() {
			t.Errorf("%s: %q", name, e.Error.Message)
		}
	}
}

// TestChatRequest reads what the gateway must know.
func TestChatRequest(t *testing.T) {
	q, err := openai.Chat.Request([]byte(`{"model":"m","stream":true,"think":false,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"<think>"}]}`))
	if err != nil || q.Model != "m" || !q.Stream || q.Switch != "think=false" || q.Prefill != "<think>" || len(q.Messages) != 2 {
		t.Errorf("%+v, %v", q, err)
	}
	q, err = openai.Completions.Request([]byte(`{"model":"m","prompt":"x<think>"}`))
	if err != nil || q.Stream || q.Prompt != "x<think>" {
		t.Errorf("%+v, %v", q, err)
	}
	if _, err := openai.Chat.Request([]byte(`[1]`)); err == nil {
		t.Error("a list is a request")
	}
}
