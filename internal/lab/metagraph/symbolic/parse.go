package symbolic

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/sotto-llm/sotto/internal/base/arith"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

const (
	// MaxSlots is the maximum number of slots in a template.
	MaxSlots = 16

	maxText     = 4 << 10 // bytes of an expression
	maxDepth    = 100     // of parentheses
	maxVariants = 5040    // ways to assign slots to equal numbers
)

var (
	// ErrSyntax is in the error for a text that is not an expression of numbers, or
	// of slots.
	ErrSyntax = errors.New("not an expression")
	// ErrTooLarge is in the error for an expression with too many numbers, or too
	// many equal ones.
	ErrTooLarge = errors.New("the expression is too large")
)

// Abstract makes a template from an expression of numbers. Each number becomes a
// slot. Equal numbers could take their slots in several orders; Abstract takes the
// order that gives the smallest key.
func Abstract(expression string) (Template, error) {
	e, numbers, err := parse(expression, false)
	if err != nil {
		return Template{}, err
	}
	order := make([]int, len(numbers)) // the literals, in ascending order
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(numbers[i], numbers[j]) })
	if variants(order, numbers) > maxVariants {
		return Template{}, fmt.Errorf("%w: too many equal numbers", ErrTooLarge)
	}
	slots := make([]int, len(order)) // of each literal
	var best Template
	eachVariant(order, numbers, 0, func() {
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
	e, numbers, err := parse(text, true)
	if err != nil {
		return Template{}, err
	}
	seen := make([]bool, len(numbers))
	slots := make([]int, len(numbers))
	for i, slot := range numbers {
		if slot >= int64(len(seen)) || seen[slot] {
			return Template{}, fmt.Errorf("%w: slot %c appears twice, or an earlier slot is missing", ErrSyntax, 'a'+rune(slot))
		}
		seen[slot], slots[i] = true, int(slot)
	}
	return newTemplate(e.relabelled(slots), len(slots)), nil
}

// limits bound the text of an expression.
var limits = arith.Limits{Text: maxText, Depth: maxDepth, Operands: MaxSlots}

// parse reads an expression of numbers, or of slots, and returns its operands in the
// order of the text.
func parse(text string, slots bool) (*expr, []int64, error) {
	l := limits
	l.Letters = slots
	var e arith.Expression
	switch at, fault := l.Parse(&e, text); fault {
	case arith.TooLarge:
		return nil, nil, fmt.Errorf("%w at byte %d: want at most %d numbers and %d levels of parentheses", ErrTooLarge, at, MaxSlots, maxDepth)
	case arith.Malformed:
		return nil, nil, fmt.Errorf("%w: byte %d of %q", ErrSyntax, at, text)
	}
	numbers := make([]int64, len(e.Operands))
	for i, operand := range e.Operands {
		if slots {
			numbers[i] = int64(operand[0] - 'a')
			continue
		}
		n, err := strconv.ParseInt(operand, 10, 64)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: the number %s", ErrTooLarge, shorttext.Ellipsis(operand, 40))
		}
		numbers[i] = n
	}
	return treeOf(e.Steps), numbers, nil
}

// treeOf makes the tree of a code.
func treeOf(code []arith.Step) *expr {
	var stack []*expr
	for _, s := range code {
		top := len(stack) - 1
		switch s.Op {
		case 'n':
			stack = append(stack, &expr{op: 's', slot: s.Operand})
		case '~':
			stack[top] = &expr{op: '~', left: stack[top]}
		default:
			stack[top-1] = &expr{op: s.Op, left: stack[top-1], right: stack[top]}
			stack = stack[:top]
		}
	}
	return stack[0]
}
