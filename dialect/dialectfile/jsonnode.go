package dialectfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A jsonNode is a JSON value that knows its position, so that an error message
// about a dialect file can point to it.
type jsonNode struct {
	offset  int // of the value's first byte
	value   any // string, json.Number, bool or nil; unset for an object or array
	kind    byte
	members []jsonMember // of an object, in the order of the file
	elems   []*jsonNode  // of an array
}

type jsonMember struct {
	key    string
	offset int // of the key's first byte
	node   *jsonNode
}

// Kinds of a jsonNode, and their names for people.
const (
	jsonObject = '{'
	jsonArray  = '['
	jsonString = '"'
	jsonNumber = '0'
	jsonBool   = 't'
	jsonNull   = 'n'
)

var jsonKinds = map[byte]string{
	jsonObject: "an object", jsonArray: "a list", jsonString: "a string",
	jsonNumber: "a number", jsonBool: "true or false", jsonNull: "null",
}

func (n *jsonNode) kindName() string { return jsonKinds[n.kind] }

func (n *jsonNode) member(key string) *jsonNode {
	for i := range n.members {
		if n.members[i].key == key {
			return n.members[i].node
		}
	}
	return nil
}

// below returns the member that a path begins with, and the rest of the path. A key may
// have a dot, as the name of a channel may: the longest key that fits is meant.
func (n *jsonNode) below(path string) (node *jsonNode, rest string) {
	longest := -1
	for _, m := range n.members {
		rest, begins := strings.CutPrefix(path, m.key)
		if begins && len(m.key) > longest && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			longest, node = len(m.key), m.node
		}
	}
	return node, path[max(0, longest):]
}

// maxJSONDepth bounds nesting, far above what a dialect or a tokenizer's
// configuration needs.
const maxJSONDepth = 100

// A jsonError is a fault at a byte of the file.
type jsonError struct {
	offset int
	key    string
	err    error
}

func (e *jsonError) Error() string { return e.err.Error() }

// parseJSON reads data, which must be one JSON value, into nodes.
func parseJSON(data []byte) (*jsonNode, error) {
	if i := invalidUTF8(data); i >= 0 {
		return nil, &jsonError{offset: i, err: errors.New("not UTF-8: save the file as UTF-8")}
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, &jsonError{offset: 0, err: errors.New("the file is empty: write a dialect as a JSON object")}
	}
	// The decoder below reads tokens and does not detect every fault. This pass
	// finds them all, and any data after the value.
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, &jsonError{offset: max(0, int(syntax.Offset)-1), err: fmt.Errorf("not JSON: %w", err)}
		}
		return nil, &jsonError{err: err}
	}
	p := &jsonParser{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	p.dec.UseNumber()
	return p.value(0, "")
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

type jsonParser struct {
	data []byte
	dec  *json.Decoder
}

// next is the offset of the token that the decoder will read next.
func (p *jsonParser) next() int {
	i := int(p.dec.InputOffset())
	for i < len(p.data) && strings.IndexByte(" \t\r\n,:", p.data[i]) >= 0 {
		i++
	}
	return i
}

func (p *jsonParser) value(depth int, path string) (*jsonNode, error) {
	n := &jsonNode{offset: p.next()}
	if depth > maxJSONDepth {
		return nil, &jsonError{offset: n.offset, key: path, err: fmt.Errorf("nested deeper than %d levels", maxJSONDepth)}
	}
	token, err := p.dec.Token()
	if err != nil {
		return nil, &jsonError{offset: n.offset, key: path, err: err}
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '[' {
			n.kind = jsonArray
			return n, p.array(n, depth, path)
		}
		n.kind = jsonObject
		return n, p.object(n, depth, path)
	case string:
		n.kind, n.value = jsonString, v
	case json.Number:
		n.kind, n.value = jsonNumber, v
	case bool:
		n.kind, n.value = jsonBool, v
	default:
		n.kind = jsonNull
	}
	return n, nil
}

func (p *jsonParser) array(n *jsonNode, depth int, path string) error {
	for p.dec.More() {
		e, err := p.value(depth+1, fmt.Sprintf("%s[%d]", path, len(n.elems)))
		if err != nil {
			return err
		}
		n.elems = append(n.elems, e)
	}
	_, err := p.dec.Token()
	return err
}

func (p *jsonParser) object(n *jsonNode, depth int, path string) error {
	seen := map[string]bool{}
	for p.dec.More() {
		offset := p.next()
		token, err := p.dec.Token()
		if err != nil {
			return &jsonError{offset: offset, key: path, err: err}
		}
		key, _ := token.(string)
		at := joinKey(path, key)
		if seen[key] {
			return &jsonError{offset: offset, key: at, err: errors.New("appears twice: keep one")}
		}
		seen[key] = true
		v, err := p.value(depth+1, at)
		if err != nil {
			return err
		}
		n.members = append(n.members, jsonMember{key: key, offset: offset, node: v})
	}
	_, err := p.dec.Token()
	return err
}

func joinKey(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
