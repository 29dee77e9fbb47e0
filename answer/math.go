package answer

import (
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// Math is the task of mathematical answers, in LaTeX or plain: "math".
//
// A candidate is normalised to one spelling. It can equal the gold in three ways:
//
//   - As text. The case of a word does not matter.
//   - In exact value. Numbers, roots, rational powers, factorials, binomials and
//     logarithms of numbers are computed. Products of sums are expanded, and quotients
//     are compared across, as polynomials in any variables. A value with more than 512
//     terms, a power above 8192 or numbers of more than 8192 bits is compared as text,
//     and so is everything after 2^17 steps. Variables are real: √x² is not x.
//   - Member by member. Members of tuples and intervals must be in order, with the same
//     brackets. Members of sets, unions and bare lists may be in any order, and a list
//     may leave out the braces of a set. Matrices are compared entry by entry.
//
// An interval equals the inequalities that say the same (1 < x ≤ 2 and (1, 2]).
// Equations and inequalities may have their sides swapped or terms moved, but one that
// still has to be solved is not its solution: 2x = 10 does not equal x = 5. A tuple may
// name its variables: (x, y) = (3, 2), and x = 3, y = 2.
//
// A name before the value ("x = 5") and a unit after it count only if both answers
// have one. Units are not converted, and a percentage is never a fraction: 25% equals
// 25 and not 0.25. Numbers are not rounded: 0.333 is not 1/3.
var Math Task = mathTask{}

type mathTask struct{}

func (mathTask) Name() string { return "math" }

func (mathTask) Form() Form {
	return Form{
		Rules:       "math/5",
		Markers:     mathMarkers().list,
		markers:     mathMarkers(),
		Extent:      FirstLine,
		Boxed:       true,
		Sayings:     true,
		Value:       formulaIn,
		Conclusions: true,
		Bare:        bareFormula,
		Scan:        true,
		formulas:    true,
	}
}

var mathMarkers = said("Ans", "#### ")

func (mathTask) Normalise(candidate string) string {
	return settle(candidate, func(s string) string { return canonMath(joinedRoots(s)) })
}

// Precheck accepts a line that is only a number. A formula on its own line is most
// often a step of the work.
func (mathTask) Precheck(line string, _ Problem) bool { return bareNumber(line) }

func (t mathTask) Validate(candidate string, p Problem) Verdict {
	gold := t.Normalise(p.Gold)
	switch {
	case candidate == "":
		return Verdict{Reason: Empty}
	case len(candidate) > maxMath:
		return Verdict{Reason: TooLarge}
	case gold == "" || len(gold) > maxMath:
		return Verdict{Reason: BadGold}
	}
	by := equalMath(candidate, gold)
	if by == byNone && strings.Contains(candidate, `\in`) != strings.Contains(gold, `\in`) {
		by = equalMath(withoutCondition(candidate), withoutCondition(gold))
	}
	if by == byNone {
		return Verdict{Reason: Different, By: by}
	}
	return Verdict{OK: true, Reason: ReasonOK, By: by}
}

func (mathTask) Distil(p Problem, _ string) (query, trace string) {
	return shorttext.OneLine(p.Input), ""
}

// oneLine returns a question with single spaces.
