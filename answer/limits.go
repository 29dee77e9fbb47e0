package answer

// Limits of what the validators of arithmetic read. Beyond them a candidate is
// too_large: no game asks for so much, and the time stays bounded.
const (
	maxExpression = 16 << 10 // bytes
	maxExprDepth  = 200      // of parentheses and signs
	maxLiterals   = 256      // numbers in an expression, or in a problem
	maxExprDigits = 100      // of a number
	maxAllDigits  = 2000     // of all numbers of an expression
)
