package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
)

// TestPublishedBases has base URLs as providers publish them, and where requests of
// their clients must arrive, whether a client's own base URL ends in /v1 or not.
func TestPublishedBases(t *testing.T) {
	const chat, responses, messages = "/chat/completions", "/responses", "/messages"
	both := func(path string) []string { return []string{"/v1" + path, path} }
	added := func(path string) []string { return []string{"/v1" + path} }
	for _, c := range []struct {
		base  string
		asked []string
		want  string
	}{
		{"https://api.openai.com/v1", both(chat), "/v1/chat/completions"},
		{"https://api.openai.com/v1/", both(responses), "/v1/responses"},
		{"https://api.openai.com/v1", both("/models"), "/v1/models"},
		{"https://api.openai.com", added(chat), "/v1/chat/completions"},
		{"https://openrouter.ai/api/v1", both(chat), "/api/v1/chat/completions"},
		{"https://openrouter.ai/api/v1", both(messages), "/api/v1/messages"},
		{"https://openrouter.ai/api/v1", []string{"/api/v1/chat/completions"}, "/api/v1/chat/completions"},
		{"https://openrouter.ai/api", added(messages), "/api/v1/messages"},
		{"https://api.groq.com/openai/v1", both(chat), "/openai/v1/chat/completions"},
		{"https://api.groq.com/openai", []string{"/openai/v1/chat/completions", "/v1/chat/completions"}, "/openai/v1/chat/completions"},
		{"https://api.together.xyz/v1", both(chat), "/v1/chat/completions"},
		{"https://api.deepseek.com", added(chat), "/v1/chat/completions"},
		{"https://api.deepseek.com", []string{chat}, "/chat/completions"},
		{"https://api.deepseek.com/v1", both(chat), "/v1/chat/completions"},
		{"https://api.deepseek.com/beta", []string{chat}, "/beta/chat/completions"},
		{"https://api.deepseek.com/anthropic", added(messages), "/anthropic/v1/messages"},
		{"https://api.mistral.ai/v1", both(chat), "/v1/chat/completions"},
		{"https://api.mistral.ai/v1", []string{"/v1/fim/completions"}, "/v1/fim/completions"},
		{"https://name.openai.azure.com/openai/v1/", both(responses), "/openai/v1/responses"},
		{"https://name.openai.azure.com/openai/v1/", []string{"/openai/deployments/d/chat/completions"}, "/openai/deployments/d/chat/completions"},
		{"https://name.openai.azure.com/openai/deployments/d", both(chat), "/openai/deployments/d/chat/completions"},
		{"https://name.openai.azure.com", []string{"/openai/responses"}, "/openai/responses"},
		{"https://name.openai.azure.com/openai", []string{"/openai/responses"}, "/openai/responses"},
		{"https://name.services.ai.azure.com/models", []string{chat}, "/models/chat/completions"},
		{"http://localhost:8000/v1", both(chat), "/v1/chat/completions"}, // vLLM
		{"http://localhost:8000/v1", []string{"/tokenize"}, "/tokenize"}, // which has it beside /v1
		{"http://localhost:8000", added(chat), "/v1/chat/completions"},
		{"http://localhost:8080", []string{"/props"}, "/props"}, // llama.cpp
		{"http://localhost:8080/v1", []string{"/props"}, "/props"},
		{"http://localhost:8080/v1", both("/embeddings"), "/v1/embeddings"},
		{"http://localhost:1234/v1", both(chat), "/v1/chat/completions"}, // LM Studio
		{"http://localhost:1234/v1", []string{"/api/v0/models"}, "/api/v0/models"},
		{"http://localhost:1234/v1", []string{"/api/v1/chat"}, "/api/v1/chat"},
		{"http://localhost:11434", []string{"/api/chat"}, "/api/chat"}, // Ollama
		{"http://localhost:11434/v1", []string{"/api/chat"}, "/api/chat"},
		{"http://localhost:11434/v1", []string{"/"}, "/"},
		{"http://localhost:11434/v1/", both(chat), "/v1/chat/completions"},
		{"http://localhost:11434/api", []string{"/api/chat"}, "/api/chat"},
		{"https://api.anthropic.com", added(messages), "/v1/messages"},
		{"https://api.anthropic.com/v1", both(messages), "/v1/messages"},
		{"https://api.anthropic.com/v1", both("/messages/count_tokens"), "/v1/messages/count_tokens"},
		{"https://api.moonshot.ai/v1", both(chat), "/v1/chat/completions"},
		{"https://api.moonshot.ai/anthropic", added(messages), "/anthropic/v1/messages"},
		{"https://api.minimax.io/v1", both(chat), "/v1/chat/completions"},
		{"https://api.minimax.io/anthropic", added(messages), "/anthropic/v1/messages"},
		{"https://api.z.ai/api/paas/v4/", both(chat), "/api/paas/v4/chat/completions"},
		{"https://ark.cn-beijing.volces.com/api/v3", both(responses), "/api/v3/responses"},
		{"https://qianfan.baidubce.com/v2", both(chat), "/v2/chat/completions"},
		{"https://dashscope.aliyuncs.com/compatible-mode/v1", both(chat), "/compatible-mode/v1/chat/completions"},
		{"https://generativelanguage.googleapis.com/v1beta/openai/", both(chat), "/v1beta/openai/chat/completions"},
		{"https://generativelanguage.googleapis.com/v1beta", []string{"/v1beta/models"}, "/v1beta/models"},
		{"https://aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/openapi", both(chat), "/v1/projects/p/locations/l/endpoints/openapi/chat/completions"},
		{"https://api.deepinfra.com/v1/openai", both(chat), "/v1/openai/chat/completions"},
		{"https://api.fireworks.ai/inference/v1", both(chat), "/inference/v1/chat/completions"},
		{"https://api.x.ai/v1", both(responses), "/v1/responses"},
		{"https://router.huggingface.co/v1", both(chat), "/v1/chat/completions"},
		{"https://api.cloudflare.com/client/v4/accounts/a/ai/v1", both(chat), "/client/v4/accounts/a/ai/v1/chat/completions"},
		{"https://gateway.ai.cloudflare.com/v1/a/g/anthropic", added(messages), "/v1/a/g/anthropic/v1/messages"},
		{"https://api.perplexity.ai", []string{chat}, "/chat/completions"},
		{"https://models.github.ai/inference", []string{chat}, "/inference/chat/completions"},
		{"http://host/a%2Fb/v1", both("/models/org%2Fname"), "/a%2Fb/v1/models/org%2Fname"},
		{"http://host/base", []string{"/base2/x"}, "/base/base2/x"},
		{"http://host/v1", []string{"/v1/chat/completions/"}, "/v1/chat/completions/"},
		{"http://host/v1", []string{"/v10/x"}, "/v1/v10/x"},
	} {
		for _, path := range c.asked {
			if got := arrives(t, c.base, path); got != c.want {
				t.Errorf("%s and %s: %s, want %s", c.base, path, got, c.want)
			}
		}
	}
	if got := arrives(t, "http://host/v1?x=1", "/v1/models?y=2"); got != "/v1/models?x=1&y=2" {
		t.Errorf("queries: %s", got)
	}
}

// arrives is where a request arrives at an upstream with a base URL.
func arrives(t *testing.T, base, path string) string {
	t.Helper()
	var at string
	up, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: up, Transport: answering(func(r *http.Request) *http.Response {
		if r.URL.Host != up.Host || r.URL.Scheme != up.Scheme {
			t.Errorf("%s leads to %s", base, r.URL)
		}
		at = r.URL.RequestURI()
		return response("application/json", strings.NewReader(`{}`))
	})})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	method, body := "POST", `{"model":"m","messages":[]}`
	if strings.Contains(path, "models") && !strings.HasSuffix(path, "completions") || path == "/" || path == "/props" {
		method, body = "GET", ""
	}
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost"
	w := httptest.NewRecorder()
	if g.ServeHTTP(w, r); at == "" {
		t.Errorf("%s and %s: %d %s", base, path, w.Code, w.Body)
	}
	return at
}
