package yamlfile

import (
	"strconv"

	"go.yaml.in/yaml/v4"
)

// Write returns a file that holds a value. Make the value with the functions below.
func Write(n *Node) ([]byte, error) {
	return yaml.Dump(sourceOf(n), yaml.WithV4Defaults(), yaml.WithCompactSeqIndent(false), yaml.WithLineWidth(-1), yaml.WithIndent(2))
}

// sourceOf makes a node of the library.
func sourceOf(n *Node) *yaml.Node {
	y := &yaml.Node{Kind: yaml.ScalarNode, Value: n.Text}
	switch n.Kind {
	case Bool:
		y.Tag = "!!bool"
	case Int:
		y.Tag = "!!int"
	case List:
		y.Kind = yaml.SequenceNode
		for _, item := range n.Items {
			y.Content = append(y.Content, sourceOf(item))
		}
	case Mapping:
		y.Kind = yaml.MappingNode
		for _, m := range n.Members {
			y.Content = append(y.Content, sourceOf(m.Key), sourceOf(m.Value))
		}
	default:
		y.Tag = "!!str"
	}
	return y
}

// TextNode makes a text.
func TextNode(s string) *Node { return &Node{Kind: Text, Text: s} }

// BoolNode makes a boolean.
func BoolNode(b bool) *Node { return &Node{Kind: Bool, Text: strconv.FormatBool(b)} }

// IntNode makes an integer.
func IntNode(i int64) *Node { return &Node{Kind: Int, Text: strconv.FormatInt(i, 10)} }

// ListNode makes a list.
func ListNode(items ...*Node) *Node { return &Node{Kind: List, Items: items} }

// Add adds a member to a mapping. &Node{Kind: Mapping} is an empty mapping.
func (n *Node) Add(key string, value *Node) {
	n.Members = append(n.Members, Member{TextNode(key), value})
}
