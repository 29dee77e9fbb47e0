package interop_test

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/agentmodel"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/testing/erasing"
)

// TestConsentByOpenAI: OpenAI's SDK reads the question of an agent as an approval request, whole
// and streamed, and its approval response answers it.
func TestConsentByOpenAI(t *testing.T) {
	for _, streams := range []bool{false, true} {
		var erased atomic.Int64
		m := &agentmodel.Models{Base: gateway.UpstreamTransport(gateway.Limits{}), Agents: []*agent.Agent{erasing.Agent(t, 2, 0, &erased)}, Kept: &conversation.Store{Folder: t.TempDir()}}
		up := httptest.NewServer(scripted.New(scripted.Options{}))
		t.Cleanup(up.Close)
		u, _ := url.Parse(up.URL)
		g, err := gateway.New(gateway.Config{Upstream: u, Transport: m, Separated: m.Has, Tokens: []gateway.Token{{Name: "ann", Secret: "token-of-ann-0123456789", Scopes: []gateway.Scope{gateway.ScopeModels, gateway.ScopeConsent}}}})
		if err != nil {
			t.Fatal(err)
		}
		front := httptest.NewServer(g)
		t.Cleanup(func() { front.Close(); _ = g.Close(); m.Close() })
		c := openai.NewClient(option.WithBaseURL(front.URL+"/v1"), option.WithAPIKey("token-of-ann-0123456789"), option.WithMaxRetries(0))
		ask := func(p responses.ResponseNewParams) *responses.Response {
			t.Helper()
			p.Model = "agent/eraser"
			if !streams {
				r, err := c.Responses.New(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			s := c.Responses.NewStreaming(t.Context(), p)
			var last responses.Response
			for s.Next() {
				if e := s.Current(); e.Type == "response.completed" {
					last = e.Response
				}
			}
			if err := s.Err(); err != nil {
				t.Fatal(err)
			}
			return &last
		}
		r := ask(responses.ResponseNewParams{Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Erase.")}})
		for i, approve := range []bool{true, false} {
			q := r.Output[len(r.Output)-1].AsMcpApprovalRequest()
			if q.Type != "mcp_approval_request" || q.Name != "erase" || q.ServerLabel != "eraser" || q.Arguments != []string{`{"what":"a [21 bytes of reasoning are not shown]"}`, `{"what":"b"}`}[i] {
				t.Fatalf("%s", r.RawJSON())
			}
			r = ask(responses.ResponseNewParams{
				PreviousResponseID: openai.String(r.ID),
				Input:              responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{responses.ResponseInputItemParamOfMcpApprovalResponse(q.ID, approve)}},
			})
			if n := erased.Load(); n != 1 {
				t.Errorf("%d calls", n)
			}
		}
		if text := r.OutputText(); !strings.Contains(text, "The next one has answered.") || strings.Contains(text, "CANARY") {
			t.Errorf("%s", r.RawJSON())
		}
	}
}
