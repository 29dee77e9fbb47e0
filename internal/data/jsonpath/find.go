// Package jsonpath finds the values of paths such as messages.-1.content in a line
// of JSON, in one pass that also checks the line. It also reads and writes JSON
// strings.
package jsonpath

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// A span is where a value stands in a line.
type span struct{ Start, End int }

// A Step is one part of a path.
type Step struct {
	Name    string
	index   int  // of an array's element, from the end if negative
	isIndex bool // the name is a number
	every   bool // the name is "#": every element of an array
}

// Parse reads a path such as messages.-1.content; \. is a dot in a name.
func Parse(path string) ([]Step, error) {
	var steps []Step
	var name strings.Builder
	add := func() error {
		s := Step{Name: name.String()}
		if s.Name == "" {
			return fmt.Errorf("field %q: a part of the path is empty", path)
		}
		if n, err := strconv.Atoi(s.Name); err == nil {
			s.index, s.isIndex = n, true
		}
		s.every = s.Name == "#"
		steps = append(steps, s)
		name.Reset()
		return nil
	}
	for i := 0; i < len(path); i++ {
		switch {
		case path[i] == '.':
			if err := add(); err != nil {
				return nil, err
			}
		case path[i] == '\\' && i+1 < len(path):
			i++
			fallthrough
		default:
			name.WriteByte(path[i])
		}
	}
	return steps, add()
}

// Many reports whether a path names more than one value.
func Many(path []Step) bool {
	for _, s := range path {
		if s.every {
			return true
		}
	}
	return false
}

// A SyntaxError says where a line stops being JSON.
type SyntaxError struct {
	at   int
	what string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.at, e.what) }

// errNoObject is the error of a line that is JSON, but not an object.
var errNoObject = errors.New("the line is not a JSON object")

// A Finder reads a line of JSON once. It checks the whole line and notes where the
// values of the paths stand. If members have the same name, the last counts, as for
// later readers of the line.
type Finder struct {
	Data  []byte
	pos   int
	Found [][]span // per path, in the order of the line

	// EveryFirst makes every member of the same name count for the first path: for
	// who changes values, since a reader may take any of the members.
	EveryFirst bool
}

// maxDepth bounds how deep a line may nest, and so the stack, as for all JSON from
// outside.
const maxDepth = foreignjson.MaxDepth

// usualPaths is the number of paths for which no allocation is needed.
const usualPaths = 32

// Find notes in f.found the values of the paths in a line.
func (f *Finder) Find(line []byte, paths ...[]Step) error {
	for len(f.Found) < len(paths) {
		f.Found = append(f.Found, nil)
	}
	for i := range f.Found {
		f.Found[i] = f.Found[i][:0]
	}
	f.Data, f.pos = line, 0
	if strings.HasPrefix(string(line[:min(3, len(line))]), "\ufeff") {
		f.pos = 3
	}
	f.white()
	if f.peek() != '{' {
		if err := f.value(nil, 0); err != nil {
			return err
		}
		return errNoObject
	}
	var trail [usualPaths]tail
	live := trail[:0]
	for i, path := range paths {
		live = append(live, tail{path, i})
	}
	if err := f.value(live, 0); err != nil {
		return err
	}
	f.white()
	if f.pos < len(f.Data) {
		return f.fail(jsontext.More)
	}
	return nil
}

// A tail is the rest of a path on the way down.
type tail struct {
	path []Step
	id   int
}

func (f *Finder) fail(what jsontext.Fault) error { return &SyntaxError{f.pos, string(what)} }

// find moves to the end of what a function of package jsontext has read, or to the
// fault in it.
func (f *Finder) find(end int, fault jsontext.Fault) error {
	f.pos = end
	if fault != "" {
		return f.fail(fault)
	}
	return nil
}

// peek returns the next byte, and 0 at the end.
func (f *Finder) peek() byte {
	if f.pos < len(f.Data) {
		return f.Data[f.pos]
	}
	return 0
}

func (f *Finder) white() { f.pos = jsontext.Space(f.Data, f.pos) }

// value reads one value. live are the paths that lead to it or through it.
func (f *Finder) value(live []tail, depth int) error {
	start := f.pos
	through := slices.ContainsFunc(live, func(t tail) bool { return len(t.path) > 0 })
	var err error
	switch c := f.peek(); {
	case !through || c != '{' && c != '[':
		end, _, fault := jsontext.Limits{Depth: maxDepth - depth, Members: math.MaxInt}.Value(f.Data, f.pos)
		err = f.find(end, fault)
	case depth == maxDepth:
		err = f.fail(jsontext.TooDeep)
	case c == '{':
		err = f.object(live, depth+1)
	default:
		err = f.array(live, depth+1)
	}
	if err != nil {
		return err
	}
	for _, t := range live {
		if len(t.path) == 0 {
			f.Found[t.id] = append(f.Found[t.id], span{start, f.pos})
		}
	}
	return nil
}

func (f *Finder) object(live []tail, depth int) error {
	f.pos++
	f.white()
	if f.peek() == '}' {
		f.pos++
		return nil
	}
	var room [8]tail
	from := make([]int, 0, usualPaths) // found before this object, per live path
	for _, t := range live {
		from = append(from, len(f.Found[t.id]))
	}
	for {
		start := f.pos
		if err := f.find(jsontext.Key(f.Data, f.pos)); err != nil {
			return err
		}
		name := f.Data[start+1 : f.pos-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name = []byte(jsontext.Unquote(f.Data[start:f.pos]))
		}
		if err := f.find(jsontext.Colon(f.Data, f.pos)); err != nil {
			return err
		}
		f.white()
		next := room[:0]
		for i, t := range live {
			if len(t.path) > 0 && string(name) == t.path[0].Name {
				if t.id != 0 || !f.EveryFirst {
					f.Found[t.id] = f.Found[t.id][:from[i]] // the later member counts
				}
				next = append(next, tail{t.path[1:], t.id})
			}
		}
		if err := f.value(next, depth); err != nil {
			return err
		}
		if done, err := f.more('}'); done || err != nil {
			return err
		}
	}
}

func (f *Finder) array(live []tail, depth int) error {
	f.pos++
	f.white()
	if f.peek() == ']' {
		f.pos++
		return nil
	}
	var room [8]tail
	fromEnd := false
	for _, t := range live {
		fromEnd = fromEnd || len(t.path) > 0 && t.path[0].isIndex && t.path[0].index < 0
	}
	var starts []int
	for i := 0; ; i++ {
		if fromEnd {
			starts = append(starts, f.pos)
		}
		next := room[:0]
		for _, t := range live {
			if len(t.path) > 0 && (t.path[0].every || t.path[0].isIndex && t.path[0].index == i) {
				next = append(next, tail{t.path[1:], t.id})
			}
		}
		if err := f.value(next, depth); err != nil {
			return err
		}
		done, err := f.more(']')
		if err != nil {
			return err
		}
		if done {
			return f.back(live, starts, depth)
		}
	}
}

// back reads the elements that are counted from the end of an array again.
func (f *Finder) back(live []tail, starts []int, depth int) error {
	after := f.pos
	for _, t := range live {
		if len(t.path) == 0 || !t.path[0].isIndex || t.path[0].index >= 0 {
			continue
		}
		if i := len(starts) + t.path[0].index; i >= 0 {
			f.pos = starts[i]
			if err := f.value([]tail{{t.path[1:], t.id}}, depth); err != nil {
				return err
			}
		}
	}
	f.pos = after
	return nil
}

// more reads the separator of two members, or the closing bracket.
func (f *Finder) more(closer byte) (done bool, err error) {
	f.white()
	switch f.peek() {
	case closer:
		f.pos++
		return true, nil
	case ',':
		f.pos++
		f.white()
		return false, nil
	}
	if f.pos == len(f.Data) {
		return false, f.fail(jsontext.Ended)
	}
	return false, f.fail(jsontext.NoComma)
}

// Last returns the value found for path i, as it stands in the line.
func (f *Finder) Last(i int) []byte {
	if n := len(f.Found[i]); n > 0 {
		return f.Data[f.Found[i][n-1].Start:f.Found[i][n-1].End]
	}
	return nil
}

// Text returns the string found for path i. It returns nil if there is none, and
// for null.
func (f *Finder) Text(i int, name string) (*string, error) {
	value := f.Last(i)
	if value == nil || value[0] == 'n' {
		return nil, nil
	}
	if value[0] != '"' {
		return nil, fmt.Errorf("field %s %w", name, ErrNotString)
	}
	s := jsontext.Unquote(value)
	return &s, nil
}

var (
	// ErrMissing is the error of a field that a line does not have.
	ErrMissing = errors.New("is missing")
	// ErrNotString is the error of a field that is not a string.
	ErrNotString = errors.New("is not a string")
)

// TextOr returns the text of a string. For any other value it returns its JSON.
func TextOr(value []byte, otherwise string) string {
	switch {
	case value == nil || value[0] == 'n':
		return otherwise
	case value[0] == '"':
		return jsontext.Unquote(value)
	}
	return string(value)
}

// Elements returns the elements of a list that a finder has read: the text of
// strings, and the JSON of anything else.
func Elements(list []byte) (texts []string, err error) {
	var f Finder
	if err := f.Find(fmt.Appendf(nil, `{"":%s}`, list), everyElement); err != nil {
		return nil, err
	}
	for _, at := range f.Found[0] {
		texts = append(texts, TextOr(f.Data[at.Start:at.End], ""))
	}
	return texts, nil
}

// everyElement is the path of every element of a list whose name is empty.
var everyElement = []Step{{Name: ""}, {Name: "#", every: true}}
