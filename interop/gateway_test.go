package interop_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/interop/engine"
)

// The official SDKs are the judges: their reading of a reply through the gateway
// must be right.

// serve puts a gateway before an upstream and returns its address.
func serve(t *testing.T, upstream string) string { return serveRoute(t, upstream, routing.Route{}) }

func serveRoute(t *testing.T, upstream string, route routing.Route) string {
	t.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: u, Default: route})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(g)
	t.Cleanup(srv.Close)
	return srv.URL
}

// serveScripted puts a gateway before the scripted upstream.
func serveScripted(t *testing.T) string {
	t.Helper()
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	t.Cleanup(up.Close)
	return serve(t, up.URL)
}

// A heard is a client's reading of a reply.
type heard struct{ text, thought string }

func (h heard) String() string { return fmt.Sprintf("text %q, thought %q", h.text, h.thought) }

// A judge is an SDK's way to request a reply.
type judge struct {
	name string
	ask  func(t *testing.T, base, model string, stream bool) heard
	// fields says that the API has a field for reasoning, for servers that separate
	// it themselves.
	fields bool
}

// A passingGuard lets everything pass.
type passingGuard struct{}

func (passingGuard) Judge(context.Context, guard.Piece) (guard.Verdict, error) {
	return guard.Verdict{Action: guard.Pass}, nil
}

// TestSDKs requests every scripted model through every SDK: exact replies, and written ones,
// because a guard judges them or because reasoning is hidden.
func TestSDKs(t *testing.T) {
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	defer up.Close()
	for path, route := range map[string]routing.Route{
		"exact": {}, "judged": {Guard: guard.Rule{Guard: passingGuard{}}}, "hidden": {Display: routing.DisplayHide},
	} {
		base := serveRoute(t, up.URL, route)
		for _, m := range scripted.Models() {
			if m.Fault != "" || path == "hidden" && rightReading(t, m).thought == "" { // a text without a marker may be a thought
				continue
			}
			for _, j := range judges {
				if m.Reply.Thought != nil && !j.fields {
					continue
				}
				for _, stream := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%s/%s/stream=%v", path, m.Name, j.name, stream), func(t *testing.T) {
						want := rightReading(t, m)
						if route.Display == routing.DisplayHide {
							want.thought = ""
						}
						same(t, j.ask(t, base, m.Name, stream), want)
					})
				}
			}
		}
	}
}

// TestSDKsOfStoppedReplies requests replies whose thinking the gateway ends: to every
// SDK they are replies that reached their limit of tokens.
func TestSDKsOfStoppedReplies(t *testing.T) {
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	defer up.Close()
	base := serveRoute(t, up.URL, routing.Route{ThinkingLimit: 20})
	for _, model := range []string{"qwen3:8b", "deepseek-v3.2"} {
		m, ok := scripted.Find(model)
		if !ok {
			t.Fatal(model)
		}
		want := rightReading(t, *m)
		for _, j := range judges {
			if m.Reply.Thought != nil && !j.fields {
				continue
			}
			t.Run(model+"/"+j.name, func(t *testing.T) {
				got := j.ask(t, base, model, true)
				if got.text != "" || len(got.thought) < 20 || len(got.thought) >= len(want.thought) || !strings.HasPrefix(want.thought, got.thought) {
					t.Errorf("%v, of %v", got, want)
				}
			})
		}
	}
}

// An endingGuard ends a reply after the beginning of its answer.
type endingGuard struct{}

func (endingGuard) Judge(_ context.Context, p guard.Piece) (guard.Verdict, error) {
	if p.Channel == guard.Answer && p.Offset > 0 {
		return guard.Verdict{Action: guard.End, Reason: "enough"}, nil
	}
	return guard.Verdict{Action: guard.Pass}, nil
}

// TestSDKsOfEndedReplies has a guard end replies in their answer. Every SDK that streams
// reads what came before, and sees no error.
func TestSDKsOfEndedReplies(t *testing.T) {
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	defer up.Close()
	base := serveRoute(t, up.URL, routing.Route{Guard: guard.Rule{Guard: endingGuard{}, Every: 8}})
	for _, model := range []string{"qwen3:8b", "deepseek-v3.2"} {
		m, ok := scripted.Find(model)
		if !ok {
			t.Fatal(model)
		}
		want := rightReading(t, *m)
		for _, j := range judges {
			if m.Reply.Thought != nil && !j.fields {
				continue
			}
			t.Run(model+"/"+j.name, func(t *testing.T) {
				got := j.ask(t, base, model, true)
				if strings.TrimSpace(got.thought) != strings.TrimSpace(want.thought) || strings.TrimSpace(got.text) == "" || len(got.text) >= len(want.text) || !strings.HasPrefix(strings.TrimSpace(want.text), strings.TrimSpace(got.text)) {
					t.Errorf("%q, of %q", got, want)
				}
			})
		}
	}
}

// TestEngineSDKs requests a real model server through every SDK.
func TestEngineSDKs(t *testing.T) {
	base := serve(t, engine.Run(t).URL)
	// Nothing says that this model's prompt opens its block, but the replies show
	// it: after two of them the gateway knows how the next begins.
	for range 2 {
		askChat(t, base, engine.Preopened().Name, false)
	}
	for _, m := range engine.Models() {
		for _, j := range judges {
			if api, _, _ := strings.Cut(j.name, "."); api == "anthropic" || api == "gemini" || api == "bedrock" || strings.HasPrefix(j.name, "openai.responses") {
				continue // this server has no such API
			}
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/stream=%v", m.Name, j.name, stream), func(t *testing.T) {
					got := j.ask(t, base, m.Name, stream)
					same(t, heard{strings.TrimSpace(got.text), got.thought}, heard{m.Answer, m.Thinking})
				})
			}
		}
	}
}

func same(t *testing.T, got, want heard) {
	t.Helper()
	got.thought, want.thought = strings.TrimSpace(got.thought), strings.TrimSpace(want.thought)
	if got != want {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// rightReading returns what a client should get from a model's reply.
func rightReading(t *testing.T, m scripted.Model) heard {
	t.Helper()
	g, err := sotto.Named(m.Dialect)
	if err != nil {
		t.Fatal(err)
	}
	r, err := g.Parse(strings.Join(m.Reply.Deltas, ""), m.Reply.Start, m.Reply.End)
	if err != nil {
		t.Fatal(err)
	}
	return heard{r.VisibleWith(sotto.ChannelNarration, sotto.ChannelTool), strings.Join(m.Reply.Reasoning, "\n\n")}
}

// TestFaultsAreSeen requests models whose upstream breaks off. Every SDK returns an
// error, and no reply looks complete.
func TestFaultsAreSeen(t *testing.T) {
	base := serveScripted(t)
	for _, m := range scripted.Models() {
		if m.Fault == "" {
			continue
		}
		for name, ask := range failing {
			t.Run(m.Name+"/"+name, func(t *testing.T) {
				if err := ask(base, m.Name); err == nil {
					t.Error("no error")
				}
			})
		}
	}
}

var _ http.Handler = (*gateway.Handler)(nil)

// TestTransport lets an SDK talk to the upstream directly, with the gateway inside
// its client.
func TestTransport(t *testing.T) {
	up := httptest.NewServer(scripted.New(scripted.Options{}))
	defer up.Close()
	inside, err := gateway.NewTransport(gateway.TransportConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	m, ok := scripted.Find("deepseek-r1")
	if !ok {
		t.Fatal("no such model")
	}
	for _, stream := range []bool{false, true} {
		c := openai.NewClient(option.WithBaseURL(up.URL+"/v1"), option.WithAPIKey("key"), option.WithHTTPClient(&http.Client{Transport: inside}))
		same(t, hearChat(t, c, m.Name, stream), rightReading(t, *m))
	}
}
