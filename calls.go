package sotto

import (
	"bytes"
	"strings"
)

// maxCallName bounds how far from a call's opener its tool is named, where the call has no
// close of its own.
const maxCallName = 512

// callable are the names of the tools that the request declares, or nil if that is not known.
type callable []string

// doubt returns the doubt that a tool opener in reasoning may be.
func (c callable) doubt() doubtKind {
	if c != nil {
		return doubtCall
	}
	return doubtTool
}

// calls reports whether a tool opener begins a whole call of a tool that the request
// declares; such a call ends reasoning (G11). A call is whole when its close comes before any
// other marker of a tool, and before a close of the reasoning. k is the doubt whether a call
// that has not closed is whole. The result ok is false if what follows the opener has not
// come yet.
func (s *Splitter) calls(t token, k doubtKind) (calls, ok bool) {
	if len(s.callable) == 0 {
		return false, true
	}
	closing := watching(t.group, asClose)
	end := s.in.limit
	closed, decided := s.left(k)
	if i := s.forms.next(s.forms.dropped, t.end, closing|s.g.tools|s.g.closes.reasoning, s.in.limit); i >= 0 {
		next := s.forms.token(i)
		end, closed, decided = next.start, next.watch()&closing != 0, true
	}
	if t.kind == kindEmpty {
		return false, true
	}
	text := s.in.bytes(t.end, end)
	if s.g.groups[t.group].closes {
		return closed && s.callable.namedIn(text, len(text)), decided
	}
	last := min(len(text), maxCallName)
	if last == len(text) && !decided {
		last-- // the name may go on
	}
	named := s.callable.namedIn(text, last)
	return named, named || decided || len(text) > maxCallName
}

// namedIn reports whether the text of a call calls one of the declared tools, by a name
// that ends at byte last or before.
func (c callable) namedIn(text []byte, last int) bool {
	for _, name := range c {
		for from := 0; name != ""; {
			i := bytes.Index(text[from:], bytesOf(name))
			at := from + i
			if i < 0 || at+len(name) > last {
				break
			}
			if namedAt(text, at, at+len(name)) {
				return true
			}
			from = at + 1
		}
	}
	return false
}

// namedAt reports whether text[at:end] stands where the forms of calls have the tool's name:
// at the beginning; after "name":, name= or function=; or after a dot, a bracket or a
// separator of special tokens.
func namedAt(text []byte, at, end int) bool {
	if end < len(text) && isNameByte(text[end]) {
		return false
	}
	const longest = 64 // than what stands before a name, and the white space there
	before := strings.TrimRight(string(text[max(at-longest, 0):at]), " \t\r\n")
	if before == "" {
		return at <= longest
	}
	bare, quoted := strings.CutSuffix(before, "\"")
	if quoted {
		bare = strings.TrimRight(bare, " \t\r\n")
		if key, ok := strings.CutSuffix(bare, ":"); ok {
			return strings.HasSuffix(strings.TrimRight(key, " \t\r\n"), "\"name\"")
		}
		return strings.HasSuffix(bare, "name=")
	}
	for _, s := range []string{"function=", "functions.", "[", "]", "｜>", "|>"} {
		if strings.HasSuffix(before, s) {
			return true
		}
	}
	return false
}

// isNameByte reports whether a byte may be part of a tool's name.
func isNameByte(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0x80
}
