package interop_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

func newGemini(t *testing.T, base string) *genai.Client {
	t.Helper()
	c, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: "client-key", HTTPOptions: genai.HTTPOptions{BaseURL: base},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// hearContent adds what a client reads in a response.
func (h *heard) content(r *genai.GenerateContentResponse) {
	for _, c := range r.Candidates {
		if c.Content == nil {
			continue
		}
		for _, p := range c.Content.Parts {
			if p.Thought {
				h.thought += p.Text
			} else {
				h.text += p.Text
			}
		}
	}
}

func askGemini(t *testing.T, base, model string, stream bool) heard {
	t.Helper()
	var h heard
	c, q := newGemini(t, base), genai.Text("What is it?")
	if !stream {
		r, err := c.Models.GenerateContent(t.Context(), model, q, nil)
		if err != nil {
			t.Fatal(err)
		}
		h.content(r)
		return h
	}
	for r, err := range c.Models.GenerateContentStream(t.Context(), model, q, nil) {
		if err != nil {
			t.Fatal(err)
		}
		h.content(r)
	}
	return h
}

func failGemini(base, model string) error {
	c, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: "client-key", HTTPOptions: genai.HTTPOptions{BaseURL: base},
	})
	if err != nil {
		return nil // the test fails
	}
	for _, err := range c.Models.GenerateContentStream(context.Background(), model, genai.Text("What is it?"), nil) {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestToolLoopGemini has the SDK's chat call a tool and answer. Gemini refuses a call
// that comes back without its signature.
func TestToolLoopGemini(t *testing.T) {
	for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide, routing.DisplayTags} {
		for _, model := range []string{"gemini", "qwen3:8b", "plain"} {
			for _, stream := range []bool{false, true} {
				name := model + "/" + string(display) + "/" + map[bool]string{false: "whole", true: "streamed"}[stream]
				t.Run(name, func(t *testing.T) { toolLoopGemini(t, display, model, stream, true) })
			}
		}
	}
	// A client that rebuilds the call drops its signature.
	for _, stream := range []bool{false, true} {
		toolLoopGemini(t, routing.DisplayField, "gemini", stream, false)
	}
}

// unmarked is a route with a display. Nothing in the replies of most models here shows that
// they are no thoughts, so whoever hides reasoning has to say it.
func unmarked(display routing.Display, model string) routing.Route {
	r := routing.Route{Display: display}
	if display == routing.DisplayHide && model != "qwen3:8b" {
		r.Start = sotto.BeginOutside
	}
	return r
}

func toolLoopGemini(t *testing.T, display routing.Display, model string, stream, keeps bool) {
	t.Helper()
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	defer up.Close()
	u, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: u, Default: unmarked(display, model)})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	srv := httptest.NewServer(g)
	defer srv.Close()
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
		Name: "get_weather", Parameters: &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"city": {Type: genai.TypeString}}},
	}}}}}
	c := newGemini(t, srv.URL)
	chat, err := c.Chats.Create(t.Context(), model, config, nil)
	if err != nil {
		t.Fatal(err)
	}
	call, _ := send(t, chat, stream, genai.Part{Text: "How is the weather in Oslo?"})
	if call == nil {
		t.Fatal("no call")
	}
	if !keeps {
		history := chat.History(false)
		for _, content := range history {
			for _, p := range content.Parts {
				p.ThoughtSignature = nil
			}
		}
		if chat, err = c.Chats.Create(t.Context(), model, config, history); err != nil {
			t.Fatal(err)
		}
	}
	result := genai.Part{FunctionResponse: &genai.FunctionResponse{ID: call.ID, Name: call.Name, Response: map[string]any{"output": "4 °C, rain"}}}
	if _, text := send(t, chat, stream, result); text == "" {
		t.Error("no text after the result")
	}
}

// TestSlowChatGemini: the SDK's chat keeps the turns of a reply that keep-alives were sent
// for. It drops a turn with an event that says nothing.
func TestSlowChatGemini(t *testing.T) {
	up := httptest.NewServer(scripted.New(scripted.Options{Pause: 25 * time.Millisecond}))
	defer up.Close()
	u, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: u, Default: routing.Route{Display: routing.DisplayHide}, KeepAlive: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var said atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.ServeHTTP(&counter{w, &said}, r) }))
	defer srv.Close()
	chat, err := newGemini(t, srv.URL).Chats.Create(t.Context(), "qwen3:8b", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, text := send(t, chat, true, genai.Part{Text: "What is it?"}); text == "" {
		t.Error("no answer")
	}
	if said.Load() == 0 {
		t.Error("no keep-alive was sent")
	}
	if h := chat.History(true); len(h) < 2 {
		t.Errorf("the chat has dropped its turn: %d contents", len(h))
	}
}

// A counter counts the writes of a response that are keep-alives: spaces and no more.
type counter struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c *counter) Write(b []byte) (int, error) {
	if s := string(b); s == " " || s == "data: " {
		c.n.Add(1)
	}
	return c.ResponseWriter.Write(b)
}

func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func send(t *testing.T, chat *genai.Chat, stream bool, part genai.Part) (call *genai.FunctionCall, text string) {
	t.Helper()
	var h heard
	read := func(r *genai.GenerateContentResponse, err error) {
		if err != nil {
			t.Fatal(err)
		}
		h.content(r)
		for _, c := range r.FunctionCalls() {
			call = c
		}
	}
	if !stream {
		read(chat.SendMessage(t.Context(), part))
		return call, h.text
	}
	for r, err := range chat.SendMessageStream(t.Context(), part) {
		read(r, err)
	}
	return call, h.text
}

// TestGeminiHelpers asks what is not a reply.
func TestGeminiHelpers(t *testing.T) {
	c := newGemini(t, serveScripted(t))
	if r, err := c.Models.CountTokens(t.Context(), "plain", genai.Text("What is it?"), nil); err != nil || r.TotalTokens == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if m, err := c.Models.Get(t.Context(), "plain", nil); err != nil || m.Name != "models/plain" {
		t.Errorf("%+v, %v", m, err)
	}
	n, err := c.Models.GenerateContent(t.Context(), "qwen3:8b", genai.Text("What is it?"), &genai.GenerateContentConfig{CandidateCount: 2})
	if err != nil || len(n.Candidates) != 2 {
		t.Fatalf("%+v, %v", n, err)
	}
	for _, candidate := range n.Candidates {
		if len(candidate.Content.Parts) != 2 || !candidate.Content.Parts[0].Thought || strings.Contains(candidate.Content.Parts[1].Text, "think") {
			b, _ := json.Marshal(candidate)
			t.Errorf("%s", b)
		}
	}
	_, err = c.Models.GenerateContent(t.Context(), "nowhere", genai.Text("What is it?"), nil)
	if e, ok := err.(genai.APIError); !ok || e.Code != 404 || e.Status != "NOT_FOUND" {
		t.Errorf("%v", err)
	}
	g, err := c.Models.GenerateContent(t.Context(), "gemini", genai.Text("What is it?"), nil)
	if err != nil {
		t.Fatal(err)
	}
	parts := g.Candidates[0].Content.Parts
	if last := parts[len(parts)-1]; base64.StdEncoding.EncodeToString(last.ThoughtSignature) == "" {
		t.Errorf("%+v", last)
	}
}
