package answer

import (
	"strings"
	"testing"
)

// ownTasks are the tasks whose laws are tested here.
var ownTasks = []Task{Math, Number, GSM8K, Choice, YesNo, JSON, JSONAnswer, Code, QA}

// lawful checks what holds for every task and text: nothing panics; normalising a
// candidate again does not change it; finds lie within the text and in order; and a
// gold is right as an answer to itself, unless it cannot be an answer.
func lawful(t *testing.T, task Task, s string) {
	t.Helper()
	n := task.Normalise(s)
	if again := task.Normalise(n); again != n {
		t.Errorf("%s: %q is normalised to %q and then to %q", task.Name(), s, n, again)
	}
	p := Problem{Input: s, Gold: s, Options: strings.Split(s, ";")}
	switch v := task.Validate(n, p); {
	case v.OK && v.Reason == ReasonOK:
	case v.Reason == BadGold || v.Reason == Empty || v.Reason == TooLarge || v.Reason == DivisionByZero || v.Reason == NotJSON:
	default:
		t.Errorf("%s: %q is not its own answer: %+v", task.Name(), s, v)
	}
	task.Precheck(s, p)
	task.Distil(p, s)
	if find := task.Form().Find; find != nil {
		at := 0
		for _, sp := range find(s, p) {
			if sp.Start < at || sp.End < sp.Start || sp.End > len(s) {
				t.Fatalf("%s: %q: a span %v after %d", task.Name(), s, sp, at)
			}
			at = sp.Start
		}
	}
}

func fuzzTask(f *testing.F, tasks ...Task) {
	for _, c := range mathEqualities {
		f.Add(c.candidate)
		f.Add(c.gold)
	}
	for _, c := range numberCases {
		f.Add(c.written)
	}
	for _, s := range noNumbers {
		f.Add(s)
	}
	for _, s := range []string{"(B) because", "A dog", "A, C", "Yes, it is", "not true", "Finish[x]", "a|b", "the {a}",
		"```python\nx\n```", "```json\n{\"answer\": \"\\frac{1}{2}\"}\n```", `{"a": [1, 2.5e3, "\u00e9"]}`, "**B**", `\boxed{\text{x}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, task := range tasks {
			lawful(t, task, s)
		}
	})
}

func FuzzMath(f *testing.F)   { fuzzTask(f, Math) }
func FuzzNumber(f *testing.F) { fuzzTask(f, Number) }
func FuzzChoice(f *testing.F) { fuzzTask(f, Choice, YesNo) }
func FuzzJSON(f *testing.F)   { fuzzTask(f, JSON, JSONAnswer) }
func FuzzCode(f *testing.F)   { fuzzTask(f, Code) }
func FuzzQA(f *testing.F)     { fuzzTask(f, QA) }

// FuzzMathEqual checks that equality of formulas is symmetric and reflexive, and
// never panics.
func FuzzMathEqual(f *testing.F) {
	for _, c := range mathEqualities {
		f.Add(c.candidate, c.gold)
	}
	for _, p := range mathPairs {
		f.Add(p.gold, p.answer)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = Math.Normalise(a), Math.Normalise(b)
		if len(a) > maxMath || len(b) > maxMath {
			return
		}
		if x, y := equalMath(a, b), equalMath(b, a); x != y {
			t.Errorf("%q and %q: %s, and the other way %s", a, b, x, y)
		}
		if by := equalMath(a, a); by != byString {
			t.Errorf("%q does not equal itself: %s", a, by)
		}
	})
}
