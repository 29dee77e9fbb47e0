package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// vllmThought are the events of a reasoning item as vLLM sends them, and its item.
func vllmThought(deltas ...string) (events, item string) {
	const place = `"item_id":"rs_1","output_index":0,"content_index":0`
	text := strings.Join(deltas, "")
	item = `{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":` + quoted(text) + `}],"status":"completed"}`
	events = event("response.output_item.added", `"sequence_number":1,"output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"content":[],"status":"in_progress"}`) +
		event("response.reasoning_part.added", `"sequence_number":2,`+place+`,"part":{"type":"reasoning_text","text":""}`)
	n := 3
	for _, d := range deltas {
		events += event("response.reasoning_text.delta", fmt.Sprintf(`"sequence_number":%d,`, n)+place+`,"delta":`+quoted(d))
		n++
	}
	events += event("response.reasoning_text.done", fmt.Sprintf(`"sequence_number":%d,`, n)+place+`,"text":`+quoted(text)) +
		event("response.reasoning_part.done", fmt.Sprintf(`"sequence_number":%d,`, n+1)+place+`,"part":{"type":"reasoning_text","text":`+quoted(text)+`}`) +
		event("response.output_item.done", fmt.Sprintf(`"sequence_number":%d,`, n+2)+`"output_index":0,"item":`+item)
	return events, item
}

// summarized is what a client that reads only summaries makes of a stream: the text of
// its deltas, and what each later event repeats of it.
func summarized(t *testing.T, stream []byte) (text string, repeats map[string]string) {
	t.Helper()
	repeats = map[string]string{}
	last := int64(-1)
	for f := range framesOf(responsesSpeaker.codec, stream) {
		root := gjson.ParseBytes(f.Data)
		kind := root.Get("type").Str
		if strings.Contains(kind, "reasoning_text") || strings.Contains(kind, "reasoning_part") {
			t.Errorf("an event that is not of a summary: %s", f.Data)
		}
		if n := root.Get("sequence_number"); n.Exists() {
			if n.Int() <= last {
				t.Errorf("the number %d follows %d", n.Int(), last)
			}
			last = n.Int()
		}
		switch kind {
		case "response.reasoning_summary_part.added":
			if root.Get("summary_index").Int() != 0 || !root.Get("summary_index").Exists() {
				t.Errorf("%s", f.Data)
			}
			repeats["added"] += "+"
		case "response.reasoning_summary_text.delta":
			text += root.Get("delta").Str
		case "response.reasoning_summary_text.done":
			repeats["text.done"] += root.Get("text").Str
		case "response.reasoning_summary_part.done":
			repeats["part.done"] += root.Get("part.text").Str
		case "response.output_item.done":
			repeats["item.done"] += root.Get("item.summary.0.text").Str
			if root.Get("item.type").Str == "reasoning" && root.Get("item.content.0").Exists() {
				t.Errorf("%s", f.Data)
			}
		case "response.completed":
			repeats["completed"] += root.Get("response.output.0.summary.0.text").Str
		}
	}
	return text, repeats
}

// TestSummaries checks that reasoning in the responses API is summary text where the
// setting or the request asks for it, whoever separated it.
func TestSummaries(t *testing.T) {
	const thought = "I add two and two."
	message := `{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":"It is 4."}]}`
	native, item := vllmThought("I add ", "two ", "and two.")
	nativeStream := event("response.created", `"sequence_number":0,"response":{"id":"resp_1","output":[]}`) + native +
		event("response.output_item.added", `"sequence_number":9,"output_index":1,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}`) +
		event("response.output_text.delta", `"sequence_number":10,"output_index":1,"item_id":"msg_1","content_index":0,"delta":"It is 4."`) +
		event("response.output_text.done", `"sequence_number":11,"output_index":1,"item_id":"msg_1","content_index":0,"text":"It is 4."`) +
		event("response.content_part.done", `"sequence_number":12,"output_index":1,"item_id":"msg_1","content_index":0,"part":{"type":"output_text","text":"It is 4."}`) +
		event("response.output_item.done", `"sequence_number":13,"output_index":1,"item":`+message) +
		event("response.completed", `"sequence_number":14,"response":`+responsesBody(`"status":"completed"`, item+","+message, "It is 4."))
	inline := "<think>" + thought + "</think>It is 4."
	for _, upstream := range []struct{ name, stream, whole string }{
		{"native", nativeStream, responsesBody(`"status":"completed"`, item+","+message, "It is 4.")},
		{"inline", responsesSpeaker.stream(byteByByte(inline), sotto.EndStopped), responsesSpeaker.whole(inline, sotto.EndStopped)},
	} {
		for _, asked := range []struct {
			form routing.ResponsesReasoning
			more string
			want bool
		}{
			{"", "", false}, {"", `"reasoning":{"effort":"low"},`, false}, {"", `"reasoning":{"summary":null},`, false},
			{"", `"reasoning":{"summary":"auto"},`, true}, {"", `"reasoning":{"generate_summary":"concise"},`, true}, {routing.ReasoningSummary, "", true},
		} {
			where := fmt.Sprint(upstream.name, asked)
			g := handler(t, gateway.Config{Default: routing.Route{ResponsesReasoning: asked.form}}, answering(func(r *http.Request) *http.Response {
				b, _ := io.ReadAll(r.Body)
				if strings.Contains(string(b), `"stream":true`) {
					return response("text/event-stream", strings.NewReader(upstream.stream))
				}
				return response("application/json", strings.NewReader(upstream.whole))
			}))
			body := gjson.Parse(ask(g, "/v1/responses", `{"model":"m",`+asked.more+`"input":"q"}`).Body.String())
			summary, content := body.Get("output.0.summary.0"), body.Get("output.0.content.0")
			if asked.want && (summary.Get("text").Str != thought || summary.Get("type").Str != "summary_text" || content.Exists()) ||
				!asked.want && (content.Get("text").Str != thought || summary.Exists()) {
				t.Errorf("%s: %s", where, body.Raw)
			}
			out := ask(g, "/v1/responses", `{"model":"m",`+asked.more+`"stream":true,"input":"q"}`).Body.Bytes()
			answer := ""
			for f := range framesOf(responsesSpeaker.codec, out) {
				if gjson.GetBytes(f.Data, "type").Str == "response.output_text.delta" {
					answer += gjson.GetBytes(f.Data, "delta").Str
				}
			}
			if answer != "It is 4." || !strings.Contains(string(out), "response.completed") {
				t.Errorf("%s: text %q", where, answer)
			}
			if !asked.want {
				if strings.Contains(string(out), "summary_text") {
					t.Errorf("%s:\n%s", where, out)
				}
				continue
			}
			text, repeats := summarized(t, out)
			if text != thought || repeats["added"] != "+" {
				t.Errorf("%s: deltas %q, %v\n%s", where, text, repeats, out)
			}
			for _, name := range []string{"text.done", "part.done", "item.done", "completed"} {
				if repeats[name] != thought {
					t.Errorf("%s: %s says %q\n%s", where, name, repeats[name], out)
				}
			}
			for _, display := range []routing.Display{routing.DisplayHide, routing.DisplayTags, routing.DisplayKeep} {
				g := handler(t, gateway.Config{Default: routing.Route{ResponsesReasoning: asked.form, Display: display}}, answering(upstreamSends("text/event-stream", upstream.stream)))
				out := ask(g, "/v1/responses", `{"model":"m",`+asked.more+`"stream":true,"input":"q"}`).Body.String()
				if strings.Contains(out, "summary_text") || display == routing.DisplayKeep && out != upstream.stream {
					t.Errorf("%s %s:\n%s", where, display, out)
				}
			}
		}
	}
}

// TestThinkingSignature checks that a block that the gateway made is signed where the
// setting says so, and that no upstream gets that signature.
func TestThinkingSignature(t *testing.T) {
	s := speakerOf(t, "anthropic.messages")
	signatureOf := func(form routing.ThinkingSignature, raw string, stream bool) string {
		v := converse(t, s, gateway.Config{Default: routing.Route{ThinkingSignature: form}})
		v.raw, v.cut = raw, byteByByte(raw)
		out := ask(v, s.path, v.request("m", stream, "")).Body.Bytes()
		if !stream {
			return gjson.GetBytes(out, `content.#(type=="thinking").signature`).Str
		}
		signature, open := "", ""
		for f := range framesOf(s.codec, out) {
			root := gjson.ParseBytes(f.Data)
			switch root.Get("type").Str {
			case "content_block_start":
				open = root.Get("content_block.type").Str
			case "content_block_delta":
				if root.Get("delta.type").Str == "signature_delta" {
					signature += root.Get("delta.signature").Str
					if open != "thinking" {
						t.Errorf("a signature in a block of type %q", open)
					}
				}
			}
		}
		return signature
	}
	signature := ""
	for _, raw := range []string{"<think>I add.</think>It is 4.", "<think>I add."} {
		for _, stream := range []bool{true, false} {
			if got := signatureOf(routing.SignatureEmpty, raw, stream); got != "" {
				t.Errorf("signed with %q", got)
			}
			if signature = signatureOf("", raw, stream); signature == "" || signature != signatureOf(routing.SignatureSotto, raw, stream) {
				t.Errorf("%q stream=%v: signed with %q", raw, stream, signature)
			}
		}
	}

	got := ""
	back := func(model, signature string, policy string) string {
		g := handler(t, gateway.Config{HistoryDryRun: policy == "dry"}, answering(func(r *http.Request) *http.Response {
			b, _ := io.ReadAll(r.Body)
			got = string(b)
			return response("application/json", strings.NewReader(s.whole("a", sotto.EndStopped)))
		}))
		ask(g, s.path, `{"model":"`+model+`","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":"I add.","signature":"`+signature+`"},{"type":"text","text":"It is 4."}]},{"role":"user","content":"q"}]}`)
		return got
	}
	for _, model := range []string{"claude-opus-4", "minimax-m2", "frobnicator", "qwen3"} {
		for _, policy := range []string{"auto", "dry"} {
			signed, plain := back(model, signature, policy), back(model, "", policy)
			if strings.Contains(signed, signature) || signed != plain {
				t.Errorf("%s %s: the upstream got\n%s\nwant\n%s", model, policy, signed, plain)
			}
			escaped := back(model, strings.Replace(signature, "s", `\u0073`, 1), policy)
			if escaped != plain {
				t.Errorf("%s %s: the upstream got\n%s\nwant\n%s", model, policy, escaped, plain)
			}
		}
		if theirs := back(model, "EqQBCgIYAhIM", "auto"); !strings.Contains(theirs, `"EqQBCgIYAhIM"`) {
			t.Errorf("%s: the provider's signature is gone: %s", model, theirs)
		}
	}
}
