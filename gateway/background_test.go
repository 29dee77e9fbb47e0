package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// backgroundReply is a response that is made in the background, as it is fetched.
func backgroundReply(status, text string) string {
	item := ""
	if text != "" {
		item = `{"id":"m1","type":"message","role":"assistant","status":"in_progress","content":[{"type":"output_text","text":` + quoted(text) + `,"annotations":[]}]}`
	}
	return fmt.Sprintf(`{"id":"resp_1","object":"response","background":true,"status":%q,"model":"deepseek-r1","output":[%s]}`, status, item)
}

// asked sends a request without a body.
func asked(g http.Handler, method, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.Host = "localhost"
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

// TestBackground: a response that is under way, or was canceled, is read as far as it
// came, whether it is fetched or the answer to its cancellation. The rest of a thought
// that the prompt opened is not taken for the answer, and a reply that is all thought so
// far is no error and is not promoted.
func TestBackground(t *testing.T) {
	for _, route := range []routing.Route{
		{}, {Display: routing.DisplayHide}, {OnNoAnswer: routing.NoAnswerError}, {OnNoAnswer: routing.NoAnswerPromote}, {Display: routing.DisplayHide, OnNoAnswer: routing.NoAnswerError},
	} {
		for _, ask := range [][2]string{{"GET", "/v1/responses/resp_1"}, {"POST", "/v1/responses/resp_1/cancel"}, {"POST", "/responses/resp_1/cancel"}} {
			for _, status := range []string{"queued", "in_progress", "cancelled"} {
				for text, want := range map[string]string{"": "", "<think>canary": "", "canary in thought": "", "canary</think>It is": "It is", "<think>canary</think>It is": "It is"} {
					g := handler(t, gateway.Config{Default: route}, answering(upstreamSends("application/json", backgroundReply(status, text))))
					w := asked(g, ask[0], ask[1])
					answer, _ := responseTexts(w.Body.String())
					if w.Code != http.StatusOK || answer != want || gjson.Get(w.Body.String(), "status").Str != status {
						t.Errorf("%+v, %s %s, %s, %q: %d, text %q, want %q\n%s", route, ask[0], ask[1], status, text, w.Code, answer, want, w.Body)
					}
					if route.Display == routing.DisplayHide && strings.Contains(w.Body.String(), "canary") {
						t.Errorf("%s, %q: the hidden thought came out: %s", status, text, w.Body)
					}
				}
			}
		}
	}
}

// TestBackgroundCancelReaches: the request that cancels reaches the upstream as it is.
func TestBackgroundCancelReaches(t *testing.T) {
	var seen string
	g := handler(t, gateway.Config{}, answering(func(r *http.Request) *http.Response {
		seen = r.Method + " " + r.URL.Path
		return response("application/json", strings.NewReader(backgroundReply("cancelled", "")))
	}))
	asked(g, "POST", "/v1/responses/resp_1/cancel")
	if seen != "POST /v1/responses/resp_1/cancel" {
		t.Error(seen)
	}
}
