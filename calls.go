package sotto

import (
	"bytes"
	"strings"
)

// maxCallName bounds how far from a call's opener its tool is named, where the call has no
// close of its own.
const maxCallName = 512

// callEnds reports whether a tool opener begins a whole call of a tool that the request
// declares, which ends reasoning (G11). A call is whole when its close comes before any
// other marker of a tool, and before a close of the reasoning. The result ok is false if
// what follows the opener has not come yet.
func (s *Splitter) callEnds(t token) (ends, ok bool) { return s.calls(t, doubtCall) }

// calls reports whether a tool opener begins a call of a tool that the request declares;
// k is the doubt whether a call that has not closed is whole.
func (s *Splitter) calls(t token, k doubtKind) (calls, ok bool) {
	if len(s.callable) == 0 {
		return false, true
	}
	closing := watching(t.group, asClose)
	end := s.limit
	closed, decided := s.left(k)
	if i := s.nextToken(s.tok0, t.end, closing|s.g.tools|s.g.closes.reasoning); i >= 0 {
		next := s.token(i)
		end, closed, decided = next.start, next.watch()&closing != 0, true
	}
	if t.kind == kindEmpty {
		return false, true
	}
	text := s.data[t.end-s.base : end-s.base]
	if s.g.groups[t.group].closes {
		return closed && s.namesTool(text, len(text)), decided
	}
	last := min(len(text), maxCallName)
	if last == len(text) && !decided {
		last-- // the name may go on
	}
	named := s.namesTool(text, last)
	return named, named || decided || len(text) > maxCallName
}

// namesTool reports whether the text of a call calls one of the declared tools, by a name
// that ends at byte last or before.
func (s *Splitter) namesTool(text []byte, last int) bool {
	for _, name := range s.callable {
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
