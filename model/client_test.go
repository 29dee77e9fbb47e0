package model_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var providers = []string{"openai", "ollama", "anthropic"}

func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// upstream serves every provider's API; its clock stands still, so that the same
// request gets the same bytes.
func upstream(t testing.TB) string {
	return serve(t, scripted.New(scripted.Options{Now: func() time.Time { return time.Unix(1_700_000_000, 0) }}))
}

func open(t testing.TB, c model.Config) model.Model {
	t.Helper()
	m, err := model.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var weather = []model.Tool{{
	Name: "get_weather", Description: "The weather <now>.",
	Schema: []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
}}

// Every model of the scripted upstream is heard as it is written, by every
// client: its text byte for byte, what it thinks on a field of its own, and how
// it ends.
func TestClients(t *testing.T) {
	url := upstream(t)
	for _, m := range scripted.Models() {
		if m.Fault != "" {
			continue
		}
		for _, provider := range providers {
			t.Run(provider+"/"+m.Name, func(t *testing.T) {
				c := open(t, model.Config{Provider: provider, URL: url, Model: m.Name})
				r := invoke(t, c, asked("What is it?"))
				r.consistent(t)
				if r.err != nil {
					t.Fatal(r.err)
				}
				if want := m.Reply.Text(); r.reply.Raw != want {
					t.Errorf("raw %q\nwant %q", r.reply.Raw, want)
				}
				if want := strings.Join(m.Reply.Thought, ""); thoughts(r.reply) != want {
					t.Errorf("thinks %q\nwant %q", thoughts(r.reply), want)
				}
				if r.reply.End != m.Reply.End || r.reply.Finish == "" || r.reply.Model != m.Name || r.reply.Calls != nil {
					t.Errorf("%+v, want end %v", r.reply, m.Reply.End)
				}
				if u := r.reply.Usage; u.Input == 0 || u.Output == 0 {
					t.Errorf("usage %+v", u)
				}
			})
		}
	}
}

// A model with tools calls one, and answers with its result: what the provider
// demands back is in the second request, whether the caller kept it or not.
func TestToolLoop(t *testing.T) {
	url := upstream(t)
	for _, m := range scripted.Models() {
		if m.Call == nil || m.Result == nil {
			continue
		}
		for _, provider := range providers {
			t.Run(provider+"/"+m.Name, func(t *testing.T) {
				c := open(t, model.Config{Provider: provider, URL: url, Model: m.Name})
				q := asked("What is the weather in Oslo?")
				q.Tools = weather
				first := invoke(t, c, q)
				first.consistent(t)
				if first.err != nil {
					t.Fatal(first.err)
				}
				if first.reply.Raw != m.Call.Text() || thoughts(first.reply) != strings.Join(m.Call.Thought, "") {
					t.Errorf("%+v", first.reply)
				}
				var id string
				if !m.Call.ToolCall.InText {
					if len(first.reply.Calls) != 1 {
						t.Fatalf("calls %+v", first.reply.Calls)
					}
					call := first.reply.Calls[0]
					id = call.ID
					if call.Name != m.Call.ToolCall.Name || call.Arguments != m.Call.ToolCall.Arguments || id == "" {
						t.Errorf("call %+v", call)
					}
				}
				q.Messages = append(q.Messages, first.reply.Message(),
					model.Message{Role: model.ToolRole, CallID: id, Name: "get_weather", Text: "4 °C, rain"})
				second := invoke(t, c, q)
				second.consistent(t)
				if second.err != nil {
					t.Fatal(second.err)
				}
				if second.reply.Raw != m.Result.Text() || thoughts(second.reply) != strings.Join(m.Result.Thought, "") {
					t.Errorf("%+v", second.reply)
				}

				rule := history.RuleFor(m.Name, "")
				if rule.Signs && provider == "openai" { // the only API in which calls are signed
					q.Messages[1].Calls = slices.Clone(q.Messages[1].Calls)
					q.Messages[1].Calls[0].Extra = nil
					again := invoke(t, c, q)
					if again.err != nil || again.reply.Raw != m.Result.Text() || again.reply.Earlier.Restored == 0 {
						t.Errorf("without its signature: %v: %+v", again.err, again.reply)
					}
				}
				if !rule.Demands || provider == "anthropic" { // whose messages have no member for it
					return
				}
				q.Messages[1].Thoughts = nil
				again := invoke(t, c, q)
				if again.err != nil || again.reply.Raw != m.Result.Text() {
					t.Fatalf("without its thoughts: %v: %+v", again.err, again.reply)
				}
				want := model.Earlier{Rule: rule.Name, Restored: len(thoughts(first.reply))}
				if diff := cmp.Diff(want, again.reply.Earlier); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// What a family does not want back goes, unless it is told to stay; what is
// signed and what the agent keeps in the turn under way stay.
func TestHistory(t *testing.T) {
	url := upstream(t)
	q := asked("One?")
	q.Messages = append(q.Messages, model.Message{Role: model.Assistant, Text: "<think>\nlong\n</think>\n\nYes."}, user("Two?"))
	for policy, want := range map[history.Policy]model.Earlier{
		"":               {Rule: "qwen3-strip", Removed: len("<think>\nlong\n</think>\n\n")},
		history.Preserve: {Rule: "preserve"},
	} {
		c := open(t, model.Config{Provider: "ollama", URL: url, Model: "qwen3:8b", History: policy})
		r := invoke(t, c, q)
		if diff := cmp.Diff(want, r.reply.Earlier); diff != "" || r.err != nil {
			t.Error(policy, r.err, diff)
		}
	}
}

// The thinking switch and the limit of tokens reach the server.
func TestSettings(t *testing.T) {
	url := upstream(t)
	for _, provider := range providers {
		c := open(t, model.Config{Provider: provider, URL: url, Model: "ollama-native"})
		q := asked("?")
		q.Think = "false"
		if r := invoke(t, c, q); r.err != nil || r.reply.Thoughts != nil || r.reply.Raw == "" {
			t.Errorf("%s: %v: %+v", provider, r.err, r.reply)
		}
		q = asked("?")
		q.MaxTokens = 3
		r := invoke(t, c, q)
		if r.err != nil || r.reply.End != sotto.EndCut || thoughts(r.reply) == "" || r.reply.Raw != "" {
			t.Errorf("%s: %v: %+v", provider, r.err, r.reply)
		}
		q = asked("?")
		q.Think = "high"
		if r := invoke(t, c, q); r.err != nil || r.reply.Thoughts == nil {
			t.Errorf("%s: %v: %+v", provider, r.err, r.reply)
		}
	}
}

// A reply that fails in the middle is an error of its kind, and what had come is
// there.
func TestFaults(t *testing.T) {
	url := upstream(t)
	for _, provider := range providers {
		half := func(name string) (run, string) {
			m, ok := scripted.Find(name)
			if !ok {
				t.Fatal(name)
			}
			deltas := m.Reply.Deltas
			return invoke(t, open(t, model.Config{Provider: provider, URL: url, Model: name, Retries: -1}), asked("?")),
				strings.Join(deltas[:len(deltas)/2], "")
		}
		for _, name := range []string{"breaks-off", "hangs-up"} {
			r, want := half(name)
			r.consistent(t)
			var e *model.Error
			if !errors.Is(r.err, model.ErrBrokenOff) || !errors.As(r.err, &e) || !e.Retryable || r.reply.Raw != want || want == "" {
				t.Errorf("%s: %s: %v: %q", provider, name, r.err, r.reply.Raw)
			}
		}
		r, want := half("fails")
		r.consistent(t)
		var e *model.Error
		if !errors.As(r.err, &e) || e.Message == "" || e.Provider != provider || e.Model != "fails" || r.reply.Raw != want {
			t.Errorf("%s: %v: %q", provider, r.err, r.reply.Raw)
		}
		r, _ = half("busy")
		status := map[string]int{"openai": 429, "ollama": 503, "anthropic": 529}[provider]
		if e = nil; !errors.As(r.err, &e) || e.Status != status || !e.Retryable || e.RetryAfter != time.Second || e.Message == "" {
			t.Errorf("%s: %v", provider, r.err)
		}
		r = invoke(t, open(t, model.Config{Provider: provider, URL: url, Model: "no-such"}), asked("?"))
		if e = nil; !errors.As(r.err, &e) || e.Status != 404 || e.Retryable || !strings.Contains(e.Message, "no-such") {
			t.Errorf("%s: %v", provider, r.err)
		}
	}
}

// The gateway's providers' own complaint about a history is an error that says
// it: nothing was there to put back.
func TestDemandedAndGone(t *testing.T) {
	c := open(t, model.Config{Provider: "openai", URL: upstream(t), Model: "deepseek-v3.2"})
	q := asked("?")
	q.Messages = append(q.Messages,
		model.Message{Role: model.Assistant, Calls: []model.Call{{ID: "1", Name: "get_weather", Arguments: "{}"}}},
		model.Message{Role: model.ToolRole, CallID: "1", Text: "4 °C"})
	r := invoke(t, c, q)
	var e *model.Error
	if !errors.As(r.err, &e) || e.Status != 400 || !strings.Contains(e.Message, "reasoning_content") {
		t.Errorf("%v", r.err)
	}
}
