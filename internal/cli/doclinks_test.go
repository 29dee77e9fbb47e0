package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
)

var (
	docLink    = lazyregexp.New(`\]\(([^)\s]+)\)`)
	docHeading = lazyregexp.New(`(?m)^#+ (.+)$`)
	docAnchor  = lazyregexp.New(`<a (?:name|id)="([^"]+)">`)
)

// TestDocLinks: every link within README.md and docs leads to a file, and to a
// heading of it.
func TestDocLinks(t *testing.T) {
	effort.OneGoroutine(t)
	found := 0
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range docLink.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			found++
			name, anchor, _ := strings.Cut(m[1], "#")
			target := file
			if name != "" {
				target = filepath.Join(filepath.Dir(file), name)
			}
			data, err := os.ReadFile(target)
			if info, statErr := os.Stat(target); statErr != nil || err != nil && !info.IsDir() {
				t.Errorf("%s: %s: %v", file, m[1], statErr)
			} else if anchor != "" && !anchors(string(data))[anchor] {
				t.Errorf("%s: %s: no such heading", file, m[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("found %d links", found)
	}
}

// anchors returns the names of the headings of a document, as GitHub makes them.
func anchors(text string) map[string]bool {
	set := map[string]bool{}
	for _, m := range docAnchor.FindAllStringSubmatch(text, -1) {
		set[m[1]] = true
	}
	for _, m := range docHeading.FindAllStringSubmatch(text, -1) {
		heading := docAnchor.ReplaceAllString(strings.ReplaceAll(m[1], "</a>", ""), "")
		set[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(heading))] = true
	}
	return set
}
