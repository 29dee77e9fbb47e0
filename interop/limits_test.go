package interop_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/openai/openai-go/v3"
	"google.golang.org/genai"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// TestLimits: a caller beyond its limit gets the error of its SDK for that, with the time to
// wait where the SDK shows the response.
func TestLimits(t *testing.T) {
	after := func(r *http.Response) bool { return r != nil && r.Header.Get("Retry-After") != "" }
	judged := map[string]func(error) bool{
		"openai.chat": func(err error) bool {
			e, ok := errors.AsType[*openai.Error](err)
			return ok && e.StatusCode == http.StatusTooManyRequests && e.Code == "rate_limit_exceeded" && e.Type == "rate_limit_error" && strings.Contains(e.Message, "requests a minute") && after(e.Response) &&
				e.Response.Header.Get("X-Ratelimit-Remaining-Requests") == "0"
		},
		"anthropic.messages": func(err error) bool {
			e, ok := errors.AsType[*anthropic.Error](err)
			return ok && e.StatusCode == http.StatusTooManyRequests && e.Type() == anthropic.ErrorTypeRateLimitError && after(e.Response) &&
				e.Response.Header.Get("Anthropic-Ratelimit-Requests-Remaining") == "0"
		},
		"gemini.generate": func(err error) bool {
			e, ok := errors.AsType[genai.APIError](err)
			return ok && e.Code == http.StatusTooManyRequests && e.Status == "RESOURCE_EXHAUSTED"
		},
		"bedrock.converse": func(err error) bool {
			_, ok := errors.AsType[*types.ThrottlingException](err)
			return ok
		},
	}
	judged["openai.responses"] = judged["openai.chat"]
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	defer up.Close()
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	for api, isLimit := range judged {
		g, err := gateway.New(gateway.Config{Upstream: base, Tokens: []gateway.Token{
			{Name: "sdk", Hash: tokenHash, Limits: gateway.CallerLimits{Requests: 1}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(g)
		if err := failing[api](srv.URL, "minimax-m2"); err != nil {
			t.Errorf("%s: the first request: %v", api, err)
		}
		err = failing[api](srv.URL, "minimax-m2")
		if !isLimit(err) {
			t.Errorf("%s: the second request: %T %v", api, err, err)
		}
		srv.Close()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// tokenHash is the hash of the key of all clients here, as sotto token hash prints it.
const tokenHash = "sha256:8eb943e7040b69a94bf39562088223755bff4c2e7c5fc257f1e08f870fe01d35"
