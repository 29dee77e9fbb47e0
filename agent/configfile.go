package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxConfig is the most bytes of an experiment's file.
const maxConfig = 4 << 20

// ReadConfig reads an experiment's file, YAML with the keys of [Config]. All that
// is wrong in it is one [*ConfigError].
func ReadConfig(name string) (*Config, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return ParseConfig(name, data)
}

// ParseConfig reads the bytes of an experiment's file; files that it names are
// looked for in the folder of its name.
func ParseConfig(name string, data []byte) (*Config, error) {
	c := &Config{places: map[string]Place{"": {File: name}}, folder: filepath.Dir(name)}
	r := configReader{file: name, places: c.places}
	if len(data) > maxConfig {
		r.faults = append(r.faults, Fault{Place{File: name}, "", fmt.Errorf("larger than %d MiB", maxConfig>>20)})
	} else {
		r.read(data, c)
	}
	if len(r.faults) > 0 {
		return nil, &ConfigError{r.faults}
	}
	if c.V != 1 {
		return nil, &ConfigError{[]Fault{{c.placeOf("v"), "v", errors.New("want 1, the only version there is")}}}
	}
	return c, nil
}

// A configReader reads nodes into structs. It goes on behind a fault, to report
// them all.
type configReader struct {
	file   string
	places map[string]Place
	faults []Fault
}

func (r *configReader) read(data []byte, c *Config) {
	text := strings.TrimPrefix(string(data), "\ufeff")
	file, err := parser.ParseBytes([]byte(text), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		at := Place{File: r.file}
		if e, ok := errors.AsType[yaml.Error](err); ok {
			err = errors.New(e.GetMessage())
			if t := e.GetToken(); t != nil && t.Position != nil {
				at.Line, at.Column = t.Position.Line, t.Position.Column
			}
		}
		r.faults = append(r.faults, Fault{at, "", fmt.Errorf("no YAML: %w", err)})
		return
	}
	first := true
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case !first:
			r.fault(doc.Body, "", "a second document begins here: want one")
		default:
			first = false
			r.value(doc.Body, "", reflect.ValueOf(c).Elem())
		}
	}
}

func (r *configReader) place(n ast.Node) Place {
	at := Place{File: r.file}
	if m, ok := n.(ast.MapNode); ok {
		if it := m.MapRange(); it.Next() {
			n = it.Key()
		}
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		at.Line, at.Column = t.Position.Line, t.Position.Column
	}
	return at
}

func (r *configReader) fault(n ast.Node, path, format string, args ...any) {
	r.faults = append(r.faults, Fault{r.place(n), path, fmt.Errorf(format, args...)})
}

var durationType = reflect.TypeFor[time.Duration]()

// value reads what stands at a key.
func (r *configReader) value(n ast.Node, path string, v reflect.Value) {
	if _, ok := r.places[path]; !ok {
		r.places[path] = r.place(n)
	}
	switch {
	case n.Type() == ast.AnchorType || n.Type() == ast.AliasType || n.Type() == ast.TagType:
		r.fault(n, path, "anchors, aliases and tags are not read here")
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.value(n, path, v.Elem())
	case v.Kind() == reflect.Struct:
		r.mapping(n, path, v)
	case v.Kind() == reflect.Slice:
		r.list(n, path, v)
	case v.Kind() == reflect.Map:
		r.table(n, path, v)
	default:
		r.scalar(n, path, v)
	}
}

func (r *configReader) scalar(n ast.Node, path string, v reflect.Value) {
	text, isText := textOfNode(n)
	switch {
	case v.Type() == durationType:
		d, err := time.ParseDuration(text)
		if text == "0" {
			err = nil
		}
		if err != nil {
			r.fault(n, path, "want a time such as 30s or 5m, not %s", kindOfNode(n))
			return
		}
		v.SetInt(int64(d))
	case v.Kind() == reflect.String:
		if !isText {
			r.fault(n, path, "want text, not %s", kindOfNode(n))
			return
		}
		v.SetString(text)
	case v.Kind() == reflect.Bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			r.fault(n, path, "want true or false, not %s", kindOfNode(n))
			return
		}
		v.SetBool(b.Value)
	case v.CanInt():
		i, err := strconv.ParseInt(text, 10, 64)
		if _, ok := n.(*ast.IntegerNode); !ok || err != nil {
			r.fault(n, path, "want a whole number, not %s", kindOfNode(n))
			return
		}
		v.SetInt(i)
	case v.CanFloat():
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || n.Type() == ast.StringType {
			r.fault(n, path, "want a number, not %s", kindOfNode(n))
			return
		}
		v.SetFloat(f)
	}
}

// textOfNode is a scalar's text; words that YAML reads as numbers or truth are
// text where text is wanted.
func textOfNode(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func kindOfNode(n ast.Node) string {
	switch n.Type() {
	case ast.NullType:
		return "nothing"
	case ast.MappingType, ast.MappingValueType:
		return "keys with values"
	case ast.SequenceType:
		return "a list"
	}
	if text, ok := textOfNode(n); ok {
		return strconv.Quote(cutAt(text, 40))
	}
	return "this"
}

// mapping reads the keys of a struct, and reports those that are unknown, stand
// twice, or have no value.
func (r *configReader) mapping(n ast.Node, path string, v reflect.Value) {
	fields := map[string]reflect.Value{}
	var names []string
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("yaml"); name != "" {
			fields[name] = v.Field(i)
			names = append(names, name)
		}
	}
	lines := map[string]int{}
	r.keys(n, path, func(k, value ast.Node) {
		name := k.GetToken().Value
		at := join(path, name)
		switch line, twice := lines[name]; {
		case !fields[name].IsValid():
			r.fault(k, at, "unknown key: %s", suggest(name, names))
		case twice:
			r.fault(k, at, "stands twice, before in line %d", line)
		default:
			lines[name] = k.GetToken().Position.Line
			r.value(value, at, fields[name])
		}
	})
}

// keys calls each for the keys of a mapping that have values.
func (r *configReader) keys(n ast.Node, path string, each func(k, v ast.Node)) {
	m, ok := n.(ast.MapNode)
	if !ok {
		r.fault(n, path, "want keys with values, not %s", kindOfNode(n))
		return
	}
	for it := m.MapRange(); it.Next(); {
		k, v := ast.Node(it.Key()), it.Value()
		if q, ok := k.(*ast.MappingKeyNode); ok && q.Value != nil {
			k = q.Value
		}
		if v == nil || v.Type() == ast.NullType {
			r.fault(k, join(path, k.GetToken().Value), "has no value: give one, or leave the key out")
			continue
		}
		each(k, v)
	}
}

// table reads a mapping with keys of the file's own.
func (r *configReader) table(n ast.Node, path string, v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Interface { // what a schema says is its own
		var any map[string]any
		if err := yaml.NodeToValue(n, &any); err != nil {
			r.fault(n, path, "want keys with values")
			return
		}
		v.Set(reflect.ValueOf(any))
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	r.keys(n, path, func(k, value ast.Node) {
		x := reflect.New(v.Type().Elem()).Elem()
		r.value(value, join(path, k.GetToken().Value), x)
		v.SetMapIndex(reflect.ValueOf(k.GetToken().Value), x)
	})
}

func (r *configReader) list(n ast.Node, path string, v reflect.Value) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		r.fault(n, path, "want a list, not %s", kindOfNode(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values)))
	for i, x := range list.Values {
		r.value(x, fmt.Sprintf("%s[%d]", path, i), v.Index(i))
	}
}

// suggest names the key that was probably meant, or all.
func suggest(name string, names []string) string {
	plain := func(s string) string { return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s)) }
	for _, other := range names {
		a, b := plain(name), plain(other)
		if a == b || a+"s" == b || a == b+"s" || len(a) > 3 && (strings.HasPrefix(b, a) || strings.HasPrefix(a, b)) {
			return fmt.Sprintf("did you mean %q?", other)
		}
	}
	slices.Sort(names)
	return "the keys here are " + strings.Join(names, ", ")
}

// plainOf is a struct of the file as keys and values, without those that are not
// set.
func plainOf(s any) map[string]any {
	v := reflect.ValueOf(s)
	out := map[string]any{}
	for i := range v.NumField() {
		name, f := v.Type().Field(i).Tag.Get("yaml"), v.Field(i)
		if name == "" || f.IsZero() {
			continue
		}
		switch {
		case f.Kind() == reflect.Struct:
			out[name] = plainOf(f.Interface())
		case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct:
			var list []any
			for j := range f.Len() {
				list = append(list, plainOf(f.Index(j).Interface()))
			}
			out[name] = list
		case f.Type() == durationType:
			out[name] = f.Interface().(time.Duration).String()
		default:
			out[name] = f.Interface()
		}
	}
	return out
}

// File is the name of the file.
func (c *Config) File() string { return c.places[""].File }
