package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

const weatherTool = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object"}}}]`

// twoTurns has a model call a tool and answers it; edit is what the client does
// to the assistant's message before it sends it back.
func twoTurns(t *testing.T, base, model string, header http.Header, edit func(message map[string]any)) (status int, body string) {
	t.Helper()
	const user = `{"role":"user","content":"What is the weather in Oslo?"}`
	resp, first := post(t, base+"/v1/chat/completions", fmt.Sprintf(`{"model":%q,%s,"messages":[%s]}`, model, weatherTool, user), header)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the first turn: %d %s", resp.StatusCode, first)
	}
	message := obj(list(decode(t, first)["choices"])[0]["message"])
	calls := list(message["tool_calls"])
	if len(calls) != 1 {
		t.Fatalf("no call in %s", first)
	}
	id := str(calls[0]["id"])
	edit(message)
	back, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	resp, second := post(t, base+"/v1/chat/completions", fmt.Sprintf(
		`{"model":%q,%s,"messages":[%s,%s,{"role":"tool","tool_call_id":%q,"content":"4 °C"}]}`, model, weatherTool, user, back, id), header)
	return resp.StatusCode, string(second)
}

func dropThoughts(m map[string]any) { delete(m, "reasoning_content") }

// TestRestored asks models that refuse a turn whose reasoning is missing, as a
// client that drops it: the gateway puts it back.
func TestRestored(t *testing.T) {
	for _, model := range []string{"deepseek-v3.2", "kimi-k2.6"} {
		t.Run(model, func(t *testing.T) {
			base := start(t, scripted.New(scripted.Options{}), gateway.Config{})
			if status, body := twoTurns(t, base, model, nil, dropThoughts); status != http.StatusOK {
				t.Errorf("%d %s", status, body)
			}
			preserving := start(t, scripted.New(scripted.Options{}), gateway.Config{Default: routing.Route{History: history.Preserve}})
			if status, _ := twoTurns(t, preserving, model, nil, dropThoughts); status != http.StatusBadRequest {
				t.Errorf("without restoring: %d; the upstream does not refuse it", status)
			}
		})
	}
}

// TestRestoredForItsCaller has one caller's conversation come from another: what
// is remembered is not given to it.
func TestRestoredForItsCaller(t *testing.T) {
	base := start(t, scripted.New(scripted.Options{}), gateway.Config{})
	key := func(k string) http.Header { return http.Header{"Authorization": {"Bearer " + k}} }
	if status, body := twoTurns(t, base, "deepseek-v3.2", key("alice"), dropThoughts); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	const user = `{"role":"user","content":"What is the weather in Oslo?"}`
	_, first := post(t, base+"/v1/chat/completions", `{"model":"deepseek-v3.2",`+weatherTool+`,"messages":[`+user+`]}`, key("alice"))
	message := obj(list(decode(t, first)["choices"])[0]["message"])
	id := str(list(message["tool_calls"])[0]["id"])
	dropThoughts(message)
	back, _ := json.Marshal(message)
	second := fmt.Sprintf(`{"model":"deepseek-v3.2",%s,"messages":[%s,%s,{"role":"tool","tool_call_id":%q,"content":"4 °C"}]}`, weatherTool, user, back, id)
	if resp, body := post(t, base+"/v1/chat/completions", second, key("mallory")); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("another caller got the thought: %d %s", resp.StatusCode, body)
	}
	if resp, body := post(t, base+"/v1/chat/completions", second, key("alice")); resp.StatusCode != http.StatusOK {
		t.Errorf("its own caller did not: %d %s", resp.StatusCode, body)
	}
}

// TestMintedStaysHere sends back a block of thinking that the gateway made: the
// upstream, which did not sign it, never sees it. It is removed, or stands in the
// text again as the model wrote it.
func TestMintedStaysHere(t *testing.T) {
	var seen string
	upstream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = readAll(t, r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`)
	})
	base := start(t, upstream, gateway.Config{})
	const minted = `{"type":"thinking","thinking":"canary","signature":""}`
	const signed = `{"type":"thinking","thinking":"mine","signature":"c2ln"}`
	for _, model := range []string{"claude-sonnet-4-5", "qwen3:8b", "unheard-of"} {
		post(t, base+"/v1/messages", fmt.Sprintf(`{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":"hi"},`+
			`{"role":"assistant","content":[%s,%s,{"type":"text","text":"so"}]},{"role":"user","content":"and?"}]}`, model, minted, signed), nil)
		if strings.Contains(seen, minted) || !strings.Contains(seen, signed) {
			t.Errorf("%s: the upstream got %s", model, seen)
		}
	}
}

// TestHistoryDryRun says what would be removed, and removes nothing.
func TestHistoryDryRun(t *testing.T) {
	var seen string
	upstream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = readAll(t, r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`)
	})
	const body = `{"model":"qwen3:8b","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"<think>greet them warmly</think>hello"},{"role":"user","content":"and?"}]}`
	for _, dry := range []bool{true, false} {
		base := start(t, upstream, gateway.Config{HistoryDryRun: dry})
		resp, _ := post(t, base+"/v1/chat/completions", body, nil)
		said := resp.Header.Get("Sotto-History")
		if !strings.Contains(said, "removed=") || !strings.Contains(said, "message 1") || !strings.Contains(said, "rule=qwen3-strip") {
			t.Errorf("dry %v: Sotto-History %q", dry, said)
		}
		if kept := strings.Contains(seen, "greet them warmly"); kept != dry {
			t.Errorf("dry %v: the upstream got %s", dry, seen)
		}
		if dry && seen != body {
			t.Errorf("a dry run changed the request: %s", seen)
		}
	}
}

// TestRestoreMissed asks with a conversation of which this gateway has not heard, as
// after a restart. The provider's member is sent empty, and the miss is counted.
func TestRestoreMissed(t *testing.T) {
	const call = `"tool_calls":[{"id":"call_01ab23CD","type":"function","function":{"name":"get_weather","arguments":"{}"}}]`
	const talk = `{"role":"user","content":"hi"},{"role":"assistant","content":"",%s` + call + `},{"role":"tool","tool_call_id":"call_01ab23CD","content":"4 °C"}`
	for _, tt := range []struct {
		model, members string
		policy         history.Policy
		sent           bool // an empty member is added
		misses         int
	}{
		{"kimi-k2.6", "", history.Auto, true, 1},
		{"kimi-k2.6", "", history.Restore, true, 1},
		{"kimi-k2.6", `"reasoning_content":"",`, history.Auto, false, 1},
		{"kimi-k2.6", `"reasoning_content":null,`, history.Auto, true, 1},
		{"kimi-k2.6", `"reasoning_content":"r",`, history.Auto, false, 0},
		{"kimi-k2.6", "", history.Preserve, false, 0},
		{"unheard-of", "", history.Auto, false, 0},
		{"unheard-of", "", history.Restore, false, 1},
	} {
		var seen string
		base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen = readAll(t, r.Body)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`)
		}), gateway.Config{Default: routing.Route{History: tt.policy}})
		body := fmt.Sprintf(`{"model":%q,"messages":[`+talk+`]}`, tt.model, tt.members)
		resp, _ := post(t, base+"/v1/chat/completions", body, nil)
		if added := seen != body; added != tt.sent || strings.Count(seen, `"reasoning_content":""`) != strings.Count(body, `"reasoning_content":""`)+btoi(tt.sent) {
			t.Errorf("%s %s %q: the upstream got %s", tt.model, tt.policy, tt.members, seen)
		}
		if tt.sent && !strings.Contains(resp.Header.Get("Sotto-History"), "missed=1") {
			t.Errorf("%s %s: Sotto-History %q", tt.model, tt.policy, resp.Header.Get("Sotto-History"))
		}
		want := fmt.Sprintf("sotto_restore_misses_total{model=%q} %d\n", tt.model, tt.misses)
		if metrics := metricsAt(t, base); strings.Contains(metrics, want) != (tt.misses > 0) || tt.misses == 0 && strings.Contains(metrics, "sotto_restore_misses_total{") {
			t.Errorf("%s %s %q: want %s in\n%s", tt.model, tt.policy, tt.members, want, metrics)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestSignaturesAreRestored asks a provider that signs calls, as a client that does not
// know the signatures: each goes back on its call, byte for byte.
func TestSignaturesAreRestored(t *testing.T) {
	const signature = `"extra_content":{"google":{"thought_signature":"c2ln+/=="}}`
	const plain = `{"id":"call_%s","type":"function","function":{"name":"get_weather","arguments":"{}"}%s}`
	calls := func(first, second string) string {
		return "[" + fmt.Sprintf(plain, "01ab23CD", first) + "," + fmt.Sprintf(plain, "45ef67GH", second) + "]"
	}
	for _, stream := range []bool{false, true} {
		for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide} {
			for _, policy := range routing.Policies() {
				for _, system := range []string{"", `{"role":"system","content":"Another hour."},`} {
					var seen string
					base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						seen = readAll(t, r.Body)
						message := `{"role":"assistant","content":null,"tool_calls":` + calls(","+signature, "") + `}`
						if stream {
							w.Header().Set("Content-Type", "text/event-stream")
							fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":`+strings.NewReplacer(`{"id":"call_0`, `{"index":0,"id":"call_0`, `{"id":"call_4`, `{"index":1,"id":"call_4`).Replace(message)+`,"finish_reason":null}]}`+
								"\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n")
							return
						}
						w.Header().Set("Content-Type", "application/json")
						fmt.Fprint(w, `{"choices":[{"index":0,"message":`+message+`,"finish_reason":"tool_calls"}]}`)
					}), gateway.Config{Default: routing.Route{History: policy, Display: display}})
					ask := func(more string) string {
						body := fmt.Sprintf(`{"model":"gemini-3-pro","stream":%v,"messages":[%s]}`, stream, more)
						if resp, got := post(t, base+"/v1/chat/completions", body, nil); resp.StatusCode != http.StatusOK {
							t.Fatalf("%d %s", resp.StatusCode, got)
						}
						return body
					}
					const user = `{"role":"user","content":"hi"}`
					results := `,{"role":"tool","tool_call_id":"call_01ab23CD","content":"4"},{"role":"tool","tool_call_id":"call_45ef67GH","content":"5"}`
					ask(user)
					body := ask(system + user + `,{"role":"assistant","content":null,"tool_calls":` + calls("", "") + `}` + results)
					want := strings.Replace(body, calls("", ""), "["+`{`+signature+`,`+fmt.Sprintf(plain, "01ab23CD", "")[1:]+","+fmt.Sprintf(plain, "45ef67GH", "")+"]", 1)
					if policy == history.Preserve {
						want = body
					}
					if seen != want {
						t.Errorf("stream %v, %s, %s, %q: the upstream got\n%s\nwant\n%s", stream, display, policy, system, seen, want)
					}
					if body = ask(user + `,{"role":"assistant","content":null,"tool_calls":` + calls(","+signature, "") + `}` + results); seen != body {
						t.Errorf("a signature that came back: %s\nwas changed: %s", body, seen)
					}
				}
			}
		}
	}
}

func metricsAt(t *testing.T, base string) string {
	t.Helper()
	resp, err := http.Get(base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return readAll(t, resp.Body)
}

// TestProtocolsAreStripped asks with a dialect that the operator named: a protocol's
// earlier reasoning goes, unless the provider requires it. The current turn keeps it.
func TestProtocolsAreStripped(t *testing.T) {
	for _, tt := range []struct{ dialect, model, said, kept string }{
		{"thought", "gpt-4.1", "<thought>canary</thought>So.", "So."},
		{"thinking", "gpt-4.1", "<thinking>canary</thinking>So.", "So."},
		{"answer", "gpt-4.1", "<think>canary</think><answer>4</answer>", "<answer>4</answer>"},
		{"output", "gpt-4.1", "<scratch_pad>canary</scratch_pad><output>So.</output>", "So."},
		{"thinking", "gpt-5", "<thinking>canary</thinking>So.", "So."},
		{"thinking", "glm-4.7", "<thinking>canary</thinking>So.", "So."},
		{"thinking", "kimi-k2.6", "<thinking>canary</thinking>So.", ""},
		{"prompted", "gpt-4.1", "<thinking>canary</thinking>So.", ""}, // not a protocol
		{"", "gpt-4.1", "<think>canary</think>So.", ""},
	} {
		var seen string
		base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen = readAll(t, r.Body)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`)
		}), gateway.Config{Default: routing.Route{Dialect: tt.dialect}})
		talk := `{"model":%q,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":%q}%s]}`
		earlier := fmt.Sprintf(talk, tt.model, tt.said, `,{"role":"user","content":"and?"}`)
		want := earlier
		if tt.kept != "" {
			want = fmt.Sprintf(talk, tt.model, tt.kept, `,{"role":"user","content":"and?"}`)
		}
		resp, _ := post(t, base+"/v1/chat/completions", earlier, nil)
		if seen != want {
			t.Errorf("%s, %s: the upstream got\n%s\nwant\n%s", tt.dialect, tt.model, seen, want)
		}
		if said := resp.Header.Get("Sotto-History"); tt.kept != "" && !strings.HasPrefix(said, "rule=protocol-strip; ") {
			t.Errorf("%s, %s: Sotto-History %q", tt.dialect, tt.model, said)
		}
		const call = `,"tool_calls":[{"id":"call_01ab23CD","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_01ab23CD","content":"4"`
		now := strings.Replace(fmt.Sprintf(talk, tt.model, tt.said, ""), `"}]}`, `"`+call+"}]}", 1)
		if post(t, base+"/v1/chat/completions", now, nil); !strings.Contains(seen, "canary") {
			t.Errorf("%s, %s: the current turn lost its reasoning: %s", tt.dialect, tt.model, seen)
		}
	}
}
