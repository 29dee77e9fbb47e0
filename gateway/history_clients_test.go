package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// TestEchoes has clients send a reply back in the ways in which they do, and compares
// what the upstream gets.
func TestEchoes(t *testing.T) {
	const (
		user    = `{"role":"user","content":"hi"}`
		calls   = `"tool_calls":[{"id":"call_01ab23CD","type":"function","function":{"name":"look","arguments":"{}"}}]`
		result  = `{"role":"tool","tool_call_id":"call_01ab23CD","content":"4 °C"}`
		message = `{"choices":[{"index":0,"message":{"role":"assistant",%s},"finish_reason":"tool_calls"}]}`
		block   = `{"role":"assistant","content":[{"type":"thinking","thinking":"t1 t2","signature":""},{"type":"text","text":"so"}]}`
	)
	for _, tt := range []struct {
		name, path, model string
		reply             string // the upstream's
		echo, want        string // the reply as the client sends it, and as the upstream gets it
		result            string
	}{
		{
			"an unsigned block of the upstream's own", "/v1/messages", "unheard-of",
			`{"type":"message",` + block[1:len(block)-1] + `,"stop_reason":"end_turn"}`,
			block, block, user,
		},
		{
			"Ollama's member of a thought that stood in the text", "/api/chat", "qwen3:8b",
			`{"message":{"role":"assistant","content":"<think>\nt1 t2\n</think>\n\n","tool_calls":[{"function":{"name":"look","arguments":{}}}]},"done":true,"done_reason":"stop"}`,
			`{"role":"assistant","content":"","thinking":"t1 t2","tool_calls":[{"function":{"name":"look","arguments":{}}}]}`,
			`{"role":"assistant","content":"<think>\nt1 t2\n</think>\n\n","tool_calls":[{"function":{"name":"look","arguments":{}}}]}`,
			`{"role":"tool","tool_name":"look","content":"4 °C"}`,
		},
		{
			"only the last delta of an unknown member", "/v1/chat/completions", "kimi-k2.6",
			fmt.Sprintf(message, `"content":"","reasoning_content":"t1 t2",`+calls),
			`{"role":"assistant","content":"","reasoning_content":"t2",` + calls + `}`,
			`{"role":"assistant","content":"","reasoning_content":"t1 t2",` + calls + `}`,
			result,
		},
		{
			"another thought than the remembered one", "/v1/chat/completions", "kimi-k2.6",
			fmt.Sprintf(message, `"content":"","reasoning_content":"t1 t2",`+calls),
			`{"role":"assistant","content":"","reasoning_content":"t3",` + calls + `}`,
			`{"role":"assistant","content":"","reasoning_content":"t3",` + calls + `}`,
			result,
		},
		{
			"a thought under a second name", "/v1/chat/completions", "qwen3:8b",
			fmt.Sprintf(message, `"content":"<think>\nt1 t2\n</think>\n\n",`+calls),
			`{"role":"assistant","content":"","reasoning_content":"t1 t2",` + calls + `,"reasoning":"t1 t2"}`,
			`{"role":"assistant","content":"<think>\nt1 t2\n</think>\n\n",` + calls + `}`,
			result,
		},
		{
			"only the last delta of a thought that stood in the text", "/v1/chat/completions", "qwen3:8b",
			fmt.Sprintf(message, `"content":"<think>\nt1 t2\n</think>\n\n",`+calls),
			`{"role":"assistant","content":"","reasoning_content":"t2",` + calls + `}`,
			`{"role":"assistant","content":"<think>\nt1 t2\n</think>\n\n",` + calls + `}`,
			result,
		},
		{
			"only the last delta of two members, from an unknown model", "/v1/chat/completions", "unheard-of",
			fmt.Sprintf(message, `"content":"","reasoning":"t1 t2","reasoning_details":[{"type":"reasoning.text","text":"t1 t2"}],`+calls),
			`{"role":"assistant","content":"","reasoning":"t2","reasoning_details":[{"type":"reasoning.text","text":"t2"}],` + calls + `}`,
			`{"role":"assistant","content":"","reasoning":"t1 t2",` + calls + `}`,
			result,
		},
		{
			"a part beside signed details", "/v1/chat/completions", "unheard-of",
			fmt.Sprintf(message, `"content":"","reasoning":"t1 t2","reasoning_details":[{"type":"reasoning.text","text":"t1 t2","signature":"s"}],`+calls),
			`{"role":"assistant","content":"","reasoning":"t2","reasoning_details":[{"type":"reasoning.text","text":"t2","signature":"s"}],` + calls + `}`,
			`{"role":"assistant","content":"","reasoning":"t1 t2","reasoning_details":[{"type":"reasoning.text","text":"t1 t2","signature":"s"}],` + calls + `}`,
			result,
		},
		{
			"ids that Ollama's client made", "/api/chat", "deepseek-v3.2",
			`{"message":{"role":"assistant","content":"","thinking":"t1 t2","tool_calls":[{"id":"call_77ab23CD","function":{"name":"look","arguments":{}}}]},"done":true,"done_reason":"stop"}`,
			`{"role":"assistant","content":"",` + calls + `}`,
			`{"thinking":"t1 t2","role":"assistant","content":"",` + calls + `}`, // with the id that the upstream made
			`{"role":"tool","tool_call_id":"call_01ab23CD","content":"4 °C"}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var seen string
			base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen = readAll(t, r.Body)
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, tt.reply)
			}), gateway.Config{})
			body := func(more string) string {
				return fmt.Sprintf(`{"model":%q,"max_tokens":99,"stream":false,"tools":[{"type":"function","function":{"name":"look"}}],"messages":[%s%s]}`, tt.model, user, more)
			}
			post(t, base+tt.path, body(""), nil)
			post(t, base+tt.path, body(","+tt.echo+","+tt.result), nil)
			want := body("," + tt.want + "," + tt.result)
			if made := madeID.FindString(tt.reply); made != "" {
				want = madeID.ReplaceAllLiteralString(want, made)
			}
			if seen != want {
				t.Errorf("the upstream got\n%s\nwant\n%s", seen, want)
			}
		})
	}
}

// TestAPIsOfOneUpstream has an upstream with reasoning in a member in one API, and in
// blocks in another. What is learned of one is not applied to the other.
func TestAPIsOfOneUpstream(t *testing.T) {
	const block = `{"role":"assistant","content":[{"type":"thinking","thinking":"t1","signature":""},{"type":"text","text":"so"}]}`
	const message = `{"role":"assistant","content":"so","reasoning":"t1"}`
	var seen string
	base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = readAll(t, r.Body)
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/messages") {
			fmt.Fprint(w, `{"type":"message",`+block[1:len(block)-1]+`,"stop_reason":"end_turn"}`)
			return
		}
		fmt.Fprint(w, `{"choices":[{"index":0,"message":`+message+`,"finish_reason":"stop"}]}`)
	}), gateway.Config{})
	const user = `{"role":"user","content":"hi"}`
	for range 2 {
		for path, echo := range map[string]string{"/v1/messages": block, "/v1/chat/completions": message} {
			first := `{"model":"m","max_tokens":9,"messages":[` + user
			post(t, base+path, first+`]}`, nil)
			second := first + "," + echo + "," + user + `]}`
			if post(t, base+path, second, nil); seen != second {
				t.Errorf("%s: the upstream got %s", path, seen)
			}
		}
	}
}

var scriptedID = regexp.MustCompile(`(?:call|toolu)_[0-9a-f]{24}`)

// TestBlocksAreRestored drops blocks and items of models that need them back, as
// clients do after a stream. The upstream gets each once, before what the reply said.
func TestBlocksAreRestored(t *testing.T) {
	for _, tt := range []struct{ path, list, reply, call, result, want string }{
		{
			"/v1/messages", "messages", `,{"role":"assistant","content":[%s]}`,
			`{"type":"tool_use","id":%q,"name":"get_weather","input":{"city":"Oslo"}}`,
			`,{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"4 °C"}]}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"The user asks about Oslo. I have a weather tool; I call it.","signature":""},{"type":"t`,
		},
		{
			"/v1/responses", "input", `,%s`,
			`{"type":"function_call","call_id":%q,"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}`,
			`,{"type":"function_call_output","call_id":%q,"output":"4 °C"}`,
			`"content":[{"type":"reasoning_text","text":"The user asks about Oslo. I have a weather tool; I call it."}]`,
		},
	} {
		for model, text := range map[string]string{"deepseek-v3.2": "I will look that up.", "kimi-k2.6": ""} {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%v", tt.list, model, stream), func(t *testing.T) {
					var seen string
					upstream := scripted.New(scripted.Options{})
					base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						seen = readAll(t, r.Body)
						r.Body = io.NopCloser(bytes.NewReader([]byte(seen)))
						upstream.ServeHTTP(w, r)
					}), gateway.Config{})
					body := func(more string) string {
						return fmt.Sprintf(`{"model":%q,"max_tokens":99,"stream":%v,"tools":[{"type":"function","name":"get_weather","input_schema":{"type":"object"}}],%q:[{"role":"user","content":"Oslo?"}%s]}`, model, stream, tt.list, more)
					}
					resp, first := post(t, base+tt.path, body(""), nil)
					id := scriptedID.FindString(string(first))
					if resp.StatusCode != http.StatusOK || id == "" {
						t.Fatalf("%d %s", resp.StatusCode, first)
					}
					said := fmt.Sprintf(tt.call, id)
					if text != "" && tt.list == "messages" {
						said = fmt.Sprintf(`{"type":"text","text":%q},`, text) + said
					} else if text != "" {
						said = fmt.Sprintf(`{"role":"assistant","content":%q},`, text) + said
					}
					post(t, base+tt.path, body(fmt.Sprintf(tt.reply, said)+fmt.Sprintf(tt.result, id)), nil)
					if strings.Count(seen, tt.want) != 1 || strings.Count(seen, "I have a weather tool") != 1 {
						t.Errorf("the upstream got %s", seen)
					}
					again := seen
					post(t, base+tt.path, again, nil)
					if seen != again {
						t.Errorf("sent again, it changed to %s", seen)
					}
				})
			}
		}
	}
}

// madeID is an id of a call.
var madeID = regexp.MustCompile(`call_[0-9a-zA-Z]{8}`)
