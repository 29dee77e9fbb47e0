package answer

import (
	"math"
	"slices"
	"strings"
)

// A region is a set of real numbers: intervals in order, with gaps between them.
type region struct {
	name  string // the variable, or ""
	clear bool   // it cannot be a tuple
	parts []interval
}

type interval struct{ low, high bound }

// A bound is the end of an interval.
type bound struct {
	at     *quantity
	inf    int // -1 and 1: infinity
	closed bool
}

// equalRegions compares an interval, or a union of them, with inequalities.
func (c comparer) equalRegions(a, b string, _ int) (by string, applies bool) {
	if !mayBeRegion(a) || !mayBeRegion(b) {
		return byNone, false
	}
	x, y := c.region(a), c.region(b)
	if x == nil || y == nil || !x.clear && !y.clear {
		return byNone, false
	}
	if x.name != "" && y.name != "" && x.name != y.name || len(x.parts) != len(y.parts) {
		return byNone, true
	}
	for i := range x.parts {
		if !c.sameBound(x.parts[i].low, y.parts[i].low) || !c.sameBound(x.parts[i].high, y.parts[i].high) {
			return byNone, true
		}
	}
	return byElement, true
}

// mayBeRegion is quick, and false for most formulas.
func mayBeRegion(s string) bool {
	return s != "" && (strings.ContainsAny(s, "<>") || s[0] == '(' || s[0] == '[' ||
		strings.Contains(s, `\le`) || strings.Contains(s, `\ge`) || strings.Contains(s, `\ne`) ||
		strings.Contains(s, `\in`) || strings.Contains(s, `\cup`) || strings.Contains(s, `\mathbb{R}`) || s == "all real numbers")
}

func (c comparer) sameBound(x, y bound) bool {
	return x.inf == y.inf && x.closed == y.closed && (x.inf != 0 || c.algebra.equal(x.at, y.at))
}

// maxParts bounds the intervals of a region.
const maxParts = 64

// region reads a formula as a region, or returns nil.
func (c comparer) region(s string) *region {
	if n := namesLen(s); n > 0 {
		if name, set := cutName(s); name != "" && strings.HasPrefix(s[n:], `\in`) {
			r := c.region(set)
			if r == nil || r.name != "" {
				return nil
			}
			return &region{name, true, r.parts}
		}
	}
	if condition, ok := setBuilder(s); ok {
		return c.region(condition)
	}
	if s == `\mathbb{R}` || s == "all real numbers" {
		return &region{"", true, []interval{{bound{inf: -1}, bound{inf: 1}}}}
	}
	for _, mark := range []string{`\lor`, `\land`, `\cup`, ", "} {
		if parts := splitTop(s, mark); len(parts) > 1 {
			return c.joined(parts, mark)
		}
	}
	if sides, signs := splitRelations(s); len(signs) > 0 {
		return c.inequality(sides, signs)
	}
	return c.interval(s)
}

// setBuilder returns the condition of \{x|x>3\} and \{x\in\mathbb{R}:x>3\}.
func setBuilder(s string) (condition string, ok bool) {
	open, inner, _ := cutBrackets(s)
	if open != `\{` {
		return "", false
	}
	for _, mark := range []string{"|", ":"} {
		name, condition, ok := strings.Cut(inner, mark)
		name = strings.TrimSuffix(name, `\in\mathbb{R}`)
		if sides, signs := splitRelations(condition); ok && isName(name) && len(signs) > 0 && slices.Contains(sides, name) {
			return condition, true
		}
	}
	return "", false
}

// joined reads several regions of one variable as one.
func (c comparer) joined(parts []string, mark string) *region {
	if len(parts) > maxParts {
		return nil
	}
	both, either := &region{parts: []interval{{bound{inf: -1}, bound{inf: 1}}}}, &region{}
	for _, s := range parts {
		r := c.region(s)
		if r == nil || mark == ", " && !r.clear || either.name != "" && r.name != either.name && r.name != "" {
			return nil
		}
		for _, x := range []*region{both, either} {
			x.name, x.clear = max(x.name, r.name), x.clear || r.clear
		}
		if mark != `\lor` && mark != `\cup` {
			both.parts = c.intersect(both.parts, r.parts)
		}
		either.parts = append(either.parts, r.parts...)
	}
	switch {
	case both.parts == nil || len(either.parts) > maxParts:
		return nil
	case mark == `\land`:
		return both
	case mark == ", " && len(both.parts) > 0: // both hold, unless they cannot
		return both
	}
	either.parts = c.union(either.parts)
	if either.parts == nil {
		return nil
	}
	return either
}

// inequality reads x<3, 3>x, x\ne3 and 1<x\le2.
func (c comparer) inequality(sides, signs []string) *region {
	switch {
	case len(signs) == 1 && isName(sides[0]):
		return c.halfLine(sides[0], signs[0], sides[1])
	case len(signs) == 1 && isName(sides[1]):
		return c.halfLine(sides[1], mirrored[signs[0]], sides[0])
	case len(signs) != 2 || !isName(sides[1]):
		return nil
	}
	if signs[0] == ">" || signs[0] == `\ge` {
		sides = []string{sides[2], sides[1], sides[0]}
		signs = []string{mirrored[signs[1]], mirrored[signs[0]]}
	}
	for _, sign := range signs {
		if sign != "<" && sign != `\le` {
			return nil
		}
	}
	return c.between(c.bound(sides[0], signs[0] == `\le`), c.bound(sides[2], signs[1] == `\le`), sides[1], true)
}

func isName(s string) bool { return s != "" && nameLen(s) == len(s) }

func (c comparer) halfLine(name, sign, end string) *region {
	at := c.bound(end, sign == `\le` || sign == `\ge`)
	if at.inf != 0 || at.at == nil || !at.at.constant() {
		return nil
	}
	left, right := interval{bound{inf: -1}, at}, interval{at, bound{inf: 1}}
	switch sign {
	case "<", `\le`:
		return &region{name, true, []interval{left}}
	case ">", `\ge`:
		return &region{name, true, []interval{right}}
	case `\ne`:
		return &region{name, true, []interval{left, right}}
	}
	return nil
}

// interval reads (1, 2], \{3\} and the empty set.
func (c comparer) interval(s string) *region {
	open, inner, shut := cutBrackets(s)
	ends := splitTop(inner, ", ")
	switch {
	case s == `\emptyset`:
		return &region{}
	case open == `\{` && len(ends) == 1:
		at := c.bound(inner, true)
		return c.between(at, at, "", false)
	case open != "(" && open != "[" || shut != ")" && shut != "]" || len(ends) != 2:
		return nil
	}
	return c.between(c.bound(ends[0], open == "["), c.bound(ends[1], shut == "]"), "", false)
}

// between returns the region between two bounds, or nil if they are known to be in
// the wrong order.
func (c comparer) between(low, high bound, name string, clear bool) *region {
	if low.inf == 1 || high.inf == -1 || low.inf == 0 && low.at == nil || high.inf == 0 && high.at == nil {
		return nil
	}
	if order, ok := c.order(low, high); ok && (order > 0 || order == 0 && !(low.closed && high.closed)) {
		return nil
	}
	return &region{name, clear, []interval{{low, high}}}
}

func (c comparer) bound(s string, closed bool) bound {
	switch s {
	case `\infty`, `+\infty`:
		return bound{inf: 1}
	case `-\infty`:
		return bound{inf: -1}
	}
	return bound{at: c.value(s), closed: closed}
}

// order compares two bounds. It does not decide where their values are too close
// for floating point and not equal.
func (c comparer) order(x, y bound) (order int, ok bool) {
	if x.inf != 0 || y.inf != 0 {
		return x.inf - y.inf, true
	}
	if c.algebra.equal(x.at, y.at) {
		return 0, true
	}
	f, e, ok1 := x.at.approximate()
	g, d, ok2 := y.at.approximate()
	if !ok1 || !ok2 || math.Abs(f-g) <= e+d {
		return 0, false
	}
	if f < g {
		return -1, true
	}
	return 1, true
}

// approximate returns the value of a quantity without variables, and more than its
// error.
func (q *quantity) approximate() (value, margin float64, ok bool) {
	if !q.under.isOne() {
		return 0, 0, false
	}
	for _, t := range q.over {
		x, _ := t.coef.Float64()
		for name, p := range t.powers {
			base := math.Pi
			if isNumeral(name) {
				base = 0
				for _, digit := range name {
					base = 10*base + float64(digit-'0')
				}
			} else if name != `\pi` {
				return 0, 0, false
			}
			x *= math.Pow(base, float64(p.num)/float64(p.den))
		}
		value += x
		margin += math.Abs(x)
	}
	margin = 1e-9*margin + 1e-300
	return value, margin, margin < math.MaxFloat64 && !math.IsNaN(margin)
}

// intersect returns the numbers in both lists, or nil if that is not decided.
func (c comparer) intersect(x, y []interval) []interval {
	out := []interval{}
	for _, p := range x {
		for _, q := range y {
			low, ok1 := c.further(p.low, q.low, 1)
			high, ok2 := c.further(p.high, q.high, -1)
			order, ok3 := c.order(low, high)
			if !ok1 || !ok2 || !ok3 || len(out) == maxParts {
				return nil
			}
			if order < 0 || order == 0 && low.closed && high.closed {
				out = append(out, interval{low, high})
			}
		}
	}
	return out
}

// further returns the one of two bounds that excludes more: the larger one with the
// sign 1, the smaller one with -1.
func (c comparer) further(x, y bound, sign int) (bound, bool) {
	order, ok := c.order(x, y)
	if order*sign > 0 || order == 0 && !x.closed {
		return x, ok
	}
	return y, ok
}

// union sorts intervals and joins those that touch. It returns nil if their order is
// not decided.
func (c comparer) union(parts []interval) []interval {
	decided := true
	slices.SortFunc(parts, func(p, q interval) int {
		order, ok := c.order(p.low, q.low)
		decided = decided && ok
		if order == 0 && p.low.closed != q.low.closed {
			order = 1
			if p.low.closed {
				order = -1
			}
		}
		return order
	})
	out := parts[:0:0]
	for _, p := range parts {
		if len(out) == 0 {
			out = append(out, p)
			continue
		}
		last := &out[len(out)-1]
		gap, ok1 := c.order(last.high, p.low)
		if gap < 0 || gap == 0 && !last.high.closed && !p.low.closed {
			decided = decided && ok1
			out = append(out, p)
			continue
		}
		high, ok2 := c.order(last.high, p.high)
		if decided = decided && ok1 && ok2; high < 0 || high == 0 && p.high.closed {
			last.high = p.high
		}
	}
	if !decided {
		return nil
	}
	return out
}
