package gateway_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// A hidden reply is what an upstream of one API sends: frames and a whole body whose
// answer is "It is 4.", with a tool call, several choices or blocks, and usage.
type hiddenReply struct {
	path   string
	frames []string
	whole  string
}

const (
	chatUsage   = `"usage":{"prompt_tokens":5,"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":3}}`
	chatCall    = `{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}`
	citation    = `{"type":"url_citation","url_citation":{"start_index":0,"end_index":2,"url":"http://a","title":"A"}}`
	probs       = `{"content":[{"token":"It is ","logprob":-1,"bytes":[73],"top_logprobs":[{"token":"It","logprob":-1,"bytes":[73]}]}],"refusal":null}`
	responseRow = `"id":"resp_1","object":"response","model":"m","status":"completed","error":null,"incomplete_details":null,"reasoning":{"effort":"high","summary":null},"text":{"format":{"type":"text"}},"usage":{"input_tokens":5,"output_tokens":9,"output_tokens_details":{"reasoning_tokens":3}}`
	sealedItem  = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"canary summary"}],"encrypted_content":"gAAAAseal"}`
	sealedBegun = `{"type":"reasoning","id":"rs_1","summary":[]}`
	messageItem = `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"It is 4.","annotations":[{"type":"url_citation","start_index":0,"end_index":2,"url":"http://a","title":"A"}],"logprobs":[]}]}`
	messageOpen = `{"type":"message","id":"msg_1","status":"in_progress","role":"assistant","content":[]}`
	callItem    = `{"type":"function_call","id":"fc_1","status":"completed","call_id":"call_1","name":"f","arguments":"{}"}`
	strangeItem = `{"type":"inner_monologue","id":"im_1","content":[{"type":"output_text","text":"canary item"}]}`
	opening     = `{"type":"message","id":"msg_1","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":1}}`
)

var hiddenReplies = []hiddenReply{
	{
		path: "/v1/chat/completions",
		frames: []string{
			chatFrame(`{"role":"assistant","content":"","reasoning_content":"canary field"}`, "null"),
			`data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"It is "},"logprobs":` + probs + `,"finish_reason":null},{"index":1,"delta":{"content":"<think>canary text</think>b"},"finish_reason":null}]}` + "\n\n",
			chatFrame(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"canary part"}]},{"type":"inner","text":"canary kind"},{"type":"text","text":"4."}]}`, "null"),
			chatFrame(`{"annotations":[`+citation+`],"tool_calls":[`+chatCall+`]}`, "null"),
			`data: {"id":"c1","choices":[{"index":1,"delta":{},"finish_reason":"stop"},{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n",
			`data: {"id":"c1","choices":[],` + chatUsage + `}` + "\n\n",
			"data: [DONE]\n\n",
		},
		whole: `{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"It is 4.","reasoning_content":"canary field","reasoning":{"text":"canary object"},"tool_calls":[` + chatCall + `],"annotations":[` + citation + `]},"finish_reason":"tool_calls"},{"index":1,"message":{"content":"<think>canary text</think>b"},"logprobs":` + strings.Replace(probs, "It is ", "canary text", 1) + `,"finish_reason":"stop"}],` + chatUsage + `}`,
	},
	{
		path: "/v1/completions",
		frames: []string{
			completionFrame("<think>canary text</think>It is ", "null"), completionFrame("4.", `"stop"`), "data: [DONE]\n\n",
		},
		whole: `{"id":"c1","model":"m","choices":[{"index":0,"text":"<think>canary text</think>It is 4.","logprobs":{"tokens":["canary ","text"],"token_logprobs":[-1,-1]},"finish_reason":"stop"}],` + chatUsage + `}`,
	},
	{
		path: "/completion",
		frames: []string{
			llamaFrame("<think>canary text</think>It "),
			`data: {"index":0,"content":"is ","tokens":[424242],"stop":false,"completion_probabilities":[{"id":1,"token":"is ","bytes":[105],"logprob":-1,"top_logprobs":[{"id":1,"token":"is","bytes":[105],"logprob":-1}]}]}` + "\n\n",
			`data: {"index":0,"content":"4.","tokens":[424242],"stop":false,"completion_probabilities":[{"id":1,"token":"canary ","bytes":[1],"logprob":-1,"top_logprobs":[]},{"content":"canary","probs":[{"tok_str":"canary","prob":1}]}]}` + "\n\n",
			"data: " + llamaHidden("") + "\n\n",
		},
		whole: "[" + llamaHidden("<think>canary text</think>It is 4.") + "," + llamaHidden("b") + "]",
	},
	{
		path:   "/completions", // llama.cpp's form here too
		frames: []string{llamaFrame("<think>canary text</think>It is 4."), "data: " + llamaHidden("") + "\n\n"},
		whole:  llamaHidden("<think>canary text</think>It is 4."),
	},
	{
		path: "/v2/chat",
		frames: []string{
			event("message-start", `"id":"m1","delta":{"message":{"role":"assistant","content":[],"tool_plan":"canary plan"}}`),
			event("content-start", `"index":0,"delta":{"message":{"content":{"type":"thinking","thinking":"canary thought"}}}`),
			event("content-delta", `"index":0,"delta":{"message":{"content":{"thinking":"canary thought"}}}`),
			event("content-end", `"index":0`),
			event("content-start", `"index":1,"delta":{"message":{"content":{"type":"inner_monologue","text":"canary part"}}}`),
			event("content-delta", `"index":1,"delta":{"message":{"content":{"text":"canary part"}}}`),
			event("content-end", `"index":1`),
			event("content-start", `"index":2,"delta":{"message":{"content":{"type":"text","text":""}}}`),
			event("content-delta", `"index":2,"delta":{"message":{"content":{"text":"<think>canary text</think>It is 4."}},"logprobs":{"text":"canary","token_ids":[424242]}}`),
			event("citation-start", `"index":0,"delta":{"message":{"citations":{"start":0,"end":2,"text":"It","content_index":2,"type":"TEXT_CONTENT","sources":[]}}}`),
			event("citation-end", `"index":0`),
			event("content-end", `"index":2`),
			event("tool-plan-delta", `"delta":{"message":{"tool_plan":"canary plan"}}`),
			event("tool-call-start", `"index":0,"delta":{"message":{"tool_calls":{"id":"c1","type":"function","function":{"name":"f","arguments":""}}}}`),
			event("tool-call-delta", `"index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{}"}}}}`),
			event("tool-call-end", `"index":0`),
			event("debug", `"prompt":"canary prompt"`),
			event("message-end", `"delta":{"finish_reason":"TOOL_CALL","usage":{"tokens":{"input_tokens":5,"output_tokens":9}}}`),
		},
		whole: `{"id":"m1","finish_reason":"TOOL_CALL","message":{"role":"assistant","tool_plan":"canary plan","content":[{"type":"thinking","thinking":"canary thought"},{"type":"inner_monologue","text":"canary part"},{"type":"text","text":"<think>canary text</think>It is 4."}],` +
			`"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}],"citations":[{"start":0,"end":2,"text":"It","content_index":2,"type":"TEXT_CONTENT","sources":[]}]},"usage":{"tokens":{"input_tokens":5,"output_tokens":9}},"logprobs":[{"text":"canary","token_ids":[424242]}]}`,
	},
	{
		path: "/v1/responses",
		frames: []string{
			event("response.created", `"sequence_number":0,"response":{`+responseRow+`,"output":[{"type":"message","content":[{"type":"output_text","text":"canary unread"}]}]}`),
			event("response.output_item.added", `"sequence_number":1,"output_index":0,"item":`+sealedBegun),
			event("response.reasoning_summary_text.delta", `"sequence_number":2,"output_index":0,"item_id":"rs_1","summary_index":0,"delta":"canary summary"`),
			event("response.output_item.done", `"sequence_number":3,"output_index":0,"item":`+sealedItem),
			event("response.output_item.added", `"sequence_number":4,"output_index":1,"item":`+strangeItem),
			event("response.output_text.delta", `"sequence_number":5,"output_index":1,"content_index":0,"item_id":"im_1","delta":"canary item"`),
			event("response.inner_monologue.delta", `"sequence_number":6,"output_index":1,"delta":"canary event"`),
			event("response.output_item.done", `"sequence_number":7,"output_index":1,"item":`+strangeItem),
			event("response.output_item.added", `"sequence_number":8,"output_index":2,"item":`+messageOpen),
			event("response.content_part.added", `"sequence_number":9,"output_index":2,"content_index":0,"item_id":"msg_1","part":{"type":"output_text","text":"","annotations":[]}`),
			event("response.output_text.delta", `"sequence_number":10,"output_index":2,"content_index":0,"item_id":"msg_1","delta":"<think>canary text</think>It is 4."`),
			event("response.output_text.done", `"sequence_number":11,"output_index":2,"content_index":0,"item_id":"msg_1","text":"<think>canary text</think>It is 4."`),
			event("response.output_item.done", `"sequence_number":12,"output_index":2,"item":`+messageItem),
			event("response.output_item.added", `"sequence_number":13,"output_index":3,"item":`+callItem),
			event("response.output_item.done", `"sequence_number":14,"output_index":3,"item":`+callItem),
			event("response.completed", `"sequence_number":15,"response":{`+responseRow+`,"output":[`+sealedItem+","+strangeItem+","+messageItem+","+callItem+`]}`),
		},
		whole: `{` + responseRow + `,"output":[` + sealedItem + "," + strangeItem + "," + messageItem + "," + callItem + `]}`,
	},
	{
		path: "/api/chat",
		frames: []string{
			`{"model":"m","created_at":"2026","message":{"role":"assistant","content":"","thinking":"canary field"},"done":false}` + "\n",
			ollamaLine("chat", "<think>canary text</think>It is 4.", `"done":false`),
			`{"model":"m","created_at":"2026","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":false}` + "\n",
			ollamaLine("chat", "", `"done":true,"done_reason":"stop","eval_count":9`),
		},
		whole: `{"model":"m","created_at":"2026","message":{"role":"assistant","content":"It is 4.","thinking":"canary field","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":true,"done_reason":"stop"}`,
	},
	{
		path: "/api/generate",
		frames: []string{
			ollamaLine("generate", "<think>canary text</think>It is 4.", `"done":false`),
			ollamaLine("generate", "", `"done":true,"done_reason":"stop","context":[424242,7]`),
		},
		whole: `{"model":"m","created_at":"2026","response":"It is 4.","thinking":"canary field","done":true,"done_reason":"stop","context":[424242,7]}`,
	},
	{
		path: "/v1/messages",
		frames: []string{
			event("message_start", `"message":`+opening),
			event("content_block_start", `"index":0,"content_block":{"type":"inner_monologue","text":"canary block"}`),
			event("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"canary block"}`),
			event("content_block_stop", `"index":0`),
			event("content_block_start", `"index":1,"content_block":{"type":"thinking","thinking":"","signature":""}`),
			event("content_block_delta", `"index":1,"delta":{"type":"thinking_delta","thinking":"canary thought"}`),
			event("content_block_delta", `"index":1,"delta":{"type":"signature_delta","signature":"c2ln"}`),
			event("content_block_stop", `"index":1`),
			event("content_block_start", `"index":2,"content_block":{"type":"text","text":""}`),
			event("content_block_delta", `"index":2,"delta":{"type":"text_delta","text":"<think>canary text</think>It is 4."}`),
			event("content_block_delta", `"index":2,"delta":{"type":"citations_delta","citation":{"type":"char_location","cited_text":"A","document_index":0}}`),
			event("content_block_stop", `"index":2`),
			event("content_block_start", `"index":3,"content_block":{"type":"tool_use","id":"c1","name":"f","input":{}}`),
			event("content_block_delta", `"index":3,"delta":{"type":"input_json_delta","partial_json":"{}"}`),
			event("content_block_delta", `"index":3,"delta":{"type":"musing_delta","musing":"canary delta"}`),
			event("content_block_stop", `"index":3`),
			event("musing", `"text":"canary event"`),
			event("message_delta", `"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}`),
			event("message_stop", `"x":1`),
		},
		whole: strings.Replace(strings.Replace(opening, `"content":[]`, `"content":[{"type":"inner_monologue","text":"canary block"},{"type":"thinking","thinking":"canary thought","signature":"c2ln"},{"type":"text","text":"It is 4."},{"type":"tool_use","id":"c1","name":"f","input":{}}]`, 1), `"stop_reason":null`, `"stop_reason":"tool_use"`, 1),
	},
}

// llamaHidden is the end of a text of llama.cpp's server, with its prompt and settings,
// which may hold anything.
func llamaHidden(text string) string {
	return strings.NewReplacer(
		`"tokens":[]`, `"tokens":[424242]`, `"prompt":"2+2?"`, `"prompt":"canary prompt"`, `"n_predict":-1`, `"grammar":"canary grammar"`,
	).Replace(llamaText(text, `"eos"`))
}

func init() {
	const (
		thought  = `{"text":"canary thought","thought":true}`
		signed   = `{"text":"canary thought","thought":true,"thoughtSignature":"c2ln"}`
		picture  = `{"thought":true,"inlineData":{"mimeType":"image/png","data":"canary"}}`
		call     = `{"functionCall":{"name":"f","args":{"a":1},"id":"c1"},"thoughtSignature":"c2ln"}`
		grounded = `,"groundingMetadata":{"webSearchQueries":["four"],"groundingSupports":[{"segment":{"text":"canary segment"}}]}`
		tokens   = `,"logprobsResult":{"chosenCandidates":[{"token":"canary","logProbability":-1}]}`
		second   = `{"content":{"parts":[{"text":"<think>canary text</think>b"}],"role":"model"},"index":1,"finishReason":"STOP"}`
	)
	whole := geminiObject(thought+","+signed+","+picture+`,{"text":"It is 4."},`+call, geminiEnd(sotto.EndStopped)+grounded+tokens)
	hiddenReplies = append(hiddenReplies, hiddenReply{
		path: geminiPath,
		frames: []string{
			geminiFrame(thought, ""), geminiFrame(signed+","+picture, ""), geminiFrame(geminiText("<think>canary text</think>It is "), ""),
			"data: " + `{"candidates":[` + second + "]}\n\n", geminiFrame(geminiText("4."), tokens), geminiFrame(call, ""), geminiFrame(geminiText(""), geminiEnd(sotto.EndStopped)+grounded),
		},
		whole: strings.Replace(whole, `"candidates":[`, `"candidates":[`+second+",", 1),
	})
}

func init() {
	const (
		thought = `{"reasoningContent":{"reasoningText":{"text":"canary thought"}}}`
		signed  = `{"reasoningContent":{"reasoningText":{"text":"canary thought","signature":"c2ln"}}}`
		sealed  = `{"reasoningContent":{"redactedContent":"c2ln"}}`
		strange = `{"musing":{"text":"canary block"}}`
		call    = `{"toolUse":{"toolUseId":"c1","name":"f","input":{}}}`
		trace   = `"trace":{"guardrail":{"modelOutput":["canary output"]}}`
		fields  = `"additionalModelResponseFields":{"thinking":"canary field"}`
	)
	stop := func(i string) string { return named("contentBlockStop", `{"contentBlockIndex":`+i+`}`) }
	hiddenReplies = append(hiddenReplies, hiddenReply{
		path: bedrockPath,
		frames: []string{
			bedrockOpen, bedrockDelta("0", `{"reasoningContent":{"text":"canary thought"}}`), stop("0"),
			bedrockDelta("1", `{"reasoningContent":{"text":"canary thought"}}`), bedrockDelta("1", `{"reasoningContent":{"signature":"c2ln"}}`), stop("1"),
			bedrockDelta("2", `{"reasoningContent":{"redactedContent":"c2ln"}}`), stop("2"),
			named("contentBlockStart", `{"contentBlockIndex":3,"start":{"musing":{"text":"canary block"}}}`), bedrockDelta("3", `{"musing":"canary block"}`), stop("3"),
			bedrockDelta("4", `{"text":"<think>canary text</think>It is "}`), bedrockDelta("4", `{"text":"4."}`),
			bedrockDelta("4", `{"citation":{"title":"A","location":{"documentChar":{"documentIndex":0,"start":0,"end":2}}}}`), stop("4"),
			named("contentBlockStart", `{"contentBlockIndex":5,"start":{"toolUse":{"toolUseId":"c1","name":"f"}}}`),
			bedrockDelta("5", `{"toolUse":{"input":"{}"}}`), bedrockDelta("5", `{"musing":"canary delta"}`), stop("5"),
			named("musing", `{"text":"canary event"}`),
			named("messageStop", `{"stopReason":"tool_use",`+fields+`}`), named("metadata", `{`+bedrockUsage+`,`+trace+`}`),
		},
		whole: `{` + fields + `,` + trace + `,` + strings.TrimPrefix(bedrockBody(strings.Join([]string{thought, signed, sealed, strange, `{"text":"It is 4."}`, call}, ","), "tool_use"), "{"),
	})
}

// hidingNames are members in which servers are known to send reasoning, or tokens of
// it, and names like them.
var hidingNames = strings.Fields(`thinking_blocks provider_specific_fields reasoning_content reasoning thinking
	reasoning_text thinking_content reasoning_details content_blocks thought thoughts reasoning_summary extra_content
	model_extra additional_kwargs prompt_token_ids token_ids prompt_logprobs kv_transfer_params __verbose
	generation_settings raw_output raw content_raw chain_of_thought cot scratchpad inner_monologue rationale
	internal debug metadata_internal reflection analysis commentary thought_signature trace steps plan Content Text
	Delta Message Choices REASONING_CONTENT context hidden_states completion_probabilities tokens_predicted output_ids
	meta_info`)

// opaque members hold what a model gives a tool, which passes as it is.
var opaqueMembers = []string{"arguments", "input", "args"}

// plant puts a canary into many members of every object of some JSON, none of which
// it has.
func plant(rng *rand.Rand, v any, holder string) any {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if !slices.Contains(opaqueMembers, key) {
				v[key] = plant(rng, inner, key)
			}
		}
		if holder == "reasoning" || holder == "summary" {
			return v // of the settings, or hidden anyway
		}
		names := append([]string{fmt.Sprintf("zz_%x", rng.Uint32()), fmt.Sprintf("Unknown %x", rng.Uint32())}, hidingNames...)
		for _, name := range names {
			if _, has := v[name]; !has && rng.IntN(3) == 0 {
				v[name] = canaryIn(rng, name)
			}
		}
	case []any:
		for i := range v {
			v[i] = plant(rng, v[i], holder)
		}
	}
	return v
}

func canaryIn(rng *rand.Rand, name string) any {
	text := "canary in " + name
	switch rng.IntN(5) {
	case 0:
		return map[string]any{"text": text, "type": "text", "content": text, name: text}
	case 1:
		return []any{text, map[string]any{"type": "text", "text": text}, []any{text}}
	case 2:
		return []any{424242, 1}
	}
	return text
}

// planted is JSON with canaries in it. The order of members is that of their names.
func planted(t *testing.T, rng *rand.Rand, text string) string {
	t.Helper()
	var root any
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	b, err := json.Marshal(plant(rng, root, ""))
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(b))
}

// plantedStream is a stream with canaries in its JSON and around it.
func plantedStream(t *testing.T, rng *rand.Rand, h hiddenReply) string {
	t.Helper()
	around := []string{
		": canary comment\n\n", "id: canary id\n\n", "thought: canary field\n\n", "data: canary text\n\n",
		"data: \"canary string\"\n\n", "data: [\"canary list\"]\n\n", "data: {\"thought\":\"canary alone\"}\n\n",
		"event: canary\ndata: {\"canary\":\"canary event\"}\n\n", "retry: 1\n: canary\n\n", "\n",
	}
	if !strings.HasPrefix(h.frames[0], "data:") && !strings.HasPrefix(h.frames[0], "event:") {
		around = []string{`"canary string"` + "\n", `["canary list"]` + "\n", "canary text\n", "\n", `{"thought":"canary alone"}` + "\n"}
	}
	var b strings.Builder
	for _, f := range h.frames {
		if rng.IntN(2) == 0 {
			b.WriteString(around[rng.IntN(len(around))])
		}
		at, end := strings.IndexByte(f, '{'), strings.LastIndexByte(f, '}')
		if at < 0 {
			b.WriteString(f)
			continue
		}
		head := f[:at]
		if strings.HasSuffix(head, "data: ") && rng.IntN(3) == 0 {
			head = ": canary line\nid: canary id\n" + head
		}
		b.WriteString(head + planted(t, rng, f[at:end+1]) + f[end+1:])
	}
	return b.String()
}

// TestHidden holds that where reasoning is hidden a client gets the members that the
// codec of the API declares, and nothing else: canaries in members of many names, at
// every depth, in unknown kinds of parts, blocks, items and events, and around the
// JSON reach nobody, and the answer does.
func TestHidden(t *testing.T) {
	for _, c := range gateway.Codecs() {
		if !slices.ContainsFunc(hiddenReplies, func(h hiddenReply) bool {
			return slices.ContainsFunc(gateway.Endpoints(), func(e gateway.Endpoint) bool {
				_, path := sample(e)
				path = strings.Replace(path, "a/b", "m", 1) // the name of a model
				return e.Kind == "replies" && path == h.path && e.Codec == c
			})
		}) {
			t.Errorf("%s has no reply here", c.Name())
		}
	}
	seeds := uint64(12)
	if effort.Brief() {
		seeds = 3
	}
	for _, h := range hiddenReplies {
		for seed := range seeds {
			rng := rand.New(rand.NewPCG(seed, 1))
			kind, stream := "text/event-stream", plantedStream(t, rng, h)
			if strings.HasPrefix(h.path, "/api") {
				kind = "application/x-ndjson"
			}
			got := hiddenAnswer(t, h.path, true, kind, stream, http.StatusOK)
			if text := streamedText(got); !strings.Contains(text, "It is 4.") {
				t.Errorf("%s, seed %d: the answer is lost: %q in\n%s", h.path, seed, text, got)
			}
			got = hiddenAnswer(t, h.path, false, "application/json", planted(t, rng, h.whole), http.StatusOK)
			if !strings.Contains(got, "It is 4.") {
				t.Errorf("%s, seed %d: the answer is lost in\n%s", h.path, seed, got)
			}
		}
	}
}

// hiddenAnswer is what a client gets of a reply where reasoning is hidden.
func hiddenAnswer(t *testing.T, path string, stream bool, kind, body string, status int) string {
	t.Helper()
	g := handler(t, gateway.Config{Default: routing.Route{Display: routing.DisplayHide, Start: sotto.BeginOutside}}, answering(func(*http.Request) *http.Response {
		r := response(kind, strings.NewReader(body))
		r.StatusCode = status
		return r
	}))
	got := ask(g, path, fmt.Sprintf(`{"model":"m","stream":%v,"messages":[]}`, stream)).Body.String()
	for _, secret := range []string{"canary", "424242"} {
		if i := strings.Index(got, secret); i >= 0 {
			t.Errorf("%s: a canary came out: …%s…\nof\n%s", path, got[max(i-200, 0):min(i+80, len(got))], body)
		}
	}
	return got
}

// isFault reports whether a body is an error in the form of some API.
func isFault(body string) bool {
	return strings.Contains(body, `"error"`) || gjson.Get(body, "message").Type == gjson.String
}

// streamedText joins the texts of a stream's frames, of the first choice.
func streamedText(stream string) string {
	var b strings.Builder
	for line := range strings.Lines(stream) {
		root := gjson.Parse(strings.TrimPrefix(line, "data:"))
		for _, path := range []string{
			`candidates.#(index==0).content.parts`, `choices.#(index==0).delta.content`, `choices.#(index==0).text`, "delta.message.content.text", "message.content", "content", "response", "delta.text", "delta",
		} {
			switch v := root.Get(path); {
			case v.Type == gjson.String:
				b.WriteString(v.Str)
			case v.IsArray() && path != "message.content":
				for _, part := range v.Array() {
					b.WriteString(part.Get("text").Str)
				}
			}
		}
	}
	return b.String()
}
