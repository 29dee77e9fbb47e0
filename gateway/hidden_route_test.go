package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// TestHiddenWhicheverAnswers: where a request leaves it to the upstream which model
// answers, and the reasoning of one of them is hidden, no thought reaches the client.
func TestHiddenWhicheverAnswers(t *testing.T) {
	c := gateway.Config{Routes: []routing.Route{{Models: []string{"secret-*"}, Display: routing.DisplayHide}}}
	each(t, func(t *testing.T, s speaker) {
		g := handler(t, c, answering(func(*http.Request) *http.Response {
			return response(s.kind(false), strings.NewReader(s.whole("<think>a hidden thought</think>Hi", sotto.EndStopped)))
		}))
		if got := ask(g, s.path, `{"model":"secret-1","messages":[],"stream":false}`).Body.String(); strings.Contains(got, "a hidden") {
			t.Errorf("the model that is named: %s", got)
		}
		if got := ask(g, s.path, `{"model":"other","messages":[],"stream":false}`).Body.String(); !strings.Contains(got, "thought") {
			t.Errorf("a model that is not hidden: %s", got)
		}
		if strings.HasPrefix(s.name(), "ollama") || strings.HasPrefix(s.name(), "gemini") || strings.HasPrefix(s.name(), "bedrock") {
			return // these APIs have no lists of models
		}
		if got := ask(g, s.path, `{"model":"other","models":["third","secret-1"],"messages":[],"stream":false}`).Body.String(); strings.Contains(got, "thought") {
			t.Errorf("a list of models: %s", got)
		}
		for _, models := range []string{`"secret-1"`, `{"a":"secret-1"}`, `[["secret-1"]]`, `[` + strings.Repeat(`"a",`, 64) + `"secret-1"]`} {
			if w := ask(g, s.path, `{"model":"other","models":`+models+`,"messages":[],"stream":false}`); w.Code != http.StatusBadRequest {
				t.Errorf("models %.30s: %d %s", models, w.Code, w.Body)
			}
		}
		if s.name() == "openai.chat" {
			if got := ask(g, "/openai/deployments/secret-1/chat/completions", `{"messages":[],"stream":false}`).Body.String(); strings.Contains(got, "thought") {
				t.Errorf("a deployment: %s", got)
			}
		}
	})
}

// TestHiddenFallbacks: the models in LiteLLM's lists of fallbacks count as those in a list
// "models" do. What the gateway cannot read there it refuses.
func TestHiddenFallbacks(t *testing.T) {
	c := gateway.Config{Routes: []routing.Route{{Models: []string{"secret-*"}, Display: routing.DisplayHide}}}
	many := strings.Repeat(`"a",`, 63)
	each(t, func(t *testing.T, s speaker) {
		if strings.HasPrefix(s.name(), "ollama") || strings.HasPrefix(s.name(), "gemini") || strings.HasPrefix(s.name(), "bedrock") {
			return // these APIs have no lists of models
		}
		g := handler(t, c, answering(func(*http.Request) *http.Response {
			return response(s.kind(false), strings.NewReader(s.whole("<think>a hidden thought</think>Hi", sotto.EndStopped)))
		}))
		for _, member := range []string{"fallbacks", "context_window_fallbacks", "content_policy_fallbacks", "context_window_fallback_dict"} {
			send := func(value string) (int, string) {
				w := ask(g, s.path, `{"model":"other","`+member+`":`+value+`,"messages":[],"stream":false}`)
				return w.Code, w.Body.String()
			}
			for _, value := range []string{
				`["secret-1"]`, `["third","secret-1"]`, `[` + many + `"secret-1"]`,
				`[{"model":"secret-1","messages":[{"role":"user","content":"Hi"}],"api_key":"k"}]`, `["third",{"temperature":1,"model":"secret-1"}]`,
				`[{"other":["third","secret-1"]}]`, `[{"third":["third"]},{"*":["secret-1"]}]`, `[{"other":[{"model":"secret-1"}]}]`,
				`[{"other":["third"],"other":["secret-1"]}]`, `{"other":"secret-1"}`, `[{"model":["secret-1"]}]`,
				`[{"model":"third","fallbacks":["secret-1"]}]`, `[{"model":"third","` + member + `":[{"third":["secret-1"]}]}]`,
			} {
				if status, got := send(value); status != http.StatusOK || strings.Contains(got, "thought") {
					t.Errorf("%s %s: %d %s", member, value, status, got)
				}
			}
			for _, value := range []string{`null`, `[]`, `["third"]`, `[{"model":"third","stop":["secret-1"]}]`, `[{"secret-1":["third"]}]`} {
				if status, got := send(value); status != http.StatusOK || !strings.Contains(got, "thought") {
					t.Errorf("%s %s, in which none is hidden: %d %s", member, value, status, got)
				}
			}
			for _, value := range []string{
				`"secret-1"`, `1`, `[1]`, `[{"other":true}]`, `[` + many + `"a","secret-1"]`, `[[[[[[["secret-1"]]]]]]]`,
				`[{"model":"a","fallbacks":[{"model":"a","fallbacks":[{"model":"a","fallbacks":["secret-1"]}]}]}]`,
			} {
				if status, got := send(value); status != http.StatusBadRequest || !strings.Contains(got, member) {
					t.Errorf("%s %.40s: %d %s", member, value, status, got)
				}
			}
		}
		if w := ask(g, s.path, `{"model":"other","models":[`+many+`"a"],"fallbacks":["secret-1"],"messages":[],"stream":false}`); w.Code != http.StatusBadRequest {
			t.Errorf("too many in two lists: %d", w.Code)
		}
	})
}

// TestHiddenTrailers: under hide no trailer of the upstream's passes, announced or
// not, streamed or whole. Under other displays those pass whose names are listed.
func TestHiddenTrailers(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		s := speakers[0]
		w.Header().Set("Trailer", "X-Thought, X-Request-Id, Sotto-History")
		w.Header().Set("Content-Type", s.kind(r.Header.Get("X-Streamed") != ""))
		if r.Header.Get("X-Streamed") != "" {
			fmt.Fprint(w, s.stream([]string{"<think>a</think>Hi"}, sotto.EndStopped))
		} else {
			fmt.Fprint(w, s.whole("<think>a</think>Hi", sotto.EndStopped))
		}
		w.(http.Flusher).Flush()
		for _, name := range []string{"X-Thought", "Sotto-History", http.TrailerPrefix + "X-Late", http.TrailerPrefix + "Sotto-Figures"} {
			w.Header().Set(name, "a hidden thought")
		}
		w.Header().Set("X-Request-Id", "listed-1")
		w.Header().Set(http.TrailerPrefix+"X-Vllm-Late", "listed-2")
	}))
	defer up.Close()
	for _, display := range []routing.Display{routing.DisplayHide, routing.DisplayField, routing.DisplayKeep} {
		base := before(t, up.URL, gateway.Config{Default: routing.Route{Display: display}})
		for _, path := range []string{"/v1/chat/completions", "/v1/embeddings"} {
			for _, streamed := range []string{"", "yes"} {
				body := `{"model":"m","messages":[],"stream":` + fmt.Sprint(streamed != "") + `}`
				resp, _ := post(t, base+path, body, http.Header{"X-Streamed": {streamed}})
				if said := fmt.Sprint(resp.Trailer, resp.Header); strings.Contains(said, "hidden") || strings.Contains(said, "X-Thought") {
					t.Errorf("%s, %s, streamed %q: %s", display, path, streamed, said)
				}
				listed := resp.Trailer.Get("X-Request-Id") == "listed-1" && resp.Trailer.Get("X-Vllm-Late") == "listed-2"
				whole := streamed == "" && path == "/v1/chat/completions" // it has a length, and so no trailers
				if n := len(resp.Trailer); display == routing.DisplayHide && n > 0 || display != routing.DisplayHide && !whole && !listed {
					t.Errorf("%s, %s, streamed %q: trailers %v", display, path, streamed, resp.Trailer)
				}
			}
		}
	}
}
