package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// The record has how a request sets the model, and nothing that the request leaves out.
func TestSettingsOfRequests(t *testing.T) {
	zero, seed := 0.0, int64(7)
	for want, q := range map[string]model.Request{
		"":                  {},
		`{"max_tokens":1}`:  {MaxTokens: 1},
		`{"temperature":0}`: {Temperature: &zero},
		`{"max_tokens":9,"seed":7,"stop":["a"],"think":"low","tool_choice":"none"}`: {MaxTokens: 9, Seed: &seed, Stop: []string{"a"}, Think: "low", NoCalls: true},
	} {
		if set, tools := settingsOf(&parrot{}, &q); string(set.Text) != want || tools != nil {
			t.Errorf("%s and %v, want %s", set.Text, tools, want)
		}
	}
}

// What a model's configuration adds to each request is recorded too.
func TestSettingsOfModels(t *testing.T) {
	for extra, want := range map[string]string{
		"":                                `{"max_tokens":9}`,
		`{"top_p":0.9}`:                   `{"max_tokens":9,"top_p":0.9}`,
		`{"options":{"top_k":40},"a":[]}`: `{"a":[],"max_tokens":9,"top_k":40}`,
		`{"options":"none"}`:              `{"max_tokens":9,"options":"none"}`,
	} {
		c := model.Config{Provider: "ollama", Model: "m"}
		if extra != "" {
			c.Extra = json.RawMessage(extra)
		}
		m, err := model.Open(c)
		if err != nil {
			t.Fatal(err)
		}
		if set, _ := settingsOf(m, &model.Request{MaxTokens: 9}); string(set.Text) != want {
			t.Errorf("%s: %s, want %s", extra, set.Text, want)
		}
	}
}

// A call of a model without a turn is counted as one in a turn.
func TestInvocationCounts(t *testing.T) {
	reply := model.Reply{Raw: "<think>ab</think>cde", End: sotto.EndStopped, Usage: model.Usage{Input: 11, Output: 12}}
	reading, err := sotto.Default().Parse(reply.Raw, sotto.BeginAuto, reply.End)
	if err != nil {
		t.Fatal(err)
	}
	i := Invocation{Model: &parrot{}, Messages: []model.Message{{Role: model.User, Text: "1234567"}}, Reply: reply, Reading: reading}
	if m := i.Metrics(); m.Invocations != 1 || m.Unanswered != 0 || m.PromptBytes < 7 || m.ReplyBytes != 20 || m.VisibleBytes != 3 || m.ThoughtBytes != 2 || m.InputTokens != 11 || m.OutputTokens != 12 {
		t.Errorf("%+v", m)
	}
	i.Reading, i.Reply = nil, model.Reply{}
	for _, c := range []struct {
		err   error
		final bool
	}{{errors.New("x"), false}, {&model.Error{Status: 400}, true}, {&model.Error{Status: 500, Retryable: true}, false}, {&model.Error{}, false}, {model.ErrNoReply, true}} {
		i.Err = c.err
		if x, m := i.Payload(), i.Metrics(); x.Final != c.final || x.Error != c.err.Error() || len(x.Replies) > 0 || m.Unanswered != 1 || m.ReplyBytes != 0 {
			t.Errorf("%v: %+v, %+v", c.err, x, m)
		}
	}
}

// A text in an element becomes what the schema says, where it can.
func TestTextValues(t *testing.T) {
	p := properties{kinds: map[string]string{"i": "integer", "n": "number", "b": "boolean", "o": "object", "a": "array", "s": "string"}}
	for _, c := range []struct{ name, text, want string }{
		{"i", " 4 ", "4"}, {"i", "four", `"four"`}, {"n", "1.5", "1.5"}, {"b", "true", "true"}, {"b", "yes", `"yes"`}, {"o", `{"x":1}`, `{"x":1}`}, {"o", "{", `"{"`}, {"a", "[1]", "[1]"}, {"s", "4", `"4"`}, {"x", "true", `"true"`},
	} {
		if got := string(encode(p.value(c.name, c.text))); got != c.want {
			t.Errorf("%s %q is %s, want %s", c.name, c.text, got, c.want)
		}
	}
}

// A difference names the first place at which two values differ, and shows what is there from
// a little before it.
func TestDifferencesOfValues(t *testing.T) {
	for _, c := range []struct{ was, now, field, recorded, shown string }{
		{`{"a":1}`, `{"a":1}`, "", "", ""}, {`{"a":1}`, `{"a":2}`, "a", "1", "2"}, {`{"a":[1,{"b":null}]}`, `{"a":[1,{"b":"x"}]}`, "a[1].b", "", "x"}, {`{"a":[1]}`, `{"a":[1,2]}`, "a[1]", "", "2"}, {`{"a":[1,2]}`, `{"a":[1]}`, "a[1]", "2", ""},
		{`{"a":{}}`, `{"a":[]}`, "a", "{}", "[]"}, {`{"a":[]}`, `{"a":{}}`, "a", "[]", "{}"}, {`{"b":1}`, `{"a":1,"b":1}`, "a", "", "1"}, {`{"payload":1,"run":"r","type":"x"}`, `{"payload":2,"run":"s","type":"x"}`, "run", "r", "s"},
		{`{"payload":1,"cycle":1,"type":"x"}`, `{"payload":2,"cycle":1,"type":"y"}`, "type", "x", "y"}, {`{"payload":{"a":1}}`, `{"payload":{"a":2}}`, "payload.a", "1", "2"},
	} {
		var was, now any
		if json.Unmarshal([]byte(c.was), &was) != nil || json.Unmarshal([]byte(c.now), &now) != nil {
			t.Fatal(c)
		}
		var d Difference
		if found := d.find("", was, now); found != (c.field != "") || d.Field != c.field || d.Recorded != c.recorded || d.Now != c.shown {
			t.Errorf("%s and %s: %+v", c.was, c.now, d)
		}
	}
	same := strings.Repeat("s", 30)
	for _, c := range []struct{ a, b, wantA, wantB string }{
		{"a", "b", "a", "b"}, {"", "b", "", "b"}, {same + "a", same + "b", same[:24] + "a", same[:24] + "b"}, {same + strings.Repeat("a", 100), same, same[:24] + strings.Repeat("a", 72), same[:24]},
		{"é" + same[:22] + "a" + same, "é" + same[:22] + "b", "é" + same[:22] + "a" + same, "é" + same[:22] + "b"}, {"é" + same[:23] + "a", "é" + same[:23] + "b", "é" + same[:23] + "a", "é" + same[:23] + "b"}, {strings.Repeat("é", 60), "x", strings.Repeat("é", 48), "x"}, {"a" + strings.Repeat("é", 60), "x", "a" + strings.Repeat("é", 47), "x"},
	} {
		if a, b := excerpts(c.a, c.b); a != c.wantA || b != c.wantB {
			t.Errorf("%q and %q are shown as %q and %q", c.a, c.b, a, b)
		}
	}
	d := Difference{Seq: 4, Run: "r", Cycle: 2, Type: record.TypeCycleEnd, Field: "payload.a", Recorded: "x", Now: "y"}
	if got := d.Error(); got != `event 4 (CYCLE_END, run r, cycle 2) differs in payload.a: recorded "x", now "y"` {
		t.Error(got)
	}
}

// Vectors are compared by their angle, and only if they have one.
func TestCosine(t *testing.T) {
	for _, c := range []struct {
		a, b []float32
		want float64
		ok   bool
	}{
		{[]float32{1, 0}, []float32{2, 0}, 1, true}, {[]float32{1, 0}, []float32{0, 3}, 0, true}, {[]float32{1, 1}, []float32{1, 0}, math.Sqrt(0.5), true}, {[]float32{1, 0}, []float32{-1, 0}, -1, true}, {[]float32{0, 0}, []float32{1, 0}, 0, true}, {[]float32{1, 0}, []float32{0, 0}, 0, true},
		{[]float32{1}, []float32{1, 0}, 0, false}, {nil, nil, 0, false},
	} {
		if got, err := cosine(c.a, c.b); math.Abs(got-c.want) > 1e-9 || (err == nil) != c.ok {
			t.Errorf("%v and %v: %v, %v", c.a, c.b, got, err)
		}
	}
	r := &run{x: &Experiment{}}
	if r.threshold("embedding") != 0.80 || r.threshold("lexical") != 0.737 {
		t.Error("a method has another threshold")
	}
	if r.x.Advisory.Threshold = 0.5; r.threshold("embedding") != 0.5 {
		t.Error("the threshold of the experiment is not used")
	}
}

// A conversation that is recorded has its start, once, and the end of each answer; that of the
// run only after the last one.
func TestRecordedAnswers(t *testing.T) {
	dir := t.TempDir()
	w, err := record.Open(in(dir).Record, record.Options{Policy: record.None})
	if err != nil {
		t.Fatal(err)
	}
	a := Agent{System: "s", Turn: Turn{Model: scripted(t, "- when: {user: fail}\n  error: {kind: broken_off}\n- text: Said.\n"), Limits: Limits{Attempts: 1}}}
	for i := range 3 {
		c := user([]string{"one", "two", "fail"}[i])
		c.Record, c.Run, c.Cycle, c.Start, c.Last = w, "talk", i+1, &record.RunStart{Agent: "a", Caller: "c"}, i == 1
		on := func(Event) error { return nil }
		if i == 2 {
			on = func(Event) error { return errors.New("stop") }
			a.Turn.Model = scripted(t, "- text: Said.\n")
		}
		if _, err := a.Answer(t.Context(), c, on); (err != nil) != (i == 2) {
			t.Fatal(i, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events(t, dir, record.Query{}) {
		switch p := e.Payload.(type) {
		case record.RunStart:
			got = append(got, fmt.Sprintf("start %d %s %s %s", e.Cycle, p.Agent, p.Caller, p.Model))
		case record.CycleStart:
			got = append(got, fmt.Sprintf("cycle %d %s", e.Cycle, p.Goal.Text))
		case record.CycleEnd:
			got = append(got, fmt.Sprintf("end %d %s %s %d", e.Cycle, p.Status, p.Summary.Text, p.Metrics.Invocations))
		case record.RunEnd:
			got = append(got, fmt.Sprintf("run %d %s %d %s", e.Cycle, p.Status, p.Cycles, p.Result.Text))
		}
	}
	want := []string{"start 0 a c scripted", "cycle 1 one", "end 1 answered Said. 1", "cycle 2 two", "end 2 answered Said. 1", "run 0 answered 2 Said.", "cycle 3 fail", "end 3 aborted  0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What a tool narrates is shown as lines, without reasoning and secrets, and not too much of
// it. After the call nothing is shown.
func TestNarrated(t *testing.T) {
	var said []string
	var late context.Context
	do := func(ctx context.Context, _ Use) (string, error) {
		Narrate(ctx, "Look <think>hid")
		Narrate(ctx, "den</think>ing\n\tup the key k-12345678.\n")
		Narrate(ctx, strings.Repeat("long ", 400)+"\n")
		for range 1100 {
			Narrate(ctx, "more\n")
		}
		late = ctx
		return "done", nil
	}
	turn := Turn{
		Model: scripted(t, "- when: {step: 1}\n  calls: [{name: look}]\n- text: Done.\n"), Secrets: record.NewSecrets("k-12345678"),
		Tools: []Tool{&Func{Name: "look", Do: do}}, Observer: Observer{OnNarration: func(text string) { said = append(said, text) }},
	}
	if _, err := turn.Converse(t.Context(), user("x").Messages); err != nil {
		t.Fatal(err)
	}
	n := len(said)
	Narrate(late, "too late\n")
	Narrate(t.Context(), "nobody listens\n")
	all := strings.Join(said, "")
	if n != len(said) || n != 1000 || !strings.HasPrefix(all, "look: Look") || strings.Contains(all, "hidden") || strings.Contains(all, "k-12345678") {
		t.Errorf("%d lines, then %d: %.300q", n, len(said), all)
	}
	for _, line := range said {
		if !strings.HasPrefix(line, "look: ") || strings.Count(line, "\n") != 1 || len(line) > len("look: …\n")+1<<10 {
			t.Errorf("%.80q of %d bytes", line, len(line))
		}
	}
	said = nil
	turn.Observer = Observer{}
	if _, err := turn.Converse(t.Context(), user("x").Messages); err != nil {
		t.Error(err)
	}
}

// An endpoint is given the arguments and a key of the use, and what it answers is bounded.
func TestEndpointBounds(t *testing.T) {
	var got http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		switch r.URL.Path {
		case "/bad":
			w.WriteHeader(404)
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		fmt.Fprint(w, "12345")
	}))
	defer s.Close()
	use := Use{Run: "r", ID: "r", Cycle: 1, Number: 2, Name: "t", Arguments: json.RawMessage(`{}`)}
	for _, c := range []struct {
		path, want string
		limit      int64
	}{{"/", "12345", 0}, {"/", "12345", 5}, {"/", "1234\n[the answer is longer than 4 bytes]", 4}, {"/bad", "status 404: 12345", 0}, {"/moved", "status 302: ", 0}} {
		tool := &HTTPTool{Name: "t", URL: s.URL + c.path, Limit: c.limit, Header: http.Header{"x-own": {"v"}}}
		text, err := tool.Call(t.Context(), use)
		if err != nil {
			text = err.Error()
		}
		if !strings.HasPrefix(text, c.want) || got.Get("Idempotency-Key") != use.Key() || got.Get("Content-Type") != "application/json" || got.Get("X-Own") != "v" {
			t.Errorf("%s: %q, with %v", c.path, text, got)
		}
	}
	s.Close()
	for address, want := range map[string]string{s.URL: "the endpoint of t could not be reached: connection refused", "http://host.invalid": "could not be reached: its host has no address", "http://[": "the endpoint of t cannot be called"} {
		if _, err := (&HTTPTool{Name: "t", URL: address}).Call(t.Context(), use); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
