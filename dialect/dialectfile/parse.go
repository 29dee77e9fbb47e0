// Package dialectfile reads files that describe dialects, and the formats that checkpoints
// declare. Package dialect has what they describe, without the means to read files.
package dialectfile

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/spelling"
)

// A ParseError is a fault in a dialect file: where it is, and what to write
// instead.
type ParseError struct {
	// Line and Column count from 1, Column in characters.
	Line, Column int
	// Key is the path of the value that is wrong, such as "markers[2].role"; it
	// is empty for a fault of the file as a whole.
	Key string
	Err error
}

func (e *ParseError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("line %d, column %d: %v", e.Line, e.Column, e.Err)
	}
	return fmt.Sprintf("line %d, column %d: %s: %v", e.Line, e.Column, e.Key, e.Err)
}

func (e *ParseError) Unwrap() error { return e.Err }

// Parse reads a dialect file: JSON that is one dialect, a list of them,
// or an object whose "dialects" is the list. The keys are those of [dialect.Dialect];
// docs/reference/dialect-file.md of the source tree describes them. An unknown key or value is an error, since a
// marker that is silently not looked for is a leak.
//
// Parse also reads the format that a checkpoint declares: a
// tokenizer_config.json with a response_template, or a response_template alone.
// It gives one dialect, with literal markers only, whose Start is "auto".
//
// Every error is a [*ParseError].
func Parse(data []byte) ([]dialect.Dialect, error) {
	r := &dialectFile{data: bytes.TrimPrefix(data, []byte("\ufeff"))}
	root, err := parseJSON(r.data)
	if err != nil {
		var at *jsonError
		if errors.As(err, &at) {
			return nil, r.fault(at.offset, at.key, at.err)
		}
		return nil, r.fault(0, "", err)
	}
	return r.dialects(root)
}

type dialectFile struct{ data []byte }

func (r *dialectFile) fault(offset int, key string, err error) error {
	offset = min(max(offset, 0), len(r.data))
	before := r.data[:offset]
	line := bytes.LastIndexByte(before, '\n') + 1
	return &ParseError{
		Line:   1 + bytes.Count(before, []byte("\n")),
		Column: 1 + utf8.RuneCount(before[line:]),
		Key:    key,
		Err:    err,
	}
}

func (r *dialectFile) faultf(offset int, key, format string, args ...any) error {
	return r.fault(offset, key, fmt.Errorf(format, args...))
}

func (r *dialectFile) dialects(root *jsonNode) ([]dialect.Dialect, error) {
	if t, path := findResponseTemplate(root); t != nil {
		d, err := r.responseTemplate(root, t, path)
		if err != nil {
			return nil, err
		}
		return []dialect.Dialect{d}, nil
	}
	if err := r.version(root); err != nil {
		return nil, err
	}
	list, path := root, ""
	switch root.kind {
	case jsonObject:
		if list = root.member("dialects"); list == nil {
			d, err := r.dialect(root, "")
			if err != nil {
				return nil, err
			}
			return []dialect.Dialect{d}, nil
		}
		path = "dialects"
		for _, m := range root.members {
			if m.key != "dialects" {
				return nil, r.faultf(m.offset, m.key, "unknown key next to dialects: move it into a dialect")
			}
		}
		if list.kind != jsonArray {
			return nil, r.faultf(list.offset, path, "is %s: write a list of dialects", list.kindName())
		}
	case jsonArray:
	default:
		return nil, r.faultf(root.offset, "", "the file is %s: write a dialect as a JSON object", root.kindName())
	}
	if len(list.elems) == 0 {
		return nil, r.faultf(list.offset, path, "has no dialect")
	}
	dialects := make([]dialect.Dialect, 0, len(list.elems))
	names := map[string]string{}
	for i, n := range list.elems {
		at := fmt.Sprintf("%s[%d]", path, i)
		d, err := r.dialect(n, at)
		if err != nil {
			return nil, err
		}
		if first, ok := names[d.Name]; ok {
			return nil, r.faultf(n.member("name").offset, at+".name", "%q is also the name of %s: give each dialect its own name", d.Name, first)
		}
		names[d.Name] = at
		dialects = append(dialects, d)
	}
	return dialects, nil
}

// version removes the "v" that the program's own JSON carries, so that the output
// of "sotto dialects NAME" can be read again.
func (r *dialectFile) version(root *jsonNode) error {
	v := root.member("v")
	if v == nil {
		return nil
	}
	if v.kind != jsonNumber || fmt.Sprint(v.value) != "1" {
		return r.faultf(v.offset, "v", "only version 1 is known: write 1, or leave the key out")
	}
	root.members = slices.DeleteFunc(root.members, func(m jsonMember) bool { return m.key == "v" })
	return nil
}

func (r *dialectFile) dialect(n *jsonNode, path string) (dialect.Dialect, error) {
	var d dialect.Dialect
	if n.kind != jsonObject {
		return d, r.faultf(n.offset, path, "is %s: write a dialect as an object", n.kindName())
	}
	if isTokenizerConfig(n) && path == "" {
		return d, r.faultf(n.offset, path, "a tokenizer_config.json without response_template: the checkpoint declares no format; use a dialect of \"sotto dialects\", or write one")
	}
	if err := r.decode(n, path, reflect.ValueOf(&d).Elem()); err != nil {
		return d, err
	}
	if d.Name == "" {
		return d, r.faultf(locate(n, "name").offset, joinKey(path, "name"), "missing: a dialect needs a name")
	}
	if d.AfterTool == dialect.RoleText {
		d.AfterTool = "" // the default, which is not written
	}
	err := d.Check()
	if err == nil && !d.HasReasoning() {
		err = &dialect.FieldError{Path: "markers", Msg: "no part of this dialect is reasoning: give a marker the role reasoning, or a header a reasoning channel"}
	}
	var field *dialect.FieldError
	if errors.As(err, &field) {
		return d, r.fault(locate(n, field.Path).offset, joinKey(path, field.Path), errors.New(field.Msg))
	}
	return d, err
}

// locate returns the node at a path, or the last one on the way that exists.
func locate(n *jsonNode, path string) *jsonNode {
	for path != "" {
		var next *jsonNode
		if index, ok := strings.CutPrefix(path, "["); ok {
			number, rest, _ := strings.Cut(index, "]")
			if i, err := strconv.Atoi(number); err == nil && i < len(n.elems) {
				next = n.elems[i]
			}
			path = rest
		} else {
			next, path = n.below(strings.TrimPrefix(path, "."))
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// removedKeys are keys of a dialect that earlier versions read, with what replaces each.
var removedKeys = map[string]string{
	"nest":        "openers nest wherever a marker of the dialect is a tag; leave it out",
	"duplicates":  "doubled openers are removed wherever a marker of the dialect is a tag; leave it out",
	"bodies":      "several output bodies are joined by a blank line; leave it out",
	"auto_window": "an undecided start is held until it is known, or up to max_hold; leave it out, or lower max_hold",
}

// decode fills v, a value of a [dialect.Dialect], from a node.
func (r *dialectFile) decode(n *jsonNode, path string, v reflect.Value) error {
	wrong := func(want string) error {
		return r.faultf(n.offset, path, "is %s: write %s", n.kindName(), want)
	}
	if n.kind == jsonNull {
		return r.faultf(n.offset, path, "is null: leave the key out for the default")
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return r.decode(n, path, v.Elem())
	case reflect.Struct:
		if n.kind != jsonObject {
			return wrong("an object")
		}
		return r.decodeStruct(n, path, v)
	case reflect.Slice:
		if n.kind != jsonArray {
			if n.kind == jsonString {
				return wrong("a list, with the string in [ ]")
			}
			return wrong("a list")
		}
		v.Set(reflect.MakeSlice(v.Type(), len(n.elems), len(n.elems)))
		for i, e := range n.elems {
			if err := r.decode(e, fmt.Sprintf("%s[%d]", path, i), v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		if n.kind != jsonObject {
			return wrong("an object that maps names to channels")
		}
		v.Set(reflect.MakeMap(v.Type()))
		for _, m := range n.members {
			e := reflect.New(v.Type().Elem()).Elem()
			if err := r.decode(m.node, joinKey(path, m.key), e); err != nil {
				return err
			}
			v.SetMapIndex(reflect.ValueOf(m.key), e)
		}
	case reflect.String:
		if n.kind != jsonString {
			return wrong("a string")
		}
		v.SetString(n.value.(string))
	case reflect.Bool:
		if n.kind != jsonBool {
			return wrong("true or false")
		}
		v.SetBool(n.value.(bool))
	case reflect.Int:
		i, err := strconv.Atoi(fmt.Sprint(n.value))
		if n.kind != jsonNumber || err != nil {
			return wrong("a whole number of bytes")
		}
		v.SetInt(int64(i))
	default:
		panic("dialect: a field of " + v.Type().String() + " in Dialect")
	}
	return nil
}

func (r *dialectFile) decodeStruct(n *jsonNode, path string, v reflect.Value) error {
	keys := make([]string, v.NumField())
	for i := range keys {
		keys[i], _, _ = strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
	}
	for _, m := range n.members {
		at := joinKey(path, m.key)
		i := slices.Index(keys, m.key)
		if i < 0 {
			if instead, ok := removedKeys[m.key]; ok && v.Type() == reflect.TypeFor[dialect.Dialect]() {
				return r.faultf(m.offset, at, "the key was removed: %s", instead)
			}
			return r.faultf(m.offset, at, "unknown key: %s", choice(m.key, keys))
		}
		if err := r.decode(m.node, at, v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

// choice names the allowed words, the likely one first.
func choice(got string, of []string) string { return spelling.DidYouMean(got, of, "write one of") }
