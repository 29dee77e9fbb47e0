package apps_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of applications to docs/evidence/clients.md")

const (
	document   = "../../docs/evidence/clients.md"
	tableOpen  = "<!-- applications, from: go test ./apps -update -->\n"
	tableClose = "<!-- end -->\n"
)

// checkTable compares the table in the document to the applications, which all did
// right.
func checkTable(t *testing.T, dir string) {
	b, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), tableOpen)
	old, after, closed := strings.Cut(rest, tableClose)
	if !ok || !closed {
		t.Fatalf("%s has no %s…%s", document, tableOpen, tableClose)
	}
	want := table(t, dir)
	if old == want {
		return
	}
	if !*update {
		t.Fatalf("%s has another table than the run (go test ./apps -update):\n%s", document, want)
	}
	if err := os.WriteFile(document, []byte(before+tableOpen+want+tableClose+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func table(t *testing.T, dir string) string {
	var b strings.Builder
	b.WriteString("| application | version | text | reasoning | tools | history | a broken stream |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, a := range applications {
		shown := "shows none"
		if a.shows {
			shown = "yes"
		}
		history := "yes"
		switch {
		case a.forgets:
			history = "sends no reasoning of earlier turns; the gateway restores it"
		case a.again == nil:
			history = "yes; it resumes only in a terminal"
		}
		fmt.Fprintf(&b, "| %s | %s | yes | %s | yes | %s | %s |\n", a.from, version(t, filepath.Join(dir, "node_modules", a.from)), shown, history, a.broken)
	}
	return b.String()
}

// version returns the version of an installed package.
func version(t *testing.T, folder string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var p struct{ Version string }
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	return p.Version
}
