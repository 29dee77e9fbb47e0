package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/sotto-llm/sotto/internal/base/typeset"
)

// inline returns the text in a node. A style within a style takes its place.
func (s *setter) inline(n ast.Node, style typeset.Style) line {
	var out line
	add := func(style typeset.Style, text string) {
		if text = safe(text); text != "" {
			out = append(out, span{style, text})
		}
	}
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) {
		switch c := c.(type) {
		case *ast.Text:
			if !entering {
				break
			}
			add(s.styleOf(c, n, style), string(unescaped(c.Segment.Value(s.source))))
			switch {
			case c.HardLineBreak():
				out = append(out, span{text: "\n"})
			case c.SoftLineBreak():
				add(style, " ")
			}
		case *ast.String:
			if entering {
				add(s.styleOf(c, n, style), string(c.Value))
			}
		case *ast.CodeSpan:
			if entering {
				add(typeset.Cyan, s.plain(c))
			}
			return ast.WalkSkipChildren, nil
		case *ast.RawHTML:
			if entering {
				add(style, string(c.Segments.Value(s.source)))
			}
		case *ast.AutoLink:
			if entering {
				add(style, string(c.URL(s.source)))
			}
		case *ast.Link:
			if !entering {
				add(typeset.Dim, address(s.plain(c), string(c.Destination)))
			}
		case *ast.Image:
			if entering {
				add(style, "image: ")
			} else {
				add(typeset.Dim, address(s.plain(c), string(c.Destination)))
			}
		case *extast.TaskCheckBox:
			if entering && c.IsChecked {
				add(style, "[x] ")
			} else if entering {
				add(style, "[ ] ")
			}
		}
		return ast.WalkContinue, nil
	})
	return out
}

// address is what stands after the text of a link, so that nobody has to trust the
// text.
func address(text, to string) string {
	if to == "" || to == text {
		return ""
	}
	return " <" + to + ">"
}

// styleOf returns the style of the innermost emphasis around a text.
func (s *setter) styleOf(n, end ast.Node, style typeset.Style) typeset.Style {
	for p := n.Parent(); p != nil && p != end; p = p.Parent() {
		switch p := p.(type) {
		case *ast.Emphasis:
			if p.Level > 1 {
				return typeset.Bold
			}
			return typeset.Italic
		case *extast.Strikethrough:
			return typeset.Struck
		}
	}
	return style
}

// plain returns the text in a node without its styles.
func (s *setter) plain(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := c.(*ast.Text); ok && entering {
			value := t.Segment.Value(s.source)
			if n.Kind() != ast.KindCodeSpan {
				value = unescaped(value)
			}
			b.Write(value)
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.ReplaceAll(b.String(), "\n", " ")
}
