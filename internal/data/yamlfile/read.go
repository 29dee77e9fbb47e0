// Package yamlfile reads and writes YAML files. It is the only package of the tree
// that uses a YAML library. A test of this package enforces this.
//
// A file may come from anybody. So it is bounded in size and depth, and the time
// and memory to read it grow linearly with its size. Anchors, aliases and tags are
// nodes of their own kinds, and are never expanded.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// MaxDepth is how deep lists and mappings may be nested.
const MaxDepth = 100

// Limits bound a file.
type Limits struct {
	Size  int // in bytes
	Nodes int // values and keys
}

// settings are far more than a file written by hand needs.
var settings = Limits{Size: 1 << 20, Nodes: 100_000}

// A Kind is the kind of a node.
type Kind uint8

const (
	Null Kind = iota
	Bool
	Int
	Float
	Text
	List
	Mapping
	Anchor // a node that another could repeat
	Alias  // a node that repeats another
	Tag    // a node with a tag
)

// A Node is a value in a file, and its place.
type Node struct {
	Kind Kind
	// Text is the text of a scalar. A number or a boolean is as written. A text has
	// no quotes and no escapes.
	Text         string
	Line, Column int      // from 1
	Items        []*Node  // of a List
	Members      []Member // of a Mapping, in the order of the file; keys may be duplicate

	scalar *yaml.Node // of a number
	source string     // where the node stands if it is not in the file
}

// A Member is a key of a mapping and its value.
type Member struct{ Key, Value *Node }

// An Error says what is wrong with a file, and where.
type Error struct {
	Line, Column int // from 1; 0 if the fault has no place
	Err          error
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("line %d, column %d: %v", e.Line, e.Column, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Load returns the bytes of a file. If there are too many for [Read], it returns
// only the first of them.
func Load(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(settings.Size)+1))
}

// Read reads a file of at most 1 MiB and 100,000 nodes that holds one document, and
// returns its value. The value is nil if the file is empty. The error is an
// *[Error].
func Read(data []byte) (*Node, error) { return settings.Read(data) }

// Read is like [Read], with these bounds.
func (l Limits) Read(data []byte) (*Node, error) {
	if len(data) > l.Size {
		return nil, &Error{Err: fmt.Errorf("larger than %s", sizeText(l.Size))}
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if err := checkText(data); err != nil {
		return nil, err
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthFunc(
		func(depth int, _ *yaml.DepthContext) error {
			if depth > MaxDepth {
				return errDepth
			}
			return nil
		}))))
	if err != nil {
		return nil, &Error{Err: err}
	}
	m := maker{left: l.Nodes}
	var value *Node
	for {
		var doc yaml.Node
		switch err := loader.Load(&doc); {
		case errors.Is(err, io.EOF):
			return value, nil
		case err != nil:
			return nil, errorOf(err, data)
		}
		next := m.document(&doc)
		switch {
		case m.left < 0:
			return nil, &Error{Err: fmt.Errorf("more than %d keys and values", l.Nodes)}
		case next == nil:
		case value != nil:
			return nil, &Error{next.Line, next.Column, errors.New("a second document begins here: want only one")}
		default:
			value = next
		}
	}
}

func sizeText(n int) string {
	if n%(1<<20) == 0 {
		return strconv.Itoa(n>>20) + " MiB"
	}
	return strconv.Itoa(n>>10) + " KiB"
}

var errDepth = fmt.Errorf("lists and mappings nest deeper than %d levels", MaxDepth)

// errorOf rewords an error of the library. If something is missing at the end of
// the file, the error names the place where the incomplete value began.
func errorOf(err error, data []byte) *Error {
	fault, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return &Error{Err: fmt.Errorf("not valid YAML: %w", err)}
	}
	at := fault.Mark
	if last := 1 + bytes.Count(bytes.TrimSpace(data), []byte("\n")); at.Line > last && fault.ContextMark.Line > 0 {
		at = fault.ContextMark
	}
	e := &Error{Line: at.Line, Column: at.Column, Err: fmt.Errorf("not valid YAML: %s", fault.Message)}
	if errors.Is(err, errDepth) || strings.Contains(fault.Message, errDepth.Error()) {
		e.Err = errDepth
	}
	return e
}

// checkText reports bytes that YAML does not allow, and directives. The library
// takes time quadratic in the number of directives, and our files do not need them.
func checkText(data []byte) error {
	line, column := 1, 1
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		var fault error
		switch {
		case r == utf8.RuneError && n == 1:
			fault = errors.New("not valid UTF-8")
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7F:
			fault = fmt.Errorf("a control character (%#02x)", r)
		case r == '%' && column == 1:
			fault = errors.New("a directive, which is not supported")
		}
		if fault != nil {
			return &Error{line, column, fault}
		}
		i += n
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
	}
	return nil
}

// A maker makes Nodes from the library's nodes.
type maker struct {
	left int // how many more nodes are allowed; below 0, there are too many
}

func (m *maker) document(y *yaml.Node) *Node {
	if len(y.Content) == 0 || isNothing(y.Content[0]) {
		return nil
	}
	return m.node(y.Content[0])
}

// node recurses at most to MaxDepth.
func (m *maker) node(y *yaml.Node) *Node {
	n := &Node{Line: y.Line, Column: y.Column}
	if m.left--; m.left < 0 {
		return n
	}
	switch {
	case y.Kind == yaml.AliasNode:
		n.Kind = Alias
	case y.Anchor != "":
		n.Kind = Anchor
	case y.Style&yaml.TaggedStyle != 0:
		n.Kind = Tag
	case y.Kind == yaml.SequenceNode:
		n.Kind = List
		for _, item := range y.Content {
			n.Items = append(n.Items, m.node(item))
		}
	case y.Kind == yaml.MappingNode:
		n.Kind = Mapping
		for i := 0; i+1 < len(y.Content); i += 2 {
			n.Members = append(n.Members, Member{m.node(y.Content[i]), m.node(y.Content[i+1])})
		}
	default:
		n.Kind, n.Text = scalarKind(y), y.Value
		if n.Kind == Int || n.Kind == Float {
			n.scalar = y
		}
	}
	return n
}

// isNothing reports whether a document has no value at all, not even the word null.
func isNothing(y *yaml.Node) bool {
	return y.Kind == yaml.ScalarNode && y.Value == "" && y.Anchor == "" && y.ShortTag() == "!!null" && y.Style&yaml.TaggedStyle == 0
}

func scalarKind(y *yaml.Node) Kind {
	switch y.ShortTag() {
	case "!!null":
		return Null
	case "!!bool":
		return Bool
	case "!!int":
		return Int
	case "!!float":
		return Float
	}
	return Text // also for a date, and a key that merges
}

// Value returns a node in the types that encoding/json uses for an any: nil, bool,
// string, []any and map[string]any. A number is an int, an int64, a uint64 or a
// float64.
func (n *Node) Value() (any, error) {
	switch n.Kind {
	case Null:
		return nil, nil
	case Bool:
		return strconv.ParseBool(n.Text)
	case Int, Float:
		var v any
		if err := n.scalar.Decode(&v); err != nil {
			return nil, n.fault("%q is not a supported number", n.Text)
		}
		return v, nil
	case Text:
		return n.Text, nil
	case List:
		list := make([]any, 0, len(n.Items))
		for _, item := range n.Items {
			v, err := item.Value()
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case Mapping:
		return n.object()
	}
	return nil, n.fault("%s, which is not supported", n.Kind)
}

func (n *Node) object() (map[string]any, error) {
	object := make(map[string]any, len(n.Members))
	for _, m := range n.Members {
		if m.Key.Kind > Text {
			return nil, m.Key.fault("want a key that is a string, not %s", m.Key.Kind)
		}
		if _, twice := object[m.Key.Text]; twice {
			return nil, m.Key.fault("the key %q appears twice", m.Key.Text)
		}
		v, err := m.Value.Value()
		if err != nil {
			return nil, err
		}
		object[m.Key.Text] = v
	}
	return object, nil
}

func (n *Node) fault(format string, args ...any) error {
	return &Error{n.Line, n.Column, fmt.Errorf(format, args...)}
}

// String names a kind, for messages.
func (k Kind) String() string {
	switch k {
	case Null:
		return "nothing"
	case Bool:
		return "a truth value"
	case Int:
		return "a number"
	case Float:
		return "a number that is not whole"
	case Text:
		return "text"
	case List:
		return "a list"
	case Mapping:
		return "a mapping"
	case Anchor:
		return "an anchor"
	case Alias:
		return "an alias"
	}
	return "a tag"
}
