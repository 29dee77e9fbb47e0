package detect

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/bytescan"
)

// A Sieve rules out records in JSON in which no text has a marker, without reading the JSON.
// It is safe for concurrent use.
//
// It looks for the markers as JSON may write them: a character may be an escape, and a text
// may itself be JSON, whose escapes are escaped. So it takes all backslashes before a
// character as one. That finds more than there is, which only costs a reading.
type Sieve struct {
	leads  []lead
	at     [256]uint8 // by the first byte: the number of its lead, from 1; 0 if there is none
	words  []word
	rare   [256][]word      // the same, by the first of their rarest bytes
	begins *bytescan.Groups // where a text may begin, or the rarest bytes of a word are
	all    bool             // a marker that the sieve cannot look for
}

// A lead is a byte with which texts begin, and what follows it in them.
type lead struct {
	first byte
	from  [256][]needle       // by the second byte
	tags  []needle            // these are not in from
	names [256]*[256][]needle // tags by the first two bytes of their names, in either case
	third [256]*[256]bool     // by the second byte: what may be the third; nil if there is none
}

// A needle is a text to look for. A tag may be in any case, and ends where a name ends. Like
// every reader of tags, the sieve takes blanks and tabs before the name, and before its slash.
type needle struct {
	text string
	tag  bool
}

// A word is a text of characters that no encoder escapes. It is looked for by its rarest three
// bytes, which begin at rare.
type word struct {
	text string
	rare int
}

// Sieve returns a sieve for the markers that [Detector.Readers] finds, and for more texts.
func (d *Detector) Sieve(more ...string) *Sieve {
	s := &Sieve{}
	for _, first := range d.leads {
		for _, i := range d.at[first] {
			s.add(needle{d.markers[i].text, d.markers[i].tag})
		}
	}
	for _, text := range more {
		if isAsItIs(text[0]) {
			s.addWord(text)
		} else {
			s.add(needle{text, false})
		}
	}
	for _, i := range d.lead { // it counts only with one of these
		for _, text := range d.markers[i].until {
			text = strings.TrimSpace(text)
			if n, known := d.numbers[text]; !known || !slices.Contains(d.at[text[0]], n) {
				s.addWord(text)
			}
		}
	}
	slices.SortStableFunc(s.words, func(a, b word) int { return len(a.text) - len(b.text) })
	kept := s.words[:0]
	for _, w := range s.words {
		if !slices.ContainsFunc(kept, func(k word) bool { return strings.Contains(w.text, k.text) }) {
			kept = append(kept, w)
		}
	}
	s.words = kept
	s.begins = s.search()
	return s
}

// The groups of what a sieve looks for.
const (
	letterNumbers = iota // the number of an escape that stands for a letter, or for a backslash
	digitNumbers         // for a digit
	wordGroup            // for a space or a colon; and words
	leadNumbers          // for the first character of a lead, in two groups
	leadEscapes          // of these the second, which also has each lead before an escape
	leadGroup            // leads, in two groups
	_
	labelGroup // words of which the rarest bytes end with a colon
)

// search makes the search for the beginnings of what the sieve looks for: what a lead and the
// byte after it begin, the rarest bytes of words, and the last three digits of numbers that
// stand for characters which encoders leave as they are. Of the number of a lead in ASCII, it
// takes the last two digits and the byte after them: few escapes that encoders write are so.
// Escapes without a number stand for characters that begin nothing, or that are found as they
// are.
func (s *Sieve) search() *bytescan.Groups {
	g := new(bytescan.Groups)
	const hex = "0123456789abcdefABCDEF"
	g.Add(letterNumbers, []byte("0"), []byte("4567"), []byte(hex))
	g.Add(digitNumbers, []byte("0"), []byte("3"), []byte(hex[:10]))
	g.Add(wordGroup, []byte("0"), []byte("23"), []byte("0aA"))
	for i := range s.leads {
		l := &s.leads[i]
		for second, list := range l.from {
			for _, n := range list {
				l.follow(byte(second), cased(marker{text: n.text}, 2))
				n.addNumber(g, leadNumbers+i%2)
			}
		}
		for _, n := range l.tags {
			m := marker{text: n.text, tag: true}
			for _, second := range cased(m, 1) {
				l.follow(second, cased(m, 2))
			}
			for _, blank := range []byte(blanks) {
				l.follow(blank, []byte(blanks))
				l.follow(blank, cased(m, 1))
				if n.text[1] == '/' {
					l.follow('/', []byte{blank})
				}
			}
		}
		for second, may := range l.third {
			if may == nil {
				continue
			}
			var thirds []byte
			for c := range may {
				if may[c] {
					thirds = append(thirds, byte(c))
				}
			}
			g.Add(leadGroup+i%2, []byte{l.first}, []byte{byte(second)}, thirds)
			if l.first < utf8.RuneSelf {
				digits := fmt.Sprintf("%02x", l.first)
				g.Add(leadNumbers+i%2, digit(digits[0]), digit(digits[1]), []byte{byte(second), '\\'})
			}
			if !isAsItIs(byte(second)) {
				g.Add(leadEscapes, []byte{l.first}, []byte{'\\'}, escapesOf(byte(second)))
			}
		}
	}
	for _, w := range s.words {
		group, rare := wordGroup, w.text[w.rare:]
		if rare[2] == ':' {
			group = labelGroup
		}
		g.Add(group, []byte{rare[0]}, []byte{rare[1]}, []byte{rare[2]})
		s.rare[rare[0]] = append(s.rare[rare[0]], w)
	}
	return g
}

// addNumber adds to a group the last three digits of the number, in UTF-16, of the character with which
// a needle begins, if that is not in ASCII.
func (n needle) addNumber(g *bytescan.Groups, group int) {
	r, _ := utf8.DecodeRuneInString(n.text)
	if r < utf8.RuneSelf {
		return
	}
	digits := fmt.Sprintf("%04x", utf16.AppendRune(nil, r)[0])
	g.Add(group, digit(digits[1]), digit(digits[2]), digit(digits[3]))
}

// digit returns a hexadecimal digit in either case.
func digit(c byte) []byte { return []byte{c, strings.ToUpper(string(rune(c)))[0]} }

// follow adds what may come after a lead and a second byte in a record.
func (l *lead) follow(second byte, thirds []byte) {
	if l.third[second] == nil {
		l.third[second] = &[256]bool{'\\': true}
	}
	for _, c := range thirds {
		l.third[second][c] = true
	}
}

// escapesOf returns the bytes that may come after the backslash of an escape of a character
// that begins with a byte.
func escapesOf(first byte) []byte {
	of := []byte{'\\', 'u', first}
	if i := strings.IndexByte("\n\t\r\b\f", first); i >= 0 {
		of = append(of, "ntrbf"[i])
	}
	return of
}

func (s *Sieve) add(n needle) {
	if strings.Contains(n.text, `\`) || isAsItIs(n.text[0]) {
		s.all = true
		return
	}
	if s.at[n.text[0]] == 0 { // of fewer than 256, since letters do not begin a lead
		s.leads = append(s.leads, lead{first: n.text[0]})
		s.at[n.text[0]] = uint8(len(s.leads))
	}
	l := &s.leads[s.at[n.text[0]]-1]
	switch {
	case n.tag:
		l.tags = append(l.tags, n)
		name := marker{text: strings.TrimPrefix(n.text[1:], "/"), tag: true}
		for _, c := range cased(name, 0) {
			if l.names[c] == nil {
				l.names[c] = new([256][]needle)
			}
			for _, second := range cased(name, 1) {
				l.names[c][second] = append(l.names[c][second], n)
			}
		}
	default:
		for _, c := range cased(marker{text: n.text}, 1) {
			l.from[c] = append(l.from[c], n)
		}
	}
}

// common are the letters of prose, the most frequent first. A byte that is not one of them
// is rarer than any.
const common = " etaoinsrhldcumfpgwybvkxjqz"

// addWord adds the longest part of a text that no encoder escapes.
func (s *Sieve) addWord(text string) {
	longest := ""
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf || !isAsItIs(byte(r)) }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	if len(longest) < 3 || strings.TrimSpace(longest) == "" {
		s.all = true
		return
	}
	rank := func(i int) int {
		if at := strings.IndexByte(common, longest[i]); at >= 0 {
			return at
		}
		return len(common)
	}
	w := word{text: longest}
	for i := range len(longest) - 2 {
		if rank(i)+rank(i+1)+rank(i+2) > rank(w.rare)+rank(w.rare+1)+rank(w.rare+2) {
			w.rare = i
		}
	}
	s.words = append(s.words, w)
}

// isAsItIs reports whether encoders leave a character as it is: a letter, a digit, a space or
// a colon.
func isAsItIs(c byte) bool {
	return c == ' ' || c == ':' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// May reports whether a text of a record may have a marker. If not, none has one.
func (s *Sieve) May(record []byte) bool {
	if s.all {
		return true
	}
	for at := s.begins.Next(record); at < len(record); at += s.begins.Next(record[at:]) {
		c := record[at]
		if i := s.at[c]; i > 0 && s.leads[i-1].begins(record[at:], record[at+1:]) {
			return true
		}
		for i := range s.rare[c] {
			if s.rare[c][i].around(record, at) {
				return true
			}
		}
		for from := at - len(`\u00`); from <= at-len(`\u0`); from++ {
			if from >= 0 && record[from] == '\\' && record[from+1] == 'u' && s.escaped(record[from:]) {
				return true
			}
		}
		at++
	}
	return false
}

// escaped reports whether the escape at the start of r, which has a number, is of a character
// that encoders leave as it is, or that begins a text.
func (s *Sieve) escaped(r []byte) bool {
	if s.harmless(r) {
		return false
	}
	b, n, size := unescape(r)
	if n == 0 {
		return false
	}
	if b[0] == '\\' || isAsItIs(b[0]) {
		return true
	}
	next := r[size:]
	if n > 1 {
		next = b[1:n]
	}
	i := s.at[b[0]]
	return i > 0 && s.leads[i-1].begins(r, next)
}

// begins reports whether a text begins in s, of which the second byte is at the start of next.
func (l *lead) begins(s, next []byte) bool {
	for _, tag := range l.named(next) {
		if tag.begins(s) {
			return true
		}
	}
	second, n, size := character(next)
	if n == 0 {
		return false
	}
	list := l.from[second[0]]
	if len(list) == 0 {
		return false
	}
	third, m, _ := character(next[size:])
	if n == 1 && m > 0 && !l.third[second[0]][third[0]] {
		return false
	}
	for i := range list {
		text := list[i].text
		if n == 1 && m > 0 && len(text) > 2 && text[2] != third[0] {
			continue
		}
		if list[i].begins(s) {
			return true
		}
	}
	return false
}

// named returns the tags whose names may begin in what follows the first byte of one.
func (l *lead) named(next []byte) []needle {
	if len(l.tags) == 0 {
		return nil
	}
	b, n, size := name(next)
	if n == 1 && b[0] == '/' {
		next = next[size:]
		b, n, size = name(next)
	}
	may := l.names[b[0]]
	if n == 0 || may == nil {
		return nil
	}
	second, _, _ := character(next[size:])
	return may[second[0]]
}

// name returns the first character of s that is no blank, and its end.
func name(s []byte) (b [utf8.UTFMax]byte, n, end int) {
	for {
		var size int
		if b, n, size = character(s[end:]); n == 0 || !isBlank(b[0]) {
			return b, n, end + size
		}
		end += size
	}
}

// harmless reports whether r, which begins with an escape, begins with the number of an ASCII
// character that neither is one that encoders leave as it is, nor begins a text: as nearly all
// do, and so that is found out fast.
func (s *Sieve) harmless(r []byte) bool {
	if len(r) <= len(`\u003c`) || r[1] != 'u' || r[2] != '0' || r[3] != '0' {
		return false
	}
	high, low := digits[r[4]], digits[r[5]]
	if high > 7 || low > 15 {
		return false
	}
	c, next := high<<4|low, r[6]
	switch i := s.at[c]; {
	case isAsItIs(c) || c == '\\' || next == '\\':
		return false
	case i > 0:
		may := s.leads[i-1].third[next]
		return may == nil || len(r) > 7 && !may[r[7]]
	}
	return true
}

// digits are the values of hexadecimal digits, and 255 for other bytes.
var digits = func() (of [256]byte) {
	for c := range of {
		of[c] = 255
		if r, ok := hex4([]byte{'0', '0', '0', byte(c)}); ok {
			of[c] = byte(r)
		}
	}
	return of
}()

// around reports whether the record has the word, of which the rarest bytes begin at an offset.
func (w *word) around(record []byte, at int) bool {
	from := at - w.rare
	return from >= 0 && len(record)-from >= len(w.text) && string(record[from:from+len(w.text)]) == w.text
}

// unescape returns the n bytes of the character that the escape at the start of s stands
// for, whatever the number of its backslashes, and the length of the escape. No bytes are
// returned if there is none.
func unescape(s []byte) (b [utf8.UTFMax]byte, n, size int) {
	for size < len(s) && s[size] == '\\' {
		size++
	}
	if size == len(s) {
		return b, 0, size
	}
	c := s[size]
	size++
	switch c {
	case 'n':
		c = '\n'
	case 't':
		c = '\t'
	case 'r':
		c = '\r'
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'u':
		r, ok := hex4(s[size:])
		if !ok {
			return b, 0, size
		}
		if size += 4; utf16.IsSurrogate(r) {
			low := size
			for low < len(s) && s[low] == '\\' {
				low++
			}
			if low > size && low < len(s) && s[low] == 'u' {
				if half, ok := hex4(s[low+1:]); ok && utf16.DecodeRune(r, half) != utf8.RuneError {
					return b, utf8.EncodeRune(b[:], utf16.DecodeRune(r, half)), low + 5
				}
			}
		}
		return b, utf8.EncodeRune(b[:], r), size
	}
	b[0] = c
	return b, 1, size
}

// hex4 reads four hexadecimal digits.
func hex4(s []byte) (r rune, ok bool) {
	if len(s) < 4 {
		return 0, false
	}
	for _, c := range s[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// begins reports whether a record has the text here.
func (n needle) begins(s []byte) bool {
	at := 0
	for k := 0; k < len(n.text); {
		b, m, size := character(s[at:])
		if n.tag && k > 0 && isBlank(b[0]) && (k == 1 || k == 2 && n.text[1] == '/') {
			at += size
			continue
		}
		if m == 0 || len(n.text)-k < m {
			return false
		}
		for i, c := range b[:m] {
			if n.tag && 'A' <= c && c <= 'Z' {
				c |= 0x20
			}
			if c != n.text[k+i] {
				return false
			}
		}
		k += m
		at += size
	}
	if !n.tag {
		return true
	}
	b, m, _ := character(s[at:])
	return m == 1 && strings.IndexByte("> \t\n\v\f\r/", b[0]) >= 0
}

// blanks are the bytes that may stand before the name of a tag.
const blanks = " \t"

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// character returns what the first byte of s is, or the escape that begins there.
func character(s []byte) (b [utf8.UTFMax]byte, n, size int) {
	switch {
	case len(s) == 0:
		return b, 0, 0
	case s[0] == '\\':
		return unescape(s)
	}
	b[0] = s[0]
	return b, 1, 1
}
