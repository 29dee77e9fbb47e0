package yamlfile

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/spelling"
)

// A Place is a position in a file.
type Place struct {
	File         string
	Line, Column int // from 1; 0 means the file as a whole
}

// String returns FILE:LINE:COLUMN, or FILE.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// A Fault is one mistake in a file.
type Fault struct {
	Place
	Key string // its path, such as "routes[0].display"; "" for the file as a whole
	Err error
}

// Error returns "FILE:LINE:COLUMN: KEY: what is wrong".
func (f Fault) Error() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.Place.String() + ": ")
	}
	named := f.Line == 0 && strings.HasSuffix(f.File, " "+f.Key) // as --set model.name
	if f.Key != "" && !named {
		b.WriteString(f.Key + ": ")
	}
	return b.String() + f.Err.Error()
}

// Unwrap returns the error without its place.
func (f Fault) Unwrap() error { return f.Err }

// A Document is one file that is being read. Its methods read values, and collect
// faults instead of stopping at the first.
type Document struct {
	// Name is the file's name, for messages.
	Name string
	// Limits bound the file. If zero, they are those of [Read].
	Limits Limits
	// Unknown says what is wrong with a key that is not one of those known at a
	// path; if nil, the fault names the key that was probably meant.
	Unknown func(path, name string, known []string) error
	// MayBeEmpty are the paths of keys that may stand without a value.
	MayBeEmpty []string
	// Faults is what was wrong so far: at most 100, and one that says so.
	Faults []Fault

	places map[string]Place
}

// maxFaults is how many faults of a file are listed.
const maxFaults = 100

// maxKey bounds the path of a fault, in bytes, because the author of the file chose
// it.
const maxKey = 200

// Full reports whether further faults are not listed.
func (d *Document) Full() bool { return len(d.Faults) >= maxFaults }

// Err joins all faults. It returns nil if there are none.
func (d *Document) Err() error {
	var list []error
	for _, f := range d.Faults {
		list = append(list, f)
	}
	return errors.Join(list...)
}

// Read returns the value of the file. It returns nil if the file is empty or not
// valid YAML.
func (d *Document) Read(data []byte) *Node {
	limits := d.Limits
	if limits == (Limits{}) {
		limits = settings
	}
	n, err := limits.Read(data)
	if err != nil {
		d.faultOf("", err)
		return nil
	}
	return n
}

// faultOf adds an error that may know its place.
func (d *Document) faultOf(path string, err error) {
	at := Place{File: d.Name}
	if e, ok := errors.AsType[*Error](err); ok {
		at.Line, at.Column, err = e.Line, e.Column, e.Err
	}
	d.report(Fault{at, path, err})
}

func (d *Document) report(f Fault) {
	f.Key = shorttext.Ellipsis(f.Key, maxKey)
	switch {
	case len(d.Faults) < maxFaults:
		d.Faults = append(d.Faults, f)
	case len(d.Faults) == maxFaults:
		d.Faults = append(d.Faults, Fault{f.Place, "", errors.New("too many faults: the rest is not listed")})
	}
}

// At returns the place of a node.
func (d *Document) At(n *Node) Place {
	if n.source != "" {
		return Place{File: n.source}
	}
	return Place{d.Name, n.Line, n.Column}
}

// Fault adds a fault of a node, whose path is the key.
func (d *Document) Fault(n *Node, path, format string, args ...any) {
	d.report(Fault{d.At(n), path, fmt.Errorf(format, args...)})
}

// FaultAt is Fault for a value that was read before, given by its path. If the file
// does not have the value, the place is that of its container.
func (d *Document) FaultAt(path, format string, args ...any) {
	d.report(Fault{d.PlaceOf(path), path, fmt.Errorf(format, args...)})
}

// PlaceOf returns the place of the value at a path, or of its container.
func (d *Document) PlaceOf(path string) Place {
	for at := path; at != ""; {
		if p, ok := d.places[at]; ok {
			return p
		}
		at = at[:max(0, strings.LastIndexAny(at, ".["))]
	}
	if p, ok := d.places[""]; ok {
		return p
	}
	return Place{File: d.Name}
}

// Places returns where every value that was read stands, by its path.
func (d *Document) Places() map[string]Place { return maps.Clone(d.places) }

// Mark says where the value of a path stands, for [Document.PlaceOf].
func (d *Document) Mark(path string, n *Node) {
	if d.places == nil {
		d.places = map[string]Place{}
	}
	if _, known := d.places[path]; !known {
		d.places[path] = d.At(n)
	}
}

// Join adds a key to a path.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Keys calls each for every key of a mapping and its value. Duplicate keys and keys
// without a value are faults, and are left out.
func (d *Document) Keys(n *Node, path string, each func(key *Node, path string, value *Node)) {
	d.keys(n, path, func(string) error { return nil }, each)
}

// Known is [Document.Keys] of a mapping whose keys are all known. A key that is
// not is a fault, by default one that names the key that was probably meant.
func (d *Document) Known(n *Node, path string, known []string, each func(key, path string, value *Node)) {
	is := make(map[string]bool, len(known))
	for _, name := range known {
		is[name] = true
	}
	unknown := d.Unknown
	if unknown == nil {
		unknown = unknownKey
	}
	d.keys(n, path, func(name string) error {
		switch {
		case is[name]:
			return nil
		case d.Full(): // the nearest name costs time, and nobody reads it
			return errUnknownKey
		}
		return unknown(path, name, known)
	}, func(key *Node, at string, value *Node) { each(key.Text, at, value) })
}

var errUnknownKey = errors.New("unknown key")

func unknownKey(_, name string, known []string) error {
	return fmt.Errorf("unknown key: %s", spelling.DidYouMean(name, known, "the keys here are"))
}

func (d *Document) keys(n *Node, path string, check func(name string) error, each func(key *Node, path string, value *Node)) {
	if n.Kind != Mapping {
		d.Fault(n, path, "want a mapping, not %s", Describe(n))
		return
	}
	lines := make(map[string]int, len(n.Members))
	for _, m := range n.Members {
		name, at := m.Key.Text, Join(path, m.Key.Text)
		line, twice := lines[name]
		if !twice {
			lines[name] = m.Key.Line
		}
		if m.Key.Kind > Text {
			d.Fault(m.Key, path, "want a key that is a string, not %s", Describe(m.Key))
			continue
		}
		switch err := check(name); {
		case err != nil:
			d.Fault(m.Key, at, "%w", err)
		case twice:
			d.Fault(m.Key, at, "appears twice, first in line %d", line)
		case m.Value.Kind == Null && !slices.Contains(d.MayBeEmpty, at):
			d.Fault(m.Key, at, "has no value: give one, or leave the key out")
		default:
			each(m.Key, at, m.Value)
		}
	}
}

// Describe says what a node is, for a message that wants another: "a list", a
// number as it is written, or a text in quotes.
func Describe(n *Node) string {
	switch n.Kind {
	case Text:
		return strconv.Quote(shorttext.Cut(n.Text, 40))
	case Int, Float, Bool:
		return shorttext.Cut(n.Text, 40)
	case Anchor, Alias, Tag:
		return n.Kind.String() + ", which is not supported"
	}
	return n.Kind.String()
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	nodeType     = reflect.TypeFor[*Node]()
)

// Decode reads a node into the value that v points to. A struct takes the keys in
// the tags of its fields (yaml:"name"), and every other key is a fault. A map takes
// any keys. A value of type any has the types that encoding/json would use. A field
// of type *[Node] takes the node itself. A pointer is nil if its key is missing.
// The place of every value is marked.
func (d *Document) Decode(n *Node, path string, v any) {
	d.decode(n, path, reflect.ValueOf(v).Elem())
}

func (d *Document) decode(n *Node, path string, v reflect.Value) {
	d.Mark(path, n)
	switch {
	case n.Kind > Mapping:
		d.Fault(n, path, "anchors, aliases and tags are not supported")
	case v.Type() == nodeType:
		v.Set(reflect.ValueOf(n))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.decode(n, path, v.Elem())
	case v.Kind() == reflect.Struct:
		d.fields(n, path, v)
	case v.Kind() == reflect.Slice:
		d.list(n, path, v)
	case v.Kind() == reflect.Map:
		d.table(n, path, v)
	default:
		d.scalar(n, path, v)
	}
}

func (d *Document) fields(n *Node, path string, v reflect.Value) {
	fields := map[string]reflect.Value{}
	var names []string
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("yaml"); name != "" {
			fields[name] = v.Field(i)
			names = append(names, name)
		}
	}
	d.Known(n, path, names, func(key, at string, value *Node) { d.decode(value, at, fields[key]) })
}

func (d *Document) table(n *Node, path string, v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Interface {
		d.object(n, path, v)
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	d.Keys(n, path, func(key *Node, at string, value *Node) {
		x := reflect.New(v.Type().Elem()).Elem()
		d.decode(value, at, x)
		v.SetMapIndex(reflect.ValueOf(key.Text), x)
	})
}

// object reads keys and values with the types that encoding/json would use.
func (d *Document) object(n *Node, path string, v reflect.Value) {
	value, err := n.Value()
	if err != nil {
		d.faultOf(path, err)
		return
	}
	object, ok := value.(map[string]any)
	if !ok {
		d.Fault(n, path, "want a mapping, not %s", Describe(n))
		return
	}
	v.Set(reflect.ValueOf(object))
}

func (d *Document) list(n *Node, path string, v reflect.Value) {
	if n.Kind != List {
		d.Fault(n, path, "want a list, not %s", Describe(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
	for i, item := range n.Items {
		d.decode(item, fmt.Sprintf("%s[%d]", path, i), v.Index(i))
	}
}

func (d *Document) scalar(n *Node, path string, v reflect.Value) {
	isScalar := n.Kind >= Bool && n.Kind <= Text
	want := ""
	switch {
	case v.Type() == durationType:
		t, err := time.ParseDuration(n.Text)
		if n.Text == "0" {
			err = nil
		}
		if want = "a time such as 30s or 5m"; isScalar && err == nil {
			v.SetInt(int64(t))
			return
		}
	case v.Kind() == reflect.String:
		// Words that YAML reads as numbers or booleans are text where text is
		// expected.
		if want = "text"; isScalar {
			v.SetString(n.Text)
			return
		}
	case v.Kind() == reflect.Bool:
		b, err := strconv.ParseBool(strings.ToLower(n.Text))
		if want = "true or false"; n.Kind == Bool && err == nil {
			v.SetBool(b)
			return
		}
	case v.CanInt():
		i, err := strconv.ParseInt(n.Text, 10, 64)
		if want = "a whole number"; n.Kind == Int && err == nil && !v.OverflowInt(i) {
			v.SetInt(i)
			return
		}
	case v.CanFloat():
		f, err := strconv.ParseFloat(n.Text, 64)
		if want = "a number"; (n.Kind == Int || n.Kind == Float) && err == nil {
			v.SetFloat(f)
			return
		}
	default:
		panic("yamlfile: no values of type " + v.Type().String())
	}
	d.Fault(n, path, "want %s, not %s", want, Describe(n))
}
