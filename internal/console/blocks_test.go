package console

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/record"
)

// markdowns are texts with every construct that a block can end in the middle of.
var markdowns = []string{
	"# Title\n\nA paragraph that is long enough to be a block of its own, with words.\n\n- one\n\n- two\n\n  more of two\n\n" +
		"After the list, a paragraph that is long enough to be a block of its own.\n\n```go\nfunc f() {\n\n\n}\n```\n\nend",
	"1. first\n\n2. second, and enough words to reach the least length of a block\n\n   ```\n   code\n\n   code\n   ```\n\n3. third\n\nDone.",
	"> quote\n> more of it, which is long enough for a block of its own, certainly\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n~~~\n``` no fence\n\n~~~\n",
	strings.Repeat("word ", 8000), strings.Repeat("é", 20000), "```\n" + strings.Repeat("line\n\n", 6000) + "```\n\nafter", strings.Repeat("\xff", 40000),
	strings.Repeat("a\n\n", 5000), strings.Repeat("A paragraph of some length, which ends here.\n\n", 9000),
}

// The blocks of a text are the text, each is bounded, and they do not depend on how the
// text comes.
func TestBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i, text := range append(slices.Clone(markdowns), consoletest.Hostile()...) {
		want := blocksOf(text)
		var all strings.Builder
		rendered := 0
		for _, b := range want {
			all.WriteString(b.Text)
			if len(b.Text) > maxBlock {
				t.Errorf("text %d: a block of %d bytes", i, len(b.Text))
			}
			if !b.Plain {
				rendered += len(b.Text)
			}
		}
		if all.String() != text || rendered > maxRendered || len(want) > len(text)/minBlock+2 {
			t.Errorf("text %d: %d blocks with %d of %d bytes, %d of them rendered", i, len(want), all.Len(), len(text), rendered)
		}
		for range 3 {
			var c cutter
			var got []block
			take := func(b block) { got = append(got, b) }
			for rest := text; rest != ""; {
				n := min(len(rest), 1+rng.IntN(1+rng.IntN(4000)))
				c.feed(rest[:n], take)
				rest = rest[n:]
			}
			c.end(take)
			if !slices.Equal(got, want) {
				t.Fatalf("text %d: cut in another way, %d blocks, not %d", i, len(got), len(want))
			}
		}
	}
}

// A block ends only where the rendering of the whole text has the end of a block too.
func TestBlocksRender(t *testing.T) {
	for i, text := range markdowns[:3] {
		whole, parts := string(markdown(record.Text(text))), string(answerHTML(text))
		if whole != parts {
			t.Errorf("text %d:\n%s\nin blocks:\n%s", i, whole, parts)
		}
		if n := len(blocksOf(text)); n < 2 {
			t.Errorf("text %d is %d blocks", i, n)
		}
	}
}

// A tree of an answer has known elements only, and one attribute at most.
func TestNodes(t *testing.T) {
	known := strings.Fields("p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong del table thead tbody tr th td a div")
	var walk func(nodes []node)
	walk = func(nodes []node) {
		for _, n := range nodes {
			one, ok := n.([]node)
			if !ok {
				continue
			}
			name, attr := one[0].(string), one[1].(string)
			if !slices.Contains(known, name) {
				t.Errorf("the element %s", name)
			}
			if name == "a" && attr != "" && !strings.HasPrefix(attr, "http://") && !strings.HasPrefix(attr, "https://") {
				t.Errorf("a link to %s", attr)
			}
			walk(one[2:])
		}
	}
	for _, text := range append(slices.Clone(markdowns), consoletest.Hostile()...) {
		for _, b := range blocksOf(text) {
			walk(nodesOf(b))
		}
	}
}

// Markup that a model writes about is text in the rendered answer, and none of it is lost.
func TestMarkdownKeepsMarkup(t *testing.T) {
	for text, want := range map[string]string{
		`cut at "</think>" and <b>lose</b> it`: `cut at &#34;&lt;/think&gt;&#34; and &lt;b&gt;lose&lt;/b&gt; it`,
		"<div>\nblock\n</div>\n\nafter":        "&lt;div&gt;\nblock\n&lt;/div&gt;\n</p>\n<p>after",
		"<!-- a\n\nb -->":                      "&lt;!-- a\n\nb --&gt;",
	} {
		if got := string(answerHTML(text)); !strings.Contains(got, want) {
			t.Errorf("%q is %q, without %q", text, got, want)
		}
	}
}
