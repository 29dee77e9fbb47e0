package history

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/openai"
	"github.com/sotto-llm/sotto/wire/openai/responses"
)

// allocated is how many bytes f allocates, and how many of them the heap holds at
// its end at most.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// hostile are texts of about n bytes in which a reading finds as much as it can.
func hostile(n int) map[string]string {
	of := func(unit string) string { return strings.Repeat(unit, n/len(unit)) }
	return map[string]string{
		"closes":       of("</think>"),
		"lone closes":  of("</think>\n"),
		"openers":      of("<think>"),
		"blocks":       of("<think>a</think>"),
		"blocks, text": of("<think>a</think>b"),
		"pads":         of("<scratch_pad>a</scratch_pad>"),
		"spliced":      of("<th<think>a</think>ink>"),
		"quoted":       of("`<think>` "),
		"white space":  of(" \n"),
		"white after":  "<think>a</think>" + of("\n"),
		"letters":      of("a"),
		"angles":       of("<"),
	}
}

// held are texts of which a reading keeps more while their start is in doubt: bytes
// that may begin a marker, and remarks that a doubt may take back.
var held = map[string]int64{"quoted": 100, "angles": 900}

// TestHistoryIsLean checks that reading and editing the history of a request
// allocates a small multiple of its body, in all, whatever it contains: a client's
// few megabytes must not become hundreds.
func TestHistoryIsLean(t *testing.T) {
	if effort.Brief() {
		t.Skip("measures memory: SOTTO_EFFORT=1 runs it")
	}
	const size, multiple = 256 << 10, 24
	for name, text := range hostile(size) {
		for _, model := range []string{"qwen3:8b", "deepseek-r1"} {
			for _, policy := range []Policy{Auto, Strip, Restore} {
				body := []byte(`{"model":"` + model + `","messages":[{"role":"user","content":"a"},{"role":"assistant","content":` +
					string(jsontext.AppendVerbatim(nil, []byte(text))) + `},{"role":"user","content":"b"}]}`)
				store := NewStore(8, 1<<20, time.Hour)
				store.Remember("c", &wire.Request{Model: model}, Said{Visible: "x", Remembered: Remembered{Thought: "t"}})
				got := allocated(func() {
					q, err := openai.Chat.Request(body)
					if err != nil {
						t.Fatal(err)
					}
					plan := PlanFor(q, policy, Knowledge{Native: Inline, Tags: true, Recall: store.For("c", q)}, openai.Chat)
					if _, err := openai.Chat.Edit(nil, body, plan.Changes); err != nil {
						t.Fatal(err)
					}
				})
				if got > max(multiple, held[name])*int64(len(body)) {
					t.Errorf("%s, %s, %s: %d bytes for a body of %d: %.1f times", name, model, policy, got, len(body), float64(got)/float64(len(body)))
				}
			}
		}
	}
}

// TestManyMessagesAreLean checks the same for many small messages, blocks and
// items: the cost of each is bounded, however many there are.
func TestManyMessagesAreLean(t *testing.T) {
	effort.OneGoroutine(t)
	const n, each = 5000, 6 << 10
	list := func(unit string) string { return strings.TrimSuffix(strings.Repeat(unit+",", n), ",") }
	for name, c := range map[string]struct {
		codec wire.Codec
		body  string
	}{
		"messages": {openai.Chat, `{"model":"m","messages":[` + list(`{"role":"assistant","content":"<think>a</think>b"}`) + `,{"role":"user","content":"x"}]}`},
		"blocks":   {anthropic.Messages, `{"model":"m","messages":[{"role":"assistant","content":[` + list(`{"type":"thinking","thinking":"t","signature":""}`) + `,{"type":"text","text":"a"}]},{"role":"user","content":"x"}]}`},
		"items":    {responses.Codec, `{"model":"m","input":[` + list(`{"type":"reasoning","id":"rs_sotto_1","content":[{"type":"reasoning_text","text":"t"}]}`) + `,{"role":"assistant","content":"a"},{"role":"user","content":"x"}]}`},
		"calls":    {openai.Chat, `{"model":"m","messages":[{"role":"assistant","content":"a","tool_calls":[` + list(`{"id":"c","function":{"name":"f"}}`) + `]},{"role":"user","content":"x"}]}`},
	} {
		for _, policy := range []Policy{Auto, Strip, Restore} {
			for _, native := range []string{"", Inline, "reasoning_content"} {
				store := NewStore(8, 1<<20, time.Hour)
				store.Remember("c", &wire.Request{Model: "m"}, Said{Visible: "x", Remembered: Remembered{Thought: "t"}})
				got := allocated(func() {
					q, err := c.codec.Request([]byte(c.body))
					if err != nil {
						t.Fatal(err)
					}
					plan := PlanFor(q, policy, Knowledge{Native: native, Tags: true, Recall: store.For("c", q)}, c.codec)
					if _, err := c.codec.Edit(nil, []byte(c.body), plan.Changes); err != nil {
						t.Fatal(err)
					}
				})
				if got > n*each {
					t.Errorf("%s, %s, %q: %d bytes for each of %d", name, policy, native, got/n, n)
				}
			}
		}
	}
}

// TestReadingsAgree checks that a text of history reads as a finished reply does:
// less of the reading is kept, but it is the same.
func TestReadingsAgree(t *testing.T) {
	effort.OneGoroutine(t)
	words := []string{"<think>", "</think>", "<scratch_pad>", "</scratch_pad>", "<output>", "</output>", "<narrate>", "</narrate>", "`", "```\n", "\n", "\n\n", " ", "a", "b c", "<th", "ink>", "</thinking>"}
	rng := rand.New(rand.NewPCG(3, 4))
	deepseek, _ := sotto.ForModel("deepseek-r1")
	readers := []*reader{readerOf(sotto.Default()), readerOf(deepseek)} // reused again and again
	n := 2000 * effort.Times()
	if effort.Brief() {
		n = 400
	}
	for i := range n {
		var b strings.Builder
		for range 1 + rng.IntN(12) {
			b.WriteString(words[rng.IntN(len(words))])
		}
		if i%40 == 0 { // longer than a step
			b.WriteString(strings.Repeat("<think>a</think>b\n", 4000))
		}
		text := b.String()
		by := readers[i%2]
		g := by.grammar
		for _, start := range []sotto.Beginning{sotto.BeginOutside, sotto.BeginAuto} {
			r, err := g.Parse(text, start, sotto.EndUnknown)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := reasoningOf(by, text, start), strings.Join(r.Reasoning(), "\n\n"); got != want || hasReasoning(by, text, start) != (want != "") {
				t.Fatalf("%q from %s: reasoning %.200q, want %.200q", text, start, got, want)
			}
			if got, all, err := visibleOf(by, text, start, sotto.EndUnknown); err != nil || got != r.VisibleWith(inline...) || all != (got == text) {
				t.Fatalf("%q from %s: visible %.200q, %v", text, start, got, err)
			}
			does := slices.ContainsFunc(r.Segments, func(s sotto.Segment) bool { return s.Channel == sotto.ChannelReasoning })
			want, err := g.Strip(text, start, inline...)
			if err != nil {
				t.Fatal(err)
			}
			again, err := g.Parse(want, start, sotto.EndUnknown)
			if err != nil {
				t.Fatal(err)
			}
			if !does || again.VisibleWith(inline...) != want {
				want = text
			}
			if got, _ := strip(by, text, start); got != want {
				t.Fatalf("%q from %s: stripped %.200q, want %.200q", text, start, got, want)
			}
		}
	}
}

// A reader that was kept for one model reads the texts of another by the other's grammar.
func TestReadersOfModels(t *testing.T) {
	var kept readers
	for _, model := range []string{"qwen3:8b", "qwen3:32b", "gpt-oss:20b", "", "unknown", "deepseek-r1", "qwen3:8b"} {
		r := kept.borrowFor(model)
		if want, _ := sotto.ForModel(model); r.grammar != want {
			t.Errorf("%q is read as %s, want %s", model, r.grammar.Dialect().Name, want.Dialect().Name)
		}
		kept.give(r)
	}
}
