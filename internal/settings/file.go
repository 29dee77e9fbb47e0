package settings

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/files"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/internal/yamlfile"
)

// A Place is where a setting was made: in a file, or by a flag or a variable of
// the environment, which then is the name.
type Place struct {
	File         string
	line, column int
	name         string
}

// A Fault is a setting that is wrong.
type Fault struct {
	Place
	key string
	Err error
}

func (f *Fault) Error() string {
	var where string
	err := hint.WithoutName(f.key, f.Err)
	switch {
	case f.name != "":
		return f.name + ": " + err
	case f.File != "" && f.line == 0:
		where = f.File + ": "
	case f.File != "":
		where = fmt.Sprintf("%s:%d:%d: ", f.File, f.line, f.column)
	}
	if f.key != "" {
		where += f.key + ": "
	}
	return where + err
}

func (f *Fault) Unwrap() error { return f.Err }

// A configReader reads a configuration file into settings. It goes on after a
// fault, to report them all.
type configReader struct {
	file     string
	settings *Settings
	faults   []*Fault
	// places are where the values stand, by their paths ("limits.body",
	// "routes[0].display").
	places map[string]Place
	// unknown are the keys that there are, by the section in which one is
	// written that is like none of them.
	unknown map[string][]string
}

// readConfig reads a configuration file. It fails where the file cannot be
// read; what is wrong in it are faults.
func (s *Settings) readConfig(name string) (*configReader, error) {
	data, err := files.Read("configuration", name, files.MaxSettings)
	if err != nil {
		return nil, err
	}
	r := newConfigReader(name, s)
	r.read(data)
	s.resolvePaths(filepath.Dir(name))
	return r, nil
}

func newConfigReader(file string, s *Settings) *configReader {
	return &configReader{file: file, settings: s, places: map[string]Place{}, unknown: map[string][]string{}}
}

// resolvePaths makes the paths of a file relative to the folder it stands in.
func (s *Settings) resolvePaths(folder string) {
	paths := []*string{&s.token.file, &s.UpstreamKey.file, &s.Gateway.Data}
	for i := range s.dialectFiles {
		paths = append(paths, &s.dialectFiles[i])
	}
	paths = append(paths, recordPaths(&s.Recording)...)
	for _, p := range paths {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(folder, *p)
		}
	}
}

func (r *configReader) read(data []byte) {
	switch n, err := yamlfile.Read(data); {
	case err != nil:
		r.syntax(err)
	case n != nil:
		r.top(n)
	}
}

// syntax reports text that is not valid YAML; the parser stops at the first.
func (r *configReader) syntax(err error) {
	at := Place{File: r.file}
	if e, ok := errors.AsType[*yamlfile.Error](err); ok {
		at.line, at.column, err = e.Line, e.Column, e.Err
	}
	r.faults = append(r.faults, &Fault{at, "", err})
}

func (r *configReader) place(n *yamlfile.Node) Place {
	return Place{File: r.file, line: n.Line, column: n.Column}
}

// maxFaults is how many faults of a file are listed.
const maxFaults = 100

func (r *configReader) fault(n *yamlfile.Node, path string, err error) {
	switch {
	case len(r.faults) < maxFaults:
		r.faults = append(r.faults, &Fault{r.place(n), path, err})
	case len(r.faults) == maxFaults:
		r.faults = append(r.faults, &Fault{r.place(n), "", errors.New("too many faults: from here on they are not listed")})
	}
}

// top reads the keys at the top of the file.
func (r *configReader) top(n *yamlfile.Node) {
	keys := r.settings.keys()
	r.mapping(n, "", r.settings.topNames(), func(name string, v *yamlfile.Node) {
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

func (r *configReader) version(v *yamlfile.Node) {
	if v.Kind != yamlfile.Int || v.Text != "1" {
		r.fault(v, "v", errors.New("want 1, the only version there is"))
	}
}

// section reads a mapping whose keys all have values.
func (r *configReader) section(n *yamlfile.Node, path string, keys []key) {
	r.mapping(n, path, names(keys), func(name string, v *yamlfile.Node) {
		k, _ := find(keys, name)
		r.value(v, join(path, name), k.value)
	})
}

func (r *configReader) routes(n *yamlfile.Node) {
	if n.Kind != yamlfile.List {
		r.fault(n, "routes", fmt.Errorf("want a list, not %s", kind(n)))
		return
	}
	routes := make([]gateway.Route, len(n.Items))
	r.settings.Gateway.Routes = routes
	for i, v := range n.Items {
		path := fmt.Sprintf("routes[%d]", i)
		r.places[path] = r.place(v)
		r.section(v, path, routeKeys(&routes[i]))
	}
}

// mapping calls each for the values of a mapping, and reports keys that are
// unknown, stand twice, or have no value.
func (r *configReader) mapping(n *yamlfile.Node, path string, known []string, each func(name string, v *yamlfile.Node)) {
	if n.Kind != yamlfile.Mapping {
		r.fault(n, path, fmt.Errorf("want keys with values, not %s", kind(n)))
		return
	}
	lines := map[string]int{}
	for _, m := range n.Members {
		k, v := m.Key, m.Value
		name := k.Text
		at := join(path, name)
		switch line, twice := lines[name]; {
		case !slices.Contains(known, name):
			r.fault(k, at, r.unknownKey(path, name, known))
		case twice:
			r.fault(k, at, fmt.Errorf("stands twice, before in line %d", line))
		case v.Kind == yamlfile.Null:
			r.fault(k, at, errors.New("has no value: give one, or leave the key out"))
		default:
			each(name, v)
		}
		if _, twice := lines[name]; !twice {
			lines[name] = k.Line
		}
	}
}

// value reads what stands at a key.
func (r *configReader) value(n *yamlfile.Node, path string, v value) {
	r.places[path] = r.place(n)
	switch {
	case n.Kind == yamlfile.List && v.list:
		v.clear()
		v.want = "text"
		for i, item := range n.Items {
			at := fmt.Sprintf("%s[%d]", path, i)
			r.places[at] = r.place(item)
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

func (r *configReader) scalar(n *yamlfile.Node, path string, v value) {
	if !slices.Contains(v.kinds, n.Kind) {
		r.fault(n, path, fmt.Errorf("want %s, not %s", v.want, kind(n)))
		return
	}
	if err := v.set(n.Text); err != nil {
		r.fault(n, path, err)
	}
}

// kind says what a node is.
func kind(n *yamlfile.Node) string {
	switch n.Kind {
	case yamlfile.Bool:
		return n.Text
	case yamlfile.Anchor, yamlfile.Alias, yamlfile.Tag:
		return n.Kind.String() + ", which is not read here"
	}
	return n.Kind.String()
}

// secretKeys are what people try to write a secret to.
var secretKeys = map[string]string{
	"token":        "token-file, or SOTTO_TOKEN",
	"key":          "upstream-key-file, or SOTTO_UPSTREAM_KEY",
	"api-key":      "upstream-key-file, or SOTTO_UPSTREAM_KEY",
	"upstream-key": "upstream-key-file, or SOTTO_UPSTREAM_KEY",
}

func (r *configReader) unknownKey(path, name string, known []string) error {
	if len(r.faults) >= maxFaults {
		return errUnknownKey // which is not listed
	}
	instead, isSecret := secretKeys[strings.ReplaceAll(name, "_", "-")]
	if isSecret {
		return fmt.Errorf("a secret does not stand in this file: use %s", instead)
	}
	if near := nearest(name, known); near != "" {
		return fmt.Errorf("unknown key: did you mean %q?", near)
	}
	section, _, _ := strings.Cut(path, "[") // routes[0]
	r.unknown[section] = known
	return errUnknownKey
}

var errUnknownKey = errors.New("unknown key")

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
	if len(name) > 64 {
		return "" // like no key
	}
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
