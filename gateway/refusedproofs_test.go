package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/record"
)

// A proofServer refuses requests with some words, in an error with others, and answers others. It
// notes the bodies that it got.
type proofServer struct {
	t     *testing.T
	words string // of a request that it refuses
	said  string // the body of its error
	reply string
	got   []string
}

func (s *proofServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := readAll(s.t, r.Body)
	s.got = append(s.got, body)
	w.Header().Set("Content-Type", "application/json")
	if strings.Contains(body, s.words) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(s.said))
		return
	}
	_, _ = w.Write([]byte(s.reply))
}

// proofRefusals are requests whose reasoning has a proof that the server does not know, with the errors
// that providers and servers between are known to answer with.
var proofRefusals = []struct {
	path, request, reply, said string
	errors                     []string
}{
	{
		"/v1/responses",
		`{"model":"m","store":false,"input":[{"role":"user","content":"Oslo?"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"Rk9SRUlHTg"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"So."}]},{"role":"user","content":"And?"}]}`,
		`{"id":"resp_1","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"It is 4.","annotations":[]}]}]}`,
		"output.0.content.0.text",
		[]string{
			`{"error":{"message":"The encrypted content Rk9S...TkdO could not be verified.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}`,
			`{"error":{"message":"The encrypted content for item rs_1 could not be verified. Reason: Encrypted content could not be decrypted or parsed.","type":"invalid_request_error"}}`,
		},
	},
	{
		"/v1/messages",
		`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Oslo?"},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"Rk9SRUlHTg"},{"type":"text","text":"So."}]},{"role":"user","content":"And?"}]}`,
		`{"type":"message","id":"msg_1","role":"assistant","model":"m","content":[{"type":"text","text":"It is 4."}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`,
		"content.0.text",
		[]string{
			"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1.content.0: Invalid `signature` in `thinking` block\"}}",
			`{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0.thinking.signature: Field required"}}`,
			"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1.content.0: Invalid `data` in `redacted_thinking` block\"}}",
		},
	},
	{
		"/model/m/converse",
		`{"messages":[{"role":"user","content":[{"text":"Oslo?"}]},{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"Rk9SRUlHTg"}}},{"text":"So."}]},{"role":"user","content":[{"text":"And?"}]}]}`,
		`{"output":{"message":{"role":"assistant","content":[{"text":"It is 4."}]}},"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}`,
		"output.message.content.0.text",
		[]string{"{\"message\":\"The model returned the following errors: messages.1.content.0: Invalid `signature` in `thinking` block\"}"},
	},
}

// TestRefusedProofs: a request whose reasoning the upstream refuses is sent once more without it, and its
// client gets a reply. What stays is as the client sent it.
func TestRefusedProofs(t *testing.T) {
	for _, c := range proofRefusals {
		for _, said := range c.errors {
			s := &proofServer{t: t, words: "Rk9SRUlHTg", said: said, reply: c.reply}
			base := start(t, s, gateway.Config{})
			resp, body := post(t, base+c.path, c.request, nil)
			if resp.StatusCode != http.StatusOK || gjson.GetBytes(body, c.said).Str != "It is 4." {
				t.Errorf("%s: %s: the client got %d %s", c.path, said, resp.StatusCode, body)
			}
			if len(s.got) != 2 || s.got[0] != c.request || !strings.Contains(s.got[1], "So.") || !strings.Contains(s.got[1], "And?") || strings.Contains(s.got[1], "Hm.") {
				t.Errorf("%s: the upstream got %q", c.path, s.got)
			}
			if got := resp.Header.Get("Sotto-History"); !strings.Contains(got, "foreign=1") {
				t.Errorf("%s: Sotto-History is %q", c.path, got)
			}
		}
	}
}

// TestRefusedOtherwise: a request is not sent again if something else was refused, if there is nothing to
// leave out, or if the policy changes nothing. If the second request is refused too, the client gets the
// first answer, whole.
func TestRefusedOtherwise(t *testing.T) {
	long := strings.Repeat("the signature of thinking ", 4000)
	for _, c := range proofRefusals {
		for name, o := range map[string]struct {
			said, words, without string
			policy               history.Policy
			sent                 int
		}{
			"something else": {said: `{"error":{"message":"the context is too long"}}`, words: "{", sent: 1},
			"preserve":       {said: c.errors[0], words: "{", policy: history.Preserve, sent: 1},
			"refused twice":  {said: c.errors[0], words: "{", sent: 2},
			"a long error":   {said: `{"error":{"message":"` + c.errors[0][2:9] + long + `"}}`, words: "{", sent: 1},
			"no thoughts":    {said: c.errors[0], words: "{", without: "yes", sent: 1},
		} {
			request := c.request
			if o.without != "" {
				request = map[string]string{
					"/v1/responses":     `{"model":"m","input":"Oslo?"}`,
					"/v1/messages":      `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Oslo?"}]}`,
					"/model/m/converse": `{"messages":[{"role":"user","content":[{"text":"Oslo?"}]}]}`,
				}[c.path]
			}
			s := &proofServer{t: t, words: o.words, said: o.said}
			base := start(t, s, gateway.Config{Default: routing.Route{History: o.policy}})
			resp, body := post(t, base+c.path, request, nil)
			want := []int{o.sent}
			if name == "a long error" && c.path != "/v1/responses" { // the words stand in its beginning
				want = []int{2}
			}
			if resp.StatusCode != http.StatusBadRequest || string(body) != o.said || !slices.Contains(want, len(s.got)) {
				t.Errorf("%s, %s: %d requests; the client got %d %.200s", c.path, name, len(s.got), resp.StatusCode, body)
			}
		}
	}
}

// TestRecordRefused: the record has the request that the upstream answered, what was taken out of the
// client's, and that it was sent twice.
func TestRecordRefused(t *testing.T) {
	for _, c := range proofRefusals {
		w, dir := openRecord(t, record.Options{})
		up := httptest.NewServer(&proofServer{t: t, words: "Rk9SRUlHTg", said: c.errors[0], reply: c.reply})
		defer up.Close()
		ask(inFront(t, up.URL, gateway.Config{Recorder: w}), c.path, c.request)
		x := only(t, w, dir)
		taken := 0
		for _, v := range x.Revisions {
			taken += v.Removed.Len()
		}
		if x.Retries != 1 || x.Outcome != "answered" || taken == 0 && c.path != "/v1/responses" || strings.Contains(fmt.Sprint(x.Messages), "Hm.") {
			t.Errorf("%s: %d retries, %s, %d bytes taken out: %+v\n%+v", c.path, x.Retries, x.Outcome, taken, x.Revisions, x.Messages)
		}
	}
}
