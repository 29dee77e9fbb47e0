package history_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/wire"
)

// A world is a random request with everything that a plan is made from.
type world struct {
	rnd    *rand.Rand
	model  string
	api    string
	policy history.Policy
	k      history.Knowledge
	list   string
	n      int // number of thoughts made; each has a text of its own
}

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

func newWorld(seed uint64) *world {
	w := &world{rnd: rand.New(rand.NewPCG(seed, 1))}
	w.model = pick(w.rnd, "qwen3", "deepseek-v4", "kimi-k2.6", "minimax-m2", "gpt-oss", "claude-4", "magistral", "granite-3.2", "frobnicator", "qwq")
	w.api = pick(w.rnd, chat, chat, "ollama.chat", messages)
	w.policy = pick(w.rnd, append(history.Policies(), history.Auto)...)
	w.k.Native = pick(w.rnd, "", history.Inline, "reasoning_content", "reasoning", "thinking")
	w.k.Fields = pick(w.rnd, nil, []string{"reasoning_content"}, []string{"reasoning", "thinking"})
	w.k.Tags = w.rnd.IntN(4) == 0
	var list []any
	for range w.rnd.IntN(10) {
		list = append(list, w.message())
	}
	b, _ := json.Marshal(list)
	if list == nil {
		b = []byte("[]")
	}
	w.list = string(b)
	memory := map[int][2]string{}
	for i, m := range w.request(w.list).Messages {
		if w.rnd.IntN(3) == 0 && len(m.Texts) == 1 && !strings.Contains(m.Texts[0], "think") {
			thought := w.thought()
			memory[i] = [2]string{thought, pick(w.rnd, "", "<think>"+thought+"</think>"+m.Texts[0])}
		}
	}
	if w.rnd.IntN(2) == 0 {
		w.k.Recall = func(m int) (history.Remembered, bool) {
			v, ok := memory[m]
			return history.Remembered{Thought: v[0], Raw: v[1]}, ok
		}
	}
	return w
}

func (w *world) thought() string {
	w.n++
	return fmt.Sprintf("thought %d %s", w.n, pick(w.rnd, "ends", "says `</think>`", "</think> or", "\n\nlong", ""))
}

func (w *world) text() string {
	return pick(w.rnd, "", " ", "answer", "use `<think>`", "<think>\n"+w.thought()+"\n</think>\n\nanswer", "<think>"+w.thought(), w.thought()+"\n</think>\n\nlate",
		"[THINK]x[/THINK]y", "<tool_call>{\"name\":\"f\"}</tool_call>", "a</think>b</think>c", "<narrate>n</narrate>t")
}

func (w *world) message() map[string]any {
	id := fmt.Sprint("c", w.rnd.IntN(3))
	if w.api == messages {
		return w.blocks(id)
	}
	m := map[string]any{}
	switch w.rnd.IntN(6) {
	case 0, 1:
		return map[string]any{"role": "user", "content": w.text()}
	case 2:
		return map[string]any{"role": "tool", "tool_call_id": id, "content": w.text()}
	}
	m["role"] = "assistant"
	switch w.rnd.IntN(4) {
	case 0:
		m["content"] = nil
	case 1:
		m["content"] = []any{map[string]any{"type": "text", "text": w.text()}, map[string]any{"type": "text", "text": w.text()}}
	default:
		m["content"] = w.text()
	}
	for _, name := range []string{"reasoning_content", "reasoning", "reasoning_text"} {
		if w.rnd.IntN(4) == 0 {
			m[name] = w.thought()
		}
	}
	if w.rnd.IntN(5) == 0 {
		m["reasoning_details"] = []any{pick(w.rnd, map[string]any{"type": "reasoning.encrypted", "data": w.thought()}, map[string]any{"type": "reasoning.text", "text": w.thought()})}
	}
	if w.rnd.IntN(3) == 0 {
		m["tool_calls"] = []any{map[string]any{"id": id}}
	}
	return m
}

func (w *world) blocks(id string) map[string]any {
	list := []any{}
	if w.rnd.IntN(2) == 0 {
		if w.rnd.IntN(3) == 0 {
			list = append(list, map[string]any{"type": "tool_result", "tool_use_id": id, "content": "4"})
		} else {
			list = append(list, map[string]any{"type": "text", "text": w.text()})
		}
		return map[string]any{"role": "user", "content": list}
	}
	for range 1 + w.rnd.IntN(4) {
		list = append(list, pick(w.rnd,
			map[string]any{"type": "thinking", "thinking": w.thought(), "signature": ""},
			map[string]any{"type": "thinking", "thinking": w.thought(), "signature": "s"},
			map[string]any{"type": "thinking", "thinking": w.thought()},
			map[string]any{"type": "redacted_thinking", "data": w.thought()},
			map[string]any{"type": "text", "text": w.text()},
			map[string]any{"type": "tool_use", "id": id}))
	}
	return map[string]any{"role": "assistant", "content": list}
}

func (w *world) request(list string) *wire.Request { return read(w.model, list) }

// The laws of the package's doc, over many random requests.
func TestLaws(t *testing.T) {
	n := uint64(10000)
	if effort.Brief() {
		n = 2000
	}
	changed := 0
	for seed := range n {
		w := newWorld(seed)
		q := w.request(w.list)
		p := history.PlanFor(q, w.policy, w.k, codecOf(w.api))
		got := edit(t, w.list, p)
		if len(p.Changes) > 0 {
			changed++
		}
		w.laws(t, q, p, w.request(got))
		if !json.Valid([]byte(got)) {
			t.Errorf("no JSON: %s", got)
		}
		again := history.PlanFor(w.request(got), w.policy, w.k, codecOf(w.api))
		if len(again.Changes) > 0 {
			t.Errorf("planned again: %+v", again)
		}
		if t.Failed() {
			t.Fatalf("seed %d: %s %s %s %+v\n%s\n%s\n%+v", seed, w.model, w.api, w.policy, w.k, w.list, got, p)
		}
	}
	if changed < int(n)/4 {
		t.Errorf("only %d of %d plans change anything", changed, n)
	}
}

func (w *world) laws(t *testing.T, q *wire.Request, p history.Plan, got *wire.Request) {
	t.Helper()
	if len(q.Messages) != len(got.Messages) {
		t.Fatalf("%d messages became %d", len(q.Messages), len(got.Messages))
	}
	last, first, grown := -1, -1, 0
	for i := range q.Messages {
		if m := &q.Messages[i]; m.Role == "user" && !m.Results {
			last = i
		}
	}
	for i := range q.Messages {
		a, b := &q.Messages[i], &got.Messages[i]
		same := fmt.Sprint(*a) == fmt.Sprint(*b)
		if !same && first < 0 {
			first = i
		}
		if !same && a.Role != "assistant" {
			t.Errorf("message %d of role %s changed", i, a.Role)
		}
		if fmt.Sprint(a.Calls, a.Results, a.CallIDs) != fmt.Sprint(b.Calls, b.Results, b.CallIDs) {
			t.Errorf("message %d: the calls changed", i)
		}
		if sealed(a) != sealed(b) {
			t.Errorf("message %d: sealed parts changed: %s, %s", i, sealed(a), sealed(b))
		}
		switch {
		case w.policy == history.StripAll:
			w.drops(t, i, a, b)
		case i > last:
			w.keeps(t, i, a, b)
		}
		if says(a) && !says(b) {
			t.Errorf("message %d is empty", i)
		}
		grown += size(b) - size(a)
	}
	if first != p.First {
		t.Errorf("first message that changes: %d, and the plan says %d", first, p.First)
	}
	if grown != p.Restored-p.Removed || p.Restored < 0 || p.Removed < 0 {
		t.Errorf("grew by %d bytes", grown)
	}
}

// drops checks that a message has no reasoning in a place of its own, except sealed
// parts, what the provider demands, and that of a message that has nothing else.
func (w *world) drops(t *testing.T, i int, a, b *wire.Message) {
	t.Helper()
	said := a.Calls || strings.TrimSpace(strings.Join(b.Texts, "")) != ""
	if a.Role != "assistant" || !said || history.RuleFor(w.model, w.api).Demands {
		return
	}
	for _, th := range b.Thoughts {
		if !th.Sealed {
			t.Errorf("message %d still has %q", i, th.Text)
		}
	}
}

// keeps checks that a message of the current turn still has all its reasoning.
func (w *world) keeps(t *testing.T, i int, a, b *wire.Message) {
	t.Helper()
	var all strings.Builder
	for _, th := range b.Thoughts {
		all.WriteString(th.Text + "\n")
	}
	all.WriteString(strings.Join(b.Texts, "\n"))
	for _, th := range a.Thoughts {
		if th.Minted && history.RuleFor(w.model, w.api).Need == history.NeedSealed {
			continue
		}
		if w.k.Recall != nil { // its number tells what is remembered from what came back
			if r, ok := w.k.Recall(i); ok && r.Raw != "" && strings.Contains(all.String(), r.Raw) {
				continue
			}
		}
		if !strings.Contains(all.String(), strings.TrimSpace(th.Text)) {
			t.Errorf("message %d of the turn under way lost %q", i, th.Text)
		}
	}
	for _, text := range a.Texts {
		for _, piece := range strings.Split(text, "<think>") {
			piece, _, _ = strings.Cut(piece, "</think>")
			if !strings.Contains(all.String(), strings.TrimSpace(piece)) {
				t.Errorf("message %d of the turn under way lost %q", i, piece)
			}
		}
	}
}

func sealed(m *wire.Message) string {
	var all []wire.Thought
	for _, th := range m.Thoughts {
		if th.Sealed {
			all = append(all, th)
		}
	}
	return fmt.Sprint(all)
}

func says(m *wire.Message) bool {
	return m.Calls || len(m.Thoughts) > 0 || strings.TrimSpace(strings.Join(m.Texts, "")) != ""
}

func size(m *wire.Message) int {
	n := 0
	for _, th := range m.Thoughts {
		n += len(th.Text)
	}
	for _, text := range m.Texts {
		n += len(text)
	}
	return n
}
