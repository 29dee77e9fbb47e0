package interop_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	ollama "github.com/ollama/ollama/api"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/agentmodel"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/model"
)

// serveAgent serves an agent by the models of a gateway, which keeps its conversations
// in a folder.
func serveAgent(t *testing.T, script string, a agent.Agent) (base string) {
	t.Helper()
	s, err := model.ReadScript(strings.NewReader(script), "script.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a.Turn.Model, a.Turn.Start = model.NewScripted("scripted", s), "outside"
	m := &agentmodel.Models{Base: gateway.UpstreamTransport(gateway.Limits{}), Agents: []*agent.Agent{&a}, Kept: &conversation.Store{Folder: t.TempDir()}}
	t.Cleanup(m.Close)
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	t.Cleanup(up.Close)
	u, _ := url.Parse(up.URL)
	g, err := gateway.New(gateway.Config{Upstream: u, Transport: m, Separated: m.Has})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(g)
	t.Cleanup(front.Close)
	return front.URL
}

// The SDKs read an agent as they read a model: its visible text, its thoughts beside
// it, nothing of the agent below it, and its name in the lists.
func TestAgentAsModel(t *testing.T) {
	base := serveAgent(t, `
- when: {system: "^You mix"}
  text: "<think>CANARY below</think>Red."
- when: {step: 1}
  text: "<think>First</think>I ask."
  calls: [{name: mixer, arguments: {task: Mix.}}]
- text: "<think>Then</think>It is red."
`, agent.Agent{Name: "painter", Turn: agent.Turn{Agents: []agent.Subagent{{Name: "mixer", System: "You mix."}}}})
	want := heard{"I ask.\n\nIt is red.", "First\n\nThen"}
	for name, ask := range map[string]func(*testing.T, string, string, bool) heard{"chat": askChat, "responses": askResponses, "ollama": askOllamaChat} {
		for _, stream := range []bool{true, false} {
			if got := ask(t, base, "agent/painter", stream); got != want {
				t.Errorf("%s, stream=%v: %v, want %v", name, stream, got, want)
			}
		}
	}
	c := newOpenAI(base)
	list, err := c.Models.List(t.Context())
	if err != nil || list.Data[len(list.Data)-1].ID != "agent/painter" {
		t.Errorf("%+v, %v", list, err)
	}
	tags, err := newOllama(base).List(context.Background())
	if err != nil || tags.Models[len(tags.Models)-1].Name != "agent/painter" {
		t.Errorf("%+v, %v", tags, err)
	}
}

// A conversationHeader adds the header that names a conversation.
type conversationHeader string

func (h conversationHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Sotto-Conversation", string(h))
	return http.DefaultTransport.RoundTrip(r)
}

// counting is a script of an agent that says how many of its replies its prompt has.
const counting = `
- when: {call: 1}
  text: "<think>CANARY one</think>First."
- when: {call: 2}
  text: "<think>CANARY two</think>Second."
- text: "<think>CANARY three</think>Third."
`

// The SDKs continue conversations that the gateway keeps: by the id of a response, by
// a name, and by a header, whole and streamed. Each has its own turns.
func TestKeptAgent(t *testing.T) {
	base := serveAgent(t, counting, agent.Agent{Name: "counter"})
	c := newOpenAI(base)
	said := func(want string, p responses.ResponseNewParams, stream bool) (id string) {
		t.Helper()
		p.Model = "agent/counter"
		var r *responses.Response
		if stream {
			s := c.Responses.NewStreaming(t.Context(), p)
			for s.Next() {
				if e, ok := s.Current().AsAny().(responses.ResponseCompletedEvent); ok {
					r = &e.Response
				}
			}
			if s.Err() != nil || r == nil {
				t.Fatalf("the stream: %v", s.Err())
			}
		} else {
			var err error
			if r, err = c.Responses.New(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.OutputText(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		return r.ID
	}
	text := func(s string) responses.ResponseNewParamsInputUnion {
		return responses.ResponseNewParamsInputUnion{OfString: openai.String(s)}
	}
	named := responses.ResponseNewParamsConversationUnion{OfConversationObject: &responses.ResponseConversationParam{ID: "n"}}
	for _, stream := range []bool{false, true} {
		one := said("First.", responses.ResponseNewParams{Input: text("One.")}, stream)
		two := said("Second.", responses.ResponseNewParams{Input: text("Two."), PreviousResponseID: openai.String(one)}, stream)
		said("Third.", responses.ResponseNewParams{Input: text("Three."), PreviousResponseID: openai.String(two)}, stream)
		said("Second.", responses.ResponseNewParams{Input: text("Two."), PreviousResponseID: openai.String(one)}, stream)
	}
	said("First.", responses.ResponseNewParams{Input: text("One."), Conversation: named}, false)
	said("Second.", responses.ResponseNewParams{Input: text("Two."), Conversation: named}, true)
	chat, err := c.Chat.Completions.New(t.Context(), chatParams("agent/counter"), option.WithHeader("Sotto-Conversation", "n"))
	if err != nil || chat.Choices[0].Message.Content != "Third." {
		t.Errorf("%+v, %v", chat, err)
	}
	u, _ := url.Parse(base)
	o := ollama.NewClient(u, &http.Client{Transport: conversationHeader("o")})
	for _, want := range []string{"First.", "Second."} {
		got, whole := "", false
		err := o.Chat(t.Context(), &ollama.ChatRequest{Model: "agent/counter", Stream: &whole, Messages: []ollama.Message{{Role: "user", Content: "Hi."}}}, func(r ollama.ChatResponse) error {
			got += r.Message.Content
			return nil
		})
		if err != nil || got != want {
			t.Errorf("%q, want %q, %v", got, want, err)
		}
	}
	_, err = c.Responses.New(t.Context(), responses.ResponseNewParams{Model: "agent/counter", Input: text("One."), PreviousResponseID: openai.String("resp_none")})
	if e, ok := errors.AsType[*openai.Error](err); !ok || e.StatusCode != 400 || !strings.Contains(e.Message, "previous_response_id") {
		t.Errorf("%v", err)
	}
	_, err = c.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: "agent/counter", Messages: []openai.ChatCompletionMessageParamUnion{
		openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64,AA=="})}),
	}})
	if e, ok := errors.AsType[*openai.Error](err); !ok || e.StatusCode != 400 || !strings.Contains(e.Message, "reads text only") {
		t.Errorf("%v", err)
	}
}
