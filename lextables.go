package sotto

import (
	"math/bits"
	"strings"

	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/bytescan"
	"github.com/sotto-llm/sotto/internal/base/prompttext"
)

// lexTables are the compiled markers of a dialect.
type lexTables struct {
	first     [256]bool // bytes at which a marker may start
	kinds     byteKinds
	follow    [256]nextBytes  // by the byte after a marker's first byte and its leads
	leads     bool            // a marker consists only of these
	forms     *bytescan.Forms // nil without markers
	tags      []tagNode       // nil without tags
	literals  []literalNode
	attrs     []bool // by name: attributes are allowed
	groupOf   []int8 // by name
	maxMarker int
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
	b.tagIDs[prompttext.Lower(name)] = id
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
		t.attrs[i] = n.role == dialect.RoleReasoning
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
	}
	t.buildForms()
}

// buildForms says which three bytes may begin a marker, by failsAtOnce.
func (t *lexTables) buildForms() {
	var firsts, seconds []byte
	for c := range 256 {
		if t.first[c] {
			firsts = append(firsts, byte(c))
		}
		if t.first[c] || t.follow[c] != 0 {
			seconds = append(seconds, byte(c))
		}
	}
	if len(firsts) > 0 {
		t.forms = bytescan.NewForms(firsts, seconds, func(b, c byte) bool {
			k, _ := t.failsAtOnce([]byte{firsts[0], b, c})
			return k == 0
		})
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
	for at = t.nextForm(b); at < len(b); {
		k, cut := t.failsAtOnce(b[at:])
		if k == 0 {
			return at, cut
		}
		at += k
		at += t.nextForm(b[at:])
	}
	return at, false
}

// firstViableIn is firstViable for a block, given where forms may begin in it.
func (t *lexTables) firstViableIn(b []byte, mask uint64) (at int, cut bool) {
	for ; mask != 0; mask &= mask - 1 {
		at = bits.TrailingZeros64(mask)
		if !t.first[b[at]] {
			continue
		}
		if k, cut := t.failsAtOnce(b[at:]); k == 0 {
			return at, cut
		}
	}
	return len(b), false
}

// nextForm returns the offset of the first byte that may start a marker, or len(b).
func (t *lexTables) nextForm(b []byte) int {
	if t.forms == nil {
		return len(b)
	}
	return t.forms.Next(b)
}
