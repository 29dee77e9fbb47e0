package study

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

// A Setting is a key of the base, and the value that a cell gives it.
type Setting struct {
	Key string
	// At is the path of the value in the study's file.
	At string

	node  *yamlfile.Node
	place yamlfile.Place
}

// Flow returns the value as YAML on one line, as sotto run --set reads it.
func (s *Setting) Flow() string { return flow(s.node) }

// Words returns the value as the arguments of a flag: one for each item of a list.
func (s *Setting) Words() ([]string, error) {
	list := []*yamlfile.Node{s.node}
	if s.node.Kind == yamlfile.List {
		list = s.node.Items
	}
	var words []string
	for _, n := range list {
		if n.Kind > yamlfile.Text || n.Kind == yamlfile.Null {
			return nil, fmt.Errorf("want a value of a flag, or a list of them, not %s", yamlfile.Describe(n))
		}
		words = append(words, n.Text)
	}
	return words, nil
}

// flow writes a node as YAML on one line.
func flow(n *yamlfile.Node) string {
	plain := n.Kind != yamlfile.Null && n.Kind <= yamlfile.Text
	if plain && n.Text != "" && strings.TrimSpace(n.Text) == n.Text && !strings.Contains(`[{"'`, n.Text[:1]) {
		return n.Text
	}
	v, err := n.Value()
	if err != nil {
		return n.Text
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return n.Text
	}
	return strings.TrimSpace(b.String())
}

// A gridKey is a key of the grid, with its values.
type gridKey struct {
	name    string
	path    string
	entries []entry
}

// An entry is one value of a key of the grid.
type entry struct {
	label string
	set   []Setting
}

// Keys returns the keys of the grid, in the order of the file.
func (f *File) Keys() []string {
	var list []string
	for _, k := range f.keys {
		list = append(list, k.name)
	}
	return list
}

// readGrid reads the lists of the grid.
func (f *File) readGrid() {
	f.document.Keys(f.Grid, "grid", func(key *yamlfile.Node, path string, list *yamlfile.Node) {
		k := gridKey{name: key.Text, path: path}
		switch {
		case list.Kind != yamlfile.List:
			f.document.Fault(list, path, "want a list of values, not %s", yamlfile.Describe(list))
			return
		case len(list.Items) == 0:
			f.document.Fault(list, path, "has no values: give some, or leave the key out")
			return
		}
		seen := map[string]bool{}
		for i, item := range list.Items {
			at := fmt.Sprintf("%s[%d]", path, i)
			f.document.Mark(at, item)
			e, ok := f.readEntry(key.Text, at, item)
			switch {
			case !ok:
				continue
			case seen[e.label]:
				f.document.Fault(item, at, "two values have the label %q", e.label)
			}
			seen[e.label] = true
			k.entries = append(k.entries, e)
		}
		f.keys = append(f.keys, k)
	})
}

// readEntry reads a value, or a mapping with a label and what it sets.
func (f *File) readEntry(key, at string, n *yamlfile.Node) (entry, bool) {
	if n.Kind != yamlfile.Mapping || !slices.ContainsFunc(n.Members, func(m yamlfile.Member) bool { return m.Key.Text == "label" }) {
		set := f.setting(at, key, n)
		if set == nil {
			return entry{}, false
		}
		return entry{labelOf(set[0].Flow()), set}, true
	}
	e, faults := entry{}, len(f.document.Faults)
	f.document.Known(n, at, []string{"label", "set", "value"}, func(name, path string, value *yamlfile.Node) {
		switch name {
		case "label":
			f.document.Decode(value, path, &e.label)
		case "value":
			e.set = append(e.set, f.setting(path, key, value)...)
		case "set":
			f.document.Keys(value, path, func(k *yamlfile.Node, at string, v *yamlfile.Node) {
				e.set = append(e.set, f.setting(at, k.Text, v)...)
			})
		}
	})
	switch {
	case len(f.document.Faults) > faults:
		return e, false
	case e.label == "" || e.label != labelOf(e.label):
		f.document.Fault(n, at, "label: want a text on one line, of at most %d bytes", maxLabel)
		return e, false
	case len(e.set) == 0:
		f.document.Fault(n, at, "want {label: …, value: …} or {label: …, set: {KEY: VALUE}}")
		return e, false
	}
	return e, true
}

// setting makes a setting of a value; nil if the value has a fault.
func (f *File) setting(at, key string, n *yamlfile.Node) []Setting {
	if _, err := n.Value(); err != nil || n.Kind == yamlfile.Null {
		f.document.Fault(n, at, "want a value, not %s", yamlfile.Describe(n))
		return nil
	}
	return []Setting{{Key: key, At: at, node: n, place: f.document.At(n)}}
}

const maxLabel = 60

// labelOf makes a label of a value.
func labelOf(text string) string {
	return shorttext.Ellipsis(shorttext.OneLine(text), maxLabel)
}

// checkExclude checks that each map excludes something that the grid has.
func (f *File) checkExclude(names []string) {
	for i, n := range f.Exclude {
		at := fmt.Sprintf("exclude[%d]", i)
		if n.Kind != yamlfile.Mapping || len(n.Members) == 0 {
			f.document.Fault(n, at, "want a mapping of keys of the grid to values, not %s", yamlfile.Describe(n))
			continue
		}
		f.document.Known(n, at, names, func(key, path string, value *yamlfile.Node) {
			entries := f.keys[slices.Index(names, key)].entries
			for _, label := range excluded(value) {
				if !slices.ContainsFunc(entries, func(e entry) bool { return e.label == label }) {
					f.document.Fault(value, path, "%q is not a value of %s", label, key)
				}
			}
		})
	}
}

// excluded returns the labels that a value of an exclusion stands for.
func excluded(n *yamlfile.Node) []string {
	if n.Kind != yamlfile.List {
		return []string{labelOf(flow(n))}
	}
	var list []string
	for _, item := range n.Items {
		list = append(list, labelOf(flow(item)))
	}
	return list
}

// A Case is a cell before its command is known.
type Case struct {
	ID         string
	Values     []Value
	Repetition int
	// Settings are those of the base, and then those of the cell. Each key is there
	// once.
	Settings []Setting
}

// Cases returns all cells, in the order in which they run: the keys of order vary
// slowest, then those of the model, and the repetitions fastest.
func (f *File) Cases() []Case {
	order := f.slowestFirst()
	at := make([]int, len(f.keys))
	var list []Case
	for {
		if !f.isExcluded(at) {
			for r := 1; r <= f.Repetitions; r++ {
				list = append(list, f.caseOf(at, r))
			}
		}
		k := len(order) - 1
		for ; k >= 0; k-- {
			if at[order[k]]++; at[order[k]] < len(f.keys[order[k]].entries) {
				break
			}
			at[order[k]] = 0
		}
		if k < 0 {
			return list
		}
	}
}

// slowestFirst returns the indexes of the keys.
func (f *File) slowestFirst() []int {
	rank := func(i int) int {
		k := f.keys[i]
		if at := slices.Index(f.Order, k.name); at >= 0 {
			return at
		}
		ofModel := func(e entry) bool {
			return slices.ContainsFunc(e.set, func(s Setting) bool { return isModel(f.Kind, s.Key) })
		}
		if len(f.Order) == 0 && slices.ContainsFunc(k.entries, ofModel) {
			return len(f.keys)
		}
		return len(f.keys) + 1
	}
	list := make([]int, len(f.keys))
	for i := range list {
		list[i] = i
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	return list
}

func (f *File) isExcluded(at []int) bool {
	for _, n := range f.Exclude {
		all := true
		for _, m := range n.Members {
			i := slices.IndexFunc(f.keys, func(k gridKey) bool { return k.name == m.Key.Text })
			all = all && slices.Contains(excluded(m.Value), f.keys[i].entries[at[i]].label)
		}
		if all {
			return true
		}
	}
	return false
}

func (f *File) caseOf(at []int, repetition int) Case {
	c := Case{Repetition: repetition, Settings: slices.Clone(f.base)}
	for i, k := range f.keys {
		c.Values = append(c.Values, Value{k.name, k.entries[at[i]].label})
		c.Settings = append(c.Settings, k.entries[at[i]].set...)
	}
	if s := f.Seed; s != nil {
		first := int64(1)
		if s.First != nil {
			first = *s.First
		}
		n := yamlfile.IntNode(first + int64(repetition-1))
		c.Settings = append(c.Settings, Setting{Key: s.Key, At: "seed.key", node: n, place: f.document.PlaceOf("seed.key")})
	}
	c.Settings = lastOnly(c.Settings)
	c.ID = cellID(c.Values, repetition, f.Sealed())
	return c
}

// lastOnly keeps the last of the settings of each key.
func lastOnly(list []Setting) []Setting {
	var kept []Setting
	for i, s := range list {
		if !slices.ContainsFunc(list[i+1:], func(later Setting) bool { return later.Key == s.Key }) {
			kept = append(kept, s)
		}
	}
	return kept
}

// cellID makes the name of a cell: what a person recognises, and a digest of the keys
// and labels, which does not depend on the order of the keys. Those of a sealed study say no
// values: they can be prompts.
func cellID(values []Value, repetition int, sealed bool) string {
	sorted := slices.Clone(values)
	slices.SortFunc(sorted, func(a, b Value) int { return cmp.Compare(a.Key, b.Key) })
	h := sha256.New()
	var name strings.Builder
	for _, v := range sorted {
		fmt.Fprintf(h, "%q=%q\n", v.Key, v.Label)
	}
	fmt.Fprintln(h, repetition)
	for _, v := range values {
		if sealed {
			break
		}
		name.WriteString(strings.ToLower(v.Label) + "-")
	}
	slug := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, name.String())
	if sealed {
		slug = "cell"
	}
	slug = strings.Join(strings.FieldsFunc(slug, func(r rune) bool { return r == '-' }), "-")
	slug = strings.TrimRight(slug[:min(len(slug), 40)], "-")
	return strings.TrimLeft(slug+"-"+strconv.Itoa(repetition)+"-"+hex.EncodeToString(h.Sum(nil))[:8], "-")
}
