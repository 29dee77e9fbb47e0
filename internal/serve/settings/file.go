package settings

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/spelling"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

// A Place is where a setting was made. It is a file, or a flag or an environment
// variable, which is then the name.
type Place struct {
	File         string
	line, column int
	name         string
}

// A Fault is a wrong setting.
type Fault struct {
	Place
	key string
	Err error
}

func (f *Fault) Error() string {
	var where string
	err := errorhint.WithoutName(f.key, f.Err)
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

// Key is the path of the key whose value is wrong.
func (f *Fault) Key() string { return f.key }

// String returns the place as FILE:LINE:COLUMN, or as the flag or the variable. It is "" if
// the setting was made nowhere, but removed.
func (p Place) String() string {
	if p.File == "" || p.line == 0 {
		return cmp.Or(p.name, p.File)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.line, p.column)
}

// A configReader reads a configuration file into settings.
type configReader struct {
	doc      yamlfile.Document
	settings *Settings
	// unknown are the keys that there are, by the section in which one is
	// written that is like none of them.
	unknown map[string][]string
	// callersKnown says that the callers could be read, or that there are none.
	callersKnown bool
}

// readConfig reads a configuration file. It fails if the file cannot be read.
// Mistakes in the file are faults.
func (s *Settings) readConfig(name string) (*configReader, error) {
	data, err := files.Read("configuration", name, files.MaxSettings)
	if err != nil {
		return nil, err
	}
	return s.parseConfig(name, data, filepath.Dir(name)), nil
}

// parseConfig reads the text of a configuration file whose relative paths begin in a folder.
func (s *Settings) parseConfig(name string, data []byte, folder string) *configReader {
	r := newConfigReader(name, s)
	r.parse(data)
	s.resolvePaths(folder)
	return r
}

func newConfigReader(file string, s *Settings) *configReader {
	r := &configReader{doc: yamlfile.Document{Name: file}, settings: s, unknown: map[string][]string{}}
	r.doc.Unknown = r.unknownKey
	r.doc.MayBeEmpty = []string{"tokens"} // the last caller may have been removed
	return r
}

// faults are what is wrong in the file.
func (r *configReader) faults() []*Fault {
	var list []*Fault
	for _, f := range r.doc.Faults {
		list = append(list, &Fault{placeIn(f.Place), f.Key, f.Err})
	}
	return list
}

// places are where the values stand, by their paths ("limits.body",
// "routes[0].display").
func (r *configReader) places() map[string]Place {
	all := map[string]Place{}
	for path, p := range r.doc.Places() {
		all[path] = placeIn(p)
	}
	return all
}

func placeIn(p yamlfile.Place) Place { return Place{File: p.File, line: p.Line, column: p.Column} }

// resolvePaths makes the paths of a file relative to the folder it stands in.
func (s *Settings) resolvePaths(folder string) {
	for _, k := range s.everyKey() {
		k.resolve(folder)
	}
}

func (r *configReader) parse(data []byte) {
	if n := r.doc.Read(data); n != nil {
		r.callersKnown = n.Kind == yamlfile.Mapping
		r.top(n)
	}
}

// top reads the keys at the top of the file.
func (r *configReader) top(n *yamlfile.Node) {
	keys := r.settings.keys()
	r.doc.Known(n, "", r.settings.topNames(), func(name, path string, v *yamlfile.Node) {
		switch name {
		case "v":
			if v.Kind != yamlfile.Int || v.Text != "1" {
				r.doc.Fault(v, "v", "want 1, the only version there is")
			}
		case "tokens":
			r.tokens(v)
		case "upstreams":
			r.upstreams(v)
		case "limits":
			r.section(v, "limits", r.settings.limitKeys())
		case "routes":
			r.routes(v)
		default:
			k, _ := find(keys, name)
			r.value(v, path, k.value)
		}
	})
}

// section reads a mapping whose keys all have values.
func (r *configReader) section(n *yamlfile.Node, path string, keys []key) {
	r.doc.Known(n, path, names(keys), func(name, path string, v *yamlfile.Node) {
		k, _ := find(keys, name)
		r.value(v, path, k.value)
	})
}

// tokens reads the tokens of several callers, by the callers' names. What stands in
// the place of a token may be its value, so no fault shows it.
func (r *configReader) tokens(n *yamlfile.Node) {
	r.settings.tokensGiven = true
	if n.Kind == yamlfile.Null {
		return
	}
	if n.Kind != yamlfile.Mapping {
		r.callersKnown = false
		r.doc.Fault(n, "tokens", "want the names of callers, each with token-file or token-env, and with scopes")
		return
	}
	r.doc.Keys(n, "tokens", func(name *yamlfile.Node, path string, v *yamlfile.Node) {
		r.doc.Mark(path, name)
		if v.Kind != yamlfile.Mapping {
			r.doc.Fault(v, path, "a secret does not stand in this file: want token-file or token-env, and scopes")
			return
		}
		t := namedToken{name: name.Text}
		r.section(v, path, tokenKeys(&t))
		r.settings.tokens = append(r.settings.tokens, t)
	})
}

func (r *configReader) routes(n *yamlfile.Node) {
	if n.Kind != yamlfile.List {
		r.doc.Fault(n, "routes", "want a list, not %s", yamlfile.Describe(n))
		return
	}
	routes := make([]routing.Route, len(n.Items))
	guards := make([]guardServer, len(n.Items))
	r.settings.Gateway.Routes, r.settings.guards = routes, guards
	for i, v := range n.Items {
		path := fmt.Sprintf("routes[%d]", i)
		r.doc.Mark(path, v)
		r.section(v, path, routeKeys(&routes[i], &guards[i]))
	}
}

// value reads what stands at a key.
func (r *configReader) value(n *yamlfile.Node, path string, v value) {
	r.doc.Mark(path, n)
	switch {
	case n.Kind == yamlfile.List && v.list:
		v.clear()
		v.want = "text"
		for i, item := range n.Items {
			at := fmt.Sprintf("%s[%d]", path, i)
			r.doc.Mark(at, item)
			r.scalar(item, at, v)
		}
	case v.list && !v.orOne:
		r.doc.Fault(n, path, "want %s, not %s", v.want, yamlfile.Describe(n))
	default:
		if v.clear != nil {
			v.clear()
		}
		r.scalar(n, path, v)
	}
}

func (r *configReader) scalar(n *yamlfile.Node, path string, v value) {
	if !slices.Contains(v.kinds, n.Kind) {
		r.doc.Fault(n, path, "want %s, not %s", v.want, yamlfile.Describe(n))
		return
	}
	if err := v.set(n.Text); err != nil {
		r.doc.Fault(n, path, "%w", err)
	}
}

// insteadOf returns where a secret can stand that somebody tried to write to a key of the
// file.
func (s *Settings) insteadOf(path, name string) (instead string, isSecret bool) {
	name = strings.ReplaceAll(name, "_", "-")
	if name == "key" || name == "api-key" {
		name = "upstream-key"
	}
	for _, k := range s.keys() {
		if _, is := k.secretOf(); !is || secretName(k.name) != name {
			continue
		}
		switch {
		case strings.HasPrefix(path, "tokens."):
			return "token-file or token-env", true
		case strings.HasPrefix(path, "upstreams."):
			return "key-file or key-env", true
		}
		return k.name + ", or " + secretVariable(k.name), true
	}
	return "", false
}

func (r *configReader) unknownKey(path, name string, known []string) error {
	if instead, isSecret := r.settings.insteadOf(path, name); isSecret {
		return fmt.Errorf("this file may not hold secrets: use %s", instead)
	}
	if near := spelling.Nearest(name, known); near != "" {
		return fmt.Errorf("unknown key: did you mean %q?", near)
	}
	section := path
	if i := strings.IndexAny(path, "[."); i >= 0 { // routes[0], tokens.NAME
		section = path[:i]
	}
	r.unknown[section] = known
	return errors.New("unknown key")
}

// keyHints list the keys of the sections that hold unknown ones.
func (r *configReader) keyHints() []string {
	var list []string
	for _, section := range []struct{ path, name string }{{"", "the keys"}, {"tokens", "the keys of a token"}, {"upstreams", "the keys of an upstream"}, {"limits", "the keys of limits"}, {"routes", "the keys of a route"}} {
		if known, ok := r.unknown[section.path]; ok {
			list = append(list, section.name+" are "+strings.Join(known, ", "))
		}
	}
	return list
}
