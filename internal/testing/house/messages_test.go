package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docs/howto/troubleshooting.md quotes messages as the code has them.
func TestQuotedMessages(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "docs", "howto", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	var texts strings.Builder
	tree := packages(t)
	for path, p := range tree {
		if path == "internal/net/access" || path == "gateway" || strings.HasPrefix(path, "gateway/internal/") {
			eachString(t, path, p, func(_, value string) { texts.WriteString(value + "\n") })
		}
	}
	quoted := regexp.MustCompile("(?m)^\\*\\*4\\d\\d `([^`]+)`").FindAllStringSubmatch(string(doc), -1)
	if len(quoted) < 7 {
		t.Errorf("found %d quoted messages", len(quoted))
	}
	values := regexp.MustCompile(`…|"|this gateway`) // the code puts them into the text
	for _, m := range quoted {
		for _, part := range values.Split(m[1], -1) {
			if part = strings.TrimSpace(part); !strings.Contains(texts.String(), part) {
				t.Errorf("troubleshooting.md quotes %q: no message has %q", m[1], part)
			}
		}
	}
}
