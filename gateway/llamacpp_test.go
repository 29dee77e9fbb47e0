package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// What only the own API of llama.cpp's server has: several prompts in a request, texts
// of which a request selects the members, and a form at a path that is another API's.

// TestLlamaPrompts: a request with several prompts gets a text for each, as frames with
// an index, or as a list.
func TestLlamaPrompts(t *testing.T) {
	for _, path := range []string{"/completion", "/completions"} {
		for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide} {
			base := start(t, scripted.New(scripted.Options{}), gateway.Config{Default: routing.Route{Display: display}})
			body := `{"model":"minimax-m2","n_probs":1,"prompt":["What?","Why?","How?"],"stream":`
			_, whole := post(t, base+path, body+"false}", nil)
			_, streamed := post(t, base+path, body+"true}", nil)
			texts, thoughts := map[int64]string{}, map[int64]string{}
			for f := range framesOf(codecNamed("llamacpp.completion"), streamed) {
				root := gjson.ParseBytes(f.Data)
				texts[root.Get("index").Int()] += root.Get("content").Str
				thoughts[root.Get("index").Int()] += root.Get("reasoning_content").Str
			}
			all := gjson.ParseBytes(whole).Array()
			if len(all) != 3 || len(texts) != 3 {
				t.Fatalf("%s %s: %d whole, %d streamed texts:\n%s\n%s", path, display, len(all), len(texts), whole, streamed)
			}
			for i, one := range all {
				text, thought := one.Get("content").Str, one.Get("reasoning_content").Str
				if !strings.Contains(text, "Ottawa") || strings.Contains(text, "think") || texts[int64(i)] != text || thoughts[int64(i)] != thought {
					t.Errorf("%s %s: text %d is %q and %q, thought %q and %q", path, display, i, text, texts[int64(i)], thought, thoughts[int64(i)])
				}
				if hidden := display == routing.DisplayHide; (thought == "") != hidden {
					t.Errorf("%s %s: thought %d is %q", path, display, i, thought)
				}
			}
			if display == routing.DisplayHide && strings.Contains(string(whole)+string(streamed), "Short question") {
				t.Errorf("%s: the hidden thought came out:\n%s\n%s", path, whole, streamed)
			}
		}
	}
}

// TestLlamaPromptTail: an opener at the end of the prompt says how the reply begins, in
// every form that a prompt may have.
func TestLlamaPromptTail(t *testing.T) {
	for _, prompt := range []string{
		`"<|im_start|>assistant\n<think>\n"`, `["<|im_start|>assistant\n<think>\n"]`, `[1,2,"<|im_start|>assistant\n<think>\n"]`,
		`{"prompt_string":"<|im_start|>assistant\n<think>\n","multimodal_data":["aGk="]}`,
	} {
		v := converse(t, speakerOf(t, "llamacpp.completion"), gateway.Config{})
		v.raw, v.cut = preOpened, byteByByte(preOpened)
		w := ask(v, v.s.path, `{"stream":true,"prompt":`+prompt+`}`)
		v.s.listen(t, w.Body.Bytes()).wants(t, "It is 4.", "I add.")
	}
}

// TestLlamaSelected: a request may select the members of the last object. Without the
// member stop the stream still ends well, but a stream that breaks off before it does not.
func TestLlamaSelected(t *testing.T) {
	for end, fails := range map[string]bool{
		`data: {"content":"","generation_settings/n_predict":9}` + "\n\n": false,
		`data: {"content":"","tokens_predicted":9}`:                       false,
		"": true,
		`data: {"index":0,"content":"","stop":true,"stopped_eos":true,"stopped_word":false,"stopped_limit":false}` + "\n\n": false,
	} {
		stream := llamaFrame("<think>r</think>Hi <thin") + end
		g := handler(t, gateway.Config{}, answering(upstreamSends("text/event-stream", stream)))
		h := speakerOf(t, "llamacpp.completion").listen(t, ask(g, "/completion", `{"prompt":"q","stream":true}`).Body.Bytes())
		if string(h.text) != "Hi <thin" || string(h.thought) != "r" || (h.failed != "") != fails {
			t.Errorf("%q: text %q, thought %q, failed %q", end, h.text, h.thought, h.failed)
		}
	}
}

// TestCompletionsForms: the body of /completions is read in OpenAI's form and in
// llama.cpp's, and one of neither form is not shown where reasoning is hidden. A list is
// read in llama.cpp's form only.
func TestCompletionsForms(t *testing.T) {
	const openai = `{"choices":[{"index":0,"text":"<think>canary</think>Hi","finish_reason":"stop"}]}`
	native := llamaText("<think>canary</think>Hi", `"eos"`)
	for body, want := range map[string]int{
		openai: http.StatusOK, native: http.StatusOK, "[" + native + "]": http.StatusOK,
		"[" + openai + "]": http.StatusBadGateway, "[]": http.StatusBadGateway, "[" + native + ",1]": http.StatusBadGateway, `["canary"]`: http.StatusBadGateway,
	} {
		for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide} {
			g := handler(t, gateway.Config{Default: routing.Route{Display: display}}, answering(upstreamSends("application/json", body)))
			w := ask(g, "/completions", `{"prompt":"q"}`)
			if w.Code != want || display == routing.DisplayHide && strings.Contains(w.Body.String(), "canary") || strings.Contains(w.Body.String(), "<think>") {
				t.Errorf("%s, %s: %d %s", display, body, w.Code, w.Body)
			}
		}
	}
	stream := llamaFrame("<think>r</think>Hi") + "data: " + llamaText("", llamaReasons[sotto.EndStopped]) + "\n\n"
	g := handler(t, gateway.Config{}, answering(upstreamSends("text/event-stream", stream)))
	speakerOf(t, "llamacpp.completion").listen(t, ask(g, "/completions", `{"prompt":"q","stream":true}`).Body.Bytes()).wants(t, "Hi", "r")
}
