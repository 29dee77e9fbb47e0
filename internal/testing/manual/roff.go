package main

import (
	"fmt"
	"strings"
)

// An edition is what the head of every page says.
type edition struct{ version, date string }

// A page is a manual page in the macros of man(7).
type page struct{ strings.Builder }

// begin writes the head and the section NAME.
func (e edition) begin(name string, section int, summary string) *page {
	p := new(page)
	fmt.Fprintf(p, ".TH %s %d %s %s Sotto\n", quoted(strings.ToUpper(name)), section, e.date, quoted("sotto "+e.version))
	p.section("NAME")
	p.line(name + " - " + strings.TrimSuffix(summary, "."))
	return p
}

func (p *page) section(title string) { fmt.Fprintf(p, ".SH %s\n", title) }

// term writes an entry of a list of definitions.
func (p *page) term(markup, text string) {
	fmt.Fprintf(p, ".TP\n%s\n", markup)
	p.line(text)
}

// width is how long the lines of a page's source are, where the formatter fills them
// anyway.
const width = 78

// line writes text that the formatter fills.
func (p *page) line(text string) {
	at := 0
	for word := range strings.FieldsSeq(roff(text)) {
		switch {
		case at == 0:
			word = atStart(word)
		case at+1+len(word) > width:
			p.WriteByte('\n')
			at, word = 0, atStart(word)
		default:
			p.WriteByte(' ')
			at++
		}
		p.WriteString(word)
		at += len(word)
	}
	p.WriteByte('\n')
}

// prose writes paragraphs. Those that are indented by four spaces are shown as they
// are.
func (p *page) prose(text string) {
	for i, block := range strings.Split(strings.TrimRight(text, "\n"), "\n\n") {
		if i > 0 {
			p.WriteString(".PP\n")
		}
		if strings.HasPrefix(block, "    ") {
			p.literal(block)
		} else {
			p.line(block)
		}
	}
}

// literal shows lines as they are.
func (p *page) literal(block string) {
	p.WriteString(".RS 4\n.nf\n")
	for line := range strings.SplitSeq(block, "\n") {
		p.WriteString(atStart(roff(strings.TrimPrefix(line, "    "))) + "\n")
	}
	p.WriteString(".fi\n.RE\n")
}

// atStart protects a line from being read as a request.
func atStart(s string) string {
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		return `\&` + s
	}
	return s
}

func bold(s string) string   { return `\fB` + roff(s) + `\fR` }
func italic(s string) string { return `\fI` + roff(s) + `\fR` }

// quoted is an argument of a macro.
func quoted(s string) string { return `"` + strings.ReplaceAll(roff(s), `"`, `\(dq`) + `"` }

// roff escapes what is special to the formatter. A hyphen becomes one that can be
// copied into a shell, and a character beyond ASCII its number, which every formatter
// knows, whatever the locale.
func roff(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
