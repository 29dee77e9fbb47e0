package displays

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// row is a row of the list of clients: a name, and what a user pastes.
var row = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| .*\\S.* \\|$")

// CheckListed wants the names as the rows of the section of a document, each once.
func CheckListed(t *testing.T, document, section string, names []string) {
	t.Helper()
	b, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), section+"\n")
	if !ok {
		t.Fatalf("%s has no %s", document, section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var listed []string
	for _, m := range row.FindAllStringSubmatch(text, -1) {
		listed = append(listed, m[1])
	}
	slices.Sort(names)
	slices.Sort(listed)
	if names = slices.Compact(names); !slices.Equal(listed, names) {
		t.Errorf("%s, %s lists\n%q\nand the tests drive\n%q", document, section, listed, names)
	}
}
