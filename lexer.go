package sotto

import (
	"bytes"
	"strings"
)

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
func (t token) found() bool { return t.end > 0 }

func (t token) watch() watch { return watching(t.group, asOpen<<t.kind) }

// tagState is the state of a tag slot; the caret shows the position.
type tagState uint8

const (
	tagOff       tagState = iota
	tagStart              // <^think a="b"/>      white space may follow
	tagSlash              // </^think>            white space may follow
	tagName               // <thi^nk>
	tagSpace              // <think ^a="b">       after the name or a value, and white space
	tagAttr               // <think a^="b">
	tagEquals             // <think a=^"b">
	tagBare               // <think a=b^ c=d>
	tagBareSlash          // <think a=b/^>        the slash is the value's unless > follows
	tagLoneSlash          // <think a=/^>         no value if > follows: no marker
	tagDouble             // <think a="^b">
	tagSingle             // <think a='^b'>
	tagQuoted             // <think a="b"^>
	tagEnd                // <think/^>
	tagDone               // <think>^
)

// tagLeft is the least number of bytes that a tag in a state still needs after
// the name.
var tagLeft = [...]int{tagSpace: 1, tagAttr: 3, tagEquals: 2, tagBare: 1, tagBareSlash: 1,
	tagLoneSlash: 2, tagDouble: 2, tagSingle: 2, tagQuoted: 1, tagEnd: 1}

// A tagSlot is a tag being read.
type tagSlot struct {
	start  int
	state  tagState
	close  bool // a slash before the name
	upper  bool // the name has an upper-case letter
	before byte
	node   int32 // in the trie of names
}

// byteKind says what a byte could do to the reading.
type byteKind uint8

const (
	mayOpen     byteKind = 1 << iota // may begin a marker
	mayTick                          // may begin a run or a fence
	mayTilde                         // may begin a fence
	mayNewline                       // may end a line
	mayNonSpace                      // is not white space
	anyByte
	anyKind = ^byteKind(0)
)

// fewBytes is the length up to which looking at each byte is cheaper than a search.
const fewBytes = 32

type byteKinds [256]byteKind

// of returns the kinds of the bytes of b.
func (t *byteKinds) of(b []byte) byteKind {
	k := byteKind(0)
	for _, c := range b {
		k |= t[c]
	}
	return k
}

// kindsOf returns what byte c could do; first says that a marker may begin with it.
func kindsOf(c byte, first bool) byteKind {
	k := anyByte
	if first {
		k |= mayOpen
	}
	if !isSpace(c) {
		k |= mayNonSpace
	}
	switch c {
	case '`':
		k |= mayTick
	case '~':
		k |= mayTilde
	case '\n':
		k |= mayNewline
	}
	return k
}

type tagNode struct {
	next   [256]int32 // by lower-cased byte, 0 for none
	name   int16      // the name that ends here, or -1
	groups watch      // kinds of the names at and below this node
	left   int        // least number of bytes to the end of a name
}

type literalNode struct {
	next   [256]int32 // complete transitions
	fail   int32
	depth  int32
	out    []literalOut // what ends here, longest first
	within watch        // kinds of the literals that this is a proper prefix of
}

type literalOut struct {
	name  int16
	group int8
	kind  tokenKind
	trail uint16
	lead  uint16
	size  int32
}

// lexTables are the compiled markers of a dialect.
type lexTables struct {
	first     [256]bool // bytes at which a marker may start
	kinds     byteKinds
	follow    [256]nextBytes // by the byte after a marker's first byte and its leads
	leads     bool           // a marker consists only of these
	firsts    []byte
	tags      []tagNode // nil without tags
	literals  []literalNode
	attrs     []bool // by name: attributes are allowed
	groupOf   []int8 // by name
	maxMarker int
}

type literalMarker struct {
	text string
	out  literalOut
}

type lexBuilder struct {
	g        *Grammar
	literals []literalMarker
	tagIDs   map[string]int16
}

func (b *lexBuilder) addTag(name string, id int16) {
	if b.tagIDs == nil {
		b.tagIDs = map[string]int16{}
	}
	b.tagIDs[asciiLower(name)] = id
}

// addLiteral adds a literal once for each number of its optional leading newlines.
func (b *lexBuilder) addLiteral(s string, id int16, kind tokenKind) {
	core := strings.TrimLeft(s, "\n")
	lead := len(s) - len(core)
	core = strings.TrimRight(core, "\n")
	trail := len(s) - lead - len(core)
	if core == "" { // only newlines: they are the marker itself
		core, lead, trail = s, 0, 0
	}
	for k := 0; k <= lead; k++ {
		text := strings.Repeat("\n", k) + core
		b.literals = append(b.literals, literalMarker{text, literalOut{
			name: id, group: b.g.names[id].group, kind: kind, trail: uint16(trail), lead: uint16(k), size: int32(len(text)),
		}})
	}
}

func (b *lexBuilder) build() {
	t := &b.g.lex
	t.maxMarker = b.g.d.MaxMarker
	t.attrs = make([]bool, len(b.g.names))
	t.groupOf = make([]int8, len(b.g.names))
	for i, n := range b.g.names {
		t.attrs[i] = n.role == RoleReasoning
		t.groupOf[i] = n.group
	}
	b.buildTags(t)
	b.buildLiterals(t)
	for c := range 256 {
		t.kinds[c] = kindsOf(byte(c), t.first[c])
		if mayLead(byte(c)) {
			t.follow[c] = anyNext
		}
		if t.tags != nil {
			if n := t.tags[0].next[lowerByte(byte(c))]; n != 0 {
				t.follow[c] |= t.tags[n].nexts()
			}
		}
		if t.first[c] {
			t.firsts = append(t.firsts, byte(c))
		}
	}
}

func (b *lexBuilder) buildTags(t *lexTables) {
	if len(b.tagIDs) == 0 {
		return
	}
	t.first['<'] = true
	t.tags = []tagNode{{name: -1, left: t.maxMarker}}
	for _, name := range sortedKeys(b.tagIDs) {
		id := b.tagIDs[name]
		kinds := watching(b.g.names[id].group, asAny)
		at := int32(0)
		t.tags[0].groups |= kinds
		t.tags[0].left = min(t.tags[0].left, len(name))
		for i := range len(name) {
			c := name[i]
			n := t.tags[at].next[c]
			if n == 0 {
				n = int32(len(t.tags))
				t.tags[at].next[c] = n
				t.tags = append(t.tags, tagNode{name: -1, left: len(name)})
			}
			at = n
			t.tags[at].groups |= kinds
			t.tags[at].left = min(t.tags[at].left, len(name)-i-1)
		}
		t.tags[at].name = id
	}
}

func (b *lexBuilder) buildLiterals(t *lexTables) {
	if len(b.literals) == 0 {
		return
	}
	t.literals = []literalNode{{}}
	for _, l := range b.literals {
		t.first[l.text[0]] = true
		t.addFollow(l.text)
		at := int32(0)
		for i := range len(l.text) {
			t.literals[at].within |= watching(l.out.group, asOpen<<l.out.kind)
			c := l.text[i]
			n := t.literals[at].next[c]
			if n == 0 {
				n = int32(len(t.literals))
				t.literals[at].next[c] = n
				t.literals = append(t.literals, literalNode{depth: int32(i + 1)})
			}
			at = n
		}
		t.literals[at].out = append(t.literals[at].out, l.out)
	}
	t.link()
}

// addFollow records how a literal may continue after its first byte and leads.
func (t *lexTables) addFollow(text string) {
	i := 1
	for i < len(text) && mayLead(text[i]) {
		i++
	}
	switch len(text) - i {
	case 0:
		t.leads = true
		for c := range t.follow {
			t.follow[c] = anyNext
		}
	case 1:
		t.follow[text[i]] = anyNext
	default:
		t.follow[text[i]] |= 1 << (text[i+1] & 31)
	}
}

// link sets the failure links, breadth first, and completes the transitions.
func (t *lexTables) link() {
	queue := []int32{}
	for _, n := range t.literals[0].next {
		if n != 0 {
			queue = append(queue, n)
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		node := &t.literals[at]
		fail := &t.literals[node.fail]
		node.out = append(node.out, fail.out...)
		for c := range 256 {
			n := node.next[c]
			if n == 0 {
				node.next[c] = fail.next[c]
				continue
			}
			t.literals[n].fail = fail.next[c]
			queue = append(queue, n)
		}
	}
}

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

// maxLead is how many bytes failsAtOnce looks beyond.
const maxLead = 4

// mayLead reports whether c may stand between a tag's first byte and its name.
func mayLead(c byte) bool { return c == '/' || c == ' ' || c == '\t' }

// nextBytes are the bytes that may follow one, in 32 classes. The two cases of a
// letter share a class.
type nextBytes uint32

const anyNext = ^nextBytes(0)

// nexts returns the bytes that may follow the first byte of a name, whose node is n.
func (n *tagNode) nexts() nextBytes {
	if n.name >= 0 {
		return anyNext
	}
	var k nextBytes
	for c, to := range n.next {
		if to != 0 {
			k |= 1 << (c & 31)
		}
	}
	return k
}

// failsAtOnce returns how many bytes at the start of b, which may start a marker,
// can be skipped at once because the form fails directly after them (a < b, </ul>,
// <td>). It returns 0 if the form may live. cut reports that b ended too soon to
// tell.
func (t *lexTables) failsAtOnce(b []byte) (k int, cut bool) {
	i := 1
	for i < len(b) && i < maxLead && mayLead(b[i]) && !t.first[b[i]] {
		i++
	}
	if i == len(b) {
		return 0, !t.leads
	}
	next := t.follow[b[i]]
	switch {
	case t.first[b[i]]:
		return 0, false
	case next == 0:
		return i, false
	case i+1 == len(b):
		return 0, next != anyNext
	case next>>(b[i+1]&31)&1 != 0 || t.first[b[i+1]]:
		return 0, false
	}
	return i + 1, false
}

// firstViable returns the offset of the first form in b that does not fail at
// once, or len(b); cut reports that b ended too soon to tell.
func (t *lexTables) firstViable(b []byte) (at int, cut bool) {
	for at = t.nextFirst(b); at < len(b); {
		k, cut := t.failsAtOnce(b[at:])
		if k == 0 {
			return at, cut
		}
		at += k
		at += t.nextFirst(b[at:])
	}
	return at, false
}

// nextFirst returns the offset of the first byte that may start a marker, or len(b).
func (t *lexTables) nextFirst(b []byte) int {
	if len(t.firsts) == 0 {
		return len(b)
	}
	if len(b) < 16 || len(t.firsts) > 3 {
		for i, c := range b {
			if t.first[c] {
				return i
			}
		}
		return len(b)
	}
	n := len(b)
	for _, c := range t.firsts {
		if i := bytes.IndexByte(b[:n], c); i >= 0 {
			n = i
		}
	}
	return n
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

// nextState returns the state of a tag after byte c, or tagOff if it fails.
func (t *lexTables) nextState(s *tagSlot, c byte) tagState {
	switch s.state {
	case tagStart, tagSlash:
		switch {
		case c == ' ' || c == '\t':
			return s.state
		case c == '/' && s.state == tagStart:
			s.close = true
			return tagSlash
		}
		return t.inName(s, c)
	case tagName:
		if st := t.inName(s, c); st != tagOff || t.tags[s.node].name < 0 {
			return st
		}
		return afterWord(c)
	case tagSpace:
		if isAttrStart(c) && !s.close && t.attrs[t.tags[s.node].name] {
			return tagAttr
		}
		return afterWord(c)
	case tagQuoted:
		return afterWord(c)
	case tagAttr:
		if c == '=' {
			return tagEquals
		}
		if isAttrStart(c) || c >= '0' && c <= '9' || c == '.' || c == '-' {
			return tagAttr
		}
	case tagEquals, tagBare, tagBareSlash, tagLoneSlash:
		return inValue(s.state, c)
	case tagDouble:
		if c == '"' {
			return tagQuoted
		}
		return tagDouble
	case tagSingle:
		if c == '\'' {
			return tagQuoted
		}
		return tagSingle
	case tagEnd:
		if c == '>' {
			return tagDone
		}
	}
	return tagOff
}

func (t *lexTables) inName(s *tagSlot, c byte) tagState {
	lower := lowerByte(c)
	s.upper = s.upper || lower != c
	n := t.tags[s.node].next[lower]
	if n == 0 {
		return tagOff
	}
	s.node = n
	return tagName
}

// afterWord is the state after byte c once the name or a value has ended.
func afterWord(c byte) tagState {
	switch {
	case c == '>':
		return tagDone
	case c == '/':
		return tagEnd
	case isSpace(c):
		return tagSpace
	}
	return tagOff
}

// inValue is the state after byte c from the equals sign through a bare value.
func inValue(st tagState, c byte) tagState {
	switch {
	case c == '"' && st == tagEquals:
		return tagDouble
	case c == '\'' && st == tagEquals:
		return tagSingle
	case c == '>' && (st == tagBare || st == tagBareSlash):
		return tagDone
	case isSpace(c) && st != tagEquals:
		return tagSpace
	case c == '/' && st == tagEquals:
		return tagLoneSlash
	case c == '/':
		return tagBareSlash
	case isSpace(c), c == '"', c == '\'', c == '`', c == '<', c == '>':
		return tagOff
	}
	return tagBare
}

// left returns the least number of bytes that a tag still needs.
func (t *lexTables) left(s *tagSlot) int {
	if s.state <= tagName {
		return t.tags[s.node].left + 1
	}
	return tagLeft[s.state]
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

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func isAttrStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == ':'
}
