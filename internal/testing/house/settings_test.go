package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// TestSettingsHaveOneList: the keys of routes stand in the gateway, which says what is wrong
// with their values, and in the rows of the settings. A file with several of them elsewhere is
// a second list, which a new setting would have to be added to.
func TestSettingsHaveOneList(t *testing.T) {
	promised, err := os.ReadFile(filepath.Join(root, "api/promises/settings.txt"))
	if err != nil {
		t.Fatal(err)
	}
	// A key without a hyphen is a common word.
	var keys []string
	for _, m := range regexp.MustCompile(`(?m)^routes\[\]\.(\S+-\S+)`).FindAllSubmatch(promised, -1) {
		keys = append(keys, string(m[1]))
	}
	if len(keys) < 14 {
		t.Fatalf("%q: the test sees too little", keys)
	}
	variables := map[string]string{}
	for _, f := range settings.Flags() {
		variables[f.Key] = f.Variable
	}
	const rows = "internal/serve/settings/routekeys.go"
	seen := false
	for path, p := range packages(t) {
		for _, name := range p.GoFiles {
			file := filepath.ToSlash(filepath.Join(path, name))
			text, err := os.ReadFile(filepath.Join(root, path, name))
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, key := range keys {
				if strings.Contains(string(text), `"`+key+`"`) || strings.Contains(string(text), variables[key]+`"`) {
					found = append(found, key)
				}
			}
			if file == rows {
				seen = len(found) == len(keys)
			} else if len(found) > 1 && path != "gateway" && path != "gateway/guard" && path != "gateway/routing" {
				t.Errorf("%s has the settings %q: take them from %s", file, found, rows)
			}
		}
	}
	if !seen {
		t.Errorf("%s has not all of %q", rows, keys)
	}
}
