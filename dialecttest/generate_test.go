package dialecttest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	work "github.com/sotto-llm/sotto/internal/base/effort"
)

// A factor is one choice in a generated dialect.
type factor struct {
	name   string
	levels []level
}

// A level is the effect of one choice. Its name appears in the test's name.
type level struct {
	name string
	set  func(*maker)
}

// A maker makes a dialect, level by level.
type maker struct {
	d        dialect.Dialect
	literals int // 0: tags, 1: literals, 2: every second marker is a literal
	made     int
}

// marker adds a marker of a role, a tag or a literal as the dialect requires.
func (m *maker) marker(role dialect.Role, name, family string, change ...func(*dialect.Marker)) {
	k := dialect.Marker{Role: role, Tag: name, Family: family}
	if m.literals == 1 || m.literals == 2 && m.made%2 == 1 {
		up := strings.ToUpper(name)
		k = dialect.Marker{Role: role, Name: name, Family: family, Open: []string{"[" + up + "]\n"}, Close: []string{"[/" + up + "]"}}
		if m.made%3 == 0 {
			k.Open, k.Close = []string{"◁" + name + "▷"}, []string{"\n◁/" + name + "▷\n\n"}
		}
	}
	for _, f := range change {
		f(&k)
	}
	m.made++
	m.d.Markers = append(m.d.Markers, k)
}

// two are the levels of a role for which a dialect may have two markers.
func two(role dialect.Role, a, b string, none bool) []level {
	levels := []level{
		{"one", func(m *maker) { m.marker(role, a, "") }},
		{"same family", func(m *maker) { m.marker(role, a, a); m.marker(role, b, a) }},
		{"two families", func(m *maker) { m.marker(role, a, ""); m.marker(role, b, "") }},
	}
	if none {
		levels = append([]level{{"none", func(*maker) {}}}, levels...)
	}
	return levels
}

// factors are all the choices. The form of the markers comes first, since the
// later factors depend on it.
func factors() []factor {
	on, off := true, false
	set := func(name string, f func(*dialect.Dialect)) level {
		return level{name, func(m *maker) { f(&m.d) }}
	}
	dflt := level{"default", func(*maker) {}}
	return []factor{
		{"form", []level{
			{"tags", func(m *maker) { m.literals = 0 }},
			{"literals", func(m *maker) { m.literals = 1 }},
			{"mixed", func(m *maker) { m.literals = 2 }},
		}},
		{"reasoning", append(two(dialect.RoleReasoning, "think", "thought", false),
			level{"pad", func(m *maker) {
				m.marker(dialect.RoleReasoning, "think", "")
				m.marker(dialect.RoleReasoning, "pad", "", func(k *dialect.Marker) { k.Rescue = true })
			}},
			level{"two pads", func(m *maker) {
				rescue := func(k *dialect.Marker) { k.Rescue = true }
				m.marker(dialect.RoleReasoning, "pad", "pad", rescue)
				m.marker(dialect.RoleReasoning, "note", "pad", rescue)
			}},
			level{"phrase", func(m *maker) {
				m.d.Placement = dialect.PlacementLeading
				m.d.Markers = append(m.d.Markers, dialect.Marker{Role: dialect.RoleReasoning, Phrase: true,
					Open: []string{"Here is my thought:"}, Close: []string{"Here is my answer:"}})
			}},
			level{"phrase and tag", func(m *maker) {
				m.d.Placement = dialect.PlacementLeading
				m.d.Markers = append(m.d.Markers, dialect.Marker{Role: dialect.RoleReasoning, Phrase: true, Open: []string{"Hm:"}, Close: []string{"So:"}})
				m.marker(dialect.RoleReasoning, "think", "")
			}},
			level{"newlines", func(m *maker) { // the newline after one marker may belong to the next
				m.d.Markers = append(m.d.Markers,
					dialect.Marker{Role: dialect.RoleReasoning, Family: "p", Open: []string{"[p]\n"}, Close: []string{"\n[/p]\n"}, Rescue: true},
					dialect.Marker{Role: dialect.RoleReasoning, Family: "p", Open: []string{"\n[q]"}, Close: []string{"\n[/q]"}, Rescue: true},
					dialect.Marker{Role: dialect.RoleOutput, Open: []string{"\n[o]\n"}, Close: []string{"\n[/o]\n"}})
			}},
		)},
		{"narration", two(dialect.RoleNarration, "narrate", "diary", true)},
		{"output", two(dialect.RoleOutput, "output", "reply", true)},
		{"wrapper", two(dialect.RoleWrapper, "answer", "part", true)},
		{"tool", append(two(dialect.RoleTool, "call", "invoke", true), level{"special", func(m *maker) {
			m.d.Markers = append(m.d.Markers, dialect.Marker{Role: dialect.RoleTool, Name: "tool", Special: true,
				Open: []string{"<|call|>"}, Close: []string{"<|/call|>"}})
		}}, level{"overlapping", func(m *maker) { // one close begins the other, and is part of an opener
			m.d.Markers = append(m.d.Markers, dialect.Marker{Role: dialect.RoleTool, Name: "tool", Special: true,
				Open: []string{"<|eom|><|call|>"}, Close: []string{"<|eom|>", "<|eom|><|end|>"}})
		}})},
		{"header", []level{
			{"none", func(*maker) {}},
			set("harmony", func(d *dialect.Dialect) {
				d.Header = &dialect.Header{
					Begin: []string{"<|start|>", "<|channel|>"}, Body: []string{"<|message|>"}, End: []string{"<|end|>", "<|return|>"},
					Name: []string{"<|channel|>"}, Tokens: []string{"<|constrain|>"},
					Channels: map[string]dialect.Role{"analysis": dialect.RoleReasoning, "commentary": dialect.RoleNarration, "final": dialect.RoleText},
				}
			}),
			set("lines", func(d *dialect.Dialect) {
				d.Header = &dialect.Header{
					Begin: []string{"<|ch>", "<ch|>"}, Body: []string{"\n"}, Close: []string{"<ch|>"}, Name: []string{"<|ch>"}, Lead: []string{"thought\n"},
					Channels: map[string]dialect.Role{"thought": dialect.RoleReasoning, "": dialect.RoleText}, Between: "text",
				}
			}),
		}},
		{"where", []level{
			dflt,
			set("leading", func(d *dialect.Dialect) { d.Placement = dialect.PlacementLeading }),
			set("output anywhere", func(d *dialect.Dialect) {
				if d.Header == nil && d.Placement == "" { // Compile refuses it beside either
					d.Output = dialect.PlacementAnywhere
				}
			}),
		}},
		{"close", []level{dflt, set("family", func(d *dialect.Dialect) { d.Close = dialect.CloseFamily })}},
		{"on doubt", []level{dflt, set("deliver", func(d *dialect.Dialect) { d.OnDoubt = dialect.DoubtDeliver })}},
		{"pre-opens", []level{dflt, set("yes", func(d *dialect.Dialect) { d.PreOpens = dialect.PreOpensYes })}},
		{"after tool", []level{dflt, set("reasoning", func(d *dialect.Dialect) { d.AfterTool = dialect.RoleReasoning })}},
		{"once", []level{dflt, set("yes", func(d *dialect.Dialect) { d.Once = true })}},
		{"code", []level{dflt, set("on", func(d *dialect.Dialect) { d.Code = &on }), set("off", func(d *dialect.Dialect) { d.Code = &off })}},
		{"stray", []level{dflt, set("on", func(d *dialect.Dialect) { d.Stray = &on }), set("off", func(d *dialect.Dialect) { d.Stray = &off })}},
	}
}

// A row is a level of each factor.
type row []int

// dialect makes the row's dialect.
func (r row) dialect(fs []factor) dialect.Dialect {
	var m maker
	var names []string
	for i, f := range fs {
		l := f.levels[r[i]]
		l.set(&m)
		if r[i] > 0 || i == 0 {
			names = append(names, f.name+"="+l.name)
		}
	}
	if m.d.Header != nil { // Compile refuses code beside one
		m.d.Code = nil
	}
	m.d.Title = strings.Join(names, ", ")
	m.d.Name = "generated"
	return m.d
}

// pairwise returns rows in which every two levels of every two factors occur
// together at least once. Rows are chosen greedily among random ones.
func pairwise(fs []factor, rnd *rand.Rand) []row {
	type pair struct{ f, l, g, m int }
	open := map[pair]bool{}
	for f := range fs {
		for g := f + 1; g < len(fs); g++ {
			for l := range fs[f].levels {
				for m := range fs[g].levels {
					open[pair{f, l, g, m}] = true
				}
			}
		}
	}
	covers := func(r row) (n int, list []pair) {
		for f := range r {
			for g := f + 1; g < len(r); g++ {
				if p := (pair{f, r[f], g, r[g]}); open[p] {
					list = append(list, p)
				}
			}
		}
		return len(list), list
	}
	var rows []row
	for len(open) > 0 {
		best, most := row(nil), -1
		for range 60 {
			r := make(row, len(fs))
			for i := range r {
				r[i] = rnd.IntN(len(fs[i].levels))
			}
			if n, _ := covers(r); n > most {
				best, most = r, n
			}
		}
		_, list := covers(best)
		if len(list) == 0 { // random rows found nothing: take a remaining pair
			for p := range open {
				list = append(list, p)
			}
			slices.SortFunc(list, func(a, b pair) int { return slices.Compare([]int{a.f, a.l, a.g, a.m}, []int{b.f, b.l, b.g, b.m}) })
			p := list[0]
			best[p.f], best[p.g] = p.l, p.m
			_, list = covers(best)
		}
		for _, p := range list {
			delete(open, p)
		}
		rows = append(rows, best)
	}
	return rows
}

// Dialects made of every pair of choices keep the laws. Dialects that Compile
// refuses are left out and counted, so that a test that checks nothing fails.
func TestGenerated(t *testing.T) {
	fs := factors()
	e := effort{replies: 40, units: 16, search: 150 << 10}
	if work.Brief() {
		e = effort{replies: 2, units: 6, search: 3 << 10}
	}
	made, refused := 0, 0
	for n := range work.Times() {
		for i, r := range pairwise(fs, rand.New(rand.NewPCG(uint64(n), 13))) {
			d := r.dialect(fs)
			if _, err := sotto.Compile(d); err != nil {
				t.Logf("%d.%d refused: %v", n, i, err)
				refused++
				continue
			}
			made++
			t.Run(fmt.Sprintf("%d.%d", n, i), func(t *testing.T) {
				t.Parallel()
				run(t, d, e, nil)
			})
		}
	}
	t.Logf("%d dialects, %d refused", made, refused)
	if made < 4*refused || made < 20 {
		t.Errorf("%d dialects were refused, and %d held to the laws", refused, made)
	}
}
