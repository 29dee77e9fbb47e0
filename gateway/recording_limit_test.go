package gateway_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/record"
)

// TestRecordLimit: of a reply beyond the limit the middle of the thought is not recorded,
// whether it came in the text or beside it, and the record says how much that is. The answer,
// the call and the end of the thought are; the client gets all of it.
func TestRecordLimit(t *testing.T) {
	const limit = 4 << 10
	thought := "I begin. " + strings.Repeat("é", 5*limit) + " I end."
	answer := strings.Repeat("x", limit/2)
	each(t, func(t *testing.T, s speaker) {
		for _, stream := range []bool{true, false} {
			w, dir := openRecord(t, record.Options{})
			v := converse(t, s, gateway.Config{Recorder: w, Limits: gateway.Limits{Recorded: limit}})
			raw := "<think>" + thought + "</think>" + answer
			v.raw, v.cut = raw, byteByByte(raw)
			got := ask(v, s.path, v.request("m", stream, "")).Body.Bytes()
			if stream {
				v.s.listen(t, got).wants(t, answer, thought)
			}
			e := only(t, w, dir)
			r := e.Replies[0]
			n, gone := len(r.Raw.Text), r.Raw.Len()-len(r.Raw.Text)
			if n < limit/2 || n > limit || r.Raw.Len() != len(raw) || !strings.HasSuffix(string(r.Raw.Text), " I end.</think>"+answer) || !strings.HasPrefix(string(r.Raw.Text), "<think>I begin. é") {
				t.Errorf("%d bytes of %d recorded: %.20q … %.20q", n, len(raw), r.Raw.Text, r.Raw.Text[max(0, n-40):])
			}
			if len(r.Raw.Cuts) != 1 || r.Raw.Cuts[0].Why != record.CutByLimit || !strings.Contains(e.Error, fmt.Sprintf(" %d bytes ", gone)) || e.Outcome != "answered" {
				t.Errorf("cuts %v, error %q", r.Raw.Cuts, e.Error)
			}
			if !slices.Contains(r.Diagnostics, sotto.Diagnostic{Code: "record_limit", Offset: r.Raw.Cuts[0].Start}) {
				t.Errorf("diagnostics %v", r.Diagnostics)
			}
			if !strings.Contains(metricsOf(v), "sotto_record_truncated_total 1") {
				t.Error("not counted")
			}
		}
	})
}

// TestRecordLimitBeside: the same, where the upstream sends the thought in a member of its
// own, and calls a tool.
func TestRecordLimitBeside(t *testing.T) {
	const limit = 4 << 10
	thought := "I begin. " + strings.Repeat("世", 5*limit) + " I end."
	for _, member := range []string{`"reasoning_content":%s`, `"reasoning_details":[{"type":"reasoning.text","text":%s}]`} {
		w, dir := openRecord(t, record.Options{})
		g := handler(t, gateway.Config{Recorder: w, Limits: gateway.Limits{Recorded: limit}}, answering(func(*http.Request) *http.Response {
			return response("application/json", strings.NewReader(`{"choices":[{"index":0,"message":{"role":"assistant",`+fmt.Sprintf(member, quoted(thought))+
				`,"content":"The answer.","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}]}`))
		}))
		ask(g, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}]}`)
		r := only(t, w, dir).Replies[0]
		if len(r.Reasoning) != 1 || len(r.ToolCalls) != 1 {
			t.Fatalf("%+v", r)
		}
		got := r.Reasoning[0].Text
		if n := len(got.Text); n < limit/8 || n > limit || got.Len() != len(thought) || len(got.Cuts) != 1 ||
			!strings.HasPrefix(string(got.Text), "I begin.") || !strings.HasSuffix(string(got.Text), " I end.") || !utf8.ValidString(string(got.Text)) {
			t.Errorf("%d bytes of the thought, cuts %v", n, got.Cuts)
		}
		if r.Raw.Text != "The answer." || r.ToolCalls[0].ID != "c1" || r.ToolCalls[0].Name != "f" || r.ToolCalls[0].Arguments.Text != `{"a":1}` {
			t.Errorf("the reply is %+v", r)
		}
	}
}
