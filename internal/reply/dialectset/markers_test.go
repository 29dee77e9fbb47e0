package dialectset

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
)

func chosen(t *testing.T, reply string) (Manner, *sotto.Reply) {
	t.Helper()
	m := Manner{Grammar: sotto.Default(), Name: "default", By: ByDefault, Start: sotto.BeginAuto}
	new(Set).Choose(&m, reply)
	read, err := m.Grammar.Parse(reply, m.Start, m.End)
	if err != nil {
		t.Fatal(err)
	}
	return m, read
}

// TestChoose: special tokens choose the family. Tags that many families write, words, and
// tokens that a reply only names do not.
func TestChoose(t *testing.T) {
	for _, tt := range []struct{ dialect, visible, reply string }{
		{"harmony", "Answer: 5", "<|channel|>analysis<|message|>Answer: 4?<|end|><|start|>assistant<|channel|>final<|message|>Answer: 5<|return|>"},
		{"harmony", "Answer: 5", "<|channel|>analysis<|message|>They wrote <think> once.<|end|><|start|>assistant<|channel|>final<|message|>Answer: 5<|return|>"},
		{"magistral", "Answer: 5", "[THINK]Answer: 4?[/THINK]Answer: 5"},
		{"magistral", "Answer: 5", "I add them up. Answer: 4?\n[/THINK]\nAnswer: 5"},
		{"gemma4", "Answer: 5", "<|channel>thought\nAnswer: 4?<channel|>Answer: 5"},
		{"kimi_vl", "Answer: 5", "◁think▷Answer: 4?◁/think▷Answer: 5"},
		{"seed_oss", "Answer: 5", "<seed:think>Answer: 4?</seed:think>Answer: 5"},
		{"command_a", "Answer: 5", "<|START_THINKING|>Answer: 4?<|END_THINKING|><|START_RESPONSE|>Answer: 5<|END_RESPONSE|>"},
		{"apriel", "Answer: 5", "Here are my reasoning steps:\nAnswer: 4?\n[BEGIN FINAL RESPONSE]\nAnswer: 5"},
		{"default", "Answer: 5", "<think>Answer: 4?</think>Answer: 5"},
		{"default", "Answer: 5", "Answer: 5"},
		{"default", "Put it between `[THINK]` and `[/THINK]`.", "Put it between `[THINK]` and `[/THINK]`."},
		{"default", "The tokens [THINK] and [/THINK] are Magistral's.", "The tokens [THINK] and [/THINK] are Magistral's."},
		{"default", "<reason>It rains.</reason> Stay in.", "<reason>It rains.</reason> Stay in."},
		// Read as Harmony, the first thought would be text before the first header.
		{"default", "<|channel|>analysis<|message|>Is it 4?<|end|>5", "<think>Answer: 4?</think><|channel|>analysis<|message|>Is it 4?<|end|>5"},
	} {
		m, read := chosen(t, tt.reply)
		if got := strings.TrimSpace(read.Visible()); m.Name != tt.dialect || got != tt.visible {
			t.Errorf("%q: read in %s (by %s): %q; want %s: %q", tt.reply, m.Name, m.By, got, tt.dialect, tt.visible)
		}
	}
}

// TestChooseNeverShowsMore: whatever is before the markers of a family, what the default
// dialect takes for reasoning stays hidden.
func TestChooseNeverShowsMore(t *testing.T) {
	tails := []string{"[THINK]b[/THINK]c", "b[/THINK]c", "◁think▷b◁/think▷c", "<seed:think>b</seed:think>c", "<|channel|>analysis<|message|>b<|end|><|start|>assistant<|channel|>final<|message|>c", "<|START_THINKING|>b<|END_THINKING|>c", "<|inner_prefix|>b<|inner_suffix|>c"}
	for _, head := range []string{"<think>SECRET</think>", "SECRET</think>", "<think>SECRET", "<thought>SECRET</thought>x\n", "x<reflection>SECRET</reflection>\n"} {
		for _, tail := range tails {
			if m, read := chosen(t, head+tail); strings.Contains(read.Visible(), "SECRET") {
				t.Errorf("%q: read in %s: %q", head+tail, m.Name, read.Visible())
			}
		}
	}
}
