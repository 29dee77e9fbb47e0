package sotto

// tagState is the state of a tag slot; the caret shows the position.
type tagState uint8

const (
	tagOff       tagState = iota
	tagStart              // <^think a="b"/>      white space may follow
	tagSlash              // </^think>            white space may follow
	tagName               // <thi^nk>
	tagSpace              // <think ^a="b">       after the name or a value, and white space
	tagAttr               // <think a^="b">
	tagEquals             // <think a=^"b">
	tagBare               // <think a=b^ c=d>
	tagBareSlash          // <think a=b/^>        the slash is the value's unless > follows
	tagLoneSlash          // <think a=/^>         no value if > follows: no marker
	tagDouble             // <think a="^b">
	tagSingle             // <think a='^b'>
	tagQuoted             // <think a="b"^>
	tagEnd                // <think/^>
	tagDone               // <think>^
)

// tagLeft is the least number of bytes that a tag in a state still needs after
// the name.
var tagLeft = [...]int{tagSpace: 1, tagAttr: 3, tagEquals: 2, tagBare: 1, tagBareSlash: 1,
	tagLoneSlash: 2, tagDouble: 2, tagSingle: 2, tagQuoted: 1, tagEnd: 1}

// A tagSlot is a tag being read.
type tagSlot struct {
	start  int
	state  tagState
	close  bool // a slash before the name
	upper  bool // the name has an upper-case letter
	before byte
	node   int32 // in the trie of names
}

// nextState returns the state of a tag after byte c, or tagOff if it fails.
func (t *lexTables) nextState(s *tagSlot, c byte) tagState {
	switch s.state {
	case tagStart, tagSlash:
		switch {
		case c == ' ' || c == '\t':
			return s.state
		case c == '/' && s.state == tagStart:
			s.close = true
			return tagSlash
		}
		return t.inName(s, c)
	case tagName:
		if st := t.inName(s, c); st != tagOff || t.tags[s.node].name < 0 {
			return st
		}
		return afterWord(c)
	case tagSpace:
		if isAttrStart(c) && !s.close && t.attrs[t.tags[s.node].name] {
			return tagAttr
		}
		return afterWord(c)
	case tagQuoted:
		return afterWord(c)
	case tagAttr:
		if c == '=' {
			return tagEquals
		}
		if isAttrStart(c) || c >= '0' && c <= '9' || c == '.' || c == '-' {
			return tagAttr
		}
	case tagEquals, tagBare, tagBareSlash, tagLoneSlash:
		return inValue(s.state, c)
	case tagDouble:
		if c == '"' {
			return tagQuoted
		}
		return tagDouble
	case tagSingle:
		if c == '\'' {
			return tagQuoted
		}
		return tagSingle
	case tagEnd:
		if c == '>' {
			return tagDone
		}
	}
	return tagOff
}

func (t *lexTables) inName(s *tagSlot, c byte) tagState {
	lower := lowerByte(c)
	s.upper = s.upper || lower != c
	n := t.tags[s.node].next[lower]
	if n == 0 {
		return tagOff
	}
	s.node = n
	return tagName
}

// afterWord is the state after byte c once the name or a value has ended.
func afterWord(c byte) tagState {
	switch {
	case c == '>':
		return tagDone
	case c == '/':
		return tagEnd
	case isSpace(c):
		return tagSpace
	}
	return tagOff
}

// inValue is the state after byte c from the equals sign through a bare value.
func inValue(st tagState, c byte) tagState {
	switch {
	case c == '"' && st == tagEquals:
		return tagDouble
	case c == '\'' && st == tagEquals:
		return tagSingle
	case c == '>' && (st == tagBare || st == tagBareSlash):
		return tagDone
	case isSpace(c) && st != tagEquals:
		return tagSpace
	case c == '/' && st == tagEquals:
		return tagLoneSlash
	case c == '/':
		return tagBareSlash
	case isSpace(c), c == '"', c == '\'', c == '`', c == '<', c == '>':
		return tagOff
	}
	return tagBare
}

// left returns the least number of bytes that a tag still needs.
func (t *lexTables) left(s *tagSlot) int {
	if s.state <= tagName {
		return t.tags[s.node].left + 1
	}
	return tagLeft[s.state]
}

func isAttrStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == ':'
}

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
