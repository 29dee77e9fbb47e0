package probe_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/a2aserver"
	"github.com/sotto-llm/sotto/a2aserver/probe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type mind func(on func(a2aserver.Event) error) a2aserver.Outcome

func (m mind) Answer(_ context.Context, _ a2aserver.Turn, on func(a2aserver.Event) error) (a2aserver.Outcome, error) {
	return m(on), nil
}

func says(text string) mind {
	return func(func(a2aserver.Event) error) a2aserver.Outcome {
		return a2aserver.Outcome{Text: text, End: sotto.EndStopped}
	}
}

func run(t *testing.T, c a2aserver.Config, token string) *probe.Report {
	t.Helper()
	s, err := a2aserver.New(c)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	defer web.Close()
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	return look(t, web.URL, token)
}

func look(t *testing.T, url, token string) *probe.Report {
	t.Helper()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	r, err := probe.Run(t.Context(), url, probe.Options{Transport: tr, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// found are the names of the findings, each once.
func found(r *probe.Report) map[string]bool {
	names := map[string]bool{}
	for _, c := range r.Checks {
		if c.Status == probe.Finding {
			names[c.Name] = true
		}
	}
	return names
}

// TestOurs: the probe has nothing to say of our server, whatever it is told to
// declare, and looks at every interface.
func TestOurs(t *testing.T) {
	narrates := mind(func(on func(a2aserver.Event) error) a2aserver.Outcome {
		_ = on(a2aserver.Narration{Text: "I look."})
		_ = on(a2aserver.ToolStart{Name: "search"})
		_ = on(a2aserver.ToolEnd{Name: "search"})
		return a2aserver.Outcome{Text: "In code, `<think>` is a tag.", End: sotto.EndStopped}
	})
	for name, c := range map[string]a2aserver.Config{
		"plain":     {Mind: narrates},
		"token":     {Mind: narrates, Tokens: []a2aserver.Token{{Name: "ann", Secret: "a"}}, Reasoning: true},
		"no push":   {Mind: narrates, NoPush: true},
		"no answer": {Mind: says(" ")},
	} {
		r := run(t, c, "a")
		for _, check := range r.Checks {
			if check.Status == probe.Finding {
				t.Errorf("%s: %+v", name, check)
			}
		}
		at := map[string]bool{}
		for _, check := range r.Checks {
			at[check.Interface] = true
		}
		if len(at) != 4 || len(r.Checks) < 45 {
			t.Errorf("%s: %d checks of %v", name, len(r.Checks), at)
		}
	}
}

// TestLeaks: reasoning in artifacts is found, in each of the ways that models
// write it.
func TestLeaks(t *testing.T) {
	for _, text := range []string{
		"<think>The user wants primes.</think>Four.", "The user wants primes.</think>Four.",
		"<scratch_pad>plan</scratch_pad>\n<output>Four.</output>", "[THINK]plan[/THINK]Four.",
		"<|channel|>analysis<|message|>plan<|end|><|start|>assistant<|channel|>final<|message|>Four.",
	} {
		r := run(t, a2aserver.Config{Mind: says(text)}, "")
		if d := cmp.Diff(map[string]bool{"artifact leak": true, "stream leak": true}, found(r)); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}

// Of a server none of whose tasks has an answer, the probe does not say that
// nothing leaks.
func TestNoAnswer(t *testing.T) {
	failing := mind(func(func(a2aserver.Event) error) a2aserver.Outcome {
		return a2aserver.Outcome{End: sotto.EndAborted}
	})
	r := run(t, a2aserver.Config{Mind: failing}, "")
	checked := 0
	for _, c := range r.Checks {
		if c.Name == "artifact leak" || c.Name == "stream leak" {
			checked++
			if c.Status != probe.Skipped || c.Detail != "no answer came: the task is TASK_STATE_FAILED" {
				t.Errorf("%+v", c)
			}
		}
	}
	if checked != 6 || r.Answers != 0 || r.Findings != 0 {
		t.Errorf("%d checks, %d answers, %d findings", checked, r.Answers, r.Findings)
	}
	if r := run(t, a2aserver.Config{Mind: says("Four.")}, ""); r.Answers != 6 {
		t.Errorf("%d answers of a server that answers", r.Answers)
	}
}

// TestStrangers: an address that is not an A2A server is a finding, and one that is not a URL is an error.
func TestStrangers(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	if r := look(t, web.URL, ""); r.Findings != 1 || !found(r)["card"] {
		t.Errorf("%+v", r)
	}
	for _, url := range []string{"http://127.0.0.1:1", "http://no-such-name.invalid"} {
		r, err := probe.Run(t.Context(), url, probe.Options{})
		if !errors.Is(err, probe.ErrUnreachable) || r.Findings != 0 || len(r.Checks) != 1 || r.Checks[0].Status != probe.Skipped {
			t.Errorf("%s: %+v, %v", url, r, err)
		}
	}
	for _, url := range []string{"", "x", "ftp://x", "http://"} {
		if _, err := probe.Run(t.Context(), url, probe.Options{}); err == nil {
			t.Errorf("%q was probed", url)
		}
	}
}

// TestPlainRefusal: a server that refuses a subscription in plain JSON, without
// a stream, has refused it.
func TestPlainRefusal(t *testing.T) {
	s, err := a2aserver.New(a2aserver.Config{Mind: says("Four.")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"SubscribeToTask"`)) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no such task"}}`)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.ServeHTTP(w, r)
	}))
	defer web.Close()
	if r := look(t, web.URL, ""); r.Findings != 0 {
		t.Errorf("%+v", r)
	}
}
