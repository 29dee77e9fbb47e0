package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/scripted"
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
			preserving := start(t, scripted.New(scripted.Options{}), gateway.Config{Default: gateway.Route{History: history.Preserve}})
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
