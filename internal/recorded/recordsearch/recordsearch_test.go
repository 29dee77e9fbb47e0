package recordsearch

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/recorded/eventtext"
	"github.com/sotto-llm/sotto/record"
)

// The text around a match begins and ends with a whole character, wherever the
// bound falls, so that it is a string in JSON too.
func TestGrepCutsNoCharacter(t *testing.T) {
	for _, char := range []string{"a", "é", "日", "🙂"} {
		for pad := range 4 {
			for _, text := range []string{
				strings.Repeat("x", pad) + strings.Repeat(char, 200) + "needle" + strings.Repeat(char, 200) + strings.Repeat("x", pad),
				strings.Repeat(char, 200) + strings.Repeat("x", pad) + "needle" + strings.Repeat("x", pad) + strings.Repeat(char, 200),
			} {
				var found Match
				s := &Search{Pattern: regexp.MustCompile("needle"), In: Any, Found: func(m Match) { found = m }}
				s.text(Match{V: 1}, eventtext.Text{Path: "goal", Content: record.Say(text)})
				object, err := json.Marshal(found)
				var m struct{ Match, Line string }
				if err = errors.Join(err, json.Unmarshal(object, &m)); err != nil {
					t.Fatalf("%s: %v", object, err)
				}
				if !utf8.ValidString(m.Line) || !strings.Contains(text, m.Line) || m.Match != "needle" {
					t.Fatalf("line %q", m.Line)
				}
				before, after, _ := strings.Cut(m.Line, "needle")
				for _, part := range []string{before, after} {
					if len(part) > aroundMatch || len(part) <= aroundMatch-utf8.UTFMax {
						t.Errorf("%d bytes around a match of %q", len(part), char)
					}
				}
			}
		}
	}
}

// Bytes that are not UTF-8 are shown as they are.
func TestGrepOfBytes(t *testing.T) {
	text := strings.Repeat("\x80", 300) + "needle" + strings.Repeat("\xe6\x97", 300)
	if line := lineAround(text, 300, 306); len(line) < 2*(aroundMatch-utf8.UTFMax) || !strings.Contains(line, "needle") {
		t.Errorf("line %q", line)
	}
}
