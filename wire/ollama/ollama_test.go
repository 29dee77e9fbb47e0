package ollama_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/ndjson"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/ollama"
	"github.com/sotto-llm/sotto/wire/written"
)

// A loud reader gives texts that begin with an upper-case letter to reasoning,
// and holds those that begin with '_' to the end.
type loud struct {
	held []byte
	open bool
}

func (l *loud) Text(_ int, text []byte) []wire.Part {
	switch l.open = true; {
	case len(text) == 0:
		return nil
	case text[0] == '_' || len(l.held) > 0:
		l.held = append(l.held, text...)
		return nil
	case text[0] >= 'A' && text[0] <= 'Z':
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

func (l *loud) Close(int, sotto.Ending) []wire.Part {
	if l.open = false; len(l.held) == 0 {
		return nil
	}
	held := l.held
	l.held = nil
	return []wire.Part{{Place: wire.Content, Text: held}}
}

func (l *loud) Fail(error) {}

func (l *loud) Open() []int {
	if l.open {
		return []int{0}
	}
	return nil
}

func (*loud) Finish(sotto.Ending) ([]wire.Part, error) { return nil, nil }
func (*loud) Findings() string                         { return "" }
func (l *loud) Share() (reasoning, all int)            { return 0, 0 }

var settings = wire.Settings{Fields: []string{"any"}}

func rewrite(t *testing.T, c wire.Codec, s wire.Settings, stream string, end error) string {
	t.Helper()
	y, r := c.Reply(s), &loud{}
	var scanner ndjson.Scanner
	var out []byte
	for in := []byte(stream); len(in) > 0; {
		l, ok := scanner.Next(in)
		if !ok {
			t.Fatalf("%q is no line", in)
		}
		out = y.Frame(out, wire.Frame{Raw: l.Raw, Data: l.Data, At: l.At}, r)
		in = in[len(l.Raw):]
	}
	return string(y.End(out, end, r))
}

// TestLines shows what becomes of lines, in the order and spelling of their
// members.
func TestLines(t *testing.T) {
	const head = `{"model":"m","created_at":"2026","message":`
	line := func(message, rest string) string { return head + message + rest + "}\n" }
	done := line(`{"role":"assistant","content":""}`, `,"done":true,"done_reason":"stop","eval_count":1.0e1`)
	for name, test := range map[string]struct{ in, out string }{
		"plain":           {line(`{"content":"a"}`, `,"done":false`) + done, line(`{"content":"a"}`, `,"done":false`) + done},
		"reasoning":       {line(`{"role":"assistant","content":"A","x":1.0}`, `,"done":false`) + done, line(`{"role":"assistant","thinking":"A","content":"","x":1.0}`, `,"done":false`) + done},
		"native":          {line(`{"content":"","thinking":"R"}`, `,"done":false`) + done, line(`{"content":"","thinking":"R"}`, `,"done":false`) + done},
		"held":            {line(`{"content":"_a"}`, `,"done":false`) + done, line(`{"role":"assistant","content":"_a"}`, `,"done":false`) + done},
		"held at the end": {line(`{"content":"_a"}`, `,"done":true`), line(`{"role":"assistant","content":"_a"}`, `,"done":false`) + line(`{"content":""}`, `,"done":true`)},
		"calls":           {line(`{"content":"_a","tool_calls":[{"n":1.0}]}`, `,"done":false`) + done, line(`{"content":"","tool_calls":[{"n":1.0}]}`, `,"done":false`) + line(`{"role":"assistant","content":"_a"}`, `,"done":false`) + done},
		"no message":      {line(`{"content":"_a"}`, "") + `{"done":true,"done_reason":"stop"}` + "\n", line(`{"role":"assistant","content":"_a"}`, `,"done":false`) + `{"done":true,"done_reason":"stop"}` + "\n"},
		"blank":           {"\n" + line(`{"content":"a"}`, "") + " \n" + done, "\n" + line(`{"content":"a"}`, "") + " \n" + done},
		"an error":        {line(`{"content":"_a"}`, "") + `{"error":"busy"}` + "\n", line(`{"role":"assistant","content":"_a"}`, `,"done":false`) + `{"error":"busy"}` + "\n"},
		"a null error":    {line(`{"content":"a"}`, `,"error":null`) + done, line(`{"content":"a"}`, `,"error":null`) + done},
		"a clock": {
			line(`{"content":"a"}`, "") + strings.Replace(line(`{"content":"B"}`, ""), "2026", "2027\\\"", 1) + done,
			line(`{"content":"a"}`, "") + strings.Replace(line(`{"thinking":"B","content":""}`, ""), "2026", "2027\\\"", 1) + done,
		},
	} {
		if got := rewrite(t, ollama.Chat, settings, test.in, nil); got != test.out {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, test.out)
		}
	}
	generate := `{"model":"m","response":"A","done":false}` + "\n" + `{"model":"m","response":"","done":true,"context":[1,2]}` + "\n"
	want := `{"model":"m","thinking":"A","response":"","done":false}` + "\n" + `{"model":"m","response":"","done":true,"context":[1,2]}` + "\n"
	if got := rewrite(t, ollama.Generate, settings, generate, nil); got != want {
		t.Errorf("generate:\n%s\nwant\n%s", got, want)
	}
}

// TestEnds: a stream that did not finish says so in its last line.
func TestEnds(t *testing.T) {
	for _, end := range []error{nil, errors.New("gone \"away\"")} {
		got := rewrite(t, ollama.Chat, settings, `{"model":"m","message":{"content":"_a"}}`+"\n", end)
		lines := strings.Split(got, "\n")
		var e struct{ Error string }
		if len(lines) != 3 || !strings.Contains(lines[0], `"content":"_a"`) || json.Unmarshal([]byte(lines[1]), &e) != nil || e.Error == "" {
			t.Errorf("%v: %s", end, got)
		}
	}
}

// TestWrittenWithoutNames: a server that names the model only once writes lines that say
// nothing but a text.
func TestWrittenWithoutNames(t *testing.T) {
	for _, c := range []struct {
		codec     wire.Codec
		said, end string
	}{{ollama.Chat, `"message":{"role":"assistant","content":"a"}`, `"message":{"role":"assistant","content":""}`}, {ollama.Generate, `"response":"a"`, `"response":""`}} {
		y, r := written.Reply(c.codec.Reply(written.Settings(settings)), c.codec.Writer(settings), settings), &loud{}
		var got []byte
		for i, line := range []string{`{"model":"m","created_at":"2026",` + c.said + `}`, `{` + c.said + `}`, `{` + c.said + `}`, `{` + c.said + `}`, `{` + c.end + `,"done":true}`} {
			from := len(got)
			got = y.Frame(got, wire.Frame{Raw: []byte(line + "\n"), Data: []byte(line)}, r)
			if left := string(got[from:]); !strings.Contains(left, c.said) && i < 4 || !json.Valid(got[from:]) {
				t.Errorf("line %d of %s: %s", i, c.codec.Name(), left)
			}
		}
	}
}

// TestRequest reads what the gateway must know: a stream unless it says no.
func TestRequest(t *testing.T) {
	for body, want := range map[string]wire.Request{
		`{"model":"m"}`:                        {Model: "m", Stream: true},
		`{"model":"m","stream":false}`:         {Model: "m"},
		`{"prompt":"p","think":true}`:          {Stream: true, Switch: "think=true"},
		`{"prompt":"p<think>","raw":true}`:     {Stream: true, Prompt: "p<think>"},
		`{"stream":true,"raw":1,"prompt":"p"}`: {Stream: true},
	} {
		q, err := ollama.Generate.Request([]byte(body))
		if err != nil || q.Model != want.Model || q.Stream != want.Stream || q.Switch != want.Switch || (q.Prompt != want.Prompt && want.Prompt != "") {
			t.Errorf("%s: %+v, %v", body, q, err)
		}
	}
	if _, err := ollama.Chat.Request([]byte(`"x"`)); err == nil {
		t.Error("a string is a request")
	}
}

// TestKeepAlive is a line that says nothing, once there was one to be like.
func TestKeepAlive(t *testing.T) {
	y := ollama.Chat.Reply(settings)
	if got := y.KeepAlive(nil); len(got) != 0 {
		t.Errorf("%s", got)
	}
	y.Frame(nil, wire.Frame{Raw: []byte("{\"model\":\"m\",\"message\":{\"content\":\"_\"}}\n"), Data: []byte("{\"model\":\"m\",\"message\":{\"content\":\"_\"}}")}, &loud{})
	want := `{"model":"m","message":{"role":"assistant","content":""},"done":false}` + "\n"
	if got := string(y.KeepAlive(nil)); got != want {
		t.Errorf("%s", got)
	}
}
