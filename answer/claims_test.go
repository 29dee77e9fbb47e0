package answer_test

import (
	"testing"

	"github.com/sotto-llm/sotto/answer"
)

// Only a statement takes an answer back: a subject and what is said of it, in text of a
// language.
func TestTakenBack(t *testing.T) {
	for _, c := range []struct {
		raw  string
		back bool
	}{
		{"Answer: 8. That is clearly wrong.", true},
		{"Answer: 8. I was wrong.", true},
		{"Answer: 8. That is too high.", true},
		{"Antwort: 8. Das scheidet aus.", true},
		{"Respuesta: 8. Eso no vale.", true},
		{"Ответ: 8. Это неверно.", true},
		{"答案：8。这是错误的。", true},
		{"Answer: 8. That is not wrong.", false},
		{"Answer: 8. This means that the milk leaks out.", false},
		{"Answer: 8. This means that $\\frac13$ is out.", false},
		{"Answer: 8. It is the largest number too.", false},
		{"Answer: 8\n It scientific.out,constStage", false},
		{"Answer: 8\n assail 最大程度 роман. That is wrong.", false},
		{"Answer: 8\n assail 最大程度. That is wrong.", true}, // two alphabets are a language and its names
	} {
		x := answer.Extract(answer.GSM8K, c.raw, answer.Problem{}, answer.Options{})
		if back := x.Status == answer.Withdrawn; back != c.back || !back && x.Candidate != "8" {
			t.Errorf("%q: %q, %s", c.raw, x.Candidate, x.Status)
		}
	}
}

// A part of a number or of a formula is no value. A claim that cannot be read comes
// before an earlier one that can.
func TestPartsAreNoValues(t *testing.T) {
	for _, c := range []struct{ task, raw, candidate string }{
		{"gsm8k", "So she has two apples.", "2"},
		{"gsm8k", "So she has two hundred apples.", "200"},
		{"gsm8k", "So she has two and a half apples.", ""},
		{"gsm8k", "The answer is 3 hundred.", "300"},
		{"number", "1.2.3", ""},
		{"math", "5!", ""},
		{"math", `x\neq 0`, ""},
		{"math", `\begin{pmatrix}1&2\end{pmatrix}`, ""},
		{"math", "So what we are left with in the end is the interval from [3, x] alone.", ""},
		{"math", "The answer is 5. So the answer is 8*3.", "8*3"},
		{"gsm8k", "The answer is 5. So the answer is 2^3.", "2^3"},
		{"gsm8k", "The answer is 5. So the answer is clear.", "5"},
		{"wordsort", "{'answer': 'x'}", "x"},
	} {
		task, err := answer.TaskNamed(c.task)
		if err != nil {
			t.Fatal(err)
		}
		if x := answer.Extract(task, c.raw, answer.Problem{}, answer.Options{}); x.Candidate != c.candidate {
			t.Errorf("%s: %q: %q by %s, want %q", c.task, c.raw, x.Candidate, x.Method, c.candidate)
		}
	}
}

// A box, the line around it and the sentence around it claim one value, and a total on the
// way claims no other. So the answer is not ambiguous.
func TestOneClaim(t *testing.T) {
	for raw, want := range map[string]answer.Status{
		`Final Answer: The final answer is $\boxed{18}$. I hope it is correct.`: answer.OK,
		"**Final Answer**\n\n\\[\n\\boxed{18}\n\\]":                             answer.OK,
		`So the answer is $\boxed{18}$ units.`:                                  answer.OK,
		"So the total is 17 a day.\n\nSo the answer is $\\boxed{18}$.":          answer.OK,
		"Answer: 17\n\nSo the answer is $\\boxed{18}$.":                         answer.Ambiguous,
	} {
		if x := answer.Extract(answer.Math, raw, answer.Problem{}, answer.Options{}); x.Candidate != "18" || x.Status != want {
			t.Errorf("%q: %q by %s, %s, want %s", raw, x.Candidate, x.Method, x.Status, want)
		}
	}
}
