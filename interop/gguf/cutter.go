package gguf

import "regexp"

// A Cutter cuts texts into pieces. No piece occurs twice in all the texts that it
// cuts. The zero value is ready to use.
type Cutter struct {
	used map[string]bool
}

// unit matches a piece if nothing is repeated: a tag, line ends, or a word with one
// space before it and the punctuation and the line ends after it.
var unit = regexp.MustCompile(`(?s)^(?:</?[\pL_]+>|\n+|[ \t]?(?:[^\s<]+|<)\n*|.)`)

// Use marks pieces that the caller has cut by hand as taken, and returns them.
func (c *Cutter) Use(pieces ...string) []string {
	if c.used == nil {
		c.used = map[string]bool{}
	}
	for _, p := range pieces {
		c.used[p] = true
	}
	return pieces
}

// Cut returns the pieces of text, in order: tags, line ends and words, as most
// tokenizers would cut them. A piece that was cut before is made shorter or, if
// that does not help, longer. If nothing helps, the piece is the rest of the text,
// which [Write] refuses with [ErrRepeated].
func (c *Cutter) Cut(text string) []string {
	var pieces []string
	for len(text) > 0 {
		n := c.length(text)
		pieces = append(pieces, c.Use(text[:n])...)
		text = text[n:]
	}
	return pieces
}

// length returns how many bytes of text the next piece has.
func (c *Cutter) length(text string) int {
	word := len(unit.FindString(text))
	for n := word; n > 0; n = before(text, n) {
		if !c.used[text[:n]] {
			return n
		}
	}
	for n := range text {
		if n > word && !c.used[text[:n]] {
			return n
		}
	}
	return len(text)
}

// before returns the start of the last character of text[:n].
func before(text string, n int) (last int) {
	for i := range text[:n] {
		last = i
	}
	return last
}
