package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/sotto-llm/sotto/gateway"
)

// A place is where a setting was made: in a file, or by a flag or a variable of
// the environment, which then is the name.
type place struct {
	file         string
	line, column int
	name         string
}

// A misstep is a setting that is wrong.
type misstep struct {
	place
	key string
	err error
}

func (f *misstep) Error() string {
	var where string
	err := withoutName(f.key, f.err)
	switch {
	case f.name != "":
		return f.name + ": " + err
	case f.file != "" && f.line == 0:
		where = f.file + ": "
	case f.file != "":
		where = fmt.Sprintf("%s:%d:%d: ", f.file, f.line, f.column)
	}
	if f.key != "" {
		where += f.key + ": "
	}
	return where + err
}

// withoutName says an error without the name that it begins with, where the key
// has just said it: start: start "x".
func withoutName(key string, err error) string {
	text := err.Error()
	name := key[strings.LastIndexByte(key, '.')+1:] + " "
	if strings.HasPrefix(text, name+`"`) {
		return text[len(name):]
	}
	return text
}

func (f *misstep) Unwrap() error { return f.err }

// A configReader reads a configuration file into settings. It goes on after a
// fault, to report them all.
type configReader struct {
	file     string
	settings *serveSettings
	faults   []*misstep
	// places are where the values stand, by their paths ("limits.body",
	// "routes[0].display").
	places map[string]place
	// unknown are the keys that there are, by the section in which one is
	// written that is like none of them.
	unknown map[string][]string
}

// readConfig reads a configuration file. It fails where the file cannot be
// read; what is wrong in it are faults.
func (s *serveSettings) readConfig(name string) (*configReader, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read configuration %s: %w", name, cause(err))
	}
	r := newConfigReader(name, s)
	r.read(data)
	s.resolvePaths(filepath.Dir(name))
	return r, nil
}

func newConfigReader(file string, s *serveSettings) *configReader {
	return &configReader{file: file, settings: s, places: map[string]place{}, unknown: map[string][]string{}}
}

// resolvePaths makes the paths of a file relative to the folder it stands in.
func (s *serveSettings) resolvePaths(folder string) {
	paths := []*string{&s.token.file, &s.upstreamKey.file, &s.gateway.Data}
	for i := range s.dialectFiles {
		paths = append(paths, &s.dialectFiles[i])
	}
	paths = append(paths, recordPaths(&s.recording)...)
	for _, p := range paths {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(folder, *p)
		}
	}
}

func (r *configReader) read(data []byte) {
	text := strings.TrimPrefix(string(data), "\ufeff")
	file, err := parser.ParseBytes([]byte(text), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.syntax(err)
		return
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) > 1 {
		r.fault(bodies[1], "", errors.New("a second document begins here: want one"))
	}
	if len(bodies) > 0 {
		r.top(bodies[0])
	}
}

// syntax reports text that is no YAML; the parser stops at the first.
func (r *configReader) syntax(err error) {
	at := place{file: r.file}
	if e, ok := errors.AsType[yaml.Error](err); ok {
		at, err = r.place(e.GetToken()), errors.New(e.GetMessage())
	}
	r.faults = append(r.faults, &misstep{at, "", fmt.Errorf("no YAML: %w", err)})
}

func (r *configReader) place(t *token.Token) place {
	at := place{file: r.file}
	if t != nil && t.Position != nil {
		at.line, at.column = t.Position.Line, t.Position.Column
	}
	return at
}

func (r *configReader) fault(n ast.Node, path string, err error) {
	r.faults = append(r.faults, &misstep{r.place(first(n)), path, err})
}

// first returns the token that a node begins with; to a mapping without braces
// the parser gives that of its first colon.
func first(n ast.Node) *token.Token {
	if m, ok := n.(*ast.MappingNode); ok && m.IsFlowStyle {
		return m.Start
	}
	if m, ok := n.(ast.MapNode); ok {
		if it := m.MapRange(); it.Next() {
			return keyOf(it).GetToken()
		}
	}
	return n.GetToken()
}

// keyOf returns a mapping's key, without the question mark it may be written
// with.
func keyOf(it *ast.MapNodeIter) ast.Node {
	if k, ok := it.Key().(*ast.MappingKeyNode); ok && k.Value != nil {
		return k.Value
	}
	return it.Key()
}

// top reads the keys at the top of the file.
func (r *configReader) top(n ast.Node) {
	keys := r.settings.keys()
	r.mapping(n, "", r.settings.topNames(), func(name string, v ast.Node) {
		switch name {
		case "v":
			r.version(v)
		case "limits":
			r.section(v, "limits", r.settings.limitKeys())
		case "routes":
			r.routes(v)
		default:
			k, _ := find(keys, name)
			r.value(v, name, k.value)
		}
	})
}

func (r *configReader) version(v ast.Node) {
	if n, ok := v.(*ast.IntegerNode); !ok || n.GetToken().Value != "1" {
		r.fault(v, "v", errors.New("want 1, the only version there is"))
	}
}

// section reads a mapping whose keys all have values.
func (r *configReader) section(n ast.Node, path string, keys []key) {
	r.mapping(n, path, names(keys), func(name string, v ast.Node) {
		k, _ := find(keys, name)
		r.value(v, join(path, name), k.value)
	})
}

func (r *configReader) routes(n ast.Node) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		r.fault(n, "routes", fmt.Errorf("want a list, not %s", kind(n)))
		return
	}
	routes := make([]gateway.Route, len(list.Values))
	r.settings.gateway.Routes = routes
	for i, v := range list.Values {
		path := fmt.Sprintf("routes[%d]", i)
		r.places[path] = r.place(first(v))
		r.section(v, path, routeKeys(&routes[i]))
	}
}

// mapping calls each for the values of a mapping, and reports keys that are
// unknown, stand twice, or have no value.
func (r *configReader) mapping(n ast.Node, path string, known []string, each func(name string, v ast.Node)) {
	m, ok := n.(ast.MapNode)
	if !ok {
		r.fault(n, path, fmt.Errorf("want keys with values, not %s", kind(n)))
		return
	}
	lines := map[string]int{}
	for it := m.MapRange(); it.Next(); {
		k, v := keyOf(it), it.Value()
		name := k.GetToken().Value
		at := join(path, name)
		switch line, twice := lines[name]; {
		case !slices.Contains(known, name):
			r.fault(k, at, r.unknownKey(path, name, known))
		case twice:
			r.fault(k, at, fmt.Errorf("stands twice, before in line %d", line))
		case v == nil || v.Type() == ast.NullType:
			r.fault(k, at, errors.New("has no value: give one, or leave the key out"))
		default:
			each(name, v)
		}
		if _, twice := lines[name]; !twice {
			lines[name] = k.GetToken().Position.Line
		}
	}
}

// value reads what stands at a key.
func (r *configReader) value(n ast.Node, path string, v value) {
	r.places[path] = r.place(first(n))
	list, isList := n.(*ast.SequenceNode)
	switch {
	case isList && v.list:
		v.clear()
		v.want = "text"
		for i, item := range list.Values {
			at := fmt.Sprintf("%s[%d]", path, i)
			r.places[at] = r.place(first(item))
			r.scalar(item, at, v)
		}
	case v.list && !v.orOne:
		r.fault(n, path, fmt.Errorf("want %s, not %s", v.want, kind(n)))
	default:
		if v.clear != nil {
			v.clear()
		}
		r.scalar(n, path, v)
	}
}

func (r *configReader) scalar(n ast.Node, path string, v value) {
	if !slices.Contains(v.nodes, n.Type()) {
		r.fault(n, path, fmt.Errorf("want %s, not %s", v.want, kind(n)))
		return
	}
	text := n.GetToken().Value
	if s, ok := n.(*ast.StringNode); ok {
		text = s.Value
	}
	if err := v.set(text); err != nil {
		r.fault(n, path, err)
	}
}

// kind says what a node is.
func kind(n ast.Node) string {
	switch n.Type() {
	case ast.StringType, ast.LiteralType:
		return "text"
	case ast.IntegerType:
		return "a number"
	case ast.FloatType, ast.InfinityType, ast.NanType:
		return "a number that is not whole"
	case ast.BoolType:
		return n.GetToken().Value
	case ast.NullType:
		return "nothing"
	case ast.MappingType, ast.MappingValueType:
		return "keys with values"
	case ast.SequenceType:
		return "a list"
	case ast.AnchorType:
		return "an anchor, which is not read here"
	case ast.AliasType:
		return "an alias, which is not read here"
	case ast.TagType:
		return "a tag, which is not read here"
	}
	return "this"
}

// secretKeys are what people try to write a secret to.
var secretKeys = map[string]string{
	"token":        "token-file, or SOTTO_TOKEN",
	"key":          "upstream-key-file, or SOTTO_UPSTREAM_KEY",
	"api-key":      "upstream-key-file, or SOTTO_UPSTREAM_KEY",
	"upstream-key": "upstream-key-file, or SOTTO_UPSTREAM_KEY",
}

func (r *configReader) unknownKey(path, name string, known []string) error {
	instead, isSecret := secretKeys[strings.ReplaceAll(name, "_", "-")]
	if isSecret {
		return fmt.Errorf("a secret does not stand in this file: use %s", instead)
	}
	if near := nearest(name, known); near != "" {
		return fmt.Errorf("unknown key: did you mean %q?", near)
	}
	section, _, _ := strings.Cut(path, "[") // routes[0]
	r.unknown[section] = known
	return errors.New("unknown key")
}

// keyHints list the keys of the sections that hold unknown ones.
func (r *configReader) keyHints() []string {
	var list []string
	for _, section := range []struct{ path, name string }{{"", "the keys"}, {"limits", "the keys of limits"}, {"routes", "the keys of a route"}} {
		if known, ok := r.unknown[section.path]; ok {
			list = append(list, section.name+" are "+strings.Join(known, ", "))
		}
	}
	return list
}

// join adds a name to a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// nearest returns the name that is written almost so, or "".
func nearest(name string, known []string) string {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	best, least := "", max(1, len(name)/3)+1
	for _, other := range known {
		d := distance(name, other)
		if strings.HasPrefix(other, name+"-") || other == name+"s" {
			d = 1
		}
		if d < least && d < len(name) {
			best, least = other, d
		}
	}
	return best
}

// distance counts the letters to change, add or drop between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := before
			if a[i] != b[j] {
				d = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
