package sotto

import (
	"cmp"
	"errors"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/prompttext"
)

// maxGroups bounds the families of a dialect.
const maxGroups = 21

// A Grammar is a compiled [dialect.Dialect]. It is safe for concurrent use.
type Grammar struct {
	d dialect.Dialect

	names  []nameInfo // one per name of a marker, by name id
	groups []group    // reasoning families, and each other kind of block
	lex    lexTables

	header      *header
	headerGroup int8 // the group of its tokens, or -1 if there is no header
	outputs     outputKinds
	closes      closes
	tools       watch

	code, stray                    bool
	nest                           bool // openers inside reasoning count (G6)
	closeFamily, deliver, preOpens bool
	leading, anywhere              bool
	afterToolReasoning, once       bool
	asideBetween                   bool
	firstReasoning                 int16 // name id, or -1

	reasoningGroups uint32 // bit per group
	orphans         bool   // a close may settle an undecided start

	parsers sync.Pool // splitters that Parse has finished with
}

// A group is a family: the markers of one role whose closes may stand in for each
// other.
type group struct {
	role   dialect.Role
	phrase bool
	closes bool // its blocks have closes
	number int8 // of an output family, from 0
}

// outputKinds are the output markers of all families, by kind.
type outputKinds struct{ open, close, empty watch }

// maxOutputFamilies bounds how many output openers a scratch pad remembers.
const maxOutputFamilies = 4

// closes are the kinds of closes by role.
type closes struct{ all, phrase, reasoning, narration, output, wrapper, header watch }

// setCloses collects the closes of the groups.
func (g *Grammar) setCloses() {
	c := &g.closes
	of := map[dialect.Role]*watch{
		dialect.RoleReasoning: &c.reasoning, dialect.RoleNarration: &c.narration, dialect.RoleOutput: &c.output,
		dialect.RoleWrapper: &c.wrapper, "header": &c.header,
	}
	for i, gr := range g.groups {
		w := watching(int8(i), asClose)
		c.all |= w
		if gr.phrase {
			c.phrase |= w
		}
		if to := of[gr.role]; to != nil {
			*to |= w
		}
	}
}

type nameInfo struct {
	name    string
	role    dialect.Role
	group   int8
	special bool
	phrase  bool
	rescue  bool
	tag     bool
	bit     uint64
}

// A watch is a set of marker kinds, three bits per group.
type watch uint64

const (
	asOpen watch = 1 << iota
	asClose
	asEmpty
	asAny = asOpen | asClose | asEmpty
)

func watching(group int8, kinds watch) watch { return kinds << (3 * uint(group)) }

const (
	watchAll  = ^watch(0)
	allOpens  = watch(0o111111111111111111111)
	allCloses = allOpens << 1
)

// MustCompile is Compile for dialects known to be valid; it panics on an error.
func MustCompile(d dialect.Dialect) *Grammar {
	g, err := Compile(d)
	if err != nil {
		panic(err)
	}
	return g
}

// A compileError says why a dialect makes no grammar.
type compileError struct {
	dialect, part string
	err           error
}

func (e *compileError) Error() string {
	return "dialect " + strconv.Quote(e.dialect) + ": " + e.part + e.err.Error()
}

func (e *compileError) Unwrap() error { return e.err }

// Compile checks a dialect and makes a grammar of it. The error names the field.
func Compile(d dialect.Dialect) (*Grammar, error) {
	if err := d.Check(); err != nil {
		return nil, &compileError{dialect: d.Name, err: err}
	}
	return compile(d)
}

// compile makes a grammar of a dialect that was checked.
func compile(d dialect.Dialect) (*Grammar, error) {
	g := &Grammar{d: d.WithDefaults(), headerGroup: -1, firstReasoning: -1}
	d = g.d
	g.code, g.stray, g.nest = *d.Code, *d.Stray, slices.ContainsFunc(d.Markers, func(m dialect.Marker) bool { return m.Tag != "" })
	g.closeFamily, g.deliver, g.preOpens = d.Close == dialect.CloseFamily, d.OnDoubt == dialect.DoubtDeliver, d.PreOpens == dialect.PreOpensYes
	g.leading = d.Placement == dialect.PlacementLeading
	g.anywhere = d.Output == dialect.PlacementAnywhere && slices.ContainsFunc(d.Markers, func(m dialect.Marker) bool { return m.Role == dialect.RoleOutput })
	g.afterToolReasoning, g.once = d.AfterTool == dialect.RoleReasoning, d.Once
	b := lexBuilder{g: g}
	byFamily := map[string]int8{}
	for i, m := range d.Markers {
		gi, err := g.groupOf(m, byFamily)
		if err != nil {
			return nil, &compileError{dialect: d.Name, part: "markers[" + strconv.Itoa(i) + "]: ", err: err}
		}
		id := int16(len(g.names))
		g.names = append(g.names, nameInfo{
			name: m.Block(), role: m.Role, group: gi, special: m.Special, phrase: m.Phrase,
			rescue: m.Rescue, tag: m.Tag != "", bit: 1 << (uint(id) & 63),
		})
		g.orphans = g.orphans || mayBeOrphan(&d, m)
		g.groups[gi].phrase = g.groups[gi].phrase || m.Phrase
		g.groups[gi].closes = g.groups[gi].closes || m.Tag != "" || len(m.Close) > 0
		if m.Role == dialect.RoleReasoning && g.firstReasoning < 0 {
			g.firstReasoning = id
		}
		if m.Tag != "" {
			b.addTag(m.Tag, id)
			continue
		}
		for _, s := range m.Open {
			b.addLiteral(s, id, kindOpen)
		}
		for _, s := range m.Close {
			b.addLiteral(s, id, kindClose)
		}
	}
	if len(g.names) > 64 {
		return nil, &compileError{dialect: d.Name, part: "markers: ", err: errors.New(strconv.Itoa(len(g.names)) + " are more than 64")}
	}
	if d.Header != nil {
		if err := g.addHeader(&b); err != nil {
			return nil, &compileError{dialect: d.Name, part: "header: ", err: err}
		}
	}
	g.setCloses()
	b.build()
	return g, nil
}

func (g *Grammar) groupOf(m dialect.Marker, byFamily map[string]int8) (int8, error) {
	key := string(m.Role) + ":" + cmp.Or(m.Family, m.Block())
	if gi, ok := byFamily[key]; ok {
		return gi, nil
	}
	gi, err := g.newGroup(m.Role)
	if err != nil {
		return 0, err
	}
	byFamily[key] = gi
	switch m.Role {
	case dialect.RoleReasoning:
		g.reasoningGroups |= 1 << uint(gi)
	case dialect.RoleOutput:
		g.groups[gi].number = int8(bits.OnesCount64(uint64(g.outputs.open)))
		g.outputs.open |= watching(gi, asOpen)
		g.outputs.close |= watching(gi, asClose)
		g.outputs.empty |= watching(gi, asEmpty)
	case dialect.RoleTool:
		g.tools |= watching(gi, asOpen)
	}
	return gi, nil
}

func (g *Grammar) newGroup(r dialect.Role) (int8, error) {
	if len(g.groups) == maxGroups {
		return 0, errors.New("more than " + strconv.Itoa(maxGroups) + " families: give markers of one block the same family")
	}
	g.groups = append(g.groups, group{role: r})
	return int8(len(g.groups) - 1), nil
}

// mayBeOrphan reports whether a close of a marker may settle an undecided start (G8).
// A phrase's may not; nor may one that has the bytes of a wrapper's marker, since the
// wrapper counts there.
func mayBeOrphan(d *dialect.Dialect, m dialect.Marker) bool {
	if m.Role != dialect.RoleReasoning || m.Phrase {
		return false
	}
	own := func(text string) bool {
		return !slices.ContainsFunc(d.Markers, func(w dialect.Marker) bool {
			return w.Role == dialect.RoleWrapper && (slices.Contains(w.Open, text) || slices.Contains(w.Close, text))
		})
	}
	return m.Tag != "" || slices.ContainsFunc(m.Close, own)
}

func (g *Grammar) addHeader(b *lexBuilder) error {
	gi, err := g.newGroup("header")
	if err != nil {
		return err
	}
	g.header, g.headerGroup, g.orphans = (*header)(g.d.Header), gi, g.orphans || len(g.d.Header.End) > 0
	g.asideBetween = g.header.Between == dialect.RoleAside
	id := int16(len(g.names))
	g.names = append(g.names, nameInfo{name: "header", role: "header", group: gi})
	for _, s := range g.header.Begin {
		b.addLiteral(s, id, kindOpen)
	}
	for _, s := range g.header.End {
		b.addLiteral(s, id, kindClose)
	}
	return nil
}

// Dialect returns the dialect with its defaults filled in.
func (g *Grammar) Dialect() dialect.Dialect { return g.d }

// A place is a Beginning resolved against a grammar.
type place struct {
	auto   bool
	inBody bool  // in the body of a header
	name   int16 // the open reasoning block, or -1
	header string
}

func (g *Grammar) place(s Beginning) (place, error) {
	p := place{name: -1}
	if s == "" {
		s = Beginning(g.d.Start)
	}
	switch s {
	case BeginOutside:
		return p, nil
	case BeginAuto:
		p.auto = true
		return p, nil
	case BeginInsideFirst:
		if g.firstReasoning >= 0 {
			p.name = g.firstReasoning
			return p, nil
		}
		if g.header != nil {
			for _, name := range sortedKeys(g.header.Channels) {
				if name != "" && g.header.Channels[name] == dialect.RoleReasoning {
					return place{name: -1, header: name, inBody: true}, nil
				}
			}
		}
		return p, errors.New("start " + strconv.Quote(string(s)) + ": dialect " + strconv.Quote(g.d.Name) + " has no reasoning block")
	}
	name, ok := strings.CutPrefix(string(s), "inside:")
	if !ok {
		return p, errors.New("start " + strconv.Quote(string(s)) + ": want outside, auto, inside or inside:NAME")
	}
	for id, n := range g.names {
		if n.role == dialect.RoleReasoning && (n.name == name || n.tag && prompttext.Lower(n.name) == prompttext.Lower(name)) {
			p.name = int16(id)
			return p, nil
		}
	}
	if g.header != nil {
		if _, ok := g.header.Channels[name]; ok && name != "" {
			return place{name: -1, header: name, inBody: true}, nil
		}
	}
	return p, errors.New("start " + strconv.Quote(string(s)) + ": dialect " + strconv.Quote(g.d.Name) + " has no reasoning block " + strconv.Quote(name) +
		"; it has " + strings.Join(g.insideNames(), ", "))
}

func (g *Grammar) insideNames() []string {
	var names []string
	for _, n := range g.names {
		if n.role == dialect.RoleReasoning {
			names = append(names, n.name)
		}
	}
	if g.header != nil {
		for _, name := range sortedKeys(g.header.Channels) {
			if name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// sortedKeys returns the few names of a part of a dialect in order. It keeps a general sort,
// and its 30 KB, out of the module for WebAssembly.
func sortedKeys[V any](m map[string]V) (keys []string) {
	for k := range m {
		at, _ := slices.BinarySearch(keys, k)
		keys = slices.Insert(keys, at, k)
	}
	return keys
}
