package answer

import (
	"strings"
	"testing"
)

// Each row of the table has a kind, a language, a text and a source, and no row is there twice.
func TestWords(t *testing.T) {
	kinds, sources := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(wordsFile) {
		row := strings.TrimSpace(strings.TrimPrefix(line, "#"))
		if name, _, ok := strings.Cut(row, ": "); ok && strings.HasPrefix(line, "#\t") {
			sources[name] = true
		}
		if names, _, ok := strings.Cut(row, "  "); ok && strings.HasPrefix(line, "#\t") {
			for name := range strings.SplitSeq(names, ", ") {
				kinds[name] = true
			}
		}
		if strings.HasPrefix(line, "#\tfallback") {
			break
		}
	}
	kinds["contrast"], kinds["yes"], kinds["no"], kinds["verdict"], kinds["heading"] = true, true, true, true, true
	seen := map[string]bool{}
	for i, line := range strings.Split(wordsFile, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		row := strings.Split(line, "\t")
		if len(row) != 4 || row[2] == "" || strings.TrimSpace(row[2]) == "" {
			t.Errorf("line %d: want kind, language, text and source: %q", i+1, line)
			continue
		}
		if !kinds[row[0]] {
			t.Errorf("line %d: the head does not describe the kind %q", i+1, row[0])
		}
		if !sources[row[3]] {
			t.Errorf("line %d: the head does not name the source %q", i+1, row[3])
		}
		key := strings.Join(row[:2], "\t") + "\t" + row[2]
		if seen[key] {
			t.Errorf("line %d stands twice: %q", i+1, line)
		}
		seen[key] = true
	}
	for kind := range uses {
		if len(rows(kind)) == 0 {
			t.Errorf("no row of the kind %q", kind)
		}
	}
}
