package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// binary is the program that SOTTO_BINARY names, or this test. SOTTO_BILL may name the
// bill that was published with the program.
func binary(t *testing.T) string {
	if name := os.Getenv("SOTTO_BINARY"); name != "" {
		return name
	}
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// TestModules compares the components with what the go command reads from the program.
func TestModules(t *testing.T) {
	program := binary(t)
	text, err := exec.Command("go", "version", "-m", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		switch fields[0] {
		case "dep":
			want = append(want, fields[1]+"@"+fields[2])
		case "=>": // the module of the line before is replaced
			want[len(want)-1] = fields[1] + "@" + fields[2]
		}
	}
	if len(want) == 0 {
		t.Fatalf("%s has no modules", program)
	}
	var out bytes.Buffer
	if err := run(program, &out); err != nil {
		t.Fatal(err)
	}
	var bom cdx.BOM
	if err := json.Unmarshal(out.Bytes(), &bom); err != nil {
		t.Fatal(err)
	}
	var got, refs []string
	for _, c := range *bom.Components {
		refs = append(refs, c.BOMRef)
		if c.Name != "std" {
			got = append(got, c.Name+"@"+c.Version)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the components are\n%s\nbut the program has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !slices.Contains(refs, "pkg:golang/std@"+goVersion(t, string(text))) {
		t.Errorf("no component is the standard library of %s", strings.SplitN(string(text), "\n", 2)[0])
	}
	if deps := *(*bom.Dependencies)[0].Dependencies; !slices.Equal(deps, refs) {
		t.Errorf("the program depends on %v, the components are %v", deps, refs)
	}
	var again bytes.Buffer
	if err := run(program, &again); err != nil || again.String() != out.String() {
		t.Errorf("a second bill of the same program differs: %v", err)
	}
	if name := os.Getenv("SOTTO_BILL"); name != "" {
		if published, err := os.ReadFile(name); err != nil || string(published) != out.String() {
			t.Errorf("%s is not the bill of %s: %v", name, program, err)
		}
	}
}

func goVersion(t *testing.T, text string) string {
	t.Helper()
	line, _, _ := strings.Cut(text, "\n")
	_, version, found := strings.Cut(line, ": go")
	if !found {
		t.Fatalf("go version -m prints %q", line)
	}
	version, _, _ = strings.Cut(version, " ")
	return version
}

func TestReplacedModule(t *testing.T) {
	c := component(&debug.Module{
		Path: "example.org/a", Version: "v1.0.0", Sum: "h1:old",
		Replace: &debug.Module{Path: "example.org/b", Version: "v2.0.0+incompatible", Sum: "h1:new"},
	})
	if want := "pkg:golang/example.org/b@v2.0.0%2Bincompatible"; c.PackageURL != want {
		t.Errorf("the address of the package is %s, want %s", c.PackageURL, want)
	}
	want := []cdx.Property{{Name: "sotto:replaces", Value: "example.org/a@v1.0.0"}, {Name: "sotto:go.sum", Value: "h1:new"}}
	if !slices.Equal(*c.Properties, want) {
		t.Errorf("the properties are %v, want %v", *c.Properties, want)
	}
}

func TestNoBuildInformation(t *testing.T) {
	if err := run("main.go", &bytes.Buffer{}); err == nil {
		t.Error("a source file has a bill of materials")
	}
}
