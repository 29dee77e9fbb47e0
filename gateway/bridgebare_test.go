package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/history"
)

// bareThoughts asks for a fourth reply: the first has a thought and an answer, the second is nothing but a thought that
// nobody has signed, and the third is an answer.
const bareThoughts = `{"model":"M","messages":[{"role":"user","content":"aa"},{"role":"assistant","reasoning_content":"The first thought.","content":"bb"},` +
	`{"role":"user","content":"cc"},{"role":"assistant","reasoning_content":"The second thought.","content":""},{"role":"user","content":"dd"},{"role":"assistant","content":"ee"},{"role":"user","content":"ff"}]}`

// TestBridgeBareThought: a reply of an earlier turn that is nothing but an unsigned thought does not reach a provider that
// refuses what it has not signed, under any policy for the history. Others get it under the policies that keep thoughts.
func TestBridgeBareThought(t *testing.T) {
	for _, tt := range []struct {
		api, model string
		refuses    bool
	}{
		{"messages", "claude-sonnet-4-5", true},
		{"bedrock", "anthropic.claude-sonnet-4-5-v1:0", true},
		{"messages", "glm-4.7", false},
		{"ollama", "glm-4.7", false},
	} {
		for _, policy := range []history.Policy{history.Auto, history.Preserve, history.Restore, history.Strip, history.StripAll} {
			var got []byte
			c := gateway.Config{UpstreamAPI: tt.api}
			c.Default.History = policy
			g := handler(t, c, answering(func(r *http.Request) *http.Response {
				got, _ = io.ReadAll(r.Body)
				return response("application/json", strings.NewReader("{}"))
			}))
			request(g, "POST", "/v1/chat/completions", strings.Replace(bareThoughts, `"M"`, `"`+tt.model+`"`, 1))
			second, strips := strings.Contains(string(got), "The second thought."), policy == history.Strip || policy == history.StripAll
			if second != (!tt.refuses && !strips) {
				t.Errorf("%s, %s, %s: the thought is there: %v\n%s", tt.api, tt.model, policy, second, got)
			}
			if tt.refuses && strings.Contains(string(got), "The first thought.") {
				t.Errorf("%s, %s, %s: the first thought is there\n%s", tt.api, tt.model, policy, got)
			}
			var said []string
			for _, text := range []string{"aa", "bb", "cc", "dd", "ee", "ff"} {
				if strings.Contains(string(got), text+`"`) {
					said = append(said, text)
				}
			}
			if len(said) != 6 || !gjson.ValidBytes(got) {
				t.Errorf("%s, %s, %s: the upstream got only %q of\n%s", tt.api, tt.model, policy, said, got)
			}
		}
	}
}
