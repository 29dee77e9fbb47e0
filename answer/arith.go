package answer

import (
	"strings"
	"sync"

	"github.com/sotto-llm/sotto/internal/base/arith"
)

// exprLimits bound an expression, as the games accept it.
var exprLimits = arith.Limits{Text: maxExpression, Depth: maxExprDepth, Operands: maxLiterals}

// expressions are reused, because every line of a reply may be one.
var expressions = sync.Pool{New: func() any { return new(arith.Expression) }}

// parseExpression checks the form of an expression, and makes plain its numbers:
// they have no leading zeros then. The fault is "", format_error or too_large, at a
// byte.
func parseExpression(e *arith.Expression, s string) (at int, fault Reason) {
	switch at, why := exprLimits.Parse(e, s); why {
	case arith.Malformed:
		return at, FormatError
	case arith.TooLarge:
		return at, TooLarge
	}
	total := 0
	for i, digits := range e.Operands {
		digits = unpadded(digits)
		e.Operands[i] = digits
		if total += len(digits); len(digits) > maxExprDigits || total > maxAllDigits {
			return 0, TooLarge
		}
	}
	return 0, ""
}

// legalExpression returns the place of the first byte that cannot occur in an
// expression, or -1.
func legalExpression(s string) int {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c-'0' >= 10 && !isWhite(c) && (c < '(' || c > '/' || c == ',' || c == '.') {
			return i
		}
	}
	return -1
}

// unpadded returns digits without leading zeros.
func unpadded(digits string) string {
	if len(digits) > 1 && digits[0] == '0' {
		if digits = strings.TrimLeft(digits, "0"); digits == "" {
			return "0"
		}
	}
	return digits
}
