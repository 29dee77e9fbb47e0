package study

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what files give now into testdata/files.txtar")

// describe says what a file gives: its faults, or its settings and its cells. Of many
// cells it shows the first and the last.
func describe(f *File, err error) string {
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s with %d workers, keys %q\n", f.Kind, f.Workers, f.Keys())
	cases := f.Cases()
	for i, c := range cases {
		if len(cases) > 20 && i > 0 && i < len(cases)-1 {
			continue
		}
		fmt.Fprintf(&b, "cell %d: %s, repetition %d", i+1, c.ID, c.Repetition)
		for _, v := range c.Values {
			fmt.Fprintf(&b, ", %s is %q", v.Key, v.Label)
		}
		b.WriteString("\n")
		for _, s := range c.Settings {
			fmt.Fprintf(&b, "\t%s = %s (%s)\n", s.Key, s.Flow(), s.At)
		}
	}
	return b.String()
}

func TestFiles(t *testing.T) {
	const name = "testdata/files.txtar"
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		file, want := archive.Files[i], &archive.Files[i+1]
		got := describe(ParseFile("s.yaml", file.Data))
		if *update {
			want.Data = []byte(got)
		} else if got != string(want.Data) {
			t.Errorf("%s:\n%s\ngives\n%s\nwant\n%s", file.Name, file.Data, got, want.Data)
		}
	}
	if *update {
		if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Settings are words of a flag, if they are a value or a list of values, and know where
// they stand.
func TestSettings(t *testing.T) {
	f := parse(t, `v: 1
name: s
base: {solve: {a: one, b: [two, 3, true], c: "", d: [], e: [[x]], f: {x: y}, g: [1.50]}}
`)
	if err := f.Set("b", "[four]"); err != nil {
		t.Fatal(err)
	}
	if err := f.Set("h", "x: [y]"); err != nil {
		t.Fatal(err)
	}
	if err := f.Set("i", "[x"); err == nil || !strings.HasPrefix(err.Error(), "--set i: ") {
		t.Errorf("a value that is not YAML: %v", err)
	}
	got := ""
	for _, s := range f.Cases()[0].Settings {
		words, err := s.Words()
		got += fmt.Sprintf("%s: %q, %v\n", s.Fault(errors.New(s.Flow())), words, err)
	}
	want := `dir/s.yaml:3:19: base.solve.a: one: ["one"], <nil>
dir/s.yaml:3:46: base.solve.c: "": [""], <nil>
dir/s.yaml:3:53: base.solve.d: []: [], <nil>
dir/s.yaml:3:60: base.solve.e: [["x"]]: [], want a value of a flag, or a list of them, not a list
dir/s.yaml:3:70: base.solve.f: {"x":"y"}: [], want a value of a flag, or a list of them, not a mapping
dir/s.yaml:3:81: base.solve.g: [1.5]: ["1.50"], <nil>
--set b: ["four"]: ["four"], <nil>
--set h: x: [y]: ["x: [y]"], <nil>
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := f.BaseFault(errors.New("wrong")).Error(), "dir/s.yaml:3:15: base.solve: wrong"; got != want {
		t.Errorf("a fault of the base: %s, want %s", got, want)
	}
	paths := []string{f.FileName(), f.Path(""), f.Path("p"), f.Path("/p"), f.Path("../p")}
	if want := []string{"dir/s.yaml", "", "dir/p", "/p", "p"}; !slices.Equal(paths, want) {
		t.Errorf("paths %q, want %q", paths, want)
	}
}
