package model_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/model"
)

func script(t testing.TB, name, text string) *model.Scripted {
	t.Helper()
	s, err := model.ReadScript(strings.NewReader(text), name)
	if err != nil {
		t.Fatal(err)
	}
	return model.NewScripted("", s)
}

func user(text string) model.Message { return model.Message{Role: model.User, Text: text} }

func asked(texts ...string) model.Request {
	var q model.Request
	for _, t := range texts {
		q.Messages = append(q.Messages, user(t))
	}
	return q
}

// A run is what an invocation gave: the reply, and its deltas put together.
type run struct {
	reply   model.Reply
	err     error
	text    string
	thought string
	calls   []model.Call
	deltas  int
}

func invoke(t testing.TB, m model.Model, q model.Request) run {
	t.Helper()
	var r run
	r.reply, r.err = m.Invoke(t.Context(), q, func(d model.Delta) error {
		r.deltas++
		r.text += d.Text
		r.thought += d.Thought
		if d.Call != nil {
			r.calls = append(r.calls, *d.Call)
		}
		return nil
	})
	return r
}

// consistent is the law that ties deltas to replies.
func (r *run) consistent(t tester) {
	t.Helper()
	if r.text != r.reply.Raw {
		t.Errorf("deltas %q, raw %q", r.text, r.reply.Raw)
	}
	if all := thoughts(r.reply); r.thought != all {
		t.Errorf("deltas think %q, thoughts %q", r.thought, all)
	}
	if r.err == nil {
		if diff := cmp.Diff(r.reply.Calls, r.calls); diff != "" {
			t.Errorf("calls of the reply, and of deltas: %s", diff)
		}
	} else if r.reply.End != sotto.EndAborted {
		t.Errorf("a reply that failed ended %v", r.reply.End)
	}
}

func thoughts(r model.Reply) string {
	all := ""
	for _, t := range r.Thoughts {
		all += t.Text
	}
	return all
}

const tenCycles = `
- when: {cycle: 1, step: 1}
  text: "<think>Look it up.</think>I look it up."
  cut: byte
  calls:
    - {name: search, arguments: {query: "<leap> years", n: 1.5}}
    - {id: mine, name: note, arguments: '{"half": '}
- when: {cycle: 1, tool: search}
  thought: Found.
  text: 1900 was no leap year.
  cut: random:7
  usage: {input: 120, output: 9, reasoning: 2}
- when: {cycle: 2}
  error: {status: 503, code: busy, message: "overloaded\u001b[2J", retry_after: 2s}
- when: {cycle: 3}
  deltas: ["<th", "ink>", "où", "</think>", "là"]
  finish: length
- when: {cycle: 4}
  text: "<think>This is where it bre"
  error: {kind: broken_off}
- when: {cycle: 5}
  error: {kind: silent}
- when: {cycle: "6-7", contains: left}
  text: left
- when: {cycle: "6-7", matches: 'r.*t\b'}
  text: right
- when: {user: "^cycle 8$", offers: finish, last: user, system: Be brief, model: scripted}
  text: eighth
- when: {call: "3-"}
  text: ""
`

// An agent of ten cycles can be scripted, with the faults of each.
func TestScript(t *testing.T) {
	m := script(t, "ten.yaml", tenCycles)
	q := asked("cycle 1")
	first := invoke(t, m, q)
	first.consistent(t)
	if first.err != nil || first.deltas != len("<think>Look it up.</think>I look it up.")+2 {
		t.Errorf("%d deltas, %v", first.deltas, first.err)
	}
	if len(first.calls) != 2 || first.calls[0].Arguments != `{"n":1.5,"query":"<leap> years"}` ||
		first.calls[1].ID != "mine" || first.calls[1].Arguments != `{"half": ` || first.reply.Finish != "tool_calls" {
		t.Errorf("%+v", first.reply)
	}
	q.Messages = append(q.Messages, first.reply.Message(),
		model.Message{Role: model.ToolRole, CallID: first.calls[0].ID, Text: "no"})
	second := invoke(t, m, q)
	second.consistent(t)
	want := model.Reply{
		Model: "scripted", Raw: "1900 was no leap year.", Thoughts: []model.Thought{{Field: "thinking", Text: "Found."}},
		End: sotto.EndStopped, Finish: "stop", Usage: model.Usage{Input: 120, Output: 9, Reasoning: 2},
	}
	if diff := cmp.Diff(want, second.reply); diff != "" || second.err != nil {
		t.Error(second.err, diff)
	}
	q.Messages = append(q.Messages, second.reply.Message())
	ask := func(text string) run {
		q.Messages = append(q.Messages, user(text))
		r := invoke(t, m, q)
		r.consistent(t)
		return r
	}

	var e *model.Error
	if r := ask("cycle 2"); !errors.As(r.err, &e) || e.Status != 503 || !e.Retryable || e.RetryAfter != 2*time.Second || strings.Contains(r.err.Error(), "\x1b") {
		t.Errorf("%v", r.err)
	}
	if r := ask("cycle 3"); r.err != nil || r.reply.End != sotto.EndCut || r.reply.Raw != "<think>où</think>là" || r.deltas != 5 {
		t.Errorf("%+v", r)
	}
	if r := ask("cycle 4"); !errors.Is(r.err, model.ErrBrokenOff) || r.reply.Raw != "<think>This is where it bre" {
		t.Errorf("%+v", r)
	}
	if r := ask("cycle 5"); !errors.Is(r.err, model.ErrSilent) {
		t.Errorf("%v", r.err)
	}
	if r := ask("go right or left"); r.reply.Raw != "left" {
		t.Errorf("%+v", r)
	}
	if r := ask("go right"); r.reply.Raw != "right" {
		t.Errorf("%+v", r)
	}
	if r := ask("cycle 8"); r.err != nil || r.reply.Raw != "" { // nothing is offered
		t.Errorf("%+v", r)
	}
	q.Messages = append([]model.Message{{Role: model.System, Text: "Be brief."}}, q.Messages...)
	q.Tools = []model.Tool{{Name: "finish"}}
	q.Messages = q.Messages[:len(q.Messages)-1]
	if r := ask("cycle 8"); r.reply.Raw != "eighth" {
		t.Errorf("%+v", r)
	}
	if r := invoke(t, m, model.Request{Messages: []model.Message{{Role: model.System, Text: "x"}}}); !errors.Is(r.err, model.ErrNoReply) ||
		!strings.Contains(r.err.Error(), "call 1, cycle 0") || !strings.Contains(r.err.Error(), "ten.yaml") {
		t.Errorf("%v", r.err)
	}
}

// Calls, cycles and steps are counted in the conversation.
func TestScriptCounts(t *testing.T) {
	m := script(t, "s.yaml", `
- {when: {cycle: 2, step: 2}, text: "2.2"}
- {when: {cycle: 2, step: 1, call: 3}, text: "2.1"}
- {when: {cycle: 1, step: "2-", call: 2}, text: "1.2"}
- {when: {cycle: 1, step: 1}, text: "1.1"}
`)
	q := asked("one")
	for _, want := range []string{"1.1", "1.2", "two", "2.1", "2.2"} {
		if want == "two" {
			q.Messages = append(q.Messages, user(want))
			continue
		}
		r := invoke(t, m, q)
		if r.err != nil || r.reply.Raw != want {
			t.Errorf("%v: %q, want %s", r.err, r.reply.Raw, want)
		}
		q.Messages = append(q.Messages, r.reply.Message(), model.Message{Role: model.ToolRole, Text: "done"})
	}
}

// A resumed run, in another process, gets the same reply for the same request,
// whatever was asked before: deltas, ids and all.
func TestScriptDependsOnTheRequestAlone(t *testing.T) {
	requests := rapid.Custom(func(t *rapid.T) model.Request {
		q := asked("cycle 1")
		for i := range rapid.IntRange(0, 6).Draw(t, "messages") {
			role := rapid.SampledFrom([]model.Role{model.User, model.Assistant, model.ToolRole}).Draw(t, "role")
			q.Messages = append(q.Messages, model.Message{
				Role: role, Name: "search",
				Text: rapid.SampledFrom([]string{"left", "go right", "cycle 8", ""}).Draw(t, fmt.Sprint("text", i)),
			})
		}
		return q
	})
	rapid.Check(t, func(rt *rapid.T) {
		old, q := script(t, "ten.yaml", tenCycles), requests.Draw(rt, "request")
		for range rapid.IntRange(0, 3).Draw(rt, "before") {
			invoke(t, old, requests.Draw(rt, "other"))
		}
		a, b := invoke(t, old, q), invoke(t, script(t, "ten.yaml", tenCycles), q)
		a.consistent(rt)
		if diff := cmp.Diff(a.reply, b.reply); diff != "" || a.deltas != b.deltas || fmt.Sprint(a.err) != fmt.Sprint(b.err) {
			rt.Fatalf("%v, %v: %s", a.err, b.err, diff)
		}
	})
}

// However a reply is cut, its deltas are its text.
func TestScriptCuts(t *testing.T) {
	text := "<think>\nÀ bientôt 👍</think>\n\n one  two\n"
	for _, how := range []string{`"word"`, `"whole"`, `"byte"`, `"rune"`, `1`, `3`, `"5"`, `1000`, `"random:1"`, `"random:2"`} {
		m := script(t, "cut.jsonl", fmt.Sprintf(`{"text": %q, "thought": %q, "cut": %s}`, text, text, how))
		r := invoke(t, m, asked("?"))
		r.consistent(t)
		if r.err != nil || r.reply.Raw != text || thoughts(r.reply) != text {
			t.Errorf("cut %s: %v: %+v", how, r.err, r.reply)
		}
	}
}

// A script in either form is the same script.
func TestScriptForms(t *testing.T) {
	lines := "\uFEFF" + `{"when": {"call": 1}, "text": "<a>\u00e9", "calls": [{"name": "f", "arguments": {"x": [1]}}]}` + "\r\n\n" + `{"text": "b"}`
	list := "- when: {call: 1}\n  text: <a>é\n  calls:\n    - name: f\n      arguments:\n        x: [1]\n- text: b\n"
	q := asked("?")
	for _, name := range []string{"s", "s.jsonl"} {
		a, b := invoke(t, script(t, name, lines), q), invoke(t, script(t, strings.TrimSuffix(name, ".jsonl"), list), q)
		if diff := cmp.Diff(a.reply, b.reply); diff != "" || a.err != nil || a.reply.Raw != "<a>é" {
			t.Error(a.err, diff)
		}
	}
}

func TestScriptErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"s.yaml", "", "s.yaml: the script has no reply"},
		{"s.jsonl", "\n", "s.jsonl: the script has no reply"},
		{"s.yaml", "text: a", "s.yaml:1:1: want a list of replies"},
		{"s.yaml", "- text: a\n- {text: b", "s.yaml:2:3: "},
		{"s.yaml", "- text: a\n  calls:\n  - name: f\n    arguments: " + strings.Repeat("[", 5000), "s.yaml:4:116: lists and mappings nest deeper than 100 levels"},
		{"s.yaml", "- text: &a x\n  note: *a", "s.yaml:1:9: an anchor, which is not supported"},
		{"s.yaml", "- text: a\n  text: b", `s.yaml:2:3: the key "text" appears twice`},
		{"s.yaml", strings.Repeat(" ", 4<<20+1), "s.yaml: larger than 4 MiB"},
		{"s.jsonl", `{"text":` + strings.Repeat("[", 5<<20), "s.jsonl:1:10008: "},
		{"s.yaml", "- text: a\n---\n- text: b", "s.yaml:3:1: a second document"},
		{"s.yaml", "- text: a\n  when: {call: 1}\n- when:\n    cal: 2\n  text: b", `s.yaml:4:5: cal: unknown member: did you mean "call"?`},
		{"s.yaml", "- text: a\n- text: b", "s.yaml:2:1: this reply is never used: the reply in line 1"},
		{"s.yaml", "- when: {call: 1}\n  note: hm", "s.yaml:1:3: the reply is empty"},
		{"s.yaml", "- text: a\n  deltas: [a]", "s.yaml:2:3: deltas: cannot be combined with text"},
		{"s.yaml", "- when: {call: 1}\n  text: a\n- text: a\n  cut: often", `s.yaml:4:3: cut: "often": want word`},
		{"s.yaml", "- text: a\n  cut: random:x", "s.yaml:2:3: cut: "},
		{"s.yaml", "- text: a\n  cut: 0", "s.yaml:2:3: cut: "},
		{"s.yaml", "- text:\n    - a", "s.yaml:1:3: text: want a string, got array"},
		{"s.yaml", "- text: a\n  when: {call: 0}", `s.yaml:2:3: when: 0: want a number from 1, or a range`},
		{"s.yaml", "- text: a\n  when: {call: 3-2}", `s.yaml:2:3: when: 3-2: want`},
		{"s.yaml", "- text: a\n  when: {matches: '('}", "s.yaml:2:3: when: error parsing regexp"},
		{"s.yaml", "- text: a\n  when: {last: model}", `s.yaml:2:10: last: "model": want system`},
		{"s.yaml", "- text: a\n  wait: soon", `s.yaml:1:3: "soon" is not a time`},
		{"s.yaml", "- calls: [{arguments: {}}]", "s.yaml:1:3: calls: a call has no name"},
		{"s.yaml", "- error: {message: x}", "s.yaml:1:3: error: want a status, or a kind"},
		{"s.yaml", "- error: {status: 200}", "s.yaml:1:11: status: 200 is not an error status"},
		{"s.yaml", "- error: {kind: bad}", `s.yaml:1:11: kind: "bad": want broken_off or silent`},
		{"s.yaml", "- error: {kind: silent, status: 500}", "s.yaml:1:3: error: has a status and a kind"},
		{"s.yaml", "- text: a\n  usage: {input: -1}", "s.yaml:2:3: usage: is negative"},
		{"s.jsonl", "{\"text\": \"a\"}\n{\"text\": }", "s.jsonl:2:10: invalid character"},
		{"s.jsonl", "{\"text\": \"a\", \"when\": {\"call\": 1}}\n\n{\"txt\": \"a\"}", `s.jsonl:3:1: txt: unknown member: did you mean "text"?`},
		{"s.jsonl", `{"text": "a"} {"text": "b"}`, "s.jsonl:1:1: more text follows the object"},
		{"s.jsonl", `["a"]`, "s.jsonl:1:1: want an object, got array"},
		{"s.yaml", "- text: a\n  cut: 0\n- txt: b", "s.yaml:2:3: cut: \"0\": want word, whole, byte, rune, a number of bytes, or random:SEED\ns.yaml:3:3: txt: unknown"},
		{"s.jsonl", "{}\n{\"cut\": 0}", "s.jsonl:1:1: the reply is empty: want text, deltas, thought, calls or error\ns.jsonl:2:1: "},
	} {
		_, err := model.ReadScript(strings.NewReader(c.text), c.name)
		var at *model.ScriptError
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || !errors.As(err, &at) {
			t.Errorf("%.200q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
	if _, err := model.ReadScript(bytes.NewReader(bytes.Repeat([]byte("#"), 33<<20)), "s.yaml"); err == nil {
		t.Error("a script without bounds was read")
	}
}

// No script makes the reader panic, and what is read plays.
func FuzzReadScript(f *testing.F) {
	f.Add(tenCycles)
	f.Add(`{"when": {"call": "2-"}, "text": "a", "cut": 2}` + "\n" + `{"error": {"status": 429}}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := model.ReadScript(strings.NewReader(text), "fuzz")
		if err != nil || strings.Contains(text, "wait") || strings.Contains(text, "pause") {
			return
		}
		r := invoke(t, model.NewScripted("", s), asked("a", "b"))
		r.consistent(t)
	})
}

// A reply waits, and pauses, as it is told; whoever has had enough ends it.
func TestScriptTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := script(t, "s.yaml", "- text: a b c\n  wait: 10s\n  pause: 1s")
		began := time.Now()
		invoke(t, m, asked("?"))
		if took := time.Since(began); took != 13*time.Second {
			t.Errorf("took %v", took)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 11500*time.Millisecond, errors.New("enough"))
		defer cancel()
		reply, err := m.Invoke(ctx, asked("?"), nil)
		if reply.Raw != "a " || reply.End != sotto.EndAborted || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "enough") {
			t.Errorf("%v: %+v", err, reply)
		}
	})
}

// Who is given the deltas can end the reply, and gets its own error back.
func TestScriptRefused(t *testing.T) {
	m := script(t, "s.yaml", "- text: a b c")
	enough := errors.New("enough")
	n := 0
	reply, err := m.Invoke(t.Context(), asked("?"), func(model.Delta) error {
		if n++; n == 2 {
			return enough
		}
		return nil
	})
	if err != enough || n != 2 || reply.Raw != "a b " || reply.End != sotto.EndAborted {
		t.Errorf("%v: %+v", err, reply)
	}
}

// Scripted vectors are unit vectors, the same for the same words, and nearer the
// more words are shared.
func TestScriptedEmbed(t *testing.T) {
	m := script(t, "s.yaml", "- text: a")
	texts := []string{"Leap years divide by four", "leap YEARS, divide by four!", "Leap years divide by three", "Knots are miles per hour", "", "?!"}
	v, err := m.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	dot := func(i, j int) (sum float64) {
		for k := range v[i] {
			sum += float64(v[i][k]) * float64(v[j][k])
		}
		return sum
	}
	for i := range v {
		if math.Abs(dot(i, i)-1) > 1e-6 || len(v[i]) != len(v[0]) {
			t.Errorf("%q: length %v of %d", texts[i], dot(i, i), len(v[i]))
		}
	}
	if math.Abs(dot(0, 1)-1) > 1e-6 || dot(0, 2) >= 1-1e-6 || dot(0, 2) <= dot(0, 3) {
		t.Errorf("%v, %v, %v", dot(0, 1), dot(0, 2), dot(0, 3))
	}
}

func TestOpenScripted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(file, []byte("- text: hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := model.Open(model.Config{Provider: "scripted", Script: file, Model: "plain"})
	if err != nil || m.Name() != "plain" {
		t.Fatal(m, err)
	}
	if r := invoke(t, m, asked("?")); r.reply.Raw != "hello" || r.reply.Model != "plain" {
		t.Errorf("%+v", r)
	}
	if _, ok := m.(model.Embedder); !ok {
		t.Error("it does not embed")
	}
}

// A tester is a *testing.T, or one of rapid's.
type tester interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
}
