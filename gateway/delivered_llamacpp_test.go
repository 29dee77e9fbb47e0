package gateway_test

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// The members of a text of llama.cpp's server: those that its documentation and its source
// name, of this version and earlier ones.
const (
	fullLlamaEnd = `"id_slot":0,"slot_id":0,"model":"m","tokens_predicted":9,"tokens_evaluated":5,"generation_settings":{"seed":1,"grammar":"musing","stop":["END"],"lora":[]},` +
		`"prompt":"2+2?","has_new_line":false,"truncated":false,"stop_type":"word","stopping_word":"END","tokens_cached":13,"stopped_eos":false,"stopped_word":true,"stopped_limit":false,` +
		`"multimodal":false,"timings":{"cache_n":2,"predicted_per_second":1.5},"tokens":[424242],"__verbose":{"content":"musing"},"id":"c1","oaicompat_token_ctr":1`
	fullLlamaTokens = `"completion_probabilities":[{"id":4,"token":"It is 4.","bytes":[73],"logprob":-1,"top_logprobs":[{"id":5,"token":"It","bytes":[73],"logprob":-2}]}]`
	fullLlamaSaid   = `"content":"It is 4.","reasoning_content":"musing","narration":"Wait.",` + fullLlamaTokens
)

func init() {
	// Tokens spell a text, the settings and the prompt may hold anything.
	unreadMembers["llamacpp.completion"] = map[string]any{"tokens": []any{}, "generation_settings": nil, "prompt": nil}
	frames := []string{
		`{"index":0,` + fullLlamaSaid + `,"tokens":[424242],"stop":false,"id_slot":0,"tokens_predicted":1,"tokens_evaluated":5,"prompt_progress":{"total":5,"cache":2,"processed":5,"time_ms":1},"timings":{"predicted_n":1}}`,
		`{"index":1,"content":"b","tokens":[424242],"stop":true,"completion_probabilities":[{"id":4,"token":"b","bytes":[98],"prob":0.5,"top_probs":[{"id":5,"token":"a","bytes":[97],"prob":0.5}]}],` + strings.Replace(fullLlamaEnd, `"tokens":[424242],`, "", 1) + `}`,
		`{"index":0,"content":"","stop":true,` + fullLlamaEnd + `}`,
		`{"error":{"code":500,"message":"busy","type":"server_error","n_prompt_tokens":5,"n_ctx":4}}`,
	}
	body := `{"index":0,"stop":true,` + fullLlamaSaid + `,` + fullLlamaEnd + `}`
	for _, path := range []string{"/completion", "/completions"} {
		fullReplies = append(
			fullReplies,
			fullReply{path: path, frames: frames, body: body},
			fullReply{path: path, frames: frames[:1:1], body: `[` + body + `,{"index":1,"content":"b","stop":true,"stop_type":"eos"},{"error":{"code":500,"message":"busy","type":"server_error"}}]`},
		)
	}
}

// TestTailsOfMembers: what is held of a member that comes in pieces reaches the client in
// that member, also where the choice itself is the message.
func TestTailsOfMembers(t *testing.T) {
	for path, test := range map[string]struct{ member, stream string }{
		"/completion": {"narration", `data: {"index":0,"content":"a","narration":"Wait <thi","stop":false}` + "\n\n" + `data: {"index":0,"content":"","stop":true,"stop_type":"eos"}` + "\n\n"},
		"/v1/completions": {
			"choices.0.narration",
			`data: {"choices":[{"index":0,"text":"a","narration":"Wait <thi"}]}` + "\n\n" + `data: {"choices":[{"index":0,"text":"","finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n",
		},
	} {
		g := handler(t, gateway.Config{Default: routing.Route{Display: routing.DisplayHide}}, answering(upstreamSends("text/event-stream", test.stream)))
		out, said := ask(g, path, `{"model":"m","stream":true,"prompt":"q"}`).Body.Bytes(), ""
		for f := range framesOf(codecNamed("llamacpp.completion"), out) {
			said += gjson.GetBytes(f.Data, test.member).Str
		}
		if said != "Wait <thi" {
			t.Errorf("%s: %q in\n%s", path, said, out)
		}
	}
}
