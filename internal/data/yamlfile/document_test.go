package yamlfile_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

type row struct {
	Name  string            `yaml:"name"`
	On    bool              `yaml:"on"`
	Count int8              `yaml:"count"`
	Share float64           `yaml:"share"`
	Wait  time.Duration     `yaml:"wait"`
	Inner *inner            `yaml:"inner"`
	List  []inner           `yaml:"list"`
	Table map[string]string `yaml:"table"`
	Any   map[string]any    `yaml:"any"`
	Node  *yamlfile.Node    `yaml:"node"`
	Other string            // not a key
}

type inner struct {
	A string `yaml:"a"`
}

func TestDecode(t *testing.T) {
	d := yamlfile.Document{Name: "f.yaml"}
	var got row
	d.Decode(d.Read([]byte("name: 3\non: TRUE\ncount: -3\nshare: 2\nwait: 1m\ninner: {a: x}\nlist: [{a: y}, {}]\ntable: {k: v}\nany: {b: [1, 2.5]}\nnode: [z]\n")), "", &got)
	if err := d.Err(); err != nil {
		t.Fatal(err)
	}
	if got.Node == nil || got.Node.Kind != yamlfile.List {
		t.Errorf("node %+v", got.Node)
	}
	got.Node = nil
	want := row{Name: "3", On: true, Count: -3, Share: 2, Wait: time.Minute, Inner: &inner{"x"}, List: []inner{{"y"}, {}},
		Table: map[string]string{"k": "v"}, Any: map[string]any{"b": []any{1, 2.5}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for path, want := range map[string]string{"list[0].a": "f.yaml:7:12", "list[1].a": "f.yaml:7:16", "inner": "f.yaml:6:8", "nowhere": "f.yaml:1:1", "": "f.yaml:1:1"} {
		if at := d.PlaceOf(path).String(); at != want {
			t.Errorf("%q stands at %s, want %s", path, at, want)
		}
	}
}

// All faults of a file are reported at once, each with its place and key.
func TestFaults(t *testing.T) {
	for text, want := range map[string][]string{
		"nam: x\ncount: 1.5\nwait: soon\non: 1\n": {`1:1: nam: unknown key: did you mean "name"?`, `2:8: count: want a whole number, not 1.5`, `3:7: wait: want a time such as 30s or 5m, not "soon"`, `4:5: on: want true or false, not 1`},
		"count: 300":                          {`1:8: count: want a whole number, not 300`},
		"share: .nan\nname: [a]":              {`1:8: share: want a number, not .nan`, "2:7: name: want text, not a list"},
		"name: a\nname: b\nlist: x\ninner:\n": {"2:1: name: appears twice, first in line 1", `3:7: list: want a list, not "x"`, "4:1: inner: has no value: give one, or leave the key out"},
		"list: [{a: {}}, 3]":                  {"1:12: list[0].a: want text, not a mapping", `1:17: list[1]: want a mapping, not 3`},
		"zzzzzz: 1":                           {"1:1: zzzzzz: unknown key: the keys here are name, on, count, share, wait, inner, list, table, any, node"},
		"any: {b: &x 1}":                      {"1:10: any: an anchor, which is not supported"},
		"any: [1]":                            {"1:6: any: want a mapping, not a list"},
		"table: {k: [v]}":                     {"1:12: table.k: want text, not a list"},
		"Other: x":                            {"1:1: Other: unknown key: the keys here are name, on, count, share, wait, inner, list, table, any, node"},
		"- a":                                 {"1:1: want a mapping, not a list"},
		"name: [":                             {"2:1: not valid YAML: did not find expected node content"},
	} {
		d := yamlfile.Document{Name: "f.yaml"}
		var v row
		if n := d.Read([]byte(text)); n != nil {
			d.Decode(n, "", &v)
		}
		if got := fmt.Sprint(d.Err()); got != "f.yaml:"+strings.Join(want, "\nf.yaml:") {
			t.Errorf("%q:\ngot\n%s\nwant\n%s", text, got, strings.Join(want, "\n"))
		}
	}
}

// A hostile file gets a hundred faults, of bounded length.
func TestFaultsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "k%d%s: 1\n", i, strings.Repeat("x", 150))
	}
	d := yamlfile.Document{Name: "f.yaml"}
	var v row
	d.Decode(d.Read([]byte(b.String())), "", &v)
	if len(d.Faults) != 101 || !strings.HasSuffix(d.Err().Error(), "f.yaml:101:1: too many faults: the rest is not listed") {
		t.Errorf("%d faults, %.100s", len(d.Faults), d.Faults[100])
	}
	d = yamlfile.Document{Name: "f.yaml"}
	d.Decode(d.Read([]byte(strings.Repeat("y", 900)+": "+strings.Repeat("x", 1000)+"\nname: ["+strings.Repeat("x", 1000)+"]")), "", &v)
	for _, f := range d.Faults {
		if len(f.Error()) > 500 {
			t.Errorf("a fault of %d bytes: %.100s…", len(f.Error()), f)
		}
	}
}
