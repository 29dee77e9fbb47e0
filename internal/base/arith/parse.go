// Package arith reads expressions of + - * / and parentheses, and computes their
// values as exact fractions.
//
//	sum     = product { ("+" | "-") product }
//	product = factor { ("*" | "/") factor }
//	factor  = { "-" } ( operand | "(" sum ")" )
//
// There are no powers, no floor division and no implied products. White space may
// stand between any two tokens.
package arith

// Limits bound an expression, and say what its operands are.
type Limits struct {
	Text     int  // bytes
	Depth    int  // of parentheses
	Operands int  // in total
	Letters  bool // operands are single letters from a on, not decimal digits
}

// A Fault says why a text is not an expression. It is empty if it is one.
type Fault string

// The faults.
const (
	Malformed Fault = "not an expression"
	TooLarge  Fault = "the expression is too large"
)

// A Step of a code, in postfix order. Op is one of + - * / for two values, '~' for
// the sign of the last value, or 'n' for an operand.
type Step struct {
	Op      byte
	Operand int // its number, in the order of the text
}

// An Expression is the code of a text, and its operands as they are written.
type Expression struct {
	Steps    []Step
	Operands []string
}

// Parse reads a text into e, whose slices it reuses. It returns where it stopped.
func (l Limits) Parse(e *Expression, text string) (at int, fault Fault) {
	e.Steps, e.Operands = e.Steps[:0], e.Operands[:0]
	if len(text) > l.Text {
		return 0, TooLarge
	}
	p := parser{Limits: l, Expression: *e, text: text}
	p.sum()
	if p.peek(); p.fault == "" && p.at < len(text) {
		p.fault = Malformed
	}
	*e = p.Expression
	return p.at, p.fault
}

type parser struct {
	Limits
	Expression
	text  string
	at    int
	depth int
	fault Fault
}

// peek returns the next byte that is not a space, or 0. After a fault it stays where
// it is.
func (p *parser) peek() byte {
	if p.fault != "" {
		return 0
	}
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at]-'\t' < 5) {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) fail(f Fault) {
	if p.fault == "" {
		p.fault = f
	}
}

func (p *parser) step(op byte) { p.Steps = append(p.Steps, Step{Op: op}) }

func (p *parser) sum() {
	p.product()
	for c := p.peek(); c == '+' || c == '-'; c = p.peek() {
		p.at++
		p.product()
		p.step(c)
	}
}

func (p *parser) product() {
	p.factor()
	for c := p.peek(); c == '*' || c == '/'; c = p.peek() {
		p.at++
		p.factor()
		p.step(c)
	}
}

func (p *parser) factor() {
	minus := false
	for p.peek() == '-' {
		p.at++
		minus = !minus
	}
	switch c := p.peek(); {
	case c == '(':
		p.group()
	case p.Letters && c-'a' < 26, !p.Letters && c-'0' < 10:
		p.operand()
	default:
		p.fail(Malformed)
	}
	if minus {
		p.step('~')
	}
}

func (p *parser) group() {
	if p.depth++; p.depth > p.Depth {
		p.fail(TooLarge)
		return
	}
	p.at++
	p.sum()
	if p.peek() != ')' {
		p.fail(Malformed)
		return
	}
	p.at++
	p.depth--
}

func (p *parser) operand() {
	from := p.at
	for p.at++; !p.Letters && p.at < len(p.text) && p.text[p.at]-'0' < 10; p.at++ {
	}
	if len(p.Expression.Operands) == p.Limits.Operands {
		p.fail(TooLarge)
		return
	}
	p.Steps = append(p.Steps, Step{'n', len(p.Expression.Operands)})
	p.Expression.Operands = append(p.Expression.Operands, p.text[from:p.at])
}

// Value computes a code. operand returns the value of an operand. ok is false if
// something is divided by zero.
func Value(code []Step, operand func(i int) Fraction) (v Fraction, ok bool) {
	var room [8]Fraction
	stack := room[:0]
	for _, s := range code {
		top := len(stack) - 1
		switch s.Op {
		case 'n':
			stack = append(stack, operand(s.Operand))
		case '~':
			stack[top] = stack[top].Neg()
		default:
			if stack[top-1], ok = Apply(s.Op, stack[top-1], stack[top]); !ok {
				return Fraction{}, false
			}
			stack = stack[:top]
		}
	}
	return stack[0], true
}
