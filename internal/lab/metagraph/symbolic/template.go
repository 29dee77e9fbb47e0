package symbolic

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/arith"
)

// A Template is an arithmetic expression over slots. The zero Template holds no
// expression.
type Template struct {
	key   string
	slots int
	code  []arith.Step // a slot is an operand
	root  *form
	minus bool
}

// Key returns the template's canonical key, which is the expression itself.
func (t Template) Key() string { return t.key }

// String returns the expression.
func (t Template) String() string { return t.key }

// Slots returns how many numbers the template takes.
func (t Template) Slots() int { return t.slots }

// Fill returns the expression with numbers in its slots. The numbers must be in
// ascending order. It returns "" if their count differs from the count of slots.
func (t Template) Fill(numbers []int64) string {
	if len(numbers) != t.slots || t.root == nil {
		return ""
	}
	return t.root.text(t.minus, func(slot int) string {
		if numbers[slot] < 0 {
			return "(" + strconv.FormatInt(numbers[slot], 10) + ")"
		}
		return strconv.FormatInt(numbers[slot], 10)
	})
}

func slotName(slot int) string { return string(rune('a' + slot)) }

func newTemplate(e *expr, slots int) Template {
	minus, root := e.canonical()
	return Template{
		key: root.text(minus, slotName), slots: slots, root: root, minus: minus,
		code: root.compile(nil, minus),
	}
}

// An expr is an expression as it is written. op is one of + - * /, ~ (the sign, of
// left), or s (a slot).
type expr struct {
	op          byte
	slot        int
	left, right *expr
}

// relabelled returns the expression with other slots.
func (e *expr) relabelled(slots []int) *expr {
	if e == nil {
		return nil
	}
	x := &expr{op: e.op, left: e.left.relabelled(slots), right: e.right.relabelled(slots)}
	if e.op == 's' {
		x.slot = slots[e.slot]
	}
	return x
}

// A form is an expression with only one way to write it. It is a slot, a sum or a
// product. A sum has no sums as parts, and its last part is positive. A product has
// no products as parts, and its parts are positive. Every slot occurs once, so
// nothing cancels, and equal functions have equal forms.
type form struct {
	kind  byte // s, + or *
	slot  int
	parts []part // by key
	key   string
}

// A part with inverse set is subtracted in a sum, and divided by in a product.
type part struct {
	*form
	inverse bool
}

// canonical returns the form of an expression, and whether the expression is its
// negative.
func (e *expr) canonical() (minus bool, f *form) {
	switch e.op {
	case 's':
		return false, &form{kind: 's', slot: e.slot, key: slotName(e.slot)}
	case '~':
		minus, f = e.left.canonical()
		return !minus, f
	}
	leftMinus, left := e.left.canonical()
	rightMinus, right := e.right.canonical()
	if e.op == '+' || e.op == '-' {
		f = joined('+', part{left, leftMinus}, part{right, rightMinus != (e.op == '-')})
		if minus = f.parts[len(f.parts)-1].inverse; minus {
			for i := range f.parts {
				f.parts[i].inverse = !f.parts[i].inverse
			}
		}
	} else {
		f = joined('*', part{left, false}, part{right, e.op == '/'})
		minus = leftMinus != rightMinus
	}
	var key strings.Builder
	key.WriteByte('(')
	for _, p := range f.parts {
		key.WriteByte(f.operator(p.inverse))
		key.WriteString(p.key)
	}
	key.WriteByte(')')
	f.key = key.String()
	return minus, f
}

// joined makes one sum or product from two parts.
func joined(kind byte, parts ...part) *form {
	f := &form{kind: kind}
	for _, p := range parts {
		if p.kind != kind {
			f.parts = append(f.parts, p)
			continue
		}
		for _, inner := range p.parts {
			f.parts = append(f.parts, part{inner.form, inner.inverse != p.inverse})
		}
	}
	slices.SortFunc(f.parts, func(a, b part) int { return cmp.Compare(a.key, b.key) })
	return f
}

func (f *form) operator(inverse bool) byte {
	switch {
	case f.kind == '+' && inverse:
		return '-'
	case f.kind == '*' && inverse:
		return '/'
	}
	return f.kind
}

// text writes the form, or its negative, as an expression.
func (f *form) text(minus bool, name func(slot int) string) string {
	var b strings.Builder
	f.write(&b, minus, name)
	return b.String()
}

func (f *form) write(b *strings.Builder, minus bool, name func(slot int) string) {
	switch f.kind {
	case 's':
		if minus {
			b.WriteByte('-')
		}
		b.WriteString(name(f.slot))
	case '+':
		f.writeParts(b, func(p part) bool { return p.inverse != minus }, func(p part) { p.write(b, false, name) })
	case '*':
		carrier := f.carrier(minus)
		if minus && carrier == nil {
			b.WriteByte('-')
		}
		f.writeParts(b, func(p part) bool { return p.inverse }, func(p part) {
			if p.kind == 's' {
				p.write(b, false, name)
				return
			}
			b.WriteByte('(')
			p.write(b, p.form == carrier, name)
			b.WriteByte(')')
		})
	}
}

// carrier returns the sum in a product that can absorb the product's sign: a
// difference reads better reversed than after a minus.
func (f *form) carrier(minus bool) *form {
	if minus {
		for _, p := range f.parts {
			if p.kind == '+' && slices.ContainsFunc(p.parts, func(q part) bool { return q.inverse }) {
				return p.form
			}
		}
	}
	return nil
}

// writeParts writes the parts, the inverse ones after the others.
func (f *form) writeParts(b *strings.Builder, inverse func(part) bool, write func(part)) {
	first := true
	for _, turn := range []bool{false, true} {
		for _, p := range f.parts {
			if inverse(p) != turn {
				continue
			}
			if op := f.operator(turn); !first || op == '-' {
				b.WriteByte(op)
			}
			write(p)
			first = false
		}
	}
}
