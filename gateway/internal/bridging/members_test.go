package bridging

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire/providers"
	"github.com/sotto-llm/sotto/wire/turn"
)

var update = flag.Bool("update", false, "write the tables of members into docs/reference/bridge")

// A vocabulary is what requests of an API may have: members of a request that is its base, each with a
// value that says something. The path of a member that has several such values ends in "#" and a number.
// Values in Same add nothing to the base; they have a reason.
type vocabulary struct {
	Path    string
	Base    json.RawMessage
	Members map[string]json.RawMessage
	Same    map[string]struct {
		Value json.RawMessage
		Why   string
	}
}

// TestMembers: a member of a request is translated, refused by its name, or named among those that are
// left out. What became of it is in docs/reference/bridge.
func TestMembers(t *testing.T) {
	for _, from := range providers.APIs() {
		var table strings.Builder
		text, err := os.ReadFile(filepath.Join("testdata/members", from.Name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var v vocabulary
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(from.Name, err)
		}
		table.WriteString("\n| member |")
		for _, to := range others(from) {
			fmt.Fprintf(&table, " %s |", to.Name)
		}
		table.WriteString("\n| --- |" + strings.Repeat(" --- |", len(others(from))) + "\n")
		for _, path := range slices.Sorted(maps.Keys(v.Members)) {
			member, _, _ := strings.Cut(path, "#")
			fmt.Fprintf(&table, "| `%s`", member)
			if member != path || slices.ContainsFunc(slices.Collect(maps.Keys(v.Members)), func(other string) bool { return strings.HasPrefix(other, path+"#") }) {
				fmt.Fprintf(&table, ": `%s`", inShort(v.Members[path]))
			}
			table.WriteString(" |")
			for _, to := range others(from) {
				what, err := become(t, from.Codec, to.Codec, &v, member, v.Members[path])
				if err != nil {
					t.Errorf("%s %s to %s: %v", from.Name, path, to.Name, err)
				}
				fmt.Fprintf(&table, " %s |", what)
			}
			table.WriteString("\n")
		}
		for path, same := range v.Same {
			for _, to := range others(from) {
				if what, _ := become(t, from.Codec, to.Codec, &v, path, same.Value); what == refused || same.Why == "" {
					t.Errorf("%s %s to %s: %s", from.Name, path, to.Name, what)
				}
			}
		}
		judgeSection(t, "TestMembers", from.Name, "## Requests\n", table.String())
	}
}

const (
	translated = "✓"
	leftOut    = "left out"
	refused    = "400"
)

// become returns what becomes of a member, or an error if nobody learns of it.
func become(t *testing.T, from, to turn.API, v *vocabulary, path string, value json.RawMessage) (string, error) {
	t.Helper()
	base, _ := with(t, v.Base, "", nil)
	b, without, err := cross(t, from, to, v.Path, base)
	if err != nil {
		t.Fatalf("%s to %s: the base: %v", from.Name(), to.Name(), err)
	}
	body, path := with(t, v.Base, path, value)
	c, got, err := cross(t, from, to, v.Path, body)
	if err != nil {
		foreign, is := errors.AsType[*turn.ForeignError](err)
		lacks, has := errors.AsType[*turn.UnsupportedError](err)
		switch {
		case is && related(foreign.Path, path), has && related(lacks.Path, path):
			return refused, nil
		case !is && !has && strings.Contains(err.Error(), lastOf(path)):
			return refused, nil
		}
		return refused, fmt.Errorf("%q does not name it", err)
	}
	if slices.ContainsFunc(c.Left, func(left string) bool { return !slices.Contains(b.Left, left) && related(left, path) }) {
		return leftOut, nil
	}
	if c.Path.String() != b.Path.String() || !equal(without, got) {
		return translated, nil
	}
	return "", fmt.Errorf("it is dropped, and nobody learns of it: left %q\n%s", c.Left, got)
}

// related reports whether one path is in the other.
func related(a, b string) bool {
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) && a != ""
}

func lastOf(path string) string {
	_, name := path[:strings.LastIndex(path, ".")+1], path[strings.LastIndex(path, ".")+1:]
	name, _, _ = strings.Cut(name, "[")
	return name
}

func equal(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func others(of providers.API) []providers.API {
	return slices.DeleteFunc(providers.APIs(), func(a providers.API) bool { return a.Name == of.Name })
}

// with returns a body with a value at a path, such as "messages[0].content[1]", and the path. In place of
// its index, a new element has "+".
func with(t *testing.T, body []byte, path string, value json.RawMessage) (_ []byte, at string) {
	t.Helper()
	var root any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&root); err != nil {
		t.Fatal(err)
	}
	names := strings.Split(strings.ReplaceAll(path, "[", ".["), ".")
	if path != "" {
		root = put(root, names, value)
	}
	b, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return b, strings.ReplaceAll(strings.Join(names, "."), ".[", "[")
}

// put returns a value with another at a path, in which it writes the index of a new element.
func put(at any, path []string, value json.RawMessage) any {
	if len(path) == 0 {
		return value
	}
	if number, ok := strings.CutPrefix(path[0], "["); ok {
		i, _ := strconv.Atoi(strings.TrimSuffix(number, "]"))
		list, _ := at.([]any)
		if number == "+]" {
			path[0] = fmt.Sprintf("[%d]", len(list))
			return append(list, put(nil, path[1:], value))
		}
		list[i] = put(list[i], path[1:], value)
		return list
	}
	o, _ := at.(map[string]any)
	if o == nil {
		o = map[string]any{}
	}
	o[path[0]] = put(o[path[0]], path[1:], value)
	return o
}

// inShort is a value for the table.
func inShort(value json.RawMessage) string {
	var b bytes.Buffer
	json.Compact(&b, value)
	if text := b.String(); len(text) <= 60 {
		return text
	}
	return b.String()[:60] + "…"
}

// judgeSection compares a table with the one in its section of the page of an API.
func judgeSection(t *testing.T, test, api, title, table string) {
	t.Helper()
	file := "../../../docs/reference/bridge/" + api + ".md"
	said, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(said), title)
	if !ok {
		t.Fatalf("%s has no section %q", file, title)
	}
	after := ""
	if next := strings.Index(rest, "\n## "); next >= 0 {
		after = rest[next:]
	}
	want := before + title + table + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(said) {
		t.Errorf("docs/reference/bridge/%s.md is out of date: go test ./gateway/internal/bridging -run %s -update", api, test)
	}
}
