package settings

import (
	"bytes"
	"cmp"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

// sample returns a value that a key may have and does not have by default, as text: items of
// a list have commas between them.
func (k key) sample() string {
	switch k.field.(type) {
	case *bool:
		return map[string]string{"true": "false", "false": "true"}[k.def]
	case *int, *int64:
		return "7"
	}
	switch {
	case k.words != nil:
		i := slices.IndexFunc(k.words, func(w string) bool { return w != k.def })
		return k.words[i]
	case strings.HasPrefix(k.want, "a duration"):
		return "77s"
	case strings.HasPrefix(k.want, "a list of models, "):
		return "models"
	case k.want == "an e-mail address":
		return "a@b.example"
	case strings.HasPrefix(k.want, "an address such as 127"):
		return "127.0.0.1:7777"
	}
	m := regexp.MustCompile(` such as ([^ ,]+)`).FindStringSubmatch(k.want)
	switch {
	case m == nil:
		return "/x"
	case m[1] == k.def:
		return m[1] + "/x"
	}
	return m[1]
}

// inFile writes a key with its sample.
func (k key) inFile() string {
	if k.list {
		return k.name + ": ['" + k.sample() + "']"
	}
	if slices.Equal(k.kinds, []yamlfile.Kind{yamlfile.Text}) {
		return k.name + ": '" + k.sample() + "'"
	}
	return k.name + ": " + k.sample()
}

// around returns the configuration with some text of a section, and little else. What stands
// beside it at the top is not said twice.
func (s section) around(text string) string {
	beside := ""
	for _, line := range []string{"upstream: http://localhost:2\n", "guard: http://localhost:1\n"} {
		if name, _, _ := strings.Cut(line, " "); s.prefix != "" || !strings.HasPrefix(text, name) {
			beside += line
		}
	}
	switch s.prefix {
	case "":
		return beside + text + "\n"
	case "routes[].":
		return beside + "routes: [{" + text + "}]\n"
	}
	outer, name, _ := strings.Cut(strings.TrimSuffix(s.prefix, "."), ".")
	if name != "" {
		text = strings.ToLower(name) + ": {" + text + "}"
	}
	return beside + outer + ": {" + text + "}\n"
}

// TestEveryKey: a key that stands in the file is a change to a file without it, and what is
// printed says the same when it is read.
func TestEveryKey(t *testing.T) {
	folder := t.TempDir()
	for _, section := range sections() {
		if section.prefix == "--" {
			continue // not in the file
		}
		for i, k := range section.keys {
			beside := ""
			if section.prefix != "" {
				beside = section.keys[(i+1)%len(section.keys)].inFile()
			}
			text := section.around(strings.TrimPrefix(beside+", ", ", ") + k.inFile())
			if _, faults := readText(text); faults != "" {
				t.Errorf("%q: %s", text, faults)
				continue
			}
			from := sourcesOf(t, folder, text, nil)
			next, err := ReadOld(from, from.File)
			if err != nil {
				t.Fatal(err)
			}
			if again, faults := readText(string(next.YAML())); faults != "" || !bytes.Equal(again.YAML(), next.YAML()) {
				t.Errorf("%q: what is printed has the faults %q, and is printed then as\n%s", text, faults, again.YAML())
			}
			was, err := ReadOld(from, sourcesOf(t, t.TempDir(), section.around(beside), nil).File)
			if err != nil {
				t.Fatal(err)
			}
			path := strings.NewReplacer("NAME", "name", "[]", "[0]").Replace(section.prefix) + k.name
			changes := slices.DeleteFunc(Changes(was, next), func(c Change) bool { return c.Secret })
			if len(changes) != 1 || changes[0].Key != path || changes[0].New == nil || *changes[0].New != k.printed() || changes[0].Restart != k.restart {
				t.Errorf("%q: the changes are %q, want one of %s to %s", text, lines(changes, folder), path, k.printed())
			}
		}
	}
}

// printed is the sample as --check prints it.
func (k key) printed() string {
	switch {
	case strings.HasPrefix(k.want, "a duration"):
		return "1m17s"
	case k.isPath != nil:
		return filepath.FromSlash(k.sample())
	}
	return k.sample()
}

// TestRoutesInherit: what a route leaves out, it has from the top of the file, and what it
// says itself comes first.
func TestRoutesInherit(t *testing.T) {
	s := new(Settings)
	for _, k := range slices.Concat(replyKeys(&s.Gateway.Default), guardKeys(&s.Gateway.Default.Guard, &s.guard)) {
		base := "guard: http://localhost:9000\n"
		if k.name == "guard" {
			base = ""
		}
		folder := t.TempDir()
		s := mustRead(t, sourcesOf(t, folder, base+k.inFile()+"\nupstream: http://localhost:2\nroutes: [{models: [m]}]\n", nil))
		above, own := textOf(member(s.tree(), k.name)), textOf(member(items(member(s.tree(), "routes"))[0], k.name))
		if above == nil || own == nil || *above != *own || *own != k.printed() {
			t.Errorf("%s: a route has %v, and the top %v, want %s", k.name, own, above, k.printed())
		}
	}
}

// TestEveryFieldHasAKey: every field of a route is set by a key.
func TestEveryFieldHasAKey(t *testing.T) {
	var r routing.Route
	var g guardServer
	value := reflect.ValueOf(&r).Elem()
	for i := range value.NumField() {
		f := value.Field(i)
		begin, end := f.Addr().Pointer(), f.Addr().Pointer()+f.Type().Size()
		set := slices.ContainsFunc(routeKeys(&r, &g), func(k key) bool {
			if k.field == nil {
				return false
			}
			at := reflect.ValueOf(k.field).Pointer()
			return begin <= at && at < end
		})
		if field := value.Type().Field(i); field.IsExported() && !set {
			t.Errorf("routing.Route has %s, and no key sets it: add a row to routekeys.go", field.Name)
		}
	}
}

// TestKeysAreDescribed: every key has a sentence for the guide, and no two have the same name,
// flag or variable.
func TestKeysAreDescribed(t *testing.T) {
	seen := map[string]string{}
	once := func(name, path string) {
		if other := seen[name]; other != "" {
			t.Errorf("%s and %s are both %s", other, path, name)
		}
		seen[name] = path
	}
	for _, section := range sections() {
		for _, k := range section.keys {
			path := section.prefix + k.name
			once("the key "+path, path)
			if top := section.prefix == "" || section.prefix == "--"; top && k.hasFlag() {
				f := k.flag(true)
				once("--"+f.Name, path)
				once("$"+f.Variable, path)
				if help := f.Help; len(help) < 10 || strings.ToUpper(help[:1]) != help[:1] && k.help == "" || !strings.HasSuffix(help, ".") || strings.ContainsAny(help, "`[") {
					t.Errorf("%s: the help %q is not a sentence without Markdown", path, help)
				}
			} else if top && (k.help != "" || k.short != "" || k.variable != "") {
				t.Errorf("%s has a help, a letter or a variable, and no flag", path)
			}
			if len(k.doc) < 8 || strings.HasSuffix(k.doc, ".") || strings.Contains(k.doc, "|") {
				t.Errorf("%s: %q is not a sentence without its full stop", path, k.doc)
			}
			if k.words != nil && k.def != "" && !slices.Contains(k.words, k.def) && !k.list {
				t.Errorf("%s: the default %s is none of %q", path, k.def, k.words)
			}
			if k.field == nil && (k.restart || k.name != "guard") {
				t.Errorf("%s: a restart and a route need to know its field", path)
			}
		}
	}
}

// TestKeyHints: where a key is like no other, the hint has all keys of its section.
func TestKeyHints(t *testing.T) {
	s := new(Settings)
	r := newConfigReader("f", s)
	s.defaults(func(string) string { return "" })
	r.parse([]byte("zzzzzz: 1\nlimits: {zzzzzz: 1}\nroutes: [{zzzzzz: 1}]\ntokens: {a: {zzzzzz: 1}}\nupstreams: {a: {zzzzzz: 1}}\n"))
	hints := strings.Join(r.keyHints(), "\n") + "\n"
	for _, section := range sections() {
		if section.prefix == "--" {
			continue
		}
		list := names(section.keys)
		if section.prefix == "" {
			list = s.topNames()
		}
		if want := " are " + strings.Join(list, ", ") + "\n"; !strings.Contains(hints, want) {
			t.Errorf("%s: %q is not in %q", cmp.Or(section.prefix, "the top"), want, hints)
		}
	}
}
