package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/cli"
	"github.com/sotto-llm/sotto/internal/cli/operator"
)

const guide = "../../../docs/reference/settings.md"

// written writes all pages and returns their folder.
func written(t *testing.T) string {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", "1795000000")
	dir := t.TempDir()
	if err := run(dir, "1.2.3", guide); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPages: each command has a page, which has each of its flags with the help.
func TestPages(t *testing.T) {
	dir := written(t)
	tree, err := cli.Tree()
	if err != nil {
		t.Fatal(err)
	}
	part, err := operator.Tree()
	if err != nil {
		t.Fatal(err)
	}
	flags := 0
	for _, node := range append(nodes(tree.Node), nodes(part.Node)...) {
		name := pageName(node) + ".1"
		text := read(t, dir, name)
		words := strings.Join(strings.Fields(text), " ")
		for _, f := range node.Flags {
			if f.Hidden {
				continue
			}
			flags++
			if !strings.Contains(text, option(f)+"\n") || !strings.Contains(words, strings.Join(strings.Fields(roff(f.Help)), " ")) {
				t.Errorf("%s lacks --%s", name, f.Name)
			}
			if v := f.Tag.Get("setting"); v != "" && !strings.Contains(text, "$"+v) {
				t.Errorf("%s does not name the variable %s", name, v)
			}
		}
		if !strings.HasPrefix(text, `.TH "`) || !strings.Contains(text, ` 1 2026-11-18 "sotto 1.2.3" Sotto`) {
			t.Errorf("%s begins %.80s", name, text)
		}
	}
	if flags < 300 {
		t.Errorf("%d flags", flags)
	}
	serve := find(t, tree.Node, "serve")
	if text := read(t, dir, "sotto-serve.1"); !strings.Contains(text, ".SH EXAMPLES\n.RS 4\n.nf\nsotto serve\n") || strings.Contains(text, "Examples:") {
		t.Errorf("the examples of %s are not in their section", serve.FullPath())
	}
}

// TestOwnPages: the pages of sotto-gateway name that program and its own pages.
func TestOwnPages(t *testing.T) {
	dir := written(t)
	serve := read(t, dir, "sotto-gateway-serve.1")
	if !strings.Contains(serve, "\nsotto\\-gateway serve\n") || strings.Contains(serve, "\nsotto serve\n") || !strings.Contains(serve, `\fBsotto.yaml\fR(5)`) {
		t.Errorf("the page of sotto-gateway serve:\n%s", serve)
	}
	if text := read(t, dir, "sotto-gateway.1"); !strings.Contains(text, `\fBsotto\-gateway\-serve\fR(1)`) || strings.Contains(text, `\fBsotto\-serve`) {
		t.Errorf("the page of sotto-gateway:\n%s", text)
	}
}

func find(t *testing.T, node *kong.Node, name string) *kong.Node {
	t.Helper()
	for _, child := range node.Children {
		if child.Name == name {
			return child
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

// TestSettingsPage: the page of the configuration has the keys of all three tables, with
// defaults and without marks of Markdown.
func TestSettingsPage(t *testing.T) {
	page := read(t, written(t), "sotto.yaml.5")
	for _, want := range []string{
		".TP\n\\fBlisten\\fR\n", ".TP\n\\fBlimits.hold\\fR\n", ".TP\n\\fBroutes[].models\\fR\n", ".TP\n\\fBupstreams.NAME.url\\fR\n",
		"Default: 256KiB.", "Environment: SOTTO_LISTEN.", "Flag: \\-\\-listen.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, `\(ga`) || strings.Contains(page, "](") {
		t.Error("the page has marks of Markdown")
	}
	if _, err := settingRows("| key | default |\n"); err == nil {
		t.Error("a guide without the tables is accepted")
	}
}

// TestRoff: no text is read as a request or an escape.
func TestRoff(t *testing.T) {
	p := new(page)
	p.line(`.so /etc/passwd \n 'x -- é`)
	p.literal("    .de x\n    'br")
	want := `\&.so /etc/passwd \en \(aqx \-\- \[u00E9]` + "\n.RS 4\n.nf\n\\&.de x\n\\(aqbr\n.fi\n.RE\n"
	if p.String() != want {
		t.Errorf("%s\nwant\n%s", p.String(), want)
	}
	long := new(page)
	long.line(strings.Repeat("abcdefgh ", 30) + strings.Repeat(".x ", 40))
	for line := range strings.Lines(long.String()) {
		if len(line) > width+3 || strings.HasPrefix(line, ".") {
			t.Errorf("%q", line)
		}
	}
}

// TestLint: mandoc finds no fault in any page.
func TestLint(t *testing.T) {
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("there is no mandoc")
	}
	pages, err := filepath.Glob(filepath.Join(written(t), "*"))
	if err != nil || len(pages) < 40 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	if out, err := exec.Command(mandoc, append([]string{"-Tlint", "-Wstyle"}, pages...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
