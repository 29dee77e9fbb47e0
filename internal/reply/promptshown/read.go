package promptshown

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// maxTail is more than a template writes after the last message.
const maxTail = 16 << 10

// turns are parts of the tokens between turns. A tail without one was stripped of its
// special tokens, so a marker may be missing too.
var turns = []string{"<|", "|>", "<｜", "｜>", "[/INST]", "<start_of_turn>", "<end_of_turn>", "<role>", "]~b]", "[e~["}

// startOf reads the tail of a rendered prompt: what follows the text that the
// conversation ends with. It is empty if the tail shows nothing.
func startOf(g *sotto.Grammar, prompt, last string) sotto.Beginning {
	at := strings.LastIndex(prompt, last)
	if at < 0 {
		return "" // the server rendered something else
	}
	tail := prompt[at+len(last):]
	if len(tail) > maxTail {
		return ""
	}
	start, ok := g.BeginningOf(tail)
	switch {
	case ok && start != sotto.BeginOutside:
		return start
	case !hasTurn(tail):
		return ""
	case ok:
		return start
	case g.Dialect().Header == nil && !mentions(g, tail):
		return sotto.BeginOutside
	}
	return ""
}

func hasTurn(s string) bool {
	for _, t := range turns {
		if strings.Contains(s, t) {
			return true
		}
	}
	return false
}

// mentions reports whether a text has the name of a tag, or a literal of a marker, in any
// spelling. Without roles, all markers count.
func mentions(g *sotto.Grammar, text string, roles ...dialect.Role) bool {
	lower := strings.ToLower(text)
	for _, m := range g.Dialect().Markers {
		if len(roles) > 0 && !slices.Contains(roles, m.Role) {
			continue
		}
		if m.Tag != "" && strings.Contains(lower, strings.ToLower(m.Tag)) {
			return true
		}
		for _, list := range [][]string{m.Open, m.Close} {
			for _, s := range list {
				if s = strings.TrimSpace(s); s != "" && strings.Contains(lower, strings.ToLower(s)) {
					return true
				}
			}
		}
	}
	return false
}

// readTemplate reads the text of a template that the server does not render. If it names
// no marker at all, the prompt opens no block.
func readTemplate(g *sotto.Grammar, text string) (e Evidence) {
	switch {
	case g.Dialect().TemplateOpens(text):
		e.MayOpen = true
	case g.Dialect().Header == nil && strings.Contains(text, "{") && !mentions(g, text, dialect.RoleReasoning):
		e.Start = sotto.BeginOutside
	}
	return e
}

// joinTokens joins the tokens of a prompt as a tokenizer stores them: with the bytes of
// a text as letters (GPT-2), or with ▁ for a space and <0x0A> for a byte (SentencePiece).
func joinTokens(tokens []string) string {
	all := strings.Join(tokens, "")
	if !strings.ContainsAny(all, "ĠĊ") {
		return strings.NewReplacer("▁", " ", "<0x0A>", "\n", "<0x09>", "\t", "<0x0D>", "\r").Replace(all)
	}
	b := make([]byte, 0, len(all))
	for _, r := range all {
		if c, ok := letterBytes[r]; ok {
			b = append(b, c)
		} else {
			b = utf8.AppendRune(b, r)
		}
	}
	return string(b)
}

// letterBytes are the bytes for which GPT-2's tokenizer has letters: those that are no
// printable characters of Latin-1 get the letters from U+0100 on.
var letterBytes = func() map[rune]byte {
	table := map[rune]byte{}
	next := rune(0x100)
	for c := range 256 {
		r := rune(c)
		printable := '!' <= r && r <= '~' || 0xa1 <= r && r <= 0xac || 0xae <= r
		if !printable {
			r = next
			next++
		}
		table[r] = byte(c)
	}
	return table
}()
