package agent

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/shorttext"
	"github.com/sotto-llm/sotto/internal/spelling"
	"github.com/sotto-llm/sotto/internal/yamlfile"
)

// ReadConfig reads an experiment's file, YAML with the keys of [Config]. All that
// is wrong in it is one [*ConfigError].
func ReadConfig(name string) (*Config, error) {
	data, err := yamlfile.Load(name)
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
	r.read(data, c)
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
	n, err := yamlfile.Read(data)
	at := Place{File: r.file}
	switch e, ok := errors.AsType[*yamlfile.Error](err); {
	case ok:
		at.Line, at.Column = e.Line, e.Column
		r.faults = append(r.faults, Fault{at, "", e.Err})
	case err != nil:
		r.faults = append(r.faults, Fault{at, "", err})
	case n != nil:
		r.value(n, "", reflect.ValueOf(c).Elem())
	}
}

func (r *configReader) place(n *yamlfile.Node) Place {
	return Place{File: r.file, Line: n.Line, Column: n.Column}
}

func (r *configReader) fault(n *yamlfile.Node, path, format string, args ...any) {
	switch {
	case len(r.faults) < maxFaults:
		r.faults = append(r.faults, Fault{r.place(n), path, fmt.Errorf(format, args...)})
	case len(r.faults) == maxFaults:
		r.faults = append(r.faults, Fault{r.place(n), "", errors.New("too many faults: from here on they are not listed")})
	}
}

// maxFaults is how many faults of a file are listed.
const maxFaults = 100

var durationType = reflect.TypeFor[time.Duration]()

// value reads what stands at a key.
func (r *configReader) value(n *yamlfile.Node, path string, v reflect.Value) {
	if _, ok := r.places[path]; !ok {
		r.places[path] = r.place(n)
	}
	switch {
	case n.Kind > yamlfile.Mapping:
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

func (r *configReader) scalar(n *yamlfile.Node, path string, v reflect.Value) {
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
		b, err := strconv.ParseBool(strings.ToLower(text))
		if n.Kind != yamlfile.Bool || err != nil {
			r.fault(n, path, "want true or false, not %s", kindOfNode(n))
			return
		}
		v.SetBool(b)
	case v.CanInt():
		i, err := strconv.ParseInt(text, 10, 64)
		if n.Kind != yamlfile.Int || err != nil {
			r.fault(n, path, "want a whole number, not %s", kindOfNode(n))
			return
		}
		v.SetInt(i)
	case v.CanFloat():
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || n.Kind == yamlfile.Text {
			r.fault(n, path, "want a number, not %s", kindOfNode(n))
			return
		}
		v.SetFloat(f)
	}
}

// textOfNode is a scalar's text; words that YAML reads as numbers or truth are
// text where text is wanted.
func textOfNode(n *yamlfile.Node) (string, bool) {
	switch n.Kind {
	case yamlfile.Text, yamlfile.Int, yamlfile.Float, yamlfile.Bool:
		return n.Text, true
	}
	return "", false
}

func kindOfNode(n *yamlfile.Node) string {
	if text, ok := textOfNode(n); ok {
		return strconv.Quote(shorttext.Cut(text, 40))
	}
	return n.Kind.String()
}

// mapping reads the keys of a struct, and reports those that are unknown, stand
// twice, or have no value.
func (r *configReader) mapping(n *yamlfile.Node, path string, v reflect.Value) {
	fields := map[string]reflect.Value{}
	var names []string
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("yaml"); name != "" {
			fields[name] = v.Field(i)
			names = append(names, name)
		}
	}
	lines := map[string]int{}
	r.keys(n, path, func(k, value *yamlfile.Node) {
		name := k.Text
		at := join(path, name)
		switch line, twice := lines[name]; {
		case !fields[name].IsValid():
			r.fault(k, at, "unknown key: %s", spelling.DidYouMean(name, slices.Sorted(slices.Values(names)), "the keys here are"))
		case twice:
			r.fault(k, at, "stands twice, before in line %d", line)
		default:
			lines[name] = k.Line
			r.value(value, at, fields[name])
		}
	})
}

// keys calls each for the keys of a mapping that have values.
func (r *configReader) keys(n *yamlfile.Node, path string, each func(k, v *yamlfile.Node)) {
	if n.Kind != yamlfile.Mapping {
		r.fault(n, path, "want keys with values, not %s", kindOfNode(n))
		return
	}
	for _, m := range n.Members {
		if m.Value.Kind == yamlfile.Null {
			r.fault(m.Key, join(path, m.Key.Text), "has no value: give one, or leave the key out")
			continue
		}
		each(m.Key, m.Value)
	}
}

// table reads a mapping with keys of the file's own.
func (r *configReader) table(n *yamlfile.Node, path string, v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Interface { // what a schema says is its own
		r.schema(n, path, v)
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	r.keys(n, path, func(k, value *yamlfile.Node) {
		x := reflect.New(v.Type().Elem()).Elem()
		r.value(value, join(path, k.Text), x)
		v.SetMapIndex(reflect.ValueOf(k.Text), x)
	})
}

// schema reads keys and values as encoding/json would have them.
func (r *configReader) schema(n *yamlfile.Node, path string, v reflect.Value) {
	value, err := n.Value()
	object, ok := value.(map[string]any)
	switch e, isPlaced := errors.AsType[*yamlfile.Error](err); {
	case isPlaced:
		r.faults = append(r.faults, Fault{Place{r.file, e.Line, e.Column}, path, e.Err})
	case err != nil || !ok:
		r.fault(n, path, "want keys with values, not %s", kindOfNode(n))
	default:
		v.Set(reflect.ValueOf(object))
	}
}

func (r *configReader) list(n *yamlfile.Node, path string, v reflect.Value) {
	if n.Kind != yamlfile.List {
		r.fault(n, path, "want a list, not %s", kindOfNode(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
	for i, x := range n.Items {
		r.value(x, fmt.Sprintf("%s[%d]", path, i), v.Index(i))
	}
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
