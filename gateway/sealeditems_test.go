package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
)

// TestSealedItems: a call of the responses API comes with encrypted reasoning, which the
// provider requires before the call. A client that drops it is served all the same, by
// the same gateway and by another that shares its state; nothing is put back twice, in
// earlier turns, or under preserve.
func TestSealedItems(t *testing.T) {
	const (
		sealed = `{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAA+/=","summary":[], "status":"completed"}`
		call   = `{"id":"fc_1","type":"function_call","call_id":"call_8bd3f1a76e54c902","name":"look","arguments":"{\"a\": 1}","status":"completed"}`
		result = `{"type":"function_call_output","call_id":"call_8bd3f1a76e54c902","output":"blue"}`
		asked  = `{"role":"user","content":"Which colour?"}`
		head   = `{"model":"gpt-5","store":false,"include":["reasoning.encrypted_content"],"tools":[{"type":"function","name":"look","parameters":{}}]`
	)
	frame := func(kind, data string) string {
		return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"," + data + "}\n\n"
	}
	streamed := frame("response.created", `"sequence_number":0,"response":{"id":"r1","model":"gpt-5","status":"in_progress","output":[]}`) +
		frame("response.output_item.added", `"sequence_number":1,"output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":"gA","summary":[]}`) +
		frame("response.output_item.done", `"sequence_number":2,"output_index":0,"item":`+sealed) +
		frame("response.output_item.added", `"sequence_number":3,"output_index":1,"item":{"id":"fc_1","type":"function_call","call_id":"call_8bd3f1a76e54c902","name":"look","arguments":"","status":"in_progress"}`) +
		frame("response.function_call_arguments.done", `"sequence_number":4,"output_index":1,"item_id":"fc_1","arguments":"{\"a\": 1}"`) +
		frame("response.output_item.done", `"sequence_number":5,"output_index":1,"item":`+call) +
		frame("response.completed", `"sequence_number":6,"response":{"id":"r1","model":"gpt-5","status":"completed","output":[`+sealed+`,`+call+`]}`)
	whole := `{"id":"r1","object":"response","model":"gpt-5","status":"completed","output":[` + sealed + `,` + call + `]}`
	for _, stream := range []bool{true, false} {
		for _, display := range routing.Displays() {
			for _, policy := range routing.Policies() {
				where := fmt.Sprintf("stream=%v %s %s", stream, display, policy)
				got := ""
				up := answering(func(r *http.Request) *http.Response {
					b, _ := io.ReadAll(r.Body)
					got = string(b)
					if strings.Contains(got, `"stream":true`) {
						return response("text/event-stream", strings.NewReader(streamed))
					}
					return response("application/json", strings.NewReader(whole))
				})
				route := routing.Route{Display: display, History: policy}
				board := newBoard()
				first := handler(t, gateway.Config{Default: route, Shared: board, SharedSecret: []byte("a secret of the replicas")}, up)
				other := handler(t, gateway.Config{Default: route, Shared: board, SharedSecret: []byte("a secret of the replicas")}, up)
				mode := fmt.Sprintf(`,"stream":%v`, stream)
				if w := ask(first, "/v1/responses", head+mode+`,"input":[`+asked+`]}`); w.Code != http.StatusOK {
					t.Fatal(where, w.Code, w.Body)
				}
				sends := func(g http.Handler, input string) string {
					t.Helper()
					if w := ask(g, "/v1/responses", head+mode+`,"input":[`+input+`]}`); w.Code != http.StatusOK {
						t.Fatal(where, w.Code, w.Body)
					}
					_, input, _ = strings.Cut(got, `"input":[`)
					return strings.TrimSuffix(input, "]}")
				}
				want := asked + "," + sealed + "," + call + "," + result
				dropped := asked + "," + call + "," + result
				for i, g := range []http.Handler{first, other} {
					restored := want
					if policy == history.Preserve {
						restored = dropped
					}
					if got := sends(g, dropped); got != restored {
						t.Errorf("%s, gateway %d:\ngot  %s\nwant %s", where, i, got, restored)
					}
					if got := sends(g, want); got != want {
						t.Errorf("%s, gateway %d, nothing dropped: %s", where, i, got)
					}
					const next = `,{"role":"assistant","content":"Blue."},{"role":"user","content":"Thanks."}`
					if got := sends(g, dropped+next); got != dropped+next {
						t.Errorf("%s, gateway %d, the next turn: %s", where, i, got)
					}
				}
			}
		}
	}
}
