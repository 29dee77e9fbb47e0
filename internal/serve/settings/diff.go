package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

// A Change is a setting that differs between two Setups.
type Change struct {
	// Key is the path of the key, such as limits.body or routes[0].display. If a whole
	// route was added or removed, each of its own keys is a change.
	Key string
	// Old and New are the values as text; nil if the setting is not made. Of a secret there
	// are no values: Secret says that it is another one.
	Old, New *string
	Secret   bool
	// Restart reports whether the new value needs a restart. Any other is used at a reload.
	Restart bool
	At, Was Place // where the new value and the old one stand; zero for a default
}

// Changes returns the settings that differ, in the order of the keys. old may be what
// [ReadOld] or [ReadRunning] returned.
func Changes(old, next *Setup) []Change {
	d := difference{old: old, next: next}
	d.mappings(old.tree(), next.tree(), "", "")
	for _, now := range next.secrets() {
		for _, was := range old.secrets() {
			if now.key == was.key && now.file != "" && now.file == was.file && was.text != "" && now.text != was.text {
				d.list = append(d.list, Change{Key: now.key, Secret: true, Restart: next.needsRestart(old, now.key), At: next.places[now.key], Was: old.places[was.key]})
			}
		}
	}
	return d.list
}

// needsRestart reports whether a change of a key waits for a restart.
func (s *Setup) needsRestart(old *Setup, path string) bool {
	path, _, _ = strings.Cut(path, "[")
	if path == "upstream" {
		return s.upstreamStays(&old.Settings)
	}
	all := s.byPath()
	return all[path].restart || all[path+"-file"].restart // that of a secret
}

// A difference collects the changes from one Setup to the next.
type difference struct {
	old, next *Setup
	list      []Change
}

// mappings compares the keys of two mappings that stand at was and at at. One of them may be
// nil.
func (d *difference) mappings(old, next *yamlfile.Node, was, at string) {
	for _, name := range keysOf(next, old) {
		d.values(member(old, name), member(next, name), yamlfile.Join(was, name), yamlfile.Join(at, name))
	}
}

func (d *difference) values(old, next *yamlfile.Node, was, at string) {
	switch {
	case isKind(yamlfile.Mapping, old, next):
		d.mappings(old, next, was, at)
		return
	case isKind(yamlfile.List, old, next) && (mappingsIn(old) || mappingsIn(next)):
		d.lists(old, next, at)
		return
	}
	a, b := textOf(old), textOf(next)
	if a == nil && b == nil || a != nil && b != nil && *a == *b {
		return
	}
	c := Change{Key: at, Old: a, New: b, Restart: d.next.needsRestart(d.old, at)}
	if a != nil {
		c.Was = d.old.places[was]
	}
	if b != nil {
		c.At = d.next.places[at]
	}
	if inherited := strings.Contains(at, "[") && c.Was == (Place{}) && c.At == (Place{}); !inherited { // a change at the top
		d.list = append(d.list, c)
	}
}

// lists compares two lists of mappings. Items that say the same are the same item; those
// between them are compared in their order.
func (d *difference) lists(old, next *yamlfile.Node, path string) {
	was, now := items(old), items(next)
	wasText, nowText := d.old.ownTexts(was, path), d.next.ownTexts(now, path)
	for i, j := 0, 0; i < len(was) || j < len(now); {
		k, l := nextEqual(wasText[i:], nowText[j:])
		for n := range max(k, l) {
			before, after := i+min(n, k), j+min(n, l) // an item that is removed stood before this one
			d.mappings(itemAt(was, i+n, i+k), itemAt(now, j+n, j+l), fmt.Sprintf("%s[%d]", path, before), fmt.Sprintf("%s[%d]", path, after))
		}
		i, j = i+k, j+l
		if i < len(was) && j < len(now) {
			i, j = i+1, j+1 // the equal items
		}
	}
}

// nextEqual returns the positions of the first items that are equal, or the lengths of the
// lists.
func nextEqual(was, now []string) (int, int) {
	for sum := range len(was) + len(now) {
		for k := max(0, sum-len(now)+1); k <= min(sum, len(was)-1); k++ {
			if was[k] == now[sum-k] {
				return k, sum - k
			}
		}
	}
	return len(was), len(now)
}

// ownTexts are what the items of a list say themselves. What they have from the top is not
// in it.
func (s *Setup) ownTexts(list []*yamlfile.Node, path string) []string {
	texts := make([]string, len(list))
	for i, n := range list {
		for _, m := range n.Members {
			if text := textOf(m.Value); text != nil && s.places[fmt.Sprintf("%s[%d].%s", path, i, m.Key.Text)] != (Place{}) {
				texts[i] += fmt.Sprintf("%s: %q\n", m.Key.Text, *text)
			}
		}
	}
	return texts
}

func itemAt(list []*yamlfile.Node, i, end int) *yamlfile.Node {
	if i >= end {
		return nil
	}
	return list[i]
}

func items(n *yamlfile.Node) []*yamlfile.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

func isKind(kind yamlfile.Kind, a, b *yamlfile.Node) bool {
	return (a == nil || a.Kind == kind) && (b == nil || b.Kind == kind) && (a != nil || b != nil)
}

func mappingsIn(n *yamlfile.Node) bool {
	return n != nil && slices.ContainsFunc(n.Items, func(i *yamlfile.Node) bool { return i.Kind == yamlfile.Mapping })
}

// keysOf returns the keys of both mappings: those of the first in their order, then those
// that only the second has.
func keysOf(a, b *yamlfile.Node) (list []string) {
	for _, n := range []*yamlfile.Node{a, b} {
		if n == nil {
			continue
		}
		for _, m := range n.Members {
			if !slices.Contains(list, m.Key.Text) {
				list = append(list, m.Key.Text)
			}
		}
	}
	return list
}

func member(n *yamlfile.Node, name string) *yamlfile.Node {
	if n == nil {
		return nil
	}
	for _, m := range n.Members {
		if m.Key.Text == name {
			return m.Value
		}
	}
	return nil
}

// textOf returns a value as text; a list has commas between its items.
func textOf(n *yamlfile.Node) *string {
	if n == nil {
		return nil
	}
	text := n.Text
	if n.Kind == yamlfile.List {
		var all []string
		for _, i := range n.Items {
			all = append(all, i.Text)
		}
		text = strings.Join(all, ", ")
	}
	return &text
}

// A namedSecret is a secret, by the key that names its file.
type namedSecret struct {
	key, file, text string
	once            bool
}

// secrets are the secrets that come from files.
func (s *Setup) secrets() (list []namedSecret) {
	add := func(key string, from secret) {
		if from.file != "" {
			list = append(list, namedSecret{key, from.file, from.Text, from.once})
		}
	}
	for _, k := range s.keys() {
		if t, is := k.secretOf(); is {
			add(k.name, *t)
		}
	}
	for _, t := range s.tokens {
		add(yamlfile.Join("tokens", t.name)+".token-file", t.secret)
	}
	for _, u := range s.Upstreams {
		add(yamlfile.Join("upstreams", u.Name)+".key-file", u.key)
	}
	for i, g := range s.guards {
		if key := fmt.Sprintf("routes[%d].guard-token-file", i); s.places[key] != (Place{}) { // its own
			add(key, g.token)
		}
	}
	return list
}
