package talk_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/console/talk"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/model"
)

// client returns a client of a gateway that needs a token, before an upstream.
func client(t *testing.T, upstream http.Handler) *talk.Client {
	t.Helper()
	up := httptest.NewServer(upstream)
	t.Cleanup(up.Close)
	base, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: base, Public: true, Tokens: []access.Token{{Name: "t", Secret: "the-secret-of-a-client"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return &talk.Client{Gateway: g}
}

func ask(c *talk.Client, ctx context.Context, name string, to func(talk.Event)) talk.Reply {
	return c.Ask(ctx, talk.Question{Caller: talk.Caller, Model: name, Messages: []model.Message{{Role: model.User, Text: "Which is it?"}}}, to)
}

// Every scripted model answers as a client of the gateway would see it: the pieces are
// the answer, thoughts are apart, and a fault is an error with what came before it.
func TestAsk(t *testing.T) {
	c := client(t, scripted.New(scripted.Options{}))
	names, err := c.Models(t.Context(), talk.Caller)
	if err != nil || len(names) != len(scripted.Models()) {
		t.Fatalf("%d models, %v", len(names), err)
	}
	for _, m := range scripted.Models() {
		var pieces [2]strings.Builder
		r := ask(c, t.Context(), m.Name, func(e talk.Event) {
			if e.Kind == talk.Text || e.Kind == talk.Thought {
				pieces[e.Kind].WriteString(e.Text)
			}
		})
		if r.Text != pieces[talk.Text].String() || r.Thought != pieces[talk.Thought].Len() {
			t.Errorf("%s: the pieces are not the reply", m.Name)
		}
		if broken := m.Fault != ""; broken != (r.Error != "") || r.Stopped {
			t.Errorf("%s: stopped %t, error %q", m.Name, r.Stopped, r.Error)
		}
		if (r.FirstAnswer < 0) != (r.Text == "") || (r.FirstThought < 0) != (r.Thought == 0) {
			t.Errorf("%s: times %d and %d, %d bytes and %d", m.Name, r.FirstThought, r.FirstAnswer, r.Thought, len(r.Text))
		}
		if m.Fault == "" && (r.Response == "" || r.Output == 0 || m.Name != "qwen3-tool-text" && strings.TrimSpace(r.Text) != strings.TrimSpace(m.Reply.Visible)) {
			t.Errorf("%s: id %q, %d tokens, %q", m.Name, r.Response, r.Output, r.Text)
		}
	}
	if r := ask(c, t.Context(), "nobody", func(talk.Event) {}); !strings.HasPrefix(r.Error, "404: ") || r.Text != "" {
		t.Errorf("an unknown model: %+v", r)
	}
}

// A reply whose reader goes away stops the upstream, and what came is there.
func TestStop(t *testing.T) {
	gone := make(chan struct{})
	c := client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(`data: {"id":"r1","model":"plain","choices":[{"index":0,"delta":{"content":"First words. "}}]}` + "\n\n"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	ctx, stop := context.WithCancel(t.Context())
	r := ask(c, ctx, "plain", func(talk.Event) { stop() })
	select {
	case <-gone:
	case <-time.After(time.Minute):
		t.Fatal("the upstream still writes")
	}
	if !r.Stopped || r.Error != "" || r.Text != "First words. " || r.Response != "r1" {
		t.Errorf("%+v", r)
	}
}

// Whatever an upstream sends, a reply holds a bounded part of it.
func TestBounds(t *testing.T) {
	line := func(member, text string) string {
		return `data: {"choices":[{"index":0,"delta":{"` + member + `":"` + text + `"}}]}` + "\n\n"
	}
	long := strings.Repeat("x", 60<<10)
	for name, piece := range map[string]string{"answer": line("content", long), "thought": line("reasoning_content", long), "narration": line("narration", long)} {
		c := client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range 400 {
				if _, err := w.Write([]byte(piece)); err != nil {
					return
				}
			}
		}))
		r := ask(c, t.Context(), "m", func(talk.Event) {})
		if len(r.Text) > 1<<20 || r.Thought > 9<<20 || len(r.Narration) > 64<<10 || !strings.Contains(r.Error, map[string]string{"narration": "before the reply was finished"}[name]) {
			t.Errorf("%s: %d, %d and %d bytes, %q", name, len(r.Text), r.Thought, len(r.Narration), r.Error)
		}
	}
}

// What the model is asked to do about thinking is in the request only if the user chose
// it.
func TestThinking(t *testing.T) {
	c := client(t, scripted.New(scripted.Options{}))
	var got []int
	for _, how := range []talk.Thinking{talk.AsUsual, talk.On, talk.Off} {
		r := c.Ask(t.Context(), talk.Question{Caller: talk.Caller, Model: "qwen3:8b", Thinking: how, Messages: []model.Message{{Role: model.User, Text: "x"}}}, func(talk.Event) {})
		if r.Error != "" {
			t.Error(r.Error)
		}
		got = append(got, min(r.Thought, 1))
	}
	if !slices.Equal(got, []int{1, 1, 0}) {
		t.Errorf("it thought %v", got)
	}
}
