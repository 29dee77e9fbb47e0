package yamlfile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ParseValue reads a value that stands outside of a file, such as in a flag: a list
// or a mapping if it begins with [ or {, a string in quotes, or else a scalar on one
// line, which may hold anything. Faults of the value name source instead of a place.
func ParseValue(source, text string) (*Node, error) {
	text = strings.TrimSpace(text)
	n, err := Read([]byte(text))
	flow := text != "" && strings.Contains(`[{"'`, text[:1])
	switch {
	case flow && err != nil:
		return nil, err
	case flow && n == nil:
		return nil, errors.New("no value")
	case !flow && (err != nil || n == nil || n.Text != text):
		n = TextNode(text)
	}
	n.stands(source)
	return n, nil
}

// stands notes where a node that is not in a file comes from.
func (n *Node) stands(source string) {
	n.source, n.Line, n.Column = source, 0, 0
	for _, item := range n.Items {
		item.stands(source)
	}
	for _, m := range n.Members {
		m.Key.stands(source)
		m.Value.stands(source)
	}
}

// Set puts a value at a path, such as "model.name" or "tools[0].name", and makes the
// mappings on the way there. A list does not grow. If value is nil, Set removes the
// key.
func (n *Node) Set(path string, value *Node) error {
	name, rest, _ := strings.Cut(path, ".")
	name, index, indexed := strings.Cut(name, "[")
	switch {
	case name == "":
		return fmt.Errorf("%q is not a key: want one such as model.name", path)
	case n.Kind != Mapping:
		return fmt.Errorf("%s is in %s, not in a mapping", name, Describe(n))
	}
	at := slices.IndexFunc(n.Members, func(m Member) bool { return m.Key.Text == name })
	switch {
	case indexed && at < 0:
		return fmt.Errorf("there is no list %s", name)
	case indexed:
		return n.Members[at].Value.setItem(name, index, rest, value)
	case rest == "" && value == nil:
		if at >= 0 {
			n.Members = slices.Delete(n.Members, at, at+1)
		}
		return nil
	case at < 0 && value == nil:
		return nil
	case at < 0:
		key := TextNode(name)
		key.stands(value.source)
		made := &Node{Kind: Mapping, source: value.source}
		n.Members = append(n.Members, Member{key, made})
		at = len(n.Members) - 1
	}
	if rest == "" {
		n.Members[at].Value = value
		return nil
	}
	if n.Members[at].Value.Kind == Null { // a key without a value
		n.Members[at].Value = &Node{Kind: Mapping, source: value.source}
	}
	return n.Members[at].Value.Set(rest, value)
}

// setItem is Set for an item of a list.
func (n *Node) setItem(name, index, rest string, value *Node) error {
	i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
	switch {
	case err != nil || !strings.HasSuffix(index, "]") || i < 0:
		return fmt.Errorf("%s[%s: want an index such as %s[0]", name, index, name)
	case n.Kind != List || i >= len(n.Items):
		return fmt.Errorf("the list %s has no item %d", name, i)
	case rest != "":
		return n.Items[i].Set(rest, value)
	case value == nil:
		return fmt.Errorf("%s[%d]: an item of a list cannot be removed", name, i)
	}
	n.Items[i] = value
	return nil
}
