package console

import (
	"bytes"
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	rendering "github.com/yuin/goldmark/renderer"
	gmtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/record"
)

// maxMarkdown bounds the text that is rendered, in bytes, and maxNested the marks at
// the beginning of a line that nest one block in another.
const (
	maxMarkdown = 64 << 10
	maxNested   = 32
)

// renderer renders Markdown. It shows raw HTML as text, since a model that writes about
// markup means it as that.
var renderer = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.GFM, formulas{}), goldmark.WithRendererOptions(rendering.WithNodeRenderers(util.Prioritized(htmlAsText{}, 1), util.Prioritized(images{}, 1))))
})

// htmlAsText renders raw HTML as text.
type htmlAsText struct{}

func (htmlAsText) RegisterFuncs(r rendering.NodeRendererFuncRegisterer) {
	write := func(w util.BufWriter, lines *gmtext.Segments, source []byte) {
		for i := range lines.Len() {
			at := lines.At(i)
			_, _ = w.Write(util.EscapeHTML(at.Value(source)))
		}
	}
	r.Register(ast.KindRawHTML, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			write(w, n.(*ast.RawHTML).Segments, source)
		}
		return ast.WalkSkipChildren, nil
	})
	r.Register(ast.KindHTMLBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		_, _ = w.WriteString("<p>")
		write(w, n.Lines(), source)
		if b := n.(*ast.HTMLBlock); b.HasClosure() {
			_, _ = w.Write(util.EscapeHTML(b.ClosureLine.Value(source)))
		}
		_, _ = w.WriteString("</p>\n")
		return ast.WalkContinue, nil
	})
}

// images shows the images that are within the text, and names the others with their
// address: the page asks no other host for anything.
type images struct{}

// imageData are the images that a text can hold.
var imageData = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$`)
})

func (images) RegisterFuncs(r rendering.NodeRendererFuncRegisterer) {
	r.Register(ast.KindImage, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		image := n.(*ast.Image)
		alt := util.EscapeHTML(altOf(image, source))
		switch to := util.EscapeHTML(util.URLEscape(image.Destination, false)); {
		case imageData().Match(image.Destination):
			_, _ = fmt.Fprintf(w, `<img src="%s" alt="%s">`, to, alt)
		case webAddress().Match(image.Destination):
			_, _ = fmt.Fprintf(w, `<a href="%s">%s %s</a>`, to, Word("chat.image"), alt)
		default:
			_, _ = fmt.Fprintf(w, `%s %s (%s)`, Word("chat.image"), alt, util.EscapeHTML([]byte(shorttext.Cut(string(image.Destination), maxNamed))))
		}
		return ast.WalkSkipChildren, nil
	})
}

// maxNamed bounds the address of an image that is not shown.
const maxNamed = 200

// altOf is the text that stands for an image.
func altOf(n ast.Node, source []byte) (alt []byte) {
	_ = ast.Walk(n, func(child ast.Node, entering bool) (ast.WalkStatus, error) {
		switch t := child.(type) {
		case *ast.Text:
			if entering {
				alt = append(alt, t.Value(source)...)
			}
		case *ast.RawHTML:
			if entering {
				alt = append(alt, t.Segments.Value(source)...)
			}
		}
		return ast.WalkContinue, nil
	})
	return alt
}

// webAddress is where a link may lead.
var webAddress = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?i:https?)://`) })

// sanitizer lets through the elements of Markdown: no images but those in the text, no
// styles, no ids, and links only to the web.
var sanitizer = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "del",
		"table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^[0-9]{1,9}$`)).OnElements("ol")
	p.AllowAttrs("class").Matching(regexp.MustCompile("^(" + inlineMath + "|" + displayMath + ")$")).OnElements("code")
	p.AllowAttrs("href").Matching(webAddress()).OnElements("a")
	p.AllowAttrs("src").Matching(imageData()).OnElements("img")
	p.AllowAttrs("alt").OnElements("img")
	p.AllowURLSchemes("http", "https")
	p.AllowURLSchemeWithCustomPolicy("data", func(u *url.URL) bool { return imageData().MatchString(u.String()) })
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(false)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	return p
})

// markdown renders a text, or returns "" if it is too long or nests too deeply. The
// text is made visible first, so that no character in it is hidden.
func markdown(text record.Text) template.HTML {
	shown := visible.Text(string(text))
	if len(shown) > maxMarkdown || nests(shown) {
		return ""
	}
	var b bytes.Buffer
	if renderer().Convert([]byte(shown), &b) != nil {
		return ""
	}
	clean := sanitizer().SanitizeBytes(b.Bytes())
	return template.HTML(bytes.ReplaceAll(clean, []byte("<pre>"), []byte(`<pre tabindex="0">`))) // long lines scroll, by the keyboard too
}

// rendered returns a block as HTML, or "" if it is shown as it is.
func (b block) rendered() template.HTML {
	if b.Plain {
		return ""
	}
	return markdown(record.Text(b.Text))
}

// answerHTML renders an answer for a page.
func answerHTML(text string) template.HTML {
	var out strings.Builder
	for _, b := range blocksOf(text) {
		if h := b.rendered(); h != "" {
			out.WriteString(string(h))
			continue
		}
		out.WriteString(`<div class="words">` + template.HTMLEscapeString(visible.Text(b.Text)) + `</div>`)
	}
	return template.HTML(out.String())
}

// nests reports whether a line of a text begins with so many marks that the blocks
// would nest deeply, or whether its brackets and emphasis do.
func nests(text string) bool {
	for l := range strings.Lines(text) {
		marks, depth := 0, 0
		for i := range len(l) {
			c := l[i]
			if marks >= 0 {
				switch {
				case strings.IndexByte(">-+*0123456789.)", c) >= 0:
					marks++
				case c != ' ' && c != '\t':
					marks = -1
				}
			}
			switch c {
			case '[', '!', '*', '_', '~', '`', '<':
				depth++
			}
			if marks > maxNested && strings.Trim(l, "-*_ =+.0123456789\t\r\n") != "" || depth > 40*maxNested {
				return true
			}
		}
		indent := len(l) - len(strings.TrimLeft(l, " \t"))
		if indent > 4*maxNested {
			return true
		}
	}
	return false
}

// Rendered is an answer of this page as Markdown; empty if it is shown as plain text.
func (t traceStep) Rendered() template.HTML {
	if !t.Markdown || t.Step.Event != t.Own || t.Step.Text.Missing() > 0 {
		return ""
	}
	return markdown(record.Text(t.Step.Text.Plain()))
}
