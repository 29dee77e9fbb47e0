package dialect

import "strings"

// A literalUse is a literal string of a dialect and what it is used for.
type literalUse struct {
	path   string // its key in a dialect file
	text   string // as it is written
	marker int    // its index, -1 for a header's token
	role   Role
	open   bool
}

// core is the part of the string that must be present: newlines at its ends are optional.
func (u literalUse) core() string { return strings.Trim(u.text, "\n") }

// literals returns the literal strings that a reading looks for, in order.
func (d Dialect) literals() []literalUse {
	var list []literalUse
	add := func(path string, texts []string, u literalUse) {
		for i, s := range texts {
			u.path, u.text = element(path, i), s
			list = append(list, u)
		}
	}
	for i, m := range d.Markers {
		path := element("markers", i)
		add(path+".open", m.Open, literalUse{marker: i, role: m.Role, open: true})
		add(path+".close", m.Close, literalUse{marker: i, role: m.Role})
	}
	if d.Header != nil {
		add("header.begin", d.Header.Begin, literalUse{marker: -1, open: true})
		add("header.end", d.Header.End, literalUse{marker: -1})
	}
	return list
}

// checkLiterals refuses literals that are ambiguous, and literals that could also be
// code.
func (d Dialect) checkLiterals() error {
	seen := map[string][]literalUse{}
	code := d.Code == nil && d.hasTags() || d.Code != nil && *d.Code
	for _, u := range d.literals() {
		core := u.core()
		switch {
		case code && strings.Contains(core, "`"):
			return badField(u.path, quote(u.text), " holds a back-tick, which begins code: remove the back-tick, or write \"code\": false")
		case code && strings.HasPrefix(strings.TrimLeft(core, " \t"), "~"):
			return badField(u.path, quote(u.text), " begins like a code fence: remove the tildes, or write \"code\": false")
		}
		if tag := d.tagOf(core); tag != "" {
			return badField(u.path, quote(u.text), " is a form of the tag ", quote(tag), ": leave it out, the tag is read in every form")
		}
		for _, other := range seen[core] {
			if err := u.clash(other); err != nil {
				return err
			}
		}
		seen[core] = append(seen[core], u)
	}
	return nil
}

// clash reports whether two uses of the same bytes conflict. A wrapper, a
// reasoning block and a tool call may end alike (the token that ends a message):
// the open block tells the closes apart. A wrapper may also begin with the token
// that ends another block, since a wrapper's markers are markup wherever they stand.
func (u literalUse) clash(other literalUse) error {
	messages := func(u literalUse) bool {
		return u.role == RoleWrapper || !u.open && (u.role == RoleReasoning || u.role == RoleTool)
	}
	switch {
	case other.marker == u.marker && u.open != other.open:
		return badField(u.path, quote(u.text), " opens the block too: an opener and a close must differ")
	case other.marker == u.marker:
		return badField(u.path, quote(u.text), " equals ", other.path, ", except for newlines at the ends: write it once")
	case !(u.open && other.open) && u.text == other.text && u.role != other.role && messages(u) && messages(other):
		return nil
	}
	return badField(u.path, quote(u.text), " equals ", other.path, ": ", u.remedy(other))
}

// remedy says what to do about two markers that share a literal.
func (u literalUse) remedy(other literalUse) string {
	switch {
	case u.open != other.open:
		return "remove one, an opener cannot also end a block"
	case u.marker >= 0 && other.marker >= 0 && u.role == other.role:
		return "write the two as one marker with both openers"
	case u.open:
		return "remove one, an opener begins one kind of block"
	}
	return "give one of the two another close"
}
