package gateway_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// A full reply is one with every member that an API is known to have: those of the
// declarations of its official SDKs, and those that other servers add.
type fullReply struct {
	path   string
	frames []string // the data of each
	body   string
	tools  []string // parts of the places of what tools get, which is not text for a reader
}

// forTools reports whether a place has what a tool gets.
func (r fullReply) forTools(place string) bool {
	return toTool(place) || slices.ContainsFunc(r.tools, func(part string) bool { return strings.Contains(place, part) })
}

// eventOf is the name of an event of the Responses API, or nothing.
func eventOf(frame string) string {
	if name := gjson.Get(frame, "type").Str; strings.HasPrefix(name, "response.") {
		return " " + name
	}
	return ""
}

const (
	fullUsage = `{"prompt_tokens":5,"completion_tokens":9,"total_tokens":14,"completion_tokens_details":{"reasoning_tokens":3},"service_tier":"default"}`
	fullCalls = `[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln"}}},` +
		`{"index":1,"id":"call_2","type":"custom","custom":{"name":"g","input":"do"}}]`
	fullNotes   = `[{"type":"url_citation","url_citation":{"start_index":0,"end_index":2,"url":"http://a","title":"A","content":"b"}}]`
	fullAudio   = `{"id":"audio_1","data":"UklG","transcript":"Four.","expires_at":1}`
	fullMessage = `"role":"assistant","name":"n","refusal":"No.","narration":"Wait.","reasoning_content":"musing","reasoning":"musing","thinking":"musing",` +
		`"reasoning_details":[{"type":"reasoning.text","text":"musing","format":"x","id":"r1","signature":"c2ln"},{"type":"reasoning.encrypted","data":"c2ln"}],` +
		`"tool_calls":` + fullCalls + `,"function_call":{"name":"f","arguments":"{}"},"annotations":` + fullNotes + `,"audio":` + fullAudio +
		`,"images":[{"type":"image_url","index":0,"image_url":{"url":"data:image/png;base64,iVBO","detail":"low"}}],"extra_content":{"google":{"thought_signature":"c2ln"}},"tool_plan":"musing","provider_specific_fields":{"x":"y"}`
	fullParts  = `[{"type":"text","text":"It is "},{"type":"thinking","thinking":[{"type":"text","text":"musing"}]},{"type":"image_url","image_url":{"url":"http://a/b.png","detail":"low"}},{"type":"file","file":{"file_id":"file_1","filename":"a.txt","file_data":"aGk="}},{"type":"reference","reference_ids":[1]},{"type":"tool_reference","tool":"web","title":"t","url":"http://a","source":"s","favicon":"http://a/i","description":"d"},{"type":"text","text":"4."}]`
	fullFilter = `{"hate":{"filtered":false,"severity":"safe"},"protected_material_code":{"citation":{"URL":"http://a","license":"MIT"},"detected":true}}`
	fullChoice = `"finish_reason":"stop","native_finish_reason":"stop","stop_reason":"END","matched_stop":"END","content_filter_results":` + fullFilter + `,"content_filter_offsets":{"check_offset":1},"token_ids":[424242]`
	fullRoot   = `"id":"c1","object":"chat.completion.chunk","created":1760000000,"model":"m","provider":"P Q","service_tier":"default","system_fingerprint":"fp_1","obfuscation":"x1","usage":` + fullUsage +
		`,"timings":{"predicted_n":4},"x_groq":{"id":"g1","usage":{"total_time":1}},"prompt_filter_results":[{"prompt_index":0,"content_filter_results":` + fullFilter + `}],"citations":["http://a"],` +
		`"search_results":[{"title":"t","url":"http://a","date":"2026-01-01","last_updated":"2026-01-02","snippet":"s","source":"web"}],"prompt_token_ids":[424242]`
	fullOllamaMessage = `"role":"assistant","thinking":"musing","reasoning":"musing","narration":"Wait.","images":["iVBO"],"image":"iVBO","tool_name":"f",` +
		`"tool_calls":[{"id":"call_1","function":{"index":0,"name":"f","description":"musing","arguments":{"a":"b"}}}]`
	fullTokens = `{"content":[{"token":"It is 4.","logprob":-1,"bytes":[73],"top_logprobs":[{"token":"It","logprob":-1,"bytes":[73]}]}],"refusal":[{"token":"No","logprob":-1,"bytes":[78]}]}`
	fullOllama = `"model":"m","created_at":"2026-11-21T00:00:00.123456Z","remote_model":"r","remote_host":"https://h","total_duration":1,"load_duration":1,"prompt_eval_count":5,"prompt_eval_duration":1,"eval_count":9,"eval_duration":1,"context":[424242],"logprobs":[{"token":"It is 4.","logprob":-1,"bytes":[73],"top_logprobs":[]}]`
)

var fullReplies = []fullReply{
	{
		path: "/v1/chat/completions",
		frames: []string{
			`{` + fullRoot + `,"choices":[{"index":0,"delta":{"content":"It is 4.",` + fullMessage + `},"logprobs":` + fullTokens + `,` + strings.Replace(fullChoice, `"stop"`, "null", 1) + `}]}`,
			`{` + fullRoot + `,"choices":[{"index":0,"delta":{"content":` + fullParts + `},` + fullChoice + `}]}`,
			`{` + fullRoot + `,"choices":[],"error":{"message":"busy","type":"t","code":"c","param":"p","metadata":{"raw":"x"}}}`,
		},
		body: `{` + fullRoot + `,"choices":[{"index":0,"message":{"content":"It is 4.",` + fullMessage + `},"logprobs":` + fullTokens + `,` + fullChoice + `},{"index":1,"message":{"role":"assistant","content":` + fullParts + `},"finish_reason":"length"}]}`,
	},
	{
		path: "/v1/completions",
		frames: []string{
			`{` + fullRoot + `,"choices":[{"index":0,"text":"It is 4.","reasoning_content":"musing","narration":"Wait.","logprobs":{"tokens":["It is 4."],"token_logprobs":[-1],"top_logprobs":[{"It":-1}],"text_offset":[0]},` + strings.Replace(fullChoice, `"stop"`, "null", 1) + `}]}`,
			`{` + fullRoot + `,"choices":[{"index":0,"text":"","finish_reason":"stop"}]}`,
		},
		body: `{` + fullRoot + `,"choices":[{"index":0,"text":"It is 4.","reasoning":"musing","narration":"Wait.","logprobs":{"tokens":["It is 4."],"token_logprobs":[-1],"top_logprobs":null,"text_offset":[0]},` + fullChoice + `}]}`,
	},
	{
		path: "/api/chat",
		frames: []string{
			`{` + fullOllama + `,"message":{"content":"It is 4.",` + fullOllamaMessage + `},"done":false}`,
			`{` + fullOllama + `,"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","error":"busy"}`,
		},
		body: `{` + fullOllama + `,"message":{"content":"It is 4.",` + fullOllamaMessage + `},"done":true,"done_reason":"stop"}`,
	},
	{
		path: "/api/generate",
		frames: []string{
			`{` + fullOllama + `,"response":"It is 4.","thinking":"musing","image":"iVBO","done":false}`,
			`{` + fullOllama + `,"response":"","done":true,"done_reason":"stop","sotto_diagnostics":"x"}`,
		},
		body: `{` + fullOllama + `,"response":"It is 4.","thinking":"musing","done":true,"done_reason":"stop"}`,
	},
}

// leaves calls visit with JSON in which one string, or the key of a member, is another text,
// for each of them. place names it.
func leaves(data, text string, visit func(place, data string)) {
	var root any
	if err := json.Unmarshal([]byte(data), &root); err != nil {
		panic(err)
	}
	encode := func(place string) {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(root); err != nil {
			panic(err)
		}
		visit(place, strings.TrimSpace(b.String()))
	}
	var walk func(place string, v any, set func(any))
	walk = func(place string, v any, set func(any)) {
		switch v := v.(type) {
		case string:
			set(text)
			encode(place)
			set(v)
		case map[string]any:
			for _, key := range slices.Sorted(func(yield func(string) bool) {
				for key := range v {
					if !yield(key) {
						return
					}
				}
			}) {
				walk(place+"."+key, v[key], func(to any) { v[key] = to })
			}
			v["musing"] = text
			encode(place + ".(unknown)")
			delete(v, "musing")
			v[text] = 1
			encode(place + ".(key)")
			delete(v, text)
		case []any:
			for i := range v {
				walk(place+"[]", v[i], func(to any) { v[i] = to })
			}
		}
	}
	walk("", root, func(to any) { root = to })
}

// hiddenReplyOf is what a client gets of a reply, where reasoning is hidden.
func hiddenReplyOf(t *testing.T, g http.Handler, path string, stream bool) string {
	t.Helper()
	return ask(g, path, fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":"2+2?"}],"prompt":"2+2?"}`, stream)).Body.String()
}

// inLine drops line breaks.
func inLine(c rune) rune {
	if c == '\n' || c == '\r' {
		return -1
	}
	return c
}

// streamOf is a stream of data.
func streamOf(path string, frames []string) (kind, stream string) {
	var b strings.Builder
	if strings.HasPrefix(path, "/api") {
		for _, f := range frames {
			b.WriteString(f + "\n")
		}
		return "application/x-ndjson", b.String()
	}
	if path == bedrockPath {
		return "text/event-stream", bedrockEvents(frames)
	}
	for _, f := range frames {
		if kind := gjson.Get(f, "type").Str; kind != "" && path != "/v1/chat/completions" && path != "/v1/completions" { // the frames are events
			b.WriteString("event: " + strings.Map(inLine, kind) + "\n")
		}
		b.WriteString("data: " + f + "\n\n")
	}
	if path == geminiArray {
		return "application/json", asArray(b.String())
	}
	return "text/event-stream", b.String() + "data: [DONE]\n\n"
}

var updatePassing = flag.Bool("update-passing", false, "rewrite testdata/passing.txt (with SOTTO_EFFORT=1)")

// TestDeliveredWasRead: where reasoning is hidden, whatever reaches a client was given to the
// reader as a text, or stands on a list. A thought in tags is put into every string of every
// frame, whole and cut over two frames, and reaches no client. A canary without tags, which
// also came as a thought, reaches it only from the places of testdata/passing.txt. So it is
// for errors, and for the lines of a file of results.
func TestDeliveredWasRead(t *testing.T) {
	passing := append(readErrors(t), readResults(t)...)
	for _, r := range fullReplies {
		passing = append(passing, r.read(t)...)
	}
	const name = "testdata/passing.txt"
	slices.Sort(passing)
	passing = slices.Compact(passing)
	if *updatePassing {
		if err := os.WriteFile(name, []byte(strings.Join(passing, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(data)), "\n")
	for _, place := range passing {
		if !slices.Contains(want, place) {
			t.Errorf("a text without tags reaches the client, and %s does not name its place: %s", name, place)
		}
	}
	for _, place := range want {
		if !effort.Brief() && !slices.Contains(passing, place) {
			t.Errorf("no text reaches the client from a place of %s: %s", name, place)
		}
	}
}

// read puts texts into the places of a reply, and returns those that pass.
func (r fullReply) read(t *testing.T) (passing []string) {
	var kind, body string
	g := handler(t, gateway.Config{Default: routing.Route{Display: routing.DisplayHide}}, answering(func(*http.Request) *http.Response {
		return response(kind, strings.NewReader(body))
	}))
	whole := func(data string) string {
		kind, body = "application/json", data
		return hiddenReplyOf(t, g, r.path, false)
	}
	streamed := func(frames ...string) string {
		kind, body = streamOf(r.path, frames)
		return hiddenReplyOf(t, g, r.path, true)
	}
	chosen := effort.OneIn(10, r.path)
	tagged, bare := func(place, got string) {
		if (strings.Contains(got, "ALPH0A") || strings.Contains(got, "BET0A")) && !r.forTools(place) { // what a tool gets is not text for a reader
			t.Errorf("%s %s: a thought came out:\n%.600s", r.path, place, got)
		}
	}, func(place, got string) {
		if strings.Contains(got, "canary") {
			passing = append(passing, r.path+" "+place)
		}
	}
	if got := whole(r.body); !strings.Contains(got, "It is 4.") {
		t.Errorf("%s: %s", r.path, got)
	}
	put := func(data, text string, check func(place, got string), ask func(data string) string, in string) {
		leaves(data, text, func(place, data string) {
			if chosen() {
				check(in+place, ask(data))
			}
		})
	}
	put(r.body, secret+"x", tagged, whole, "whole")
	put(r.body, "canary", bare, whole, "whole")
	for i, f := range r.frames {
		inPlace := func(data string) string {
			frames := slices.Clone(r.frames)
			frames[i] = data
			return streamed(frames...)
		}
		put(f, secret, tagged, inPlace, "stream"+eventOf(f))
		put(f, secret+"x", tagged, inPlace, "stream"+eventOf(f))
		put(f, "canary", bare, inPlace, "stream"+eventOf(f))
		for _, cut := range cutsOf(secret) {
			var first []string
			leaves(f, secret[:cut], func(_, data string) { first = append(first, data) })
			n := -1
			leaves(f, secret[cut:], func(place, data string) {
				if n++; chosen() && !apart(f, place) {
					tagged("stream"+eventOf(f)+place, streamed(slices.Concat([]string{first[n], data}, r.frames[i+1:])...))
				}
			})
		}
	}
	return passing
}

// secret has a 0, which no random identifier of a reply has: they are of A to Z and 2 to 7.
const secret = "<think>ALPH0A.BET0A</think>"

// cutsOf are the places at which a thought is cut over two frames: in the opener, the thought
// and the close, or with more effort everywhere.
func cutsOf(thought string) []int {
	if effort.Times() == 1 {
		return []int{3, len("<think>ALPH0A"), len(thought) - 2}
	}
	var all []int
	for cut := 1; cut < len(thought); cut++ {
		all = append(all, cut)
	}
	return all
}

// apart reports whether a place of two frames in a row is of two texts, or of one with another
// part between.
func apart(frame, place string) bool {
	return strings.HasSuffix(place, "content[].text") || strings.HasSuffix(place, ".content_block.text") ||
		strings.Contains(frame, `"content-start"`) && strings.HasSuffix(place, "content.text")
}

// toTool reports whether a place is in what a tool gets.
func toTool(place string) bool {
	if strings.HasSuffix(place, ".input") || strings.HasSuffix(place, ".partial_json") {
		return true
	}
	of := func(s string) bool { return strings.Contains(place, s) }
	return slices.ContainsFunc([]string{".arguments", ".input.", ".functionCall.args", ".functionCall.partialArgs", ".functionResponse.response"}, of)
}

// TestDeliveredWasJudged: a guard has seen each text that a client gets, wherever it stands
// in a frame or a body. What it does not see are names in a few words and what tools get.
func TestDeliveredWasJudged(t *testing.T) {
	const canary = "canary, words!"
	unseen := []string{".model", ".provider", ".remote_model", ".remote_host", ".name", ".tool_name", ".sotto_diagnostics", ".token"}
	for _, r := range fullReplies {
		for _, display := range routing.Displays() {
			var kind, body string
			chosen := effort.OneOf(10, 3, r.path+string(display))
			judges := &judgeFunc{}
			route := routing.Route{Display: display, Guard: guard.Rule{Guard: judges, Every: -1}}
			g := handler(t, gateway.Config{Default: route}, answering(func(*http.Request) *http.Response {
				return response(kind, strings.NewReader(body))
			}))
			check := func(place string, stream bool) {
				judges.pieces, judges.seen = nil, nil
				got := hiddenReplyOf(t, g, r.path, stream)
				if !strings.Contains(got, canary) || r.forTools(place) || slices.ContainsFunc(unseen, func(s string) bool { return strings.HasSuffix(place, s) }) {
					return
				}
				for _, p := range judges.pieces {
					if strings.Contains(p.Text, canary) {
						return
					}
				}
				t.Errorf("%s %s stream=%v %s: the guard did not see it:\n%.500s", r.path, display, stream, place, got)
			}
			leaves(r.body, canary, func(place, data string) {
				if !chosen() {
					return
				}
				kind, body = "application/json", data
				check(place, false)
			})
			for i := range r.frames {
				leaves(r.frames[i], canary, func(place, data string) {
					if !chosen() {
						return
					}
					frames := slices.Clone(r.frames)
					frames[i] = data
					kind, body = streamOf(r.path, frames)
					check(eventOf(r.frames[i])+place, true)
				})
			}
		}
	}
}
