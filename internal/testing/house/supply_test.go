package house

import (
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	table = "../../../docs/supply.md"
	own   = "github.com/sotto-llm/sotto"
)

// links maps each module that the program links on Linux, macOS or Windows to its
// importers: packages of this module ("gateway") and other modules.
func links(t *testing.T) map[string]map[string]bool {
	importers := map[string]map[string]bool{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps",
			"-f", "{{with .Module}}{{.Path}}{{end}} {{.ImportPath}} {{join .Imports \" \"}}", "../../../cmd/sotto")
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		module := map[string]string{} // of each package
		for line := range strings.Lines(string(out)) {
			// Dependencies come before their importers. The standard library has no
			// module.
			if strings.HasPrefix(line, " ") {
				continue
			}
			words := strings.Fields(line)
			from, pkg := words[0], words[1]
			module[pkg] = from
			if from == own {
				from = strings.TrimPrefix(pkg, own+"/")
			}
			for _, imported := range words[2:] {
				to := module[imported]
				if to == "" || to == own || to == from {
					continue
				}
				if importers[to] == nil {
					importers[to] = map[string]bool{}
				}
				importers[to][from] = true
			}
		}
	}
	return importers
}

// A row has the module's path, its importers and the reason.
var row = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.+) \\| (.+) \\|$")

var quoted = regexp.MustCompile("`([^`]+)`")

// Each module that the program links has one row in docs/supply.md, which names
// all its importers, and the reason. No row names a module that is no longer linked.
func TestSupplyTable(t *testing.T) {
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	linked := links(t)
	if linked["github.com/tidwall/gjson"] == nil {
		t.Fatalf("the program does not link gjson: the test sees too little: %v", linked)
	}
	rows := map[string]bool{}
	for _, cells := range row.FindAllStringSubmatch(string(text), -1) {
		module, importers := cells[1], quoted.FindAllStringSubmatch(cells[2], -1)
		if linked[module] == nil {
			t.Errorf("%s has a row for %s, which is not linked", table, module)
		}
		if rows[module] {
			t.Errorf("%s has two rows for %s", table, module)
		}
		if len(importers) == 0 {
			t.Errorf("%s does not say who imports %s", table, module)
		}
		for _, importer := range importers {
			if !linked[module][importer[1]] {
				t.Errorf("%s: %s does not import %s", table, importer[1], module)
			}
		}
		for _, importer := range slices.Sorted(maps.Keys(linked[module])) {
			if !strings.Contains(cells[2], "`"+importer+"`") {
				t.Errorf("%s does not say that %s imports %s", table, importer, module)
			}
		}
		rows[module] = true
	}
	for _, module := range slices.Sorted(maps.Keys(linked)) {
		if !rows[module] {
			t.Errorf("%s has no row for %s, imported by %v", table, module, slices.Sorted(maps.Keys(linked[module])))
		}
	}
}

// The A2A SDK has packages for bindings that the server does not speak. The program
// links none of their dependencies. Protocol Buffers come with the metrics of the
// gateway, not with the layer for protocol 0.3.
func TestForbidden(t *testing.T) {
	for pkg, forbidden := range map[string][]string{
		"../../../cmd/sotto":              {"google.golang.org/grpc", "google.golang.org/genproto", "github.com/a2aproject/a2a-go/a2a", "github.com/a2aproject/a2a-go/v2/a2agrpc", "github.com/a2aproject/a2a-go/v2/a2acompat"},
		"../../../a2aserver/internal/v03": {"google.golang.org/"},
	} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", pkg).Output()
		if err != nil {
			t.Fatal(err)
		}
		all := string(out)
		if !strings.Contains(all, "github.com/a2aproject/a2a-go/v2/a2a\n") {
			t.Fatalf("%s does not use the SDK: the test looks at nothing", pkg)
		}
		for dep := range strings.Lines(all) {
			for _, f := range forbidden {
				if strings.HasPrefix(dep, f) {
					t.Errorf("%s links %s", pkg, strings.TrimSpace(dep))
				}
			}
		}
	}
}
