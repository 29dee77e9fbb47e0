package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// TestCutResponse: where a guard cuts the answer of a response, whole or streamed, the client
// keeps what passed before: the thought that the upstream itself separated, the one that stood
// in the text, and the beginning of the answer. No item is empty, and each has the id that it
// began with.
func TestCutResponse(t *testing.T) {
	text := strings.Repeat("All of it is harmless. ", 40)
	output := `[{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"First thought."}]},` +
		`{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":` + quoted("<think>Second thought.</think>"+text+"canary") + `,"annotations":[]}]}]`
	whole := `{"id":"resp_1","object":"response","status":"completed","model":"m","output":` + output + `}`
	stream := event("response.created", `"response":{"id":"resp_1","object":"response","status":"in_progress","model":"m","output":[]}`)
	for i, item := range gjson.Parse(output).Array() {
		stream += event("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":{"id":%q,"type":%q,"role":"assistant","summary":[],"content":[]}`, i, item.Get("id").Str, item.Get("type").Str))
		kind := "output_text"
		if i == 0 {
			kind = "reasoning_text"
		}
		for _, piece := range inPieces(item.Get("content.0.text").Str, 40) {
			stream += event("response."+kind+".delta", fmt.Sprintf(`"item_id":%q,"output_index":%d,"content_index":0,"delta":%s`, item.Get("id").Str, i, quoted(piece)))
		}
		stream += event("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, i, item.Raw))
	}
	stream += event("response.completed", `"response":`+whole)
	judges := &judgeFunc{judge: func(p guard.Piece) (guard.Verdict, error) {
		if strings.Contains(p.Text, "canary") {
			return guard.Verdict{Action: guard.Cut}, nil
		}
		return guard.Verdict{Action: guard.Pass}, nil
	}}
	route := routing.Route{Display: routing.DisplayField, Guard: guard.Rule{Guard: judges}}
	for kind, body := range map[string]string{"application/json": whole, "text/event-stream": stream} {
		g := handler(t, gateway.Config{Default: route}, answering(func(*http.Request) *http.Response { return response(kind, strings.NewReader(body)) }))
		got := ask(g, "/v1/responses", fmt.Sprintf(`{"model":"m","stream":%v,"input":"2+2?"}`, body == stream)).Body.String()
		final, ids := gjson.Parse(got), map[string]bool{}
		for f := range framesOf(responsesSpeaker.codec, []byte(got)) {
			e := gjson.ParseBytes(f.Data)
			switch e.Get("type").Str {
			case "response.output_item.added":
				ids[e.Get("item.id").Str] = true
			case "response.completed", "response.incomplete":
				final = e.Get("response")
			}
		}
		var said []string
		for _, item := range final.Get("output").Array() {
			said = append(said, item.Get("type").Str+" "+strings.TrimSpace(item.Get("content.0.text").Str))
			if id := item.Get("id").Str; body == stream && !ids[id] || id == "" {
				t.Errorf("%s: an item %q that did not begin", kind, id)
			}
		}
		if len(said) != 3 || said[0] != "reasoning First thought." || said[1] != "reasoning Second thought." || !strings.HasPrefix(said[2], "message") || strings.Contains(got, "canary") {
			t.Errorf("%s: %.100q\n%.3000s", kind, said, got)
		}
		if body == stream && !strings.HasPrefix(said[2], "message All of it is harmless.") {
			t.Errorf("the beginning of the answer is gone: %.100q", said[2])
		}
	}
}
