package answer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// What a reply of the Game of 24 gives. The numbers are 2 5 8 11 unless the case
// says otherwise.
var replies = []struct {
	about, raw, numbers string
	candidate, method   string
	reason              answer.Reason
}{
	{"a block", "<answer>\n(8-5)*(11-2)\n</answer>", "", "(8-5)*(11-2)", "answer_block", answer.MathError},
	{"a fraction on the way", "<answer>8/(3-8/3)</answer>", "3 3 8 8", "8/(3-8/3)", "answer_block", answer.ReasonOK},
	{"the last of two blocks counts, though the first was right", "<answer>8/(3-8/3)</answer> or <answer>8*3</answer>", "3 3 8 8", "8*3", "answer_block", answer.WrongNumbers},
	{"an empty block after a full one", "<answer>8*3</answer>\n<answer> </answer>", "", "8*3", "answer_block", answer.WrongNumbers},
	{"a block wins over a later marker", "<ANSWER>8*3</Answer>\nAnswer: 1", "", "8*3", "answer_block", answer.WrongNumbers},
	{"a block that was not closed", "so\n<answer>\n8*3\n", "", "8*3", "answer_block", answer.WrongNumbers},
	{"a block closed by an opener", "<answer>8*3<answer>", "", "8*3", "answer_block", answer.WrongNumbers},
	{"a closed block wins over a later open one", "<answer>8*3</answer> <answer>1", "", "8*3", "answer_block", answer.WrongNumbers},
	{"a block in reasoning is none", "<think><answer>8*3</answer></think>Answer: 2*3", "", "2*3", "marker:answer", answer.WrongNumbers},
	{"a block whose fence is no answer", "<answer>\n```python\n8*3\n```\n</answer>", "", "8*3", "answer_block", answer.WrongNumbers},
	{"a marker in a block", "<answer>Output: 8*3</answer>", "", "8*3", "answer_block", answer.WrongNumbers},
	{"prose about the tags", "I use `<answer>` and `</answer>` tags.\nAnswer: 8*3", "", "8*3", "marker:answer", answer.WrongNumbers},
	{"an example in code after the answer", "<answer>8*3</answer>\nas in `<answer>1+2</answer>`.", "", "8*3", "answer_block", answer.WrongNumbers},
	{"an example in a fence", "Answer: 8*3\n```\nAnswer: 1+2\n```\n", "", "8*3", "marker:answer", answer.WrongNumbers},
	{"a fence that holds all there is", "```\nAnswer: 8*3\n```\n", "", "8*3", "marker:answer", answer.WrongNumbers},
	{"bold around the word", "**Answer:** 8*3", "", "8*3", "marker:answer", answer.WrongNumbers},
	{"bold around the word, colon outside", "**Answer**: 8*3", "", "8*3", "marker:answer", answer.WrongNumbers},
	{"bold around the line", "**Final Answer: 8*3**", "", "8*3", "marker:final_answer", answer.WrongNumbers},
	{"bold around the value", "Answer: **8*3** = 24", "", "8*3", "marker:answer", answer.WrongNumbers},
	{"a heading", "### Answer\n\n8*3\n", "", "8*3", "marker:answer", answer.WrongNumbers},
	{"bold alone on a line", "**Final Answer**\n\n$$\n8*3\n$$\n", "", "8*3", "marker:final_answer", answer.WrongNumbers},
	{"a quotation", "> Answer: 8*3", "", "8*3", "marker:answer", answer.WrongNumbers},
	{"a list", "1. Answer: 8*3", "", "8*3", "marker:answer", answer.WrongNumbers},
	{"a word of prose", "Answer the question.\n", "", "", "empty", answer.Empty},
	{"a longer word", "Answers: 8*3", "", "", "empty", answer.Empty},
	{"a full-width colon", "答案：（8−5）×［11−2］＝24", "", "(8-5)*(11-2)", "marker:答案", answer.MathError},
	{"a bracketed marker", "【答案】8*3", "", "8*3", "marker:【答案】", answer.WrongNumbers},
	{"a phrase", "The answer is 8*3.", "", "8*3", "marker:answer_is", answer.WrongNumbers},
	{"a phrase with a colon", "The answer is: 8*3.", "", "8*3", "marker:answer_is", answer.WrongNumbers},
	{"a saying with a word before it", "Therefore, the final answer is: 8*3 = 24", "", "8*3", "marker:answer_is", answer.WrongNumbers},
	{"a sentence that is a saying", "8 and 3 are left. The answer is 8*3.", "", "8*3", "marker:answer_is", answer.WrongNumbers},
	{"a saying behind a marker on its line", "Answer: 8 and 3 are left. **The answer is 8*3.**", "", "8*3", "marker:answer_is", answer.WrongNumbers},
	{"a saying before a marker", "1. The answer is 1+2. So\nAnswer: 8*3", "", "8*3", "marker:answer", answer.WrongNumbers},
	{"no sentence begins within a sentence", "I doubt the answer is 8*3", "", "", "empty", answer.Empty},
	{"the value is on the next line", "Answer:\n\n(8-5)*(11-2)\n\nDone.", "", "(8-5)*(11-2)", "marker:answer", answer.MathError},
	{"the value is in the fence that follows", "Answer:\n```python\n(8-5)*(11-2)\n```\n", "", "(8-5)*(11-2)", "marker:answer", answer.MathError},
	{"a marker with nothing after it falls to the scan", "11+5+8*2-2\n2+5+8+11\nAnswer:\n", "", "2+5+8+11", "fallback_bottom_scan", answer.MathError},
	{"the last marker wins, whatever it holds", "Answer: 8/(3-8/3)\nAnswer: none", "3 3 8 8", "none", "marker:answer", answer.IllegalTokens},
	{"CRLF", "Steps:\r\nAnswer: 8*3 = 24\r\n", "", "8*3", "marker:answer", answer.WrongNumbers},
	{"run-on text", "Answer: 8*3\n\nInput: 1 1 1 1\nAnswer: 1+1", "", "8*3", "marker:answer", answer.WrongNumbers},
	{"a reply that begins with its question", "Question: 24?\nAnswer: 8*3\nQuestion: 10?\nAnswer: 1", "", "8*3", "marker:answer", answer.WrongNumbers},
	{"the scan takes the lowest line that passes, right or not", "8/(3-8/3)\n3+3+8+8\n8+8\n", "3 3 8 8", "3+3+8+8", "fallback_bottom_scan", answer.MathError},
	{"the scan passes over a list's mark", "- 3+3+8+8 = 22", "3 3 8 8", "3+3+8+8", "fallback_bottom_scan", answer.MathError},
	{"the value is said first", "<answer>24 = 8/(3-8/3)</answer>", "3 3 8 8", "8/(3-8/3)", "answer_block", answer.ReasonOK},
	{"an arrow", "Answer: 8/(3-8/3) -> 24", "3 3 8 8", "8/(3-8/3)", "marker:answer", answer.ReasonOK},
	{"a mis-decoded arrow", "Answer: 8/(3-8/3) â†’ 24", "3 3 8 8", "8/(3-8/3)", "marker:answer", answer.ReasonOK},
	{"brackets", "Answer: [8 / {3 - 8 ÷ 3}]", "3 3 8 8", "(8 / (3 - 8 / 3))", "marker:answer", answer.ReasonOK},
	{"code marks", "Answer: `8/(3-8/3)`", "3 3 8 8", "8/(3-8/3)", "marker:answer", answer.ReasonOK},
	{"LaTeX", `Answer: $8 \div \left(3 - 8 \div 3\right)$`, "3 3 8 8", "8 / (3 - 8 / 3)", "marker:answer", answer.ReasonOK},
	{"LaTeX whose end is cut off", `Answer: \[(8 \div (3 - 8 \div 3)) = 24\]`, "3 3 8 8", "(8 / (3 - 8 / 3))", "marker:answer", answer.ReasonOK},
	{"a box in a block", `<answer>$\boxed{8/(3-8/3) = 24}$</answer>`, "3 3 8 8", "8/(3-8/3)", "answer_block", answer.ReasonOK},
	{"a box on a line", `\boxed{8/(3-8/3)}`, "3 3 8 8", "8/(3-8/3)", "fallback_bottom_scan", answer.ReasonOK},
	{"a fraction in LaTeX", `Answer: $\frac{8}{3 - \frac{8}{3}}$`, "3 3 8 8", "((8)/(3 - ((8)/(3))))", "marker:answer", answer.ReasonOK},
	{"a fraction of digits", `Answer: $\dfrac8{3-\tfrac83} = 24$`, "3 3 8 8", "((8)/(3-((8)/(3))))", "marker:answer", answer.ReasonOK},
	{"a fraction whose end is cut off", `Answer: $\frac{8}{3-8$`, "3 3 8 8", `\frac(8)(3-8`, "marker:answer", answer.IllegalTokens},
	{"an x that multiplies", "Answer: 8 x 3 = 24", "8 3", "8 * 3", "marker:answer", answer.ReasonOK},
	{"a large X beside brackets", "Answer: (5 - 2)X(11 - 3)", "2 3 5 11", "(5 - 2)*(11 - 3)", "marker:answer", answer.ReasonOK},
	{"an x that is unknown", "Answer: 8 + x", "8", "8 + x", "marker:answer", answer.IllegalTokens},
	{"unary minus", "Answer: -(3-8)*(11-2)+8-5", "3 8 11 2 8 5", "-(3-8)*(11-2)+8-5", "marker:answer", answer.MathError},
	{"not equal is no sign", "Answer: 8*3 != 24", "", "8*3 !", "marker:answer", answer.IllegalTokens},
	{"a division by zero", "Answer: 5/(8-8)", "5 8 8", "5/(8-8)", "marker:answer", answer.MathError},
	{"a power", "Answer: 2**5", "2 5", "2**5", "marker:answer", answer.FormatError},
	{"a floor division", "Answer: 11//5", "11 5", "11//5", "marker:answer", answer.FormatError},
	{"an implicit product", "Answer: 2(5+8)", "2 5 8", "2(5+8)", "marker:answer", answer.FormatError},
	{"no numbers run together", "Answer: 2 5", "2 5", "2 5", "marker:answer", answer.FormatError},
	{"a decimal", "Answer: 2.5*8", "2 5 8", "2.5*8", "marker:answer", answer.IllegalTokens},
	{"a reply without an answer", "I cannot do it.", "", "", "empty", answer.Empty},
	{"nothing", "", "", "", "empty", answer.Empty},
	{"orphan close", "Answer: 1\n</think>\nAnswer: 8*3", "", "8*3", "marker:answer", answer.WrongNumbers},
	{"two answers parted by reasoning", "Answer: 8*<think>9</think>3", "", "8*3", "marker:answer", answer.WrongNumbers},
}

func TestExtract(t *testing.T) {
	for _, c := range replies {
		p := answer.Problem{Input: "2 5 8 11"}
		if c.numbers != "" {
			p.Input = c.numbers
		}
		x := answer.Extract(answer.Game24, c.raw, p, answer.Options{End: sotto.EndStopped})
		v := answer.Game24.Validate(x.Candidate, p)
		if x.Candidate != c.candidate || x.Method != c.method || v.Reason != c.reason {
			t.Errorf("%s: %q: %q by %s, %s %s; want %q by %s, %s", c.about, c.raw, x.Candidate, x.Method, v.Reason, v.Detail, c.candidate, c.method, c.reason)
		}
		checkExtraction(t, answer.Game24, c.raw, p, answer.Options{End: sotto.EndStopped})
	}
}

// The worked example: it is extracted, and wrong only because of its value.
func TestWorkedExample(t *testing.T) {
	raw := "<think>11-2 is 9, 8-5 is 3.</think>\nSo:\n\n<answer>\n(8-5)*(11-2) = 24\n</answer>\n"
	p := answer.Problem{Input: "2 5 8 11"}
	x := answer.Extract(answer.Game24, raw, p, answer.Options{})
	if x.Candidate != "(8-5)*(11-2)" || x.Written != "(8-5)*(11-2) = 24" || x.Status != answer.OK {
		t.Errorf("%+v", x)
	}
	if raw[x.Span.Start:x.Span.End] != x.Written {
		t.Errorf("span %v", *x.Span)
	}
	want := answer.Verdict{Reason: answer.MathError, Detail: "27"}
	if v := answer.Game24.Validate(x.Candidate, p); v != want {
		t.Errorf("%+v, want %+v", v, want)
	}
}

func TestStatus(t *testing.T) {
	p := answer.Problem{Input: "3 3 8 8"}
	cut, scanCut := answer.Options{End: sotto.EndCut}, answer.Options{End: sotto.EndCut, ScanCut: true}
	for _, c := range []struct {
		raw    string
		o      answer.Options
		method string
		status answer.Status
	}{
		{"8/(3-8/3)", answer.Options{}, "fallback_bottom_scan", answer.OK},
		{"8/(3-8/3)", cut, "empty", answer.Truncated},
		{"8/(3-8/3)", scanCut, "fallback_bottom_scan", answer.OK},
		{"8/(3-8/3)\n<think>and", answer.Options{}, "empty", answer.Truncated},
		{"Answer: 8/(3-8/3)", cut, "marker:answer", answer.OK},
		{"nothing", answer.Options{}, "empty", answer.NoAnswer},
		{"Answer: 1\nAnswer: 2", answer.Options{}, "marker:answer", answer.Ambiguous},
		{"Answer: 2 = 2\nAnswer: **2**", answer.Options{}, "marker:answer", answer.OK},
		{"<answer>1</answer><answer>2</answer>", answer.Options{}, "answer_block", answer.Ambiguous},
		{"Answer: 1\n<answer>2</answer>", answer.Options{}, "answer_block", answer.OK},
	} {
		x := answer.Extract(answer.Game24, c.raw, p, c.o)
		if x.Method != c.method || x.Status != c.status {
			t.Errorf("%q: %s %s, want %s %s", c.raw, x.Method, x.Status, c.method, c.status)
		}
	}
}

func TestFromReasoning(t *testing.T) {
	p := answer.Problem{Input: "3 3 8 8"}
	for _, c := range []struct{ raw, method string }{
		{"<think><answer>8*3</answer></think>I am done.", "answer_block_in_reasoning"},
		{"<think>\nAnswer: 8*3\n</think>", "marker:answer_in_reasoning"},
		{"<think>\n8/(3-8/3)\n</think>", "empty"},
		{"<think>Answer: 1</think>Answer: 2", "marker:answer"},
	} {
		if x := answer.Extract(answer.Game24, c.raw, p, answer.Options{}); strings.HasSuffix(x.Method, "reasoning") {
			t.Errorf("%q: %s without leave", c.raw, x.Method)
		}
		o := answer.Options{FromReasoning: true}
		if x := answer.Extract(answer.Game24, c.raw, p, o); x.Method != c.method {
			t.Errorf("%q: %s, want %s", c.raw, x.Method, c.method)
		}
		checkExtraction(t, answer.Game24, c.raw, p, o)
	}
	x := answer.Extract(answer.Math, `<think>It is \boxed{7}.</think>Done.`, answer.Problem{}, answer.Options{FromReasoning: true})
	if x.Candidate != "7" || x.Method != "boxed_in_reasoning" {
		t.Errorf("%+v", x)
	}
}

// The tags of an answer block that a dialect takes for markup are still a block.
// What other tasks find by the tiers.
func TestOtherTasks(t *testing.T) {
	for _, c := range []struct {
		task                   answer.Task
		raw, candidate, method string
	}{
		{answer.GSM8K, "There are 21. There were 15. So 21 - 15 = 6. The answer is 6.", "6", "marker:answer_is"},
		{answer.GSM8K, "A: She has 3 + 5 = 8 left. So the answer is 8.", "8", "marker:answer_is"},
		{answer.GSM8K, "答案：18", "18", "marker:答案"},
		{answer.Math, `It is \fbox{5}.`, "5", "boxed"},
		{answer.Math, `It is \boxed{5}, as in \fbox{1}.`, "5", "boxed"},
		{answer.Math, `\boxed{5} and then \boxed{6`, "5", "boxed"},
		{answer.Code, "<answer>\n    return 1\n</answer>", "    return 1", "answer_block"},
		{answer.Code, "```python\n\n    if x:\n        return 1\n```", "    if x:\n        return 1", "fence"},
		{answer.JSON, "<answer> {\"a\": 1} </answer>", `{"a": 1}`, "answer_block"},
	} {
		x := answer.Extract(c.task, c.raw, answer.Problem{}, answer.Options{})
		if x.Candidate != c.candidate || x.Method != c.method {
			t.Errorf("%s: %q: %q by %s, want %q by %s", c.task.Name(), c.raw, x.Candidate, x.Method, c.candidate, c.method)
		}
		checkExtraction(t, c.task, c.raw, answer.Problem{}, answer.Options{})
		for _, raw := range []string{"\n\n" + c.raw + " \n\n", "<think>" + c.raw + `\boxed{7} Answer: 7</think>` + "\n" + c.raw} {
			if y := answer.Extract(c.task, raw, answer.Problem{}, answer.Options{}); y.Candidate != x.Candidate || y.Method != x.Method {
				t.Errorf("%s: %q: %q by %s, want %q by %s", c.task.Name(), raw, y.Candidate, y.Method, x.Candidate, x.Method)
			}
		}
	}
}

func TestWrapperDialect(t *testing.T) {
	g, err := sotto.Named("hunyuan")
	if err != nil {
		t.Fatal(err)
	}
	raw := "<think>\nlong\n</think>\n<answer>\n8*3\n</answer>"
	x := answer.Extract(answer.Game24, raw, answer.Problem{Input: "8 3"}, answer.Options{Grammar: g})
	if x.Candidate != "8*3" || x.Method != "answer_block" || raw[x.Span.Start:x.Span.End] != "8*3" {
		t.Errorf("%+v", x)
	}
}

// A block of lines is found after a marker, in a fence, or alone.
func TestCrosswordBlocks(t *testing.T) {
	grid := "P I P I T\nI R A D E\nS I L L A\nH A L E R\nU N A R Y"
	gold := answer.Problem{Gold: "PIPITIRADESILLAHALERUNARY"}
	for raw, method := range map[string]string{
		"Thoughts:\nOutput:\n" + grid:                              "marker:output",
		"Output:\n\n```\n" + grid + "\n```\nThat is it.":           "marker:output",
		"<answer>\n" + strings.ToLower(grid) + "\n</answer>":       "answer_block",
		"Here is the grid:\n" + grid + "\n\nI hope this is right.": "fallback_bottom_scan",
		"```\n" + strings.ReplaceAll(grid, " ", "") + "\n```":      "fallback_bottom_scan",
	} {
		x := answer.Extract(answer.Crossword, raw, gold, answer.Options{})
		if v := answer.Crossword.Validate(x.Candidate, gold); !v.OK || x.Method != method {
			t.Errorf("%q: %+v: %+v", raw, x, v)
		}
		checkExtraction(t, answer.Crossword, raw, gold, answer.Options{})
	}
}

// checkExtraction checks the properties that every extraction has.
func checkExtraction(t *testing.T, task answer.Task, raw string, p answer.Problem, o answer.Options) {
	t.Helper()
	x := answer.Extract(task, raw, p, o)
	if y := answer.Extract(task, raw, p, o); x.Candidate != y.Candidate || x.Method != y.Method {
		t.Errorf("%q: %q by %s, and again %q by %s", raw, x.Candidate, x.Method, y.Candidate, y.Method)
	}
	if (x.Method == "empty") != (x.Candidate == "") || (x.Method == "empty") != (x.Written == "") {
		t.Errorf("%q: %+v", raw, x)
	}
	if x.Span != nil && raw[x.Span.Start:x.Span.End] != x.Written {
		t.Errorf("%q: span %v is %q, not %q", raw, *x.Span, raw[x.Span.Start:x.Span.End], x.Written)
	}
	kept := x.Written
	if task.Form().Conclusions {
		kept, _ = answer.Unstruck(kept)
	}
	if n := task.Normalise(kept); n != x.Candidate && digitsOf(n) != digitsOf(x.Candidate) {
		t.Errorf("%q: %q normalised is %q, not %q", raw, kept, n, x.Candidate)
	}
	last := x.Attempts[len(x.Attempts)-1]
	if x.Method != "empty" && (last.Method != x.Method || last.Why != "" || last.Found == 0) {
		t.Errorf("%q: %s, but last tried %+v", raw, x.Method, last)
	}
}

// digitsOf is a number without its separators, of which the reply says what they are.
func digitsOf(number string) string {
	number, _, _ = strings.Cut(number, " or ")
	return strings.NewReplacer(".", "", ",", "").Replace(number)
}

// Text around an answer, such as reasoning or white space, changes nothing.
func TestSurroundings(t *testing.T) {
	p := answer.Problem{Input: "2 5 8 11"}
	for _, c := range replies {
		if strings.Contains(c.raw, "think") {
			continue
		}
		want := answer.Extract(answer.Game24, c.raw, p, answer.Options{})
		for _, raw := range []string{
			"\n\n " + c.raw, c.raw + " \n\n",
			"<think>Answer: 2+5+8+11\n<answer>1</answer></think>\n\n" + c.raw,
			"<think>\nx\n</think>" + c.raw,
		} {
			x := answer.Extract(answer.Game24, raw, p, answer.Options{})
			if x.Candidate != want.Candidate || x.Method != want.Method {
				t.Errorf("%q: %q by %s, want %q by %s", raw, x.Candidate, x.Method, want.Candidate, want.Method)
			}
		}
	}
}

// Replies made to cost time do not cost time.
func TestHostileReplies(t *testing.T) {
	if effort.Brief() {
		t.Skip("long replies: SOTTO_EFFORT=1 runs it")
	}
	n := 100_000
	p := answer.Problem{Input: "2 5 8 11", Gold: "1"}
	for name, raw := range map[string]string{
		"one line":       strings.Repeat("1+", 4<<20) + "1",
		"parentheses":    strings.Repeat("(", n) + "1" + strings.Repeat(")", n),
		"signs":          strings.Repeat("-", n) + "1",
		"blocks":         strings.Repeat("<answer>1</answer>", n),
		"open blocks":    strings.Repeat("<answer>", n),
		"open in prose":  strings.Repeat("<answer>x\n", n),
		"boxes":          strings.Repeat(`\boxed{`, n) + strings.Repeat("}", n),
		"open boxes":     strings.Repeat(`\boxed{`, n),
		"markers":        strings.Repeat("Answer: 1\n", n),
		"empty markers":  strings.Repeat("Answer:\n", n),
		"fences":         strings.Repeat("```\n", n),
		"fenced markers": strings.Repeat("```\nAnswer: 1\n```\n", n),
		"stars":          "Answer: " + strings.Repeat("*", n) + "1",
		"equals":         strings.Repeat("1=", n),
		"angles":         strings.Repeat("<", n),
		"short markers":  strings.Repeat("A:\n", n),
		"sentenceStarts": strings.Repeat("The answer is . ", n),
		"sentences":      strings.Repeat("a. ", n),
		"clauses":        strings.Repeat("c'est, ", n),
		"short boxes":    strings.Repeat(`\boxed{1}`, n),
		"numbered lines": strings.Repeat("1x\n", n),
		"finishes":       strings.Repeat("Finish[A] ", n),
		"objects":        strings.Repeat(`{"answer":1}`+"\n", n),
		"letters":        strings.Repeat("answer is A. ", n),
		"open lists":     strings.Repeat("[", n),
		"lists":          strings.Repeat("see [1,2] ", n),
		"ticks":          strings.Repeat("`", n),
		"code in prose":  strings.Repeat("`a b` ", n),
		"open code":      strings.Repeat("``a` ", n),
		"alternatives":   strings.Repeat("Option 1:\n```\nx = 1\n```\n", n/10),
		"expressions":    strings.Repeat("2 + 5 = 8 : 11 ", n/10),
		"denials":        strings.Repeat("It's not A but B, with 1, without 2. ", n/10),
		"thoughts":       strings.Repeat("<think>a</think>b", n),
		"refused code":   strings.Repeat("not `a b` but `c d` ", 4*n),
		"working":        strings.Repeat("It is 10^999 and 10^888 and 3. ", n),
		"fractions":      strings.Repeat(`\frac{`, n),
		"two letters":    "B is correct, " + strings.Repeat("A C D ", n),
		"postscript":     "480\n\n" + strings.Repeat("P.S. it is 5 5 5 ", n),
	} {
		for _, task := range answer.Tasks() {
			begun := time.Now()
			x := answer.Extract(task, raw, p, answer.Options{FromReasoning: true})
			task.Validate(x.Candidate, p)
			if d := time.Since(begun); d > time.Minute {
				t.Errorf("%s: %s: %s for %d bytes", name, task.Name(), d, len(raw))
			} else if d > 500*time.Millisecond {
				t.Logf("%s: %s: %s for %d bytes", name, task.Name(), d, len(raw))
			}
		}
	}
}

func BenchmarkGame24(b *testing.B) {
	p := answer.Problem{Input: "4 5 6 10"}
	for name, raw := range map[string]string{
		"steps":     "Steps:\n4 * 5 = 20 (left: 6 10 20)\n10 - 6 = 4 (left: 4 20)\n4 + 20 = 24 (left: 24)\nAnswer: (4 * 5) + (10 - 6) = 24",
		"scan":      "4 * 5 = 20 (left: 6 10 20)\n20 - 6 = 14 (left: 10 14)\n14 - 10 = 4 (left: 4)\nNo solution found.",
		"reasoning": "<think>\nFour times five is twenty, and four more is twenty-four.\n</think>\n\n<answer>\n(4 * 5) + (10 - 6)\n</answer>",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				x := answer.Extract(answer.Game24, raw, p, answer.Options{End: sotto.EndStopped})
				answer.Game24.Validate(x.Candidate, p)
			}
		})
	}
}
