package sotto

// The lexer finds marker forms in the raw bytes and looks at each byte once. It
// knows nothing of states. It reports every place where a marker's form stands,
// also inside another form's quoted value, and the reader takes the first one
// that its state watches.
//
// Two machines run side by side. An Aho–Corasick automaton finds literal markers.
// Three slots find tags: a `<` is never valid in a tag outside a quoted value, so
// at most one tag can be open outside quotes, one in double quotes and one in
// single quotes.

type tokenKind uint8

const (
	kindOpen tokenKind = iota
	kindClose
	kindEmpty // <think/>
)

// A token is a marker's form: bytes [start, end) of the reply.
type token struct {
	start, end int
	name       int16
	group      int8
	kind       tokenKind
	trail      uint16 // optional newlines that may follow and belong to it
	lead       uint16 // newlines at its start without which it would be a marker too
}

// found reports whether t is a token. The zero token stands for a search without a
// result.
func (t *token) found() bool { return t.end > 0 }

func (t *token) watch() watch { return watching(t.group, asOpen<<t.kind) }

// A lexer is the state of one reply's lexing.
type lexer struct {
	t       *lexTables
	slots   [3]tagSlot // outside quotes, in double, in single
	live    bool       // some slot or the literal automaton is under way
	literal int32
	last    byte // the byte before the next one, or 0
	count   int  // bytes looked at

	// breaks are the states just before a byte that may start a marker while
	// another form was under way: a block removed there may splice that form.
	breaks []lexBreak
}

type lexBreak struct {
	at      int
	slots   [3]tagSlot
	literal int32
}

func (x *lexer) reset(t *lexTables) { *x = lexer{t: t, breaks: x.breaks[:0]} }

// run looks at chunk, whose first byte is byte base of the reply, and calls
// found for every marker form that ends in it, in the order of their ends.
func (x *lexer) run(chunk []byte, base int, found func(token)) {
	i := 0
	for i < len(chunk) {
		if !x.live {
			skip, _ := x.t.firstViable(chunk[i:])
			x.count += skip
			i += skip
			if i == len(chunk) {
				break
			}
			if i > 0 {
				x.last = chunk[i-1]
			}
		}
		x.step(chunk[i], base+i, found)
		x.last = chunk[i]
		i++
	}
	if len(chunk) > 0 {
		x.last = chunk[len(chunk)-1]
	}
}

// restart drops what is under way and reads b, the first bytes of a form; before is the byte before them.
func (x *lexer) restart(b []byte, base int, before byte, found func(token)) {
	x.end()
	x.last = before
	x.run(b, base, found)
}

func (x *lexer) step(c byte, at int, found func(token)) {
	x.count++
	if x.live && x.t.first[c] {
		x.breaks = append(x.breaks, lexBreak{at, x.slots, x.literal})
	}
	x.live = false
	if x.t.literals != nil {
		x.literal = x.t.literals[x.literal].next[c]
		if x.literal != 0 {
			x.live = true
			x.literalEnds(at, found)
		}
	}
	if x.t.tags == nil {
		return
	}
	for i := range x.slots {
		s := &x.slots[i]
		if s.state == tagOff {
			continue
		}
		wasEmpty := s.state == tagEnd || s.state == tagBareSlash
		s.state = x.t.nextState(s, c)
		if s.state == tagDone {
			s.state = tagOff
			x.tagEnds(s, wasEmpty, at, found)
		} else if s.state != tagOff && at+1-s.start+x.t.left(s) > x.t.maxMarker {
			s.state = tagOff
		}
	}
	if st := x.slots[0].state; x.slots[1].state|x.slots[2].state != tagOff || st == tagDouble || st == tagSingle {
		x.sortSlots()
	}
	if c == '<' && x.slots[0].state == tagOff {
		x.slots[0] = tagSlot{start: at, state: tagStart, before: x.last}
	}
	x.live = x.live || x.slots[0].state|x.slots[1].state|x.slots[2].state != tagOff
}

// sortSlots moves a tag that entered or left quotes to its new slot. At a quote
// one tag may enter quotes while another leaves them.
func (x *lexer) sortSlots() {
	enters := x.slots[0]
	for i := 1; i < 3; i++ {
		if x.slots[i].state == tagQuoted {
			x.slots[0], x.slots[i].state = x.slots[i], tagOff
		}
	}
	switch enters.state {
	case tagDouble:
		x.slots[1] = enters
	case tagSingle:
		x.slots[2] = enters
	default:
		return
	}
	if x.slots[0].state == enters.state {
		x.slots[0].state = tagOff
	}
}

func (x *lexer) tagEnds(s *tagSlot, empty bool, at int, found func(token)) {
	kind := kindOpen
	switch {
	case s.close:
		kind = kindClose
	case empty:
		kind = kindEmpty
	}
	// A type parameter, as in List<Thought>, is not a marker.
	if !s.close && s.upper && (isAlnum(s.before) || s.before == '_') {
		return
	}
	name := x.t.tags[s.node].name
	found(token{start: s.start, end: at + 1, name: name, group: x.t.groupOf[name], kind: kind})
}

func (x *lexer) literalEnds(at int, found func(token)) {
	for _, o := range x.t.literals[x.literal].out {
		found(token{start: at + 1 - int(o.size), end: at + 1, name: o.name, group: o.group, kind: o.kind, trail: o.trail, lead: o.lead})
	}
}

// frontier returns the start of the first form under way, at byte from or later,
// that could become a marker of w, or -1. next is the offset of the next byte.
func (x *lexer) frontier(from, next int, w watch) int {
	first := -1
	if !x.live {
		return first
	}
	for i := range x.slots {
		s := &x.slots[i]
		if s.state == tagOff || s.start < from || first >= 0 && s.start > first {
			continue
		}
		kinds := x.t.tags[s.node].groups
		if s.close {
			kinds &= allCloses
		} else if s.state != tagStart {
			kinds &^= allCloses
		}
		if kinds&w != 0 {
			first = s.start
		}
	}
	for n := x.literal; n != 0; n = x.t.literals[n].fail {
		start := next - int(x.t.literals[n].depth)
		if start < from || first >= 0 && start > first {
			continue
		}
		if x.t.literals[n].within&w != 0 {
			return start
		}
	}
	return first
}

// cover returns the start of the opener of t's group in whose quoted value t
// would lie or end, or -1.
func (x *lexer) cover(t token) int {
	for i := 1; i < 3; i++ {
		s := &x.slots[i]
		if s.state != tagOff && s.start <= t.start && !s.close && x.t.groupOf[x.t.tags[s.node].name] == t.group {
			return s.start
		}
	}
	return -1
}

// reads reports whether the tag that begins at byte start is under way.
func (x *lexer) reads(start int) bool {
	for i := range x.slots {
		if x.slots[i].state != tagOff && x.slots[i].start == start {
			return true
		}
	}
	return false
}

// end drops every form under way: the reply is over.
func (x *lexer) end() {
	x.slots = [3]tagSlot{}
	x.literal, x.live = 0, false
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
