package answer

import (
	"slices"
	"strings"
)

// relations are the signs between the sides of a relation.
var relations = []string{"=", "<", ">", `\le`, `\ge`, `\ne`}

// mirrored maps each relation to the one with its sides swapped.
var mirrored = map[string]string{"=": "=", `\ne`: `\ne`, "<": ">", ">": "<", `\le`: `\ge`, `\ge`: `\le`}

// splitRelations splits a formula at the relations that stand outside all brackets.
func splitRelations(s string) (sides, signs []string) {
	depth, from := 0, 0
	for i := 0; i < len(s); {
		if sign := relationAt(s[i:]); sign != "" && depth == 0 {
			sides, signs = append(sides, strings.TrimSpace(s[from:i])), append(signs, sign)
			i += len(sign)
			from = i
			continue
		}
		width, turn := bracketWidth(s[i:])
		depth += turn
		i += width
	}
	return append(sides, strings.TrimSpace(s[from:])), signs
}

func relationAt(s string) string {
	for _, sign := range relations {
		if strings.HasPrefix(s, sign) && (sign[0] != '\\' || lettersLen(s[1:]) == len(sign)-1) {
			return sign
		}
	}
	return ""
}

// A relation has two sides. Its sign is =, \ne, < or \le.
type relation struct{ left, sign, right string }

func relationOf(s string) (relation, bool) {
	if len(splitTop(s, ", ")) > 1 {
		return relation{}, false
	}
	sides, signs := splitRelations(s)
	if len(signs) != 1 || sides[0] == "" || sides[1] == "" {
		return relation{}, false
	}
	r := relation{sides[0], signs[0], sides[1]}
	if r.sign == ">" || r.sign == `\ge` {
		r = relation{r.right, mirrored[r.sign], r.left}
	}
	return r, true
}

// equalRelations compares equations and inequalities. One answer may name its value
// and the other not; if both do, the names must agree: x = 5 equals 5, but not y = 5.
func (c comparer) equalRelations(a, b string, depth int) (by string, applies bool) {
	n, x := cutName(a)
	m, y := cutName(b)
	r, isRelation := relationOf(a)
	s, otherToo := relationOf(b)
	switch {
	case n != "" && n == m:
		return c.equal(x, y, depth+1), true
	case isRelation && otherToo:
		return c.sameRelation(r, s, depth), true
	case n != "" && m != "":
		return byNone, true
	case isRelation && m == "" && c.computed(r, depth):
		return c.equal(r.right, b, depth+1), true
	case otherToo && n == "" && c.computed(s, depth):
		return c.equal(a, s.right, depth+1), true
	}
	return byNone, isRelation && n == "" || otherToo && m == ""
}

// computed reports whether an equation states the value of a number, as 5! = 120
// does. Both sides have no letters and are equal: the right one is then the answer. An
// identity such as 5 = 5 states nothing.
func (c comparer) computed(r relation, depth int) bool {
	return r.sign == "=" && textKey(r.left) != textKey(r.right) && lettersIn(r.left+r.right) == 0 && c.equal(r.left, r.right, depth+1) != byNone
}

// lettersIn counts the letters of a formula that belong to no command.
func lettersIn(s string) (n int) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i += lettersLen(s[i+1:])
		case isLetter(s[i]):
			n++
		}
	}
	return n
}

// sameRelation compares two relations: side by side, or by the difference of their
// sides. y = 2x+1 is 2x-y+1 = 0. But a relation that still has to be solved is not
// its solution (2x = 10 and x = 5), and neither is one that was solved for something
// else (y = 2x and x = y/2).
func (c comparer) sameRelation(r, s relation, depth int) string {
	if r.sign != s.sign {
		return byNone
	}
	same := func(p, q string) bool { return c.equal(p, q, depth+1) != byNone }
	if same(r.left, s.left) && same(r.right, s.right) {
		return byElement
	}
	if r.sign == mirrored[r.sign] && same(r.left, s.right) && same(r.right, s.left) {
		return byElement
	}
	f, g := c.difference(r), c.difference(s)
	if f == nil || g == nil {
		return byNone
	}
	if n, m := c.solved(r), c.solved(s); n && m || (n || m) && len(f.variables()) < 2 {
		return byNone
	}
	k, ok := c.ratio(f, g)
	if !ok || len(f.variables()) == 0 || r.sign != mirrored[r.sign] && k.Sign() < 0 {
		return byNone
	}
	return byRational
}

func (c comparer) difference(r relation) *quantity { return c.sub(c.value(r.left), c.value(r.right)) }

// solved reports whether one side is a variable that the other side does not hold.
func (c comparer) solved(r relation) bool {
	for _, sides := range [][2]string{{r.left, r.right}, {r.right, r.left}} {
		other := c.value(sides[1])
		if nameLen(sides[0]) == len(sides[0]) && other != nil && !other.variables()[sides[0]] {
			return true
		}
	}
	return false
}

// Assignments give values to several variables: x = 3, y = 2, or (x, y) = (3, 2).
type assignments struct{ names, values []string }

// assignmentsOf reads assignments. Those to single letters are sorted by name, so
// that (3, 2) is x = 3, y = 2 in any order.
func assignmentsOf(s string) (list assignments, ok bool) {
	parts := splitTop(s, ", ")
	if len(parts) == 1 {
		list, ok = tupleAssignments(s)
	} else {
		list, ok = listedAssignments(parts)
	}
	if !ok || len(list.names) > maxElements {
		return assignments{}, false
	}
	if slices.ContainsFunc(list.names, func(name string) bool { return len(name) > 1 }) {
		return list, !repeated(list.names)
	}
	order := make([]int, len(list.names))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return strings.Compare(list.names[i], list.names[j]) })
	var sorted assignments
	for _, i := range order {
		sorted.names, sorted.values = append(sorted.names, list.names[i]), append(sorted.values, list.values[i])
	}
	return sorted, !repeated(sorted.names)
}

func repeated(names []string) bool {
	names = slices.Sorted(slices.Values(names))
	return len(slices.Compact(names)) < len(names)
}

func tupleAssignments(s string) (assignments, bool) {
	name, value := cutName(s)
	open, inner, shut := cutBrackets(value)
	if !strings.HasPrefix(name, "(") || open != "(" || shut != ")" {
		return assignments{}, false
	}
	list := assignments{strings.Split(name[1:len(name)-1], ", "), splitTop(inner, ", ")}
	return list, len(list.names) == len(list.values)
}

func listedAssignments(parts []string) (list assignments, ok bool) {
	for _, part := range parts {
		name, value := cutName(part)
		if name == "" || !strings.Contains(part, "=") || strings.HasPrefix(name, "(") {
			return assignments{}, false
		}
		list.names, list.values = append(list.names, name), append(list.values, value)
	}
	return list, true
}

// equalAssignments compares values of several variables. A tuple without names has
// them in order.
func (c comparer) equalAssignments(a, b string, depth int) (by string, applies bool) {
	x, ok := assignmentsOf(a)
	y, otherToo := assignmentsOf(b)
	if !ok {
		x, y, a, b = y, x, b, a
	}
	switch {
	case !ok && !otherToo:
		return byNone, false
	case ok && otherToo:
		return c.sameAssignments(x, y, depth), true
	}
	if !x.indexed() {
		kind := splitMath(b).kind
		if kind != "()" && kind != "list" {
			return byNone, true
		}
		return c.equalGroups(mathGroup{"()", x.values}, mathGroup{"()", splitMath(b).members}, depth), true
	}
	other := splitMath(b)
	if other.kind == "()" {
		return c.equalGroups(mathGroup{"()", x.values}, other, depth), true
	}
	return c.equalGroups(mathGroup{"list", x.values}, other, depth), true
}

func (c comparer) sameAssignments(x, y assignments, depth int) string {
	if len(x.names) != len(y.names) {
		return byNone
	}
	for i, name := range x.names {
		j := slices.Index(y.names, name)
		if j < 0 || c.equal(x.values[i], y.values[j], depth+1) == byNone {
			return byNone
		}
	}
	return byElement
}

// indexed reports whether the names differ only in their index: x_1, x_2. Such
// names number the solutions of one equation.
func (x assignments) indexed() bool {
	letter, _, _ := strings.Cut(x.names[0], "_")
	for _, name := range x.names {
		if !strings.HasPrefix(name, letter+"_") {
			return false
		}
	}
	return true
}
