package explain

import (
	"flag"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the entries into docs/errors.md and docs/reference/errors")

// TestForm: each entry has all its parts, and no name is used twice.
func TestForm(t *testing.T) {
	form := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	for _, e := range Entries() {
		for _, name := range append([]string{e.Name}, e.Also...) {
			if seen[name] || !form.MatchString(name) {
				t.Errorf("%s: the name %q is malformed, or used twice", e.Name, name)
			}
			seen[name] = true
		}
		for what, text := range map[string]string{"group": e.Group, "place": e.Where, "meaning": e.Meaning, "reason": e.Why, "advice": e.Do} {
			if text == "" || what != "group" && what != "place" && !strings.HasSuffix(text, ".") {
				t.Errorf("%s: the %s is %q", e.Name, what, text)
			}
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d names", len(seen))
	}
}

// TestPage: docs/errors.md has the index of the entries, and the pages in its folder have the
// entries as they are. No page is left of a group that was renamed.
func TestPage(t *testing.T) {
	const docs, begin, end = "../../../docs", "<!-- generated: names -->\n", "<!-- end -->\n"
	const written = "providers.md" // by hand, about errors of others
	data, err := os.ReadFile(filepath.Join(docs, "errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("docs/errors.md has no place for the names")
	}
	want := map[string]string{"errors.md": before + begin + "\n" + Index() + "\n" + end + after}
	for _, p := range Pages() {
		want[path.Join(Folder, p.File)] = p.Text
	}
	if len(want) < 8 {
		t.Errorf("only %d pages", len(want))
	}
	for name, text := range want {
		file := filepath.Join(docs, name)
		data, err := os.ReadFile(file)
		switch {
		case err == nil && string(data) == text:
		case *update:
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s differs from the entries: go test ./internal/base/explain -run TestPage -update writes it: %v", file, err)
		}
	}
	files, err := os.ReadDir(filepath.Join(docs, Folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, ok := want[path.Join(Folder, f.Name())]; !ok && f.Name() != written {
			t.Errorf("docs/%s/%s is of no group of entries: remove it", Folder, f.Name())
		}
	}
}

// TestFind: a code is a name, and so is another name for the same.
func TestFind(t *testing.T) {
	for name, want := range map[string]string{
		"no_visible_answer": "no-visible-answer", "No-Visible-Answer": "no-visible-answer", " truncated ": "truncated",
		"inline_code": "literal-marker", "nothing": "", "": "",
	} {
		if e, ok := Find(name); e.Name != want || ok != (want != "") {
			t.Errorf("%q: %q", name, e.Name)
		}
	}
}

// TestOfText: the longest message that is in a text decides, and its parts come in order.
func TestOfText(t *testing.T) {
	for text, want := range map[string]string{
		"sotto: error: r: another writer has the record open":               "record-locked",
		`this gateway does not serve the Host "x": see --allow-host`:        "host-not-served",
		`the token "a" may use 3 requests a minute: try again in 2 s`:       "limit-reached",
		"upstream: dial: connection refused":                                "upstream-failed",
		"upstream: the reply was all reasoning: the model gave no answer":   "no-visible-answer",
		"the request's body is not a JSON object":                           "request-unreadable",
		"the request's body is not valid JSON":                              "body-not-json",
		"try again in 2 s: the token":                                       "",
		"":                                                                  "",
		strings.Repeat("x", maxText) + "another writer has the record open": "",
	} {
		if e, _ := OfText(text); e.Name != want {
			t.Errorf("%.80q: %q, want %q", text, e.Name, want)
		}
	}
}

// TestSearch: names count more than texts, words may be cut, and what has not most of the words
// is not found.
func TestSearch(t *testing.T) {
	for query, want := range map[string]string{
		"token expired": "token-expired", "Expir TOKEN": "token-expired", "record encrypted identity": "record-sealed",
		"why is my answer empty": "no-visible-answer", "port taken": "address-in-use", "zzzz": "", "": "", "zzzz yyyy token": "",
	} {
		found := Search(query)
		first := ""
		if len(found) > 0 {
			first = found[0].Name
		}
		if want != first {
			t.Errorf("%q: %q, want %q", query, first, want)
		}
	}
	if all := Search("token"); len(all) < 3 || !slices.ContainsFunc(all, func(e Entry) bool { return e.Name == "limit-reached" }) {
		t.Errorf("token: %d entries", len(all))
	}
	Search(strings.Repeat("a b ", 100_000))
}

// TestPlain: a link says where it leads, and no line is longer than the width.
func TestPlain(t *testing.T) {
	e, _ := Find("host-not-served")
	text := e.Plain(60)
	if !strings.Contains(text, "docs/howto/other-machines.md") || !strings.Contains(text, "\nWhat to do: ") {
		t.Error(text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if len(line) > 60 && strings.Contains(strings.TrimSpace(line), " ") && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, e.Name) {
			t.Errorf("%q", line)
		}
	}
}
