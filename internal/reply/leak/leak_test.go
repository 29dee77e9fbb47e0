package leak

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
)

// TestFind: what is a leak, and first what is not.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Kind // "" for none
	}{
		{"nothing", "", ""},
		{"plain", "Four primes lie between 20 and 40.", ""},
		{"less than", "if a <b and c> d, then x </y", ""},
		{"inline code", "Models write `<think>` and `</think>` around it.", ""},
		{"quoted", `The tag "<think>" opens it, and '</think>' closes it.`, ""},
		{"fence", "```xml\n<think>\nLet me see what this is.\n</think>\n```\nThat is the form.", ""},
		{"fence with a lone close", "```python\ntext.split(\"x\")\n</think>\n```\n", ""},
		{"pair in a sentence", "Put your reasoning between <think> and </think> tags.", ""},
		{"example in a sentence", "Write <think>your thoughts</think> before the answer.", ""},
		{"opener in a sentence", "The tag <think> begins a thought.", ""},
		{"close in a sentence", "The </think> tag ends a thought.", ""},
		{"close before punctuation", "A thought ends with </think>, always.", ""},
		{"regular expression", "Use re.sub(r'<think>.*?</think>', '', text) to cut it.", ""},
		{"ellipsis", "<think>...</think>\nis the form.", ""},
		{"generic type", "List<Thought> thoughts = new ArrayList<>();", ""},
		{"other tags", "<details><summary>Why</summary>Because.</details>", ""},
		{"phrase without its answer", "Here is my thought process: I like trains.", ""},
		{"brackets", "[THINKING ABOUT IT] the best is [1].", ""},
		{"output block", "<output>Four.</output>", ""},
		{"narration", "<narrate>Looking.</narrate>Four.", ""},
		{"mathematics", "◁ and ▷ are normal subgroups: N ◁ G.", ""},

		{"block", "<think>The user wants primes.</think>\n\nFour.", Block},
		{"block in the middle", "Four.\n<think>Was that right?</think>\nYes.", Block},
		{"block after words", "Sure! <think>The user asks for primes between 20 and 40, so</think> Four.", Block},
		{"short block", "<think>ok</think>Four.", Block},
		{"bold", "**<think>**", ""},
		{"brackets of Magistral", "[THINK]The user wants primes.[/THINK]Four.", Block},
		{"harmony", "<|channel|>analysis<|message|>The user wants primes.<|end|><|start|>assistant<|channel|>final<|message|>Four.", Block},
		{"Kimi", "◁think▷The user wants primes.◁/think▷Four.", Block},
		{"Seed", "<seed:think>The user wants primes.</seed:think>Four.", Block},
		{"close", "The user wants primes.\n</think>\n\nFour.", Close},
		{"close, glued", "The user wants primes.</think>Four.", Close},
		{"close after a sentence", "The user wants primes. </think> Four.", Close},
		{"close first", "</think>\n\nFour.", Close},
		{"close alone", "</think>", Close},
		{"empty", "<think>\n\n</think>\n\nFour.", Empty},
		{"empty, glued", "<think></think>Four.", Empty},
		{"unclosed", "<think>The user wants primes, so I", Unclosed},
		{"unclosed later", "Four.\n<think>\nWait, is that", Unclosed},
		{"close after quoted ones", strings.Repeat("`<seed:think>` ", 1100) + "so </seed:think> done", Close},
	} {
		got, found := Shipped().Find(c.text, sotto.EndStopped, Answer)
		if got.Kind != c.want || found != (c.want != "") {
			t.Errorf("%s: %q is %q, want %q: %s", c.name, c.text, got.Kind, c.want, got)
		}
	}
}
