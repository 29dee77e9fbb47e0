package check

import (
	"fmt"
	"html"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// search returns the first pages that the search finds, in a page of the folder.
func (b *tab) search(question string) []string {
	b.t.Helper()
	return js[[]string](b, fmt.Sprintf(`sottoSearch(%q).then(r => r.slice(0, 3).map(p => p.page))`, question))
}

// What people look for is among the first three pages that the search finds.
func TestSearch(t *testing.T) {
	data, err := os.ReadFile("queries.txt")
	if err != nil {
		t.Fatal(err)
	}
	b := open(t)
	b.visit("index.html")
	n := 0
	for line := range strings.Lines(string(data)) {
		question, wants, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		n++
		found := b.search(question)
		if !slices.ContainsFunc(strings.Fields(wants), func(want string) bool {
			start, any := strings.CutSuffix(want, "*")
			return slices.ContainsFunc(found, func(p string) bool { return p == want || any && strings.HasPrefix(p, start) })
		}) {
			t.Errorf("%s: found %q, want %s", question, found, wants)
		}
	}
	if n < 40 {
		t.Errorf("%d queries", n)
	}
	b.quiet("the search")
}

const questions = "../../docs/evidence/questions.md"

var (
	questionRow = regexp.MustCompile("(?m)^\\| \\d+ \\| (.+?) \\| (.+?) \\| (first|second|third|not) \\| `(.+?)` \\|$")
	answering   = regexp.MustCompile("\\]\\(\\.\\./([^)#]+)\\.md|`([^`]+)`")
)

// docs/evidence/questions.md says truly where the search finds the answer to each question, and
// which words lead to it by grep. The first page answers 18 of the twenty.
func TestQuestions(t *testing.T) {
	data, err := os.ReadFile(questions)
	if err != nil {
		t.Fatal(err)
	}
	pages := read(t)
	b := open(t)
	b.visit("index.html")
	rows := questionRow.FindAllStringSubmatch(string(data), -1)
	if len(rows) != 20 {
		t.Fatalf("%d questions, want 20", len(rows))
	}
	first := 0
	for _, row := range rows {
		question, place, words := row[1], row[3], row[4]
		var answers []string
		for _, m := range answering.FindAllStringSubmatch(row[2], -1) {
			answers = append(answers, m[1]+m[2]+".html")
		}
		found := b.search(question)
		at := slices.IndexFunc(found, func(p string) bool { return slices.Contains(answers, p) })
		if at < 0 {
			at = 3
		}
		if at == 0 {
			first++
		}
		if got := []string{"first", "second", "third", "not"}[at]; got != place {
			t.Errorf("%s: the answer is %s, not %s, in %q", question, got, place, found)
		}
		for _, name := range answers {
			if !strings.Contains(strings.ToLower(pages[name]), html.EscapeString(words)) {
				t.Errorf("%s: %s does not have the words %s", question, name, words)
			}
		}
	}
	if first < 18 {
		t.Errorf("the first page answers %d of 20 questions", first)
	}
}
