package answer

import (
	"math/big"
	"slices"
	"strings"
)

// maxWorking is how many sentences before a value are looked at for what it is computed from, and
// maxOperands how many of their numbers.
const (
	maxWorking  = 8
	maxOperands = 8
)

// computed returns the last amount of sentence i if the reply computes it: it is what the numbers
// before it give ("15 apples among 5 children are 3 each"), or repeats such a result ("5 × 38 = 190.
// So 190 pupils go"). The words around it need not be known.
func (s *search) computed(i int) Span {
	d := &s.discourse
	if text := s.text[d.sentences[i].Start:d.sentences[i].End]; strings.Contains(text, "<<") || listMark(text) > 0 {
		return Span{} // a calculator's note has its value after it, and a step is not the end
	}
	last := s.lastAmount(&d.sentences[i])
	if last.End == 0 {
		return Span{}
	}
	var w working
	for k := max(0, i-maxWorking); k <= i; k++ {
		sn := &d.sentences[k]
		if sn.Start < s.from || s.inFence(sn.Start) {
			continue
		}
		w.said = w.said[:0]
		for _, a := range allNumbers(s.text[sn.Start:sn.End]) {
			v, ok := exactNumber(a.value)
			if !ok {
				continue
			}
			w.add(v)
			if k == i && sn.Start+a.Start <= last.Start && sn.Start+a.End >= last.End {
				if w.result {
					return last
				}
				return Span{}
			}
		}
	}
	return Span{}
}

// lastAmount returns the last amount of a sentence that stands in no brackets, or an empty span if
// the amounts are alternatives.
func (s *search) lastAmount(sn *sentence) Span {
	text := s.text[sn.Start:sn.End]
	marks := lexicon().marks(nil, text, 0, len(text))
	list := amountsIn(text, marks)
	words, ok := numeralsIn(text, marks)
	if !ok {
		return Span{}
	}
	list = append(list, words...)
	list = without(list, func(a amount) bool { return bracketedIn(text, marks, a) })
	if len(list) == 0 {
		return Span{}
	}
	slices.SortFunc(list, func(a, b amount) int { return a.Start - b.Start })
	if list.alternatives(text, marks) {
		return Span{}
	}
	last := list[len(list)-1]
	return Span{sn.Start + last.Start, sn.Start + last.End}
}

// allNumbers returns all numbers of a text in order, those of its calculations too.
func allNumbers(text string) amounts {
	var list amounts
	for _, sp := range amountSpans(text) {
		sp.Start = skipWhite(text, sp.Start, sp.End)
		list = append(list, amount{sp, plainNumber(text[sp.Start:sp.End])})
	}
	words, _ := numeralsIn(text, nil)
	list = append(list, words...)
	slices.SortFunc(list, func(a, b amount) int { return a.Start - b.Start })
	return list
}

// A working is what a reply has computed up to a place.
type working struct {
	operands []*big.Rat
	result   bool       // the last number is a result, and not an operand
	said     []*big.Rat // in this sentence: "six times seven is 42" computes no 6 after it
}

// add adds the next number. A result takes the place of what it is computed from.
func (w *working) add(v *big.Rat) {
	n := len(w.operands)
	if n > 0 && w.result && w.operands[n-1].Cmp(v) == 0 {
		return // said again
	}
	before := slices.ContainsFunc(w.said, func(x *big.Rat) bool { return x.Cmp(v) == 0 })
	if len(w.said) < maxOperands {
		w.said = append(w.said, v)
	}
	if !before && isResult(v, w.operands) {
		w.operands, w.result = append(w.operands[:0], v), true
		return
	}
	if n == maxOperands {
		w.operands = append(w.operands[:0], w.operands[1:]...)
	}
	w.operands, w.result = append(w.operands, v), false
}

// isResult reports whether a number is the sum or the product of several, or what the last two give.
func isResult(v *big.Rat, operands []*big.Rat) bool {
	if len(operands) < 2 {
		return false
	}
	sum, product := new(big.Rat), big.NewRat(1, 1)
	for _, x := range operands {
		sum.Add(sum, x)
		product.Mul(product, x)
	}
	if sum.Cmp(v) == 0 || product.Cmp(v) == 0 {
		return true
	}
	a, b, x := operands[len(operands)-2], operands[len(operands)-1], new(big.Rat)
	return x.Add(a, b).Cmp(v) == 0 || x.Mul(a, b).Cmp(v) == 0 || x.Sub(a, b).Cmp(v) == 0 || x.Sub(b, a).Cmp(v) == 0 ||
		b.Sign() != 0 && x.Quo(a, b).Cmp(v) == 0 || a.Sign() != 0 && x.Quo(b, a).Cmp(v) == 0
}
