package answer

import (
	"math/big"
	"strings"
)

// maxOperands is how many amounts of a sentence are looked at as operands of its last one.
const maxOperands = 8

// maxWorking is how far before a sentence its last equation may stand, in bytes.
const maxWorking = 1024

// computed returns the last amount of a sentence if the reply computes it: it is the result of the
// last equation ("5 × 38 = 190. So 190 pupils go"), or of the amounts before it in its sentence ("15
// apples among 5 children are 3 each"). The words around it need not be known.
func (s *search) computed(sn *sentence) Span {
	text := s.text[sn.Start:sn.End]
	marks := lexicon().marks(nil, text, 0, len(text))
	list := amountsIn(text, marks)
	list = without(list, func(a amount) bool { return bracketedIn(text, marks, a) })
	if len(list) == 0 || len(list) > maxOperands || list.alternatives(text, marks) {
		return Span{}
	}
	last := list[len(list)-1]
	value, ok := exactNumber(last.value)
	if !ok {
		return Span{}
	}
	sp := Span{sn.Start + last.Start, sn.Start + last.End}
	result, ok := s.resultBefore(sn.Start)
	if ok && result.Cmp(value) == 0 && len(list) == 1 {
		return sp
	}
	var operands []*big.Rat
	for _, a := range list[:len(list)-1] {
		v, ok := exactNumber(a.value)
		if !ok || v.Cmp(value) == 0 {
			return Span{}
		}
		operands = append(operands, v)
	}
	if isComputed(value, operands) {
		return sp
	}
	return Span{}
}

// resultBefore returns the right side of the last equation before a place, if it stands near and
// nothing but its unit follows it on its line.
func (s *search) resultBefore(at int) (*big.Rat, bool) {
	from := max(s.from, at-maxWorking)
	k := strings.LastIndexAny(s.text[from:at], "=＝")
	if k < 0 {
		return nil, false
	}
	right := strings.TrimLeft(strings.TrimPrefix(s.text[from+k:at], "＝"), "= $*")
	list := amountSpans(right[:min(len(right), maxSentence)])
	if len(list) == 0 || strings.TrimSpace(right[:list[0].Start]) != "" {
		return nil, false
	}
	return exactNumber(plainNumber(right[list[0].Start:list[0].End]))
}

// isComputed reports whether a value is the sum of several numbers, or what two of them give.
func isComputed(value *big.Rat, operands []*big.Rat) bool {
	if len(operands) < 2 {
		return false
	}
	sum, product := new(big.Rat), big.NewRat(1, 1)
	for _, v := range operands {
		sum.Add(sum, v)
		product.Mul(product, v)
	}
	if sum.Cmp(value) == 0 || product.Cmp(value) == 0 {
		return true
	}
	if len(operands) > 2 {
		return false
	}
	a, b := operands[0], operands[1]
	x := new(big.Rat)
	return x.Sub(a, b).Cmp(value) == 0 || x.Sub(b, a).Cmp(value) == 0 ||
		b.Sign() != 0 && x.Quo(a, b).Cmp(value) == 0 || a.Sign() != 0 && x.Quo(b, a).Cmp(value) == 0
}
