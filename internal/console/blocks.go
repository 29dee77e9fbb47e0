package console

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sotto-llm/sotto/internal/base/visible"
)

const (
	// minBlock is how long a block is at least, in bytes, so that a text of tiny
	// paragraphs does not cost more than one of long ones.
	minBlock = 64
	// maxBlock bounds a block. A longer one is shown as plain text in pieces.
	maxBlock = 16 << 10
	// maxRendered bounds how much of an answer is rendered. The rest is plain text.
	maxRendered = 256 << 10
)

// A block is a part of a Markdown text that is rendered alone: everything between two
// blank lines that are not inside a fence, a list or an indented part.
type block struct {
	Text  string
	Plain bool // it is shown as it is
}

// A cutter cuts a growing text into blocks. The blocks do not depend on the pieces in
// which the text comes, so that an answer looks the same while it streams, when it has
// ended, and when it is opened again.
type cutter struct {
	open  []byte // the block that has not ended
	at    int    // where the line begins in it that has not been looked at
	total int    // bytes of the blocks that have ended

	blank bool   // the last line was blank
	list  bool   // the block began as a list
	fence string // what closes the fence that is open; "" if none is
	plain bool   // the block is the rest of one that was too long
}

// feed takes a piece of the text and gives the blocks that end.
func (c *cutter) feed(piece string, ended func(block)) {
	c.open = append(c.open, piece...)
	for {
		end := bytes.IndexByte(c.open[c.at:], '\n')
		if end < 0 && len(c.open) <= maxBlock {
			return
		}
		if end < 0 || c.at+end+1 > maxBlock {
			c.tooLong(ended)
			continue
		}
		c.line(string(c.open[c.at:c.at+end]), ended)
		c.at += end + 1
	}
}

// end ends the text.
func (c *cutter) end(ended func(block)) {
	c.line(string(c.open[c.at:]), ended)
	c.cut(len(c.open), ended)
}

// tooLong ends a piece of a block that is too long: before the line that is being
// looked at, or in it.
func (c *cutter) tooLong(ended func(block)) {
	n := c.at
	if n == 0 {
		n = maxBlock // also if it is not UTF-8
		for i := range utf8.UTFMax {
			if utf8.RuneStart(c.open[maxBlock-i]) {
				n = maxBlock - i
				break
			}
		}
	}
	c.plain = true
	c.cut(n, ended)
	c.plain = true
}

// line looks at a line: whether a block ends before it, and whether it opens or closes
// a fence.
func (c *cutter) line(text string, ended func(block)) {
	bare := strings.TrimLeft(text, " \t")
	if c.fence != "" {
		if strings.HasPrefix(bare, c.fence) && strings.Trim(bare, c.fence[:1]+" \t\r") == "" {
			c.fence = ""
		}
		return
	}
	if strings.TrimSpace(bare) == "" {
		c.blank = c.at > 0
		return
	}
	if c.blank && bare == text && !(c.list && isItem(bare)) && (c.at >= minBlock || c.plain) {
		c.cut(c.at, ended)
	}
	if c.at == 0 {
		c.list = isItem(bare)
	}
	c.blank = false
	c.fence = fenceOf(bare)
}

// cut ends the block after n of its bytes.
func (c *cutter) cut(n int, ended func(block)) {
	if n == 0 {
		return
	}
	b := block{string(c.open[:n]), c.plain || c.total+n > maxRendered}
	c.open = c.open[n:]
	c.at, c.total = max(0, c.at-n), c.total+n
	c.blank, c.list, c.plain = false, false, false
	ended(b)
}

// isItem reports whether a line begins an item of a list.
func isItem(line string) bool {
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	if digits > 0 && digits < 10 && digits < len(line) {
		line = line[digits:]
		return (line[0] == '.' || line[0] == ')') && (len(line) == 1 || line[1] == ' ' || line[1] == '\t')
	}
	return line != "" && strings.IndexByte("-*+", line[0]) >= 0 && (len(line) == 1 || line[1] == ' ' || line[1] == '\t')
}

// fenceOf returns the marks of the fence that a line opens, or "".
func fenceOf(line string) string {
	for _, mark := range []string{"`", "~"} {
		marks := line[:len(line)-len(strings.TrimLeft(line, mark))]
		if len(marks) >= 3 && (mark == "~" || !strings.Contains(line[len(marks):], mark)) {
			return marks
		}
	}
	return ""
}

// blocksOf cuts a whole text.
func blocksOf(text string) (list []block) {
	var c cutter
	take := func(b block) { list = append(list, b) }
	c.feed(text, take)
	c.end(take)
	return list
}

// A node is a piece of a page as JSON: a text, or a list of the name of an element, the
// value of its one attribute, and its children. The script makes elements of it, by a
// list of the names that it knows, and never reads markup.
type node any

// nodesOf returns the elements of a block.
func nodesOf(b block) []node {
	h := string(b.rendered())
	if h == "" {
		return []node{[]node{"div", "words", visible.Text(b.Text)}}
	}
	at := &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div}
	list, err := html.ParseFragment(strings.NewReader(h), at)
	if err != nil {
		return []node{[]node{"div", "words", visible.Text(b.Text)}}
	}
	var out []node
	for _, n := range list {
		out = appendNode(out, n)
	}
	return out
}

func appendNode(to []node, n *html.Node) []node {
	switch n.Type {
	case html.TextNode:
		return append(to, n.Data)
	case html.ElementNode:
		one := []node{n.Data, attribute(n)}
		if n.Data == "img" { // its text stands where others have children
			one = append(one, altText(n))
		}
		for child := range n.ChildNodes() {
			one = appendNode(one, child)
		}
		return append(to, one)
	}
	return to
}

// attribute returns the one attribute of an element of rendered Markdown that the script
// needs: where a link leads, the number at which a list starts, the data of an image, or
// that code is a formula.
func attribute(n *html.Node) string {
	needed := map[string]string{"a": "href", "ol": "start", "img": "src", "code": "class"}[n.Data]
	for _, a := range n.Attr {
		if a.Key == needed {
			return a.Val
		}
	}
	return ""
}

func altText(n *html.Node) string {
	for _, a := range n.Attr {
		if a.Key == "alt" {
			return a.Val
		}
	}
	return ""
}
