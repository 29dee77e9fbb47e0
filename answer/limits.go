package answer

// Limits on what the validators of arithmetic read. A candidate beyond them is
// too_large. No game needs more, and the limits bound the time.
const (
	maxExpression = 16 << 10 // bytes
	maxExprDepth  = 200      // of parentheses
	maxLiterals   = 256      // numbers in an expression, or in a problem
	maxExprDigits = 100      // of a number
	maxAllDigits  = 2000     // of all numbers of an expression
)
