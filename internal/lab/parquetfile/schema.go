package parquetfile

import (
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// A node is an element of the schema: a column, or a group of nodes.
type node struct {
	format.SchemaElement
	kind     kind
	optional bool
	repeated bool
	rep, def byte // the levels at which it is there
	column   int  // of the first leaf below it, or its own
	columns  int  // how many leaves
	children []*node
}

// A kind says what JSON a node becomes.
type kind int

const (
	leaf      kind = iota
	object         // a group
	list           // a group around a repeated node, whose elements it lists
	stringMap      // a group around repeated pairs with a text as key
)

// readSchema makes a tree of the schema, which the file lists in order.
func readSchema(meta *format.FileMetaData) (*node, error) {
	s := &schemaReader{left: meta.Schema}
	root, err := s.node(0, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("the schema: %w", err)
	}
	if len(s.left) > 0 || len(root.children) == 0 || root.repeated || root.optional {
		return nil, fmt.Errorf("the schema: %w", errThrift)
	}
	root.kind = object
	for i, group := range meta.RowGroups {
		if len(group.Columns) != root.columns {
			return nil, fmt.Errorf("row group %d has %d columns, and the schema has %d", i+1, len(group.Columns), root.columns)
		}
	}
	return root, nil
}

type schemaReader struct {
	left    []format.SchemaElement
	columns int
}

func (s *schemaReader) node(depth int, rep, def byte) (*node, error) {
	switch {
	case len(s.left) == 0:
		return nil, errThrift
	case depth > maxNesting:
		return nil, fmt.Errorf("it nests deeper than %d", maxNesting)
	}
	n := &node{SchemaElement: s.left[0], column: s.columns}
	s.left = s.left[1:]
	if depth > 0 { // the root has neither
		n.optional = n.RepetitionType.V == format.Optional
		n.repeated = n.RepetitionType.V == format.Repeated
	}
	if n.optional || n.repeated {
		def++
	}
	if n.repeated {
		rep++
	}
	n.rep, n.def = rep, def
	if n.NumChildren.V <= 0 {
		if !n.Type.Valid {
			return nil, fmt.Errorf("the group %q is empty", n.Name)
		}
		if s.columns++; s.columns > maxColumns {
			return nil, fmt.Errorf("it has more than %d columns", maxColumns)
		}
		n.columns = 1
		return n, nil
	}
	for range n.NumChildren.V {
		child, err := s.node(depth+1, rep, def)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, child)
	}
	n.columns = s.columns - n.column
	n.kind = n.groupKind()
	return n, nil
}

// groupKind finds out what a group stands for.
func (n *node) groupKind() kind {
	if len(n.children) != 1 || !n.children[0].repeated {
		return object
	}
	inner := n.children[0]
	switch {
	case n.isList():
		return list
	case n.isMap() && len(inner.children) == 2:
		if key := inner.children[0]; key.kind == leaf && key.isText() {
			return stringMap
		}
		return list
	}
	return object
}

// element returns what a list has as its elements. A list of three levels, as it is
// written today, has a group with one member around each element. The names array
// and LIST_tuple are those of older writers, of which the group is the element.
func (n *node) element() *node {
	inner := n.children[0]
	if len(inner.children) == 1 && inner.Name != "array" && inner.Name != n.Name+"_tuple" {
		return inner.children[0]
	}
	return nil
}

// older reports whether a node has one of the types that older writers have instead
// of a logical type.
func (n *node) older(types ...deprecated.ConvertedType) bool {
	return n.LogicalType.Value == nil && n.ConvertedType.Valid && slices.Contains(types, n.ConvertedType.V)
}

func (n *node) isList() bool {
	_, ok := n.LogicalType.Value.(*format.ListType)
	return ok || n.older(deprecated.List)
}

func (n *node) isMap() bool {
	_, ok := n.LogicalType.Value.(*format.MapType)
	return ok || n.older(deprecated.Map, deprecated.MapKeyValue)
}

// isText reports whether a column holds texts.
func (n *node) isText() bool {
	switch n.LogicalType.Value.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType:
		return n.Type.V == format.ByteArray
	}
	return n.Type.V == format.ByteArray && n.older(deprecated.UTF8, deprecated.Enum, deprecated.Json)
}

// isJSON reports whether a column holds texts that are JSON values.
func (n *node) isJSON() bool {
	_, ok := n.LogicalType.Value.(*format.JsonType)
	return n.Type.V == format.ByteArray && (ok || n.older(deprecated.Json))
}

// leaves appends the columns below a node.
func (n *node) leaves(to []*node) []*node {
	if n.kind == leaf {
		return append(to, n)
	}
	for _, child := range n.children {
		to = child.leaves(to)
	}
	return to
}
