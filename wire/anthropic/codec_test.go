package anthropic

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/wire"
)

const request = `{"model":"qwen3","max_tokens":1.0e3,"stream":true,"thinking":{"type":"enabled","budget_tokens":2048},
 "output_config":{"effort":"high"},"system":"be kind","messages":[
 {"role":"user","content":"hi"},
 {"role":"assistant","content":[{"type":"thinking","thinking":"r","signature":""},{"type":"thinking","thinking":"s","signature":"c2ln"},
  {"type":"redacted_thinking","data":"x"},{"type":"text","text":"a"},{"type":"tool_use","id":"t1","name":"f","input":{}}]},
 {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"4"}]},
 {"role":"assistant","content":[{"type":"text","text":"The"},{"type":"text","text":" answer"}]}]}`

func TestRequest(t *testing.T) {
	q, err := Messages.Request([]byte(request))
	if err != nil {
		t.Fatal(err)
	}
	if q.Model != "qwen3" || !q.Stream || q.Prefill != " answer" || len(q.Messages) != 4 {
		t.Errorf("%+v", q)
	}
	if q.Switch != "thinking.type=enabled,output_config.effort=high" {
		t.Errorf("switch %q", q.Switch)
	}
	want := []wire.Thought{
		{Name: "thinking", Text: "r", Minted: true},
		{Name: "thinking", Text: "s", Sealed: true, Proof: "c2ln"},
		{Name: "redacted_thinking", Sealed: true, Proof: "x"},
	}
	if m := q.Messages[1]; !m.Calls || !reflect.DeepEqual(m.Thoughts, want) {
		t.Errorf("%+v", m)
	}
	if !q.Messages[2].Results {
		t.Errorf("%+v", q.Messages[2])
	}
	for _, body := range []string{`[]`, `{}`, `{"messages":"hi"}`, `null`} {
		if _, err := Messages.Request([]byte(body)); err == nil {
			t.Errorf("%s: no error", body)
		}
	}
}

// What was minted here goes back out of the request, and nothing else of it
// changes.
func TestEdit(t *testing.T) {
	got, err := Messages.Edit(nil, []byte(request), []wire.Change{{Message: 1, Drop: []int{0}}})
	if err != nil {
		t.Fatal(err)
	}
	const minted = `{"type":"thinking","thinking":"r","signature":""},`
	if want := strings.Replace(request, minted, "", 1); string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := Messages.Edit(nil, []byte(request), []wire.Change{{Message: 9}}); err == nil {
		t.Error("no error for a message that is not there")
	}
}

func TestError(t *testing.T) {
	for status, want := range map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
		404: "not_found_error", 405: "invalid_request_error", 413: "request_too_large", 429: "rate_limit_error",
		500: "api_error", 502: "api_error", 503: "overloaded_error", 504: "timeout_error", 529: "overloaded_error",
	} {
		body := Messages.Error(status, "no \"way\"\n\xff")
		got := gjson.ParseBytes(body)
		if !gjson.ValidBytes(body) || got.Get("type").Str != "error" || got.Get("error.type").Str != want ||
			got.Get("error.message").Str != "no \"way\"\n\ufffd" {
			t.Errorf("%d: %s", status, body)
		}
	}
}

// A body that is not a message, such as an error, stays as it is.
func TestWholeOther(t *testing.T) {
	for _, body := range []string{`{"type":"error","error":{"type":"api_error","message":"<think>"}}`, `[]`, `{"content":"<think>r</think>"}`, " {\"content\" : [ ]}\n"} {
		d := &reader{}
		if got := d.reply().Whole(nil, []byte(body), d); string(got) != body {
			t.Errorf("%s became %s", body, got)
		}
	}
}

// Around the text of a block that is split, everything stays as it is spelt.
func TestWholeSpelling(t *testing.T) {
	const body = ` {"id":1.0, "content" : [ {"type":"image","n":1e0},
 {"cache" : {}, "text" : "<think>r</think>\u00e9", "type":"text"}, {"type":"text","text":"\/"} ],
 "stop_reason":"end_turn","usage":{"n":1.00}} `
	const want = ` {"id":1.0, "content" : [{"type":"image","n":1e0},{"type":"thinking","thinking":"r","signature":""},` +
		`{"cache" : {}, "text" : "é", "type":"text"},{"type":"text","text":"\/"}],
 "stop_reason":"end_turn","usage":{"n":1.00}} `
	d := &reader{}
	if got := d.reply().Whole(nil, []byte(body), d); string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
