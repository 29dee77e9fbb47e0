package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// discouraged are phrases that readers had to read twice, and what to write
// instead.
var discouraged = []struct{ phrase, instead string }{
	{`(\w+ )?is none\b`, `"there is no X", or "is not set"`},
	{`but for (the|its|their|a|an|one|where|what)\b`, `"except"`},
	{`goes? before\b`, `"takes precedence", or "comes first"`},
	{`gone on with`, `"resumed"`},
	{`strangers`, `"non-finite numbers"`},
	{`(first|no|the) ink\b`, `"visible characters"`},
	{`in no \w+ of no `, `one negation is enough`},
	{`nobody's`, "say whose"},
	{`told (apart|from)\b`, `"separated from", or "looks like"`},
	{`can make grow`, `"can make larger"`},
	{`anew\b`, `"again"`},
	{`(tells?|hears?) of\b`, `"reports", or "learns about"`},
	{`stands? once\b`, `"is stored once"`},
	{`of any make\b`, `"any"`},
	{`wins outright`, `"decides"`},
	{`what of (an?|the|it|its|them|their)\b`, `"which part of"`},
	{"read (it |them )?`(auto|inside|outside)`", `"read with the start"`},
}

// discouragedMessages are phrases that the texts of the program do without, in
// addition to these.
var discouragedMessages = []struct{ phrase, instead string }{
	{`(\w+ )?is no [a-z]\w+\b`, `"is not a"`},
	{`goes? with`, `"needs", or "cannot be combined with"`},
	{`do(es)? not go with`, `"cannot be combined with"`},
	{`stands? (twice|beside|behind)`, `"appears twice", or "is next to"`},
	{`is read here`, `"is supported"`},
	{`is what is`, "say what it is"},
	{`is told`, "say who does what"},
}

// The documentation, the comments, and the texts in the code (errors, logs, help)
// do without phrases that are hard to read.
func TestProse(t *testing.T) {
	var patterns []*regexp.Regexp
	var phrases []string
	for _, d := range discouraged {
		patterns = append(patterns, regexp.MustCompile(`(?i)\b`+d.phrase))
		phrases = append(phrases, d.phrase)
	}
	anyOf := regexp.MustCompile(`(?i)\b(?:` + strings.Join(phrases, "|") + `)`) // one search where nothing is found
	check := func(place, text string) {
		if !anyOf.MatchString(text) {
			return
		}
		for i, p := range patterns {
			m := p.FindString(text)
			if m != "" && !strings.HasPrefix(strings.ToLower(m), "there is none") {
				t.Errorf("%s: %q: write %s", place, m, discouraged[i].instead)
			}
		}
	}
	var messages []*regexp.Regexp
	for _, d := range discouragedMessages {
		messages = append(messages, regexp.MustCompile(`(?i)\b`+d.phrase))
	}
	checkText := func(place, text string) {
		check(place, text)
		for i, p := range messages {
			m := p.FindString(text)
			if m != "" && !strings.HasPrefix(strings.ToLower(m), "there is no ") && !strings.HasSuffix(m, " longer") {
				t.Errorf("%s: %q: write %s", place, m, discouragedMessages[i].instead)
			}
		}
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		switch {
		case name == "CHANGELOG.md" || name == "prose_test.go": // history, and this list
		case filepath.Ext(name) == ".md":
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			check(path, strings.Join(strings.Fields(string(data)), " "))
		case filepath.Ext(name) == ".go":
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, c := range f.Comments {
				check(fset.Position(c.Pos()).String(), strings.Join(strings.Fields(c.Text()), " "))
			}
			if strings.HasSuffix(name, "_test.go") || strings.Contains(path, "_benchmark") || strings.Contains(path, "replies") {
				return nil
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					checkText(fset.Position(lit.Pos()).String(), strings.Join(strings.Fields(lit.Value), " "))
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
