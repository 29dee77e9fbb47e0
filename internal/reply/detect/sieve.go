package detect

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A Sieve rules out records in JSON in which no text has a marker, without reading the JSON.
// It is safe for concurrent use.
//
// It looks for the markers as JSON may write them: a character may be an escape, and a text
// may itself be JSON, whose escapes are escaped. So it takes all backslashes before a
// character as one. That finds more than there is, which only costs a reading.
type Sieve struct {
	leads []lead
	words []word
	all   bool // a marker that the sieve cannot look for
}

// A lead is a byte with which texts begin, and what follows it in them.
type lead struct {
	first byte
	from  [256][]needle // by the second byte, in either case
}

// A needle is a text to look for. A tag may be in any case, and ends where a name ends.
type needle struct {
	text string
	tag  bool
}

// A word is a text of characters that no encoder escapes. It is looked for by its rarest byte.
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
	return s
}

func (s *Sieve) add(n needle) {
	if strings.Contains(n.text, `\`) || isAsItIs(n.text[0]) {
		s.all = true
		return
	}
	i := slices.IndexFunc(s.leads, func(l lead) bool { return l.first == n.text[0] })
	if i < 0 {
		i = len(s.leads)
		s.leads = append(s.leads, lead{first: n.text[0]})
	}
	l := &s.leads[i]
	if len(n.text) == 1 {
		for c := range l.from {
			l.from[c] = append(l.from[c], n)
		}
		return
	}
	c := n.text[1]
	l.from[c] = append(l.from[c], n)
	if upper := strings.ToUpper(n.text[1:2])[0]; n.tag && upper != c {
		l.from[upper] = append(l.from[upper], n)
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
	if strings.TrimSpace(longest) == "" {
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
	for i := range longest {
		if rank(i) > rank(w.rare) {
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
	for i := range s.leads {
		if s.leads[i].in(record) {
			return true
		}
	}
	for i := range s.words {
		if s.words[i].in(record) {
			return true
		}
	}
	return s.escaped(record)
}

// in reports whether a text begins in the record with its first byte as it is.
func (l *lead) in(record []byte) bool {
	for at := 0; ; at++ {
		i := bytes.IndexByte(record[at:], l.first)
		if i < 0 || at+i+1 == len(record) {
			return false
		}
		at += i
		if c := record[at+1]; len(l.from[c]) == 0 && c != '\\' {
			continue // as nearly always
		}
		if l.begins(record[at:], record[at+1:]) {
			return true
		}
	}
}

// begins reports whether a text begins in s, of which the second byte is at the start of next.
func (l *lead) begins(s, next []byte) bool {
	second, n, size := character(next)
	if n == 0 {
		return false
	}
	list := l.from[second[0]]
	if len(list) == 0 {
		return false
	}
	third, m, _ := character(next[size:])
	for i := range list {
		if one := &list[i]; n == 1 && m > 0 && len(one.text) > 2 && one.text[2] != third[0] && one.text[2] != third[0]|0x20 {
			continue
		}
		if list[i].begins(s) {
			return true
		}
	}
	return false
}

func (w *word) in(record []byte) bool {
	for at := w.rare; at < len(record); at++ {
		i := bytes.IndexByte(record[at:], w.text[w.rare])
		if i < 0 {
			return false
		}
		at += i
		if from := record[at-w.rare:]; len(from) >= len(w.text) && string(from[:len(w.text)]) == w.text {
			return true
		}
	}
	return false
}

// escaped reports whether a text may begin with an escape, or whether the record has an
// escape of a character that encoders leave as it is.
func (s *Sieve) escaped(record []byte) bool {
	for at := 0; ; {
		i := bytes.IndexByte(record[at:], '\\')
		if i < 0 {
			return false
		}
		at += i
		if at+1 < len(record) && record[at+1] != 'u' && record[at+1] != '\\' {
			at += 2
			continue
		}
		b, n, size := unescape(record[at:])
		if n > 0 && size >= len(`\u0000`) {
			if b[0] == '\\' || isAsItIs(b[0]) {
				return true
			}
			next := record[at+size:]
			if n > 1 {
				next = b[1:n]
			}
			for i := range s.leads {
				if l := &s.leads[i]; l.first == b[0] && l.begins(record[at:], next) {
					return true
				}
			}
		}
		at += size
	}
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
	return m == 1 && strings.IndexByte("> \t\r\n/", b[0]) >= 0
}

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
