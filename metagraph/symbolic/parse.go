package symbolic

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

const (
	// MaxSlots is the maximum number of slots in a template.
	MaxSlots = 16

	maxText     = 4 << 10 // bytes of an expression
	maxDepth    = 100     // of parentheses and signs
	maxVariants = 5040    // ways to assign slots to equal numbers
)

var (
	// ErrSyntax is in the error for a text that is not an expression of numbers, or
	// of slots.
	ErrSyntax = errors.New("no expression")
	// ErrTooLarge is in the error for an expression with too many numbers, or too
	// many equal ones.
	ErrTooLarge = errors.New("the expression is too large")
)

// Abstract makes a template from an expression of numbers. Each number becomes a
// slot. Equal numbers could take their slots in several orders; Abstract takes the
// order that gives the smallest key.
func Abstract(expression string) (Template, error) {
	p := parser{text: expression}
	e, err := p.parse()
	if err != nil {
		return Template{}, err
	}
	order := make([]int, len(p.numbers)) // the literals, in ascending order
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p.numbers[i], p.numbers[j]) })
	if variants(order, p.numbers) > maxVariants {
		return Template{}, fmt.Errorf("%w: too many equal numbers", ErrTooLarge)
	}
	slots := make([]int, len(order)) // of each literal
	var best Template
	eachVariant(order, p.numbers, 0, func() {
		for slot, literal := range order {
			slots[literal] = slot
		}
		if t := newTemplate(e.relabelled(slots), len(slots)); best.key == "" || t.key < best.key {
			best = t
		}
	})
	return best, nil
}

// variants returns how many orders of the literals are sorted.
func variants(order []int, numbers []int64) int {
	n, run := 1, 1
	for i := 1; i < len(order) && n <= maxVariants; i++ {
		run++
		if numbers[order[i]] != numbers[order[i-1]] {
			run = 1
		}
		n *= run
	}
	return n
}

// eachVariant calls visit for every order of order[from:] that keeps the numbers
// sorted.
func eachVariant(order []int, numbers []int64, from int, visit func()) {
	if from == len(order) {
		visit()
		return
	}
	for i := from; i < len(order) && numbers[order[i]] == numbers[order[from]]; i++ {
		order[from], order[i] = order[i], order[from]
		eachVariant(order, numbers, from+1, visit)
		order[from], order[i] = order[i], order[from]
	}
}

// Parse reads a template: an expression over slots a, b, c, … in which each slot
// occurs once.
func Parse(text string) (Template, error) {
	p := parser{text: text, slots: true}
	e, err := p.parse()
	if err != nil {
		return Template{}, err
	}
	seen := make([]bool, len(p.numbers))
	slots := make([]int, len(p.numbers))
	for i, slot := range p.numbers {
		if slot >= int64(len(seen)) || seen[slot] {
			return Template{}, fmt.Errorf("%w: slot %c stands twice, or one before it is missing", ErrSyntax, 'a'+rune(slot))
		}
		seen[slot], slots[i] = true, int(slot)
	}
	return newTemplate(e.relabelled(slots), len(slots)), nil
}

// A parser reads an expression by recursive descent.
//
//	sum     = product { ("+" | "-") product }
//	product = factor { ("*" | "/") factor }
//	factor  = { "-" } ( number | "(" sum ")" )
type parser struct {
	text    string
	slots   bool // letters, not numbers
	at      int
	depth   int
	numbers []int64 // the literals in order
}

func (p *parser) parse() (*expr, error) {
	if len(p.text) > maxText {
		return nil, ErrTooLarge
	}
	e, err := p.sum()
	if err == nil && p.peek() != 0 {
		err = p.fault()
	}
	return e, err
}

func (p *parser) fault() error {
	return fmt.Errorf("%w: byte %d of %q", ErrSyntax, p.at, p.text)
}

// peek returns the next byte that is not a space, or 0.
func (p *parser) peek() byte {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at]-'\t' < 5) {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) sum() (*expr, error) { return p.chain('+', '-', p.product) }

func (p *parser) product() (*expr, error) { return p.chain('*', '/', p.factor) }

// chain reads operands separated by an operator or its inverse.
func (p *parser) chain(operator, inverse byte, operand func() (*expr, error)) (*expr, error) {
	e, err := operand()
	for err == nil && (p.peek() == operator || p.peek() == inverse) {
		op := p.text[p.at]
		p.at++
		var right *expr
		if right, err = operand(); err == nil {
			e = &expr{op: op, left: e, right: right}
		}
	}
	return e, err
}

func (p *parser) factor() (*expr, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, ErrTooLarge
	}
	defer func() { p.depth-- }()
	switch c := p.peek(); {
	case c == '-':
		p.at++
		e, err := p.factor()
		return &expr{op: '~', left: e}, err
	case c == '(':
		p.at++
		e, err := p.sum()
		if err == nil && p.peek() != ')' {
			err = p.fault()
		}
		p.at++
		return e, err
	case p.slots && c-'a' < MaxSlots:
		p.at++
		return p.literal(int64(c - 'a'))
	case !p.slots && c-'0' < 10:
		from := p.at
		for p.at < len(p.text) && p.text[p.at]-'0' < 10 {
			p.at++
		}
		n, err := strconv.ParseInt(p.text[from:p.at], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: the number at byte %d", ErrTooLarge, from)
		}
		return p.literal(n)
	}
	return nil, p.fault()
}

func (p *parser) literal(n int64) (*expr, error) {
	if len(p.numbers) == MaxSlots {
		return nil, fmt.Errorf("%w: more than %d numbers", ErrTooLarge, MaxSlots)
	}
	p.numbers = append(p.numbers, n)
	return &expr{op: 's', slot: len(p.numbers) - 1}, nil
}
