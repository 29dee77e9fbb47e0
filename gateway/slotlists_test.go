package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/net/sealedslot"
)

// TestSlotOfList: in chat completions a client under hide gets one element with a copy of a signed list, whole and
// streamed, and nothing of the thought. A copy of another caller, or of another model, does not reach the upstream.
// Where nothing is signed there is no copy, so that a client sees no member that its upstream does not send.
func TestSlotOfList(t *testing.T) {
	const (
		signed   = `[{"type":"reasoning.text","text":"canary","signature":"c2ln","index":0}]`
		unsigned = `[{"type":"reasoning.text","text":"canary","index":0}]`
	)
	details, seen := signed, ""
	g := handler(t, hiding(gateway.Config{SharedSecret: []byte("a secret of the replicas")}), answering(func(r *http.Request) *http.Response {
		seen = readAll(t, r.Body)
		if gjson.Get(seen, "stream").Bool() {
			return response("text/event-stream", strings.NewReader(chatFrame(`{"reasoning_details":`+strings.Replace(details, "canary", "can", 1)+`}`, "null")+
				chatFrame(`{"content":"x"}`, "null")+chatFrame(`{}`, `"stop"`)+"data: [DONE]\n\n"))
		}
		return response("application/json", strings.NewReader(`{"choices":[{"index":0,"message":{"role":"assistant","content":"x","reasoning_details":`+details+`},"finish_reason":"stop"}]}`))
	}))
	say := func(key, model, more, messages string) string {
		r := httptest.NewRequest("POST", "http://localhost/v1/chat/completions", strings.NewReader(`{"model":"`+model+`"`+more+`,"messages":[`+messages+`]}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "can") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		return w.Body.String()
	}
	user := `{"role":"user","content":"q"}`
	for _, stream := range []string{"", `,"stream":true`} {
		details = signed
		copies := sealedCopy.FindAllString(say("one", "claude-m", stream, user), -1)
		if len(copies) != 1 {
			t.Fatalf("%s: copies %q", stream, copies)
		}
		back := user + `,{"role":"assistant","content":"x","reasoning_details":[{"type":"reasoning.encrypted","format":"unknown","index":0,"data":"` + copies[0] + `"}]},` + user
		for _, c := range []struct {
			key, model string
			opens      bool
		}{{"one", "claude-m", true}, {"two", "claude-m", false}, {"one", "claude-n", false}} {
			say(c.key, c.model, "", back)
			got := gjson.Get(seen, "messages.1.reasoning_details")
			if strings.Contains(seen, sealedslot.Prefix) || got.Exists() != c.opens || c.opens && got.Get("0.signature").Str != "c2ln" {
				t.Errorf("%+v: %s", c, seen)
			}
		}
		details = unsigned
		if got := say("one", "claude-m", stream, user); strings.Contains(got, "reasoning_details") {
			t.Errorf("a copy of what nobody signed: %s", got)
		}
	}
}
