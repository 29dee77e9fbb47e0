package answer

import (
	"slices"

	"github.com/sotto-llm/sotto/internal/base/arith"
)

// Literals returns the numbers of an expression of + - * / and parentheses, in their order
// and without leading zeros. The expression is one that [Game24] accepts as a candidate;
// otherwise there are none, and the reason is [IllegalTokens], [FormatError] or [TooLarge].
//
// A solution of the Game of 24 has exactly the numbers of its problem: [SameNumbers] reports that.
func Literals(expression string) (numbers []string, reason Reason) {
	if legalExpression(expression) >= 0 {
		return nil, IllegalTokens
	}
	e := expressions.Get().(*arith.Expression)
	defer expressions.Put(e)
	if _, fault := parseExpression(e, expression); fault != "" {
		return nil, fault
	}
	return slices.Clone(e.Operands), ReasonOK
}

// SameNumbers reports whether a list has each number of another one as often as that has it,
// and no others. Both are as [Literals] returns them.
func SameNumbers(a, b []string) bool { return sameNumbers(a, b) }
