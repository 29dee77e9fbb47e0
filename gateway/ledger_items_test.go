package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// replyItems are the items of a reply of the Responses API, with encrypted reasoning.
var replyItems = []string{
	`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Two cities."}],"encrypted_content":"RU5D"}`,
	`{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Let me check.","annotations":[]}]}`,
	`{"type":"function_call","id":"fc_1","call_id":"call_9f8E7d6C5b4A39281716xYz0","name":"get_weather","arguments":"{\"city\":\"Oslo\"}","status":"completed"}`,
}

// itemServer answers with them, whole or streamed, and wants them back.
func itemServer(t *testing.T, seen *string) http.Handler {
	response := fmt.Sprintf(`{"id":"resp_1","object":"response","status":"completed","model":"gpt-5","output":[%s]}`, strings.Join(replyItems, ","))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen = readAll(t, r.Body)
		if !gjson.Get(*seen, "stream").Bool() {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, response)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		n := 0
		event := func(name, members string) {
			fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", name, name, n, members)
			n++
		}
		event("response.created", `"response":{"id":"resp_1","object":"response","status":"in_progress","model":"gpt-5","output":[]}`)
		for i, item := range replyItems {
			at := fmt.Sprintf(`"output_index":%d,`, i)
			of := fmt.Sprintf(`"item_id":%q,`, gjson.Get(item, "id").Str) + at
			switch gjson.Get(item, "type").Str {
			case "reasoning":
				event("response.output_item.added", at+`"item":{"type":"reasoning","id":"rs_1","summary":[]}`)
				event("response.reasoning_summary_part.added", of+`"summary_index":0,"part":{"type":"summary_text","text":""}`)
				event("response.reasoning_summary_text.delta", of+`"summary_index":0,"delta":"Two "`)
				event("response.reasoning_summary_text.delta", of+`"summary_index":0,"delta":"cities."`)
				event("response.reasoning_summary_text.done", of+`"summary_index":0,"text":"Two cities."`)
				event("response.reasoning_summary_part.done", of+`"summary_index":0,"part":{"type":"summary_text","text":"Two cities."}`)
			case "message":
				event("response.output_item.added", at+`"item":{"type":"message","id":"msg_1","role":"assistant","status":"in_progress","content":[]}`)
				event("response.content_part.added", of+`"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}`)
				event("response.output_text.delta", of+`"content_index":0,"delta":"Let me check."`)
				event("response.output_text.done", of+`"content_index":0,"text":"Let me check."`)
				event("response.content_part.done", of+`"content_index":0,"part":{"type":"output_text","text":"Let me check.","annotations":[]}`)
			case "function_call":
				event("response.output_item.added", at+`"item":{"type":"function_call","id":"fc_1","call_id":"call_9f8E7d6C5b4A39281716xYz0","name":"get_weather","arguments":"","status":"in_progress"}`)
				event("response.function_call_arguments.delta", of+`"delta":"{\"city\":\"Oslo\"}"`)
				event("response.function_call_arguments.done", of+`"arguments":"{\"city\":\"Oslo\"}"`)
			}
			event("response.output_item.done", at+`"item":`+item)
		}
		event("response.completed", `"response":`+response)
	})
}

// TestItemLoop: whatever the display and the client do with the items of a reply, the provider gets its
// encrypted item, its text and its call back, and no id that it did not make.
func TestItemLoop(t *testing.T) {
	treat := map[string]func(items []map[string]any) []map[string]any{
		"echoed": func(items []map[string]any) []map[string]any { return items },
		"dropped": func(items []map[string]any) []map[string]any {
			return slices.DeleteFunc(items, func(m map[string]any) bool { return m["type"] == "reasoning" })
		},
		"emptied": func(items []map[string]any) []map[string]any {
			for _, m := range items {
				if m["type"] == "reasoning" {
					m["summary"] = []any{}
					delete(m, "encrypted_content")
				}
			}
			return items
		},
	}
	for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide, routing.DisplayTags, routing.DisplayKeep} {
		for how := range treat {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/stream=%v", display, how, stream), func(t *testing.T) {
					t.Parallel()
					var seen string
					base := start(t, itemServer(t, &seen), gateway.Config{Default: routing.Route{Display: display}})
					request := func(more string) string {
						return fmt.Sprintf(`{"model":"gpt-5","stream":%v,"store":false,"include":["reasoning.encrypted_content"],"tools":[{"type":"function","name":"get_weather"}],"input":[{"role":"user","content":"Oslo?"}%s]}`, stream, more)
					}
					_, body := post(t, base+"/v1/responses", request(""), nil)
					output := gjson.GetBytes(body, "output").Raw
					if stream {
						for line := range strings.Lines(string(body)) {
							if data, ok := strings.CutPrefix(line, "data: "); ok && gjson.Get(data, "type").Str == "response.completed" {
								output = gjson.Get(data, "response.output").Raw
							}
						}
					}
					var items []map[string]any
					if err := json.Unmarshal([]byte(output), &items); err != nil {
						t.Fatalf("%v: %s", err, body)
					}
					more := ""
					for _, m := range treat[how](items) {
						item, _ := json.Marshal(m)
						more += "," + string(item)
					}
					post(t, base+"/v1/responses", request(more+`,{"type":"function_call_output","call_id":"call_9f8E7d6C5b4A39281716xYz0","output":"4 °C"}`), nil)
					var kinds []string
					for _, item := range gjson.Get(seen, "input").Array()[1:] {
						kinds = append(kinds, item.Get("type").Str+" "+item.Get("content.0.text").Str+item.Get("encrypted_content").Str)
					}
					want := []string{"reasoning RU5D", "message Let me check.", "function_call ", "function_call_output "}
					if !slices.Equal(kinds, want) || strings.Contains(seen, "sotto") || strings.Contains(seen, "<think>") {
						t.Errorf("the provider got %s\n%q, want %q", seen, kinds, want)
					}
				})
			}
		}
	}
}

// TestSealedOfAnotherUpstream: encrypted reasoning and signatures of one upstream do not reach another, which
// would refuse them, and do reach their own.
func TestSealedOfAnotherUpstream(t *testing.T) {
	const (
		items  = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"%s"},{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"So.","annotations":[]}]}`
		blocks = `{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"%s"},{"type":"text","text":"So."}]}`
	)
	for _, api := range []struct{ path, list, reply, said string }{
		{"/v1/responses", "input", `{"id":"resp_1","object":"response","status":"completed","output":[` + items + `]}`, items},
		{"/v1/messages", "messages", `{"type":"message","stop_reason":"end_turn",` + blocks[1:], blocks},
	} {
		var seen map[string]string
		server := func(name string) *url.URL {
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen[name] = readAll(t, r.Body)
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, api.reply, "proof-of-"+name)
			}))
			t.Cleanup(up.Close)
			u, err := url.Parse(up.URL)
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
		seen = map[string]string{}
		base := before(t, server("a").String(), gateway.Config{
			Upstreams: map[string]gateway.Upstream{"b": {URL: server("b")}},
			Routes:    []routing.Route{{Models: []string{"b"}, Upstream: "b"}},
		})
		ask := func(model string, more string) string {
			t.Helper()
			resp, body := post(t, base+api.path, fmt.Sprintf(`{"model":%q,"max_tokens":9,%q:[{"role":"user","content":"hi"}%s]}`, model, api.list, more), nil)
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("%d %s", resp.StatusCode, body)
			}
			return seen[model]
		}
		ask("a", "")
		next := "," + fmt.Sprintf(api.said, "proof-of-a") + `,{"role":"user","content":"and?"}`
		if got := ask("b", next); strings.Contains(got, "proof-of-a") || !strings.Contains(got, "So.") {
			t.Errorf("%s: b got %s", api.path, got)
		}
		if got := ask("a", next); !strings.Contains(got, "proof-of-a") {
			t.Errorf("%s: a got %s", api.path, got)
		}
		if got := ask("b", ","+fmt.Sprintf(api.said, "proof-of-nobody")+`,{"role":"user","content":"and?"}`); !strings.Contains(got, "proof-of-nobody") {
			t.Errorf("%s: b got %s", api.path, got)
		}
	}
}
