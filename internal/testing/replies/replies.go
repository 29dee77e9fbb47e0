// Package replies writes replies of any length for the benchmarks: replies like
// those of models, and replies that no model should send.
package replies

import (
	"math/rand/v2"
	"strings"
)

// Whole returns a reply of n bytes. A part of it is reasoning, and the rest is its
// answer.
func Whole(n int, part float64) string {
	const open, between = "<think>\n", "\n</think>\n\n"
	r := int(part * float64(n-len(open)-len(between)))
	return open + Reasoning(r) + between + Text(n-r-len(open)-len(between))
}

// Reasoning returns n bytes of a model's reasoning: prose, lists, some code and
// comparisons, without markers.
func Reasoning(n int) string { return fill(n, thoughts, 1) }

// Text returns n bytes of an answer in Markdown: prose, lists, tables, code spans,
// fences, `<` signs, without markers.
func Text(n int) string { return fill(n, answers, 2) }

// Prose returns n bytes of text in which nothing could begin a marker.
func Prose(n int) string { return fill(n, prose, 3) }

// fill arranges blocks in a fixed random order and pads the end with prose, so that
// no block is cut.
func fill(n int, blocks []string, seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	b.Grow(n)
	for {
		s := blocks[rng.IntN(len(blocks))]
		if b.Len()+len(s)+2 > n {
			break
		}
		b.WriteString(s)
		b.WriteString("\n\n")
	}
	for b.Len() < n {
		b.WriteString(padding[:min(len(padding), n-b.Len())])
	}
	return b.String()
}

// Deltas cuts a reply into pieces of size bytes.
func Deltas(s string, size int) []string {
	var d []string
	for len(s) > size {
		d = append(d, s[:size])
		s = s[size:]
	}
	return append(d, s)
}

// Hostile are replies for which a careless reader takes long.
var Hostile = []struct {
	Name string
	Of   func(n int) string
}{
	{"openers", repeat("", "<think>", "")},
	{"closes", repeat("", "</think>", "")},
	{"angles", repeat("", "<", "")},
	{"angles-in-reasoning", repeat("<think>", "<", "")},
	{"prefixes", repeat("<think>", "</thin", "")},
	{"backticks", repeat("", "`", "")},
	{"spans-on-one-line", repeat("", "`a` ", "")},
	{"unequal-runs", unequalRuns},
	{"tildes", repeat("", "~ ", "")},
	{"tilde-lines", repeat("", "~\n", "")},
	{"tilde-fences", repeat("", "~~~\na\n~~~\n", "")},
	{"quoted-openers-unpaid", repeat("<think>a<think>b</think>", "'<think>' ", "")},
	{"quoted-closes", repeat("<think>", "'</think>' ", "")},
	{"other-name-closes", repeat("", "<think>x</thought>", "")},
	{"other-name-closes-in-one", repeat("<think>", "x</thought>", "")},
	{"unpaid-openers", repeat("", "<think>a", "</think></think>b")},
	{"spaces", repeat("", " ", "")},
	{"spaces-after-block", repeat("a\n<think>b</think>", " ", "")},
	{"newlines", repeat("", "\n", "")},
	{"blank-lines-in-narration", repeat("", "<narrate>a\n\n", "")},
	{"mid-line-openers", repeat("a ", "<think> b ", "")},
	{"mid-line-blocks", repeat("a ", "<think>b</think> c ", "")},
	{"markers-in-spans", repeat("", "`<think>` ", "")},
	{"markers-after-backtick", repeat("a ` ", "<think>b</think> ", "")},
	{"markers-in-unclosed-fence", repeat("a\n```\n", "<think>b</think>\n", "")},
	{"fences", repeat("", "```\na\n", "")},
	{"outputs-in-pad", repeat("<scratch_pad>", "<output>a</output>", "")},
	{"openers-in-pad", repeat("<scratch_pad>", "<output>", "")},
	{"late-outputs", repeat("a ", "<output>b</output> ", "")},
	{"attributes", repeat("", "<think a='<think b=\"", "")},
	{"tool-calls", repeat("<think>", "<tool_call> a ", "")},
}

func repeat(head, unit, tail string) func(int) string {
	return func(n int) string {
		k := max(n-len(head)-len(tail), 0)
		return head + strings.Repeat(unit, k/len(unit)+1)[:k] + tail
	}
}

// unequalRuns has runs of back-ticks of growing lengths on one line, none of which
// has a match.
func unequalRuns(n int) string {
	var b strings.Builder
	b.Grow(n + 1)
	for k := 1; b.Len() < n; k++ {
		for range k {
			b.WriteByte('`')
		}
		b.WriteByte(' ')
	}
	return b.String()[:n]
}

const padding = "and so it goes on, one plain word after another, until the length that was asked for is reached, "

var prose = []string{
	"The boat left the harbour before dawn, and by the time the sun stood over the breakwater the crew had set the last of the lines. Nobody spoke much. The wind was from the north-east, steady, and cold enough for gloves.",
	"There are two ways to read the figures. Either the growth of the first quarter was an accident, in which case the plan for the year needs little change; or it was the beginning of something, and then every later estimate is too low.",
	"A good translation keeps the tone, the pace and the sense, in that order when they cannot all be kept. Readers forgive a wrong word sooner than a wrong voice, as the older editions of the same book show well enough.",
	"Start with the smallest part that can be tried on its own. Try it. Then write down what surprised you, since that is what you will have forgotten by the time the next part is built.",
}

var thoughts = []string{
	"Okay, so the user is asking how to find the shortest path in a graph where the weights may be negative. Let me think about which algorithms apply here. Dijkstra's needs weights that are not negative, so it is out unless we reweight first.",
	"Wait, that isn't right. If n < 2 the loop never runs and the result would be 0, but the statement says that for n = 1 the answer is 1. Let me check the base case again, more carefully this time.",
	"Let me set up the equations.\n\n- Let x be the number of apples and y the number of pears.\n- x + y = 24, and 3x + 2y = 61.\n- From the first, y = 24 - x; so 3x + 48 - 2x = 61, hence x = 13 and y = 11.\n\nCheck: 39 + 22 = 61. Good.",
	"Hmm, the user wrote \"the second one\", which could mean the second paragraph or the second option in the list. Since the list was the last thing I gave, I'd assume they mean the option. I should say so in the answer, briefly, so they can correct me.",
	"First approach: sort, then walk with two pointers. That is O(n log n). Second approach: a hash map from value to index, O(n) time and O(n) space. The input is at most 10^5, so both will do, and the first uses less memory. I'd go with the second since it keeps the indices.",
	"So a < b and b < c, which gives a < c by transitivity. But does it hold for NaN? No: every comparison with NaN is false. I should mention that `sort.Float64s` puts NaN first, and that `slices.SortFunc` needs a strict weak ordering.",
	"Now, what about the tone? They sound frustrated (\"it STILL doesn't work\"), so I'd begin with the fix and keep the explanation for later. No apology longer than half a sentence. Then the steps, numbered, and finally what to send me if it fails again.",
	"The German sentence has the verb at the end: „Ich glaube, dass er gestern nach Köln gefahren ist.“ A literal rendering would be odd. “I think he went to Cologne yesterday” is natural, and keeps the register. 日本語 would need a different approach → skip it.",
	"Let me recompute: 17 × 23 = 391, minus 45 is 346, divided by 2 is 173. Is 173 prime? Not divisible by 2, 3 (1+7+3 = 11), 5, 7 (7 × 24 = 168), 11 (11 × 15 = 165), 13 (13 × 13 = 169). 13 squared is 169 and 14 squared is 196 > 173, so yes, prime.",
	"Alternatively, maybe the bug is in the template: std::vector<std::pair<int, int>> is copied at each call. If it were passed by const reference the copies would go away, and the time would drop from O(n^2) to O(n).",
}

var answers = []string{
	"The short answer is that it depends on the weights. If none of them is negative, Dijkstra's algorithm with a binary heap is what you want; otherwise use Bellman–Ford, which is slower but also tells you whether there is a negative cycle at all.",
	"## How it works\n\nThe server keeps one connection per client and writes each event as soon as it is complete. A client that falls behind is given a bounded queue, and dropped when that is full: a slow reader must never slow the others down.",
	"1. **Install** the package with `pip install example` (Python 3.10 or later).\n2. **Create** a file `config.yaml` beside your script.\n3. **Run** `example serve --port 8080`, and open the page in a browser.\n4. If the port is taken, `lsof -i :8080` shows by whom.",
	"```go\nfunc Max[T cmp.Ordered](first T, rest ...T) T {\n\tm := first\n\tfor i := 0; i < len(rest); i++ {\n\t\tif m < rest[i] {\n\t\t\tm = rest[i]\n\t\t}\n\t}\n\treturn m\n}\n```",
	"Since x < y and y < z, the middle value is always y; you can check this with `x <= y && y <= z`. For floats mind that `NaN < 1` is false, and so is `1 < NaN`.",
	"| size | time | memory |\n| --- | ---: | ---: |\n| small (< 1 MB) | 3 ms | 2 MB |\n| medium | 41 ms | 17 MB |\n| large (> 1 GB) | 9.2 s | 1.4 GB |",
	"```html\n<ul class=\"menu\">\n  <li><a href=\"/\">Home</a></li>\n  <li><a href=\"/about\">About</a></li>\n</ul>\n<p>Rendered by the template, not by hand.</p>\n```",
	"In Java the type would be `Map<String, List<Integer>>`, in C++ `std::map<std::string, std::vector<int>>`. Both are read from the inside out, and neither says anything about order, which is what surprised you in the test.",
	"- **Pros:** simple, no dependencies, easy to test.\n- **Cons:** slower than the tree for more than about ~10,000 entries; the whole list is copied at each write.\n- **Verdict:** fine for now. Revisit it when the profile says so.",
	"> Premature optimisation is the root of all evil.\n\nThe sentence goes on, though, and the rest is usually left out: we should not pass up our opportunities in that critical 3 %. “Measure first” is a fair summary of both halves.",
	"That gives you about 173 requests a second on one core, or roughly ~600 on four. If you need more, put a cache in front; most of the pages change once a day at most, so even a lifetime of a minute would take nine tenths of the load away.",
	"I hope that helps! If the error comes back, send me the output of `journalctl -u example --since today` together with the version, and I'll have a look at it. It is almost always the certificate that has expired.",
}
