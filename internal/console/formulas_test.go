package console

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// htmlOf renders a text and cuts off the paragraph around it.
func htmlOf(text string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(answerHTML(text))), "<p>"), "</p>")
}

// A formula is code with its marks around it, and Markdown does not read what is in it. Money
// and what has no end are text.
func TestFormulas(t *testing.T) {
	math := func(s string) string { return `<code class="math">` + s + `</code>` }
	display := func(s string) string { return `<code class="math display">` + s + `</code>` }
	for text, want := range map[string]string{
		`a $x_1*y_2*$ b`:              `a ` + math(`$x_1*y_2*$`) + ` b`,
		`a \(x_1 < y_2\) b`:           `a ` + math(`\(x_1 &lt; y_2\)`) + ` b`,
		`a $$x_1*y*$$ b`:              `a ` + display(`$$x_1*y*$$`) + ` b`,
		`a \[x\] b`:                   `a ` + display(`\[x\]`) + ` b`,
		"$a\nb$":                      math("$a\nb$"),
		`\$5 and $x$`:                 `$5 and ` + math(`$x$`),
		`$a\$b$`:                      math(`$a\$b$`),
		`from $5 to $6`:               `from $5 to $6`,
		`$5-$6`:                       `$5-$6`,
		`$ 5$`:                        `$ 5$`,
		`$5`:                          `$5`,
		`\(x`:                         `(x`,
		"`$x$`":                       `<code>$x$</code>`,
		"$$\na_1\n- b\n$$":            display("$$\na_1\n- b\n$$"),
		"\\[\nx\n= y\n\\]\nThen.":     display("\\[\nx\n= y\n\\]") + "</p>\n<p>Then.",
		"\\[\nx\n\\], which is *so*.": display("\\[\nx\n\\]") + ", which is *so*.",
		"$$\nx\n\nA *b*":              "$$\nx</p>\n<p>A <em>b</em>",
		"- a\n\n  $$\n  x\n  $$":      "<ul>\n<li>\n<p>a</p>\n<p>" + display("$$\nx\n$$") + "</p>\n</li>\n</ul>",
		`$` + strings.Repeat("x", maxFormula+1) + `$`: `$` + strings.Repeat("x", maxFormula+1) + `$`,
	} {
		if got := htmlOf(text); got != want {
			t.Errorf("%.80q:\n got %.300q\nwant %.300q", text, got, want)
		}
	}
}

// Images in the text are shown; those of other hosts and of no host are named.
func TestImages(t *testing.T) {
	pixel := "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	for text, want := range map[string]string{
		"![a *b*](" + pixel + ")":                     `<img src="` + pixel + `" alt="a b">`,
		"![tower](https://h/p.png)":                   `<a href="https://h/p.png" rel="nofollow noreferrer">image: tower</a>`,
		"![tower](local.png)":                         "image: tower (local.png)",
		"![x](data:image/svg+xml;base64,PHN2Zz4=)":    "image: x (data:image/svg+xml;base64,PHN2Zz4=)",
		"![x](javascript:alert(1))":                   "image: x (javascript:alert(1))",
		"![\"><script>](https://h/\"onerror=x)":       `<a href="https://h/%22onerror=x" rel="nofollow noreferrer">image: &#34;&gt;&lt;script&gt;</a>`,
		"[x](" + pixel + ")":                          "x",
		"![x](data:image/png;base64,AA\"onerror=\"x)": `image: x (data:image/png;base64,AA&#34;onerror=&#34;x)`,
	} {
		if got := htmlOf(text); got != want {
			t.Errorf("%.80q:\n got %s\nwant %s", text, got, want)
		}
	}
	if got := nodeText(nodesOf(block{Text: "![tower](" + pixel + ") $x$"})); got != "[[p  [img "+pixel+" tower]   [code math $x$]]]" {
		t.Errorf("as nodes: %s", got)
	}
}

// The library is the file of npm that docs/supply.md names, and is a module here.
func TestTemml(t *testing.T) {
	text, tail := temml(), "\nexport default temml;\n"
	sum := sha256.Sum256([]byte(strings.TrimSuffix(text, tail)))
	supply, err := os.ReadFile("../../docs/supply.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(text, tail) || !strings.Contains(string(supply), hex.EncodeToString(sum[:])) {
		t.Errorf("docs/supply.md does not have the digest %x", sum)
	}
}
