package jsonschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Fault says where a value does not fit its schema, and why. It quotes names of
// members and parts of the schema, but no text of the value.
type Fault struct {
	Path []string // the names and numbers of members that lead to the place
	What string
}

// Bounds of a check.
const (
	maxFaults = 20
	maxDepth  = 20_000    // of parts of the schema in one another
	maxSteps  = 5_000_000 // parts of the schema that are checked
	maxDigits = 1000      // of a number, and its exponent
)

// Check returns what does not fit, in the order of the value's places; at most 20
// faults. It returns none if the value fits.
func (s *Schema) Check(v any) []Fault {
	c := &checker{report: true, track: s.track}
	if c.check(s.root, v, &evaluated{}) && c.stopped == "" {
		return nil
	}
	if c.stopped != "" {
		return []Fault{{What: c.stopped}}
	}
	return c.faults
}

type checker struct {
	report  bool // faults are listed, not only counted
	track   bool
	faults  []Fault
	path    []string
	scope   []*resource
	depth   int
	steps   int
	stopped string // why the check went no further
}

// evaluated says which members and elements of one value keywords have evaluated.
type evaluated struct {
	names    map[string]bool
	items    int // the first ones
	indexes  map[int]bool
	allItems bool
}

func (e *evaluated) name(name string) {
	if e.names == nil {
		e.names = map[string]bool{}
	}
	e.names[name] = true
}

func (e *evaluated) index(i int) {
	if e.indexes == nil {
		e.indexes = map[int]bool{}
	}
	e.indexes[i] = true
}

func (e *evaluated) merge(other *evaluated) {
	for name := range other.names {
		e.name(name)
	}
	for i := range other.indexes {
		e.index(i)
	}
	e.items, e.allItems = max(e.items, other.items), e.allItems || other.allItems
}

func (e *evaluated) hasItem(i int) bool { return e.allItems || i < e.items || e.indexes[i] }

// fault notes a fault, and returns false.
func (c *checker) fault(format string, args ...any) bool {
	if c.report && len(c.faults) < maxFaults {
		c.faults = append(c.faults, Fault{slices.Clone(c.path), fmt.Sprintf(format, args...)})
	}
	return false
}

func (c *checker) stop(why string) bool {
	if c.stopped == "" {
		c.stopped = why
	}
	return false
}

// check checks a value, and notes in e what was evaluated of it.
func (c *checker) check(n *node, v any, e *evaluated) bool {
	if c.steps++; c.steps > maxSteps {
		return c.stop("the schema takes too long to check")
	}
	if c.depth++; c.depth > maxDepth {
		return c.stop("the schema refers to itself without end, or is nested too deeply")
	}
	defer func() { c.depth-- }()
	if n.never {
		return c.fault("nothing may stand here")
	}
	if len(c.scope) == 0 || c.scope[len(c.scope)-1] != n.resource {
		c.scope = append(c.scope, n.resource)
		defer func() { c.scope = c.scope[:len(c.scope)-1] }()
	}
	ok := c.references(n, v, e)
	ok = c.value(n, v) && ok
	ok = c.combined(n, v, e) && ok
	switch v := v.(type) {
	case []any:
		ok = c.array(n, v, e) && ok
	case map[string]any:
		ok = c.object(n, v, e) && ok
	}
	return ok && c.stopped == ""
}

// here checks the same value against another schema. What that evaluates counts if
// the value fits.
func (c *checker) here(n *node, v any, e *evaluated) bool {
	own := evaluated{}
	if !c.check(n, v, &own) {
		return false
	}
	if c.track {
		e.merge(&own)
	}
	return true
}

// fits is here without a report of faults.
func (c *checker) fits(n *node, v any, e *evaluated) bool {
	report := c.report
	c.report = false
	ok := c.here(n, v, e)
	c.report = report
	return ok
}

// below checks a member or an element.
func (c *checker) below(n *node, name string, v any) bool {
	if c.report {
		c.path = append(c.path, name)
		defer func() { c.path = c.path[:len(c.path)-1] }()
	}
	return c.check(n, v, &evaluated{})
}

func (c *checker) references(n *node, v any, e *evaluated) bool {
	ok := n.ref == nil || c.here(n.ref, v, e)
	if n.dynamicRef == nil {
		return ok
	}
	to := n.dynamicRef
	if n.dynamicAnchor != "" {
		for _, r := range c.scope { // the outermost one counts
			if d := r.dynamic[n.dynamicAnchor]; d != nil {
				to = d
				break
			}
		}
	}
	return c.here(to, v, e) && ok
}

// value checks what concerns the value itself.
func (c *checker) value(n *node, v any) bool {
	ok := true
	if n.types != nil && !slices.ContainsFunc(n.types, func(t string) bool { return isType(t, v) }) {
		return c.fault("got %s, want %s", typeOf(v), strings.Join(n.types, " or "))
	}
	if n.enum != nil && !slices.ContainsFunc(n.enum, func(x any) bool { return equal(x, v) }) {
		ok = c.fault("want one of %s", listed(n.enum))
	}
	if n.constant != nil && !equal(n.constant[0], v) {
		ok = c.fault("want %s", listed(n.constant))
	}
	switch v := v.(type) {
	case json.Number:
		return c.number(n, v) && ok
	case string:
		return c.text(n, v) && ok
	}
	return ok
}

func (c *checker) number(n *node, v json.Number) bool {
	if n.multiple == nil && n.bounds == nil {
		return true
	}
	x, ok := rat(v)
	if !ok {
		return c.fault("want a number of at most %d digits", maxDigits)
	}
	if n.multiple != nil && !new(big.Rat).Quo(x, n.multiple).IsInt() {
		ok = c.fault("multipleOf: got %s, want a multiple of %s", v, shown(n.multiple))
	}
	for _, b := range n.bounds {
		if sign := x.Cmp(b.than); sign == b.sign || sign == 0 && b.exclusive {
			ok = c.fault("%s: got %s, want %s", b.name, v, shown(b.than))
		}
	}
	return ok
}

func (c *checker) text(n *node, v string) bool {
	ok := true
	if n.minLength >= 0 || n.maxLength >= 0 {
		length := utf8.RuneCountInString(v)
		ok = c.count("minLength", "maxLength", length, n.minLength, n.maxLength)
	}
	if n.pattern != nil && !n.pattern.MatchString(v) {
		ok = c.fault("the text does not match the pattern %.200q", n.pattern)
	}
	return ok
}

// count checks a number of things against two bounds.
func (c *checker) count(least, most string, n, from, to int) bool {
	ok := true
	if from >= 0 && n < from {
		ok = c.fault("%s: got %d, want %d", least, n, from)
	}
	if to >= 0 && n > to {
		ok = c.fault("%s: got %d, want %d", most, n, to)
	}
	return ok
}

func (c *checker) combined(n *node, v any, e *evaluated) bool {
	ok := true
	for _, s := range n.allOf {
		ok = c.here(s, v, e) && ok
	}
	if n.anyOf != nil && c.fitting(n.anyOf, v, e) == 0 {
		ok = c.fault("fits none of the %d alternatives of anyOf", len(n.anyOf))
	}
	if n.oneOf != nil {
		if k := c.fitting(n.oneOf, v, e); k != 1 {
			ok = c.fault("fits %d of the %d alternatives of oneOf, want 1", k, len(n.oneOf))
		}
	}
	if n.not != nil && c.fits(n.not, v, &evaluated{}) {
		ok = c.fault("fits what is excluded by not")
	}
	if n.condition != nil {
		branch := n.otherwise
		if c.fits(n.condition, v, e) {
			branch = n.then
		}
		ok = (branch == nil || c.here(branch, v, e)) && ok
	}
	return ok
}

// fitting returns how many alternatives a value fits.
func (c *checker) fitting(list []*node, v any, e *evaluated) (k int) {
	for _, s := range list {
		if c.fits(s, v, e) {
			k++
		}
	}
	return k
}

func (c *checker) array(n *node, v []any, e *evaluated) bool {
	ok := c.count("minItems", "maxItems", len(v), n.minItems, n.maxItems)
	if n.unique {
		ok = c.unique(v) && ok
	}
	for i, x := range v {
		switch {
		case i < len(n.prefix):
			ok = c.below(n.prefix[i], strconv.Itoa(i), x) && ok
		case n.items != nil:
			ok = c.below(n.items, strconv.Itoa(i), x) && ok
		}
	}
	e.items, e.allItems = max(e.items, min(len(v), len(n.prefix))), e.allItems || n.items != nil
	if n.contains != nil {
		ok = c.contains(n, v, e) && ok
	}
	if n.unevaluatedItems != nil {
		for i, x := range v {
			if !e.hasItem(i) {
				ok = c.below(n.unevaluatedItems, strconv.Itoa(i), x) && ok
			}
		}
		e.allItems = true
	}
	return ok
}

func (c *checker) contains(n *node, v []any, e *evaluated) bool {
	k := 0
	for i, x := range v {
		if c.fits(n.contains, x, &evaluated{}) {
			k++
			if c.track && n.containsEvaluates {
				e.index(i)
			}
		}
	}
	least := n.minContains
	if least < 0 {
		least = 1
	}
	return c.count("minContains", "maxContains", k, least, n.maxContains)
}

// unique compares elements by a text that is the same for equal values.
func (c *checker) unique(v []any) bool {
	seen := make(map[string]int, len(v))
	for i, x := range v {
		key := canonical(nil, x)
		if first, twice := seen[string(key)]; twice {
			return c.fault("items at %d and %d are equal", first, i)
		}
		seen[string(key)] = i
	}
	return true
}

func (c *checker) object(n *node, v map[string]any, e *evaluated) bool {
	ok := c.count("minProperties", "maxProperties", len(v), n.minProperties, n.maxProperties)
	var missing []string
	for _, name := range n.required {
		if _, there := v[name]; !there {
			missing = append(missing, quoted(name))
		}
	}
	if missing != nil {
		ok = c.fault("missing %s", plural(missing, "property", "properties"))
	}
	for _, d := range n.dependentRequired {
		if _, there := v[d.name]; !there {
			continue
		}
		for _, other := range d.needs {
			if _, there := v[other]; !there {
				ok = c.fault("missing property %s, which %s needs", quoted(other), quoted(d.name))
			}
		}
	}
	for _, d := range n.dependentSchemas {
		if _, there := v[d.name]; there {
			ok = c.here(d.node, v, e) && ok
		}
	}
	return c.members(n, v, e) && ok
}

func (c *checker) members(n *node, v map[string]any, e *evaluated) bool {
	if len(n.properties) == 0 && n.patterns == nil && n.additional == nil && n.propertyNames == nil && n.unevaluatedProperties == nil {
		return true
	}
	ok := true
	var more []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if n.propertyNames != nil && !c.fits(n.propertyNames, name, &evaluated{}) {
			ok = c.fault("invalid name of a property: %s", quoted(name))
		}
		known := false
		if s := n.properties[name]; s != nil {
			known, ok = true, c.below(s, name, v[name]) && ok
		}
		for _, p := range n.patterns {
			if p.re.MatchString(name) {
				known, ok = true, c.below(p.node, name, v[name]) && ok
			}
		}
		switch {
		case known:
		case n.additional != nil && n.additional.never:
			more = append(more, quoted(name))
		case n.additional != nil:
			known, ok = true, c.below(n.additional, name, v[name]) && ok
		}
		if known && c.track {
			e.name(name)
		}
	}
	if more != nil {
		ok = c.fault("additional %s not allowed", plural(more, "properties", "properties"))
	}
	if n.unevaluatedProperties != nil {
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !e.names[name] {
				ok = c.below(n.unevaluatedProperties, name, v[name]) && ok
				e.name(name)
			}
		}
	}
	return ok
}
