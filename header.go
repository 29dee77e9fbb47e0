package sotto

import (
	"bytes"
	"slices"
	"strings"
)

// headerState is where a reply stands in a channel grammar.
type headerState struct {
	block   int // the open body, or 0
	ch      Channel
	begun   bool // a header has come: text outside is between two bodies
	call    span // of the tool call that was open last; block 0 if another body has begun since
	scanned int  // no body token of the header begins before this byte
}

// headerToken reads a header, or a token that ends a body.
func (s *Splitter) headerToken(t token) bool {
	if t.kind == kindClose {
		if !s.hdr.begun {
			s.diag(CodeStrayClose, t.start, "")
		}
		block := s.hdr.block
		s.cutSplice(t.start)
		s.endBody()
		if call := s.hdr.call; call.block > 0 && call.block == block {
			s.put(t.end, call)
			s.absorbAfter(t, call)
		} else {
			s.mark(t, block)
		}
		return true
	}
	end, ok := s.headerEnd(t)
	if end > 0 && s.autoHold {
		s.settleOutside()
	}
	if !ok {
		return s.wait(doubtHeader, t.start)
	}
	if end < 0 {
		return s.noHeader(t)
	}
	s.cutSplice(t.start)
	s.endBody()
	raw := string(s.data[t.start-s.base : end-s.base])
	name, recipient, closing := s.g.header.parse(raw)
	switch {
	case closing && s.hdr.call.block > 0:
		s.put(end, s.hdr.call)
	case closing || !s.g.header.whole(raw):
		s.putMark(end, 0)
		s.hdr.begun = true
	default:
		s.openBody(name, recipient, end)
	}
	return true
}

// noHeader gives the first token of an oversized header as text of the place it stands in.
func (s *Splitter) noHeader(t token) bool {
	switch s.mode {
	case inReasoning:
		s.think(t.end)
	case inOpaque:
		s.put(t.end, s.opaqueSpan())
	default:
		return s.literal(t, "")
	}
	return true
}

// endBody ends the open body.
func (s *Splitter) endBody() {
	s.hdr.block = 0
	s.mode = inText
	ts := s.stream() // outer text, or the output body in which the header stands
	ts.blank, ts.afterMarker = true, true
}

// stepLead reads a header that the prompt began: one of its Lead strings at the
// very start.
func (s *Splitter) stepLead() (done, more bool) {
	longest := 0
	for _, lead := range s.g.header.Lead {
		n := min(len(lead), s.limit)
		if string(s.data[:n]) != lead[:n] {
			continue
		}
		if n < len(lead) {
			yes, ok := s.left(doubtLead)
			if !ok {
				return true, s.wait(doubtLead, 0)
			}
			if !yes {
				continue
			}
		}
		longest = max(longest, n)
	}
	if longest == 0 {
		return false, false
	}
	t := token{end: longest, group: s.g.headerGroup}
	if slices.Contains(s.g.header.Body, string(s.data[:longest])) {
		if s.autoHold {
			s.settleOutside()
		}
		s.openBody("", "", longest)
		return true, true
	}
	return true, s.headerToken(t)
}

// headerEnd returns the end of the header that begins with t: the end of its body
// token, the reply's end if that token never comes, or -1 if the header outgrew
// its bound. The result ok is false if the end has not come yet.
func (s *Splitter) headerEnd(t token) (end int, ok bool) {
	h := &s.hdr
	h.scanned = max(h.scanned, t.end)
	bound := t.start + s.g.header.MaxHeader
	b := s.data[h.scanned-s.base : max(min(s.limit, bound), h.scanned)-s.base]
	longest, first, found := 0, -1, -1
	for _, token := range s.g.header.Body {
		longest = max(longest, len(token))
		i := bytes.Index(b, []byte(token))
		if i < 0 {
			continue
		}
		if at, to := h.scanned+i, h.scanned+i+len(token); found < 0 || at < first || at == first && to > found {
			first, found = at, to
		}
	}
	switch {
	case found >= 0 && s.longerBody(first, found):
		return found, false // the token may turn out to be longer
	case found >= 0:
		return found, true
	case s.limit >= bound:
		return -1, true
	}
	whole, ok := s.left(doubtHeader)
	switch {
	case !ok:
		h.scanned = max(h.scanned, s.limit-longest+1)
		return 0, false
	case !whole:
		return -1, true
	}
	return s.limit, true
}

// longerBody reports whether the body token from byte first to found may turn out
// to be a longer one.
func (s *Splitter) longerBody(first, found int) bool {
	if found < s.limit {
		return false
	}
	if whole, ok := s.left(doubtHeader); ok {
		return !whole
	}
	for _, token := range s.g.header.Body {
		if len(token) > found-first && strings.HasPrefix(token, string(s.data[first-s.base:found-s.base])) {
			return true
		}
	}
	return false
}

// whole reports whether a header ends with a body token.
func (h *Header) whole(raw string) bool {
	for _, token := range h.Body {
		if strings.HasSuffix(raw, token) {
			return true
		}
	}
	return false
}

// parse reads a header: the channel's name, the recipient, and whether it only
// ends a body.
func (h *Header) parse(raw string) (name, recipient string, closing bool) {
	for _, token := range h.Close {
		if strings.HasPrefix(raw, token) {
			return "", "", true
		}
	}
	last := -1
	for _, token := range h.Name {
		if i := strings.LastIndex(raw, token); i >= 0 && i+len(token) > last {
			last = i + len(token)
		}
	}
	if last >= 0 {
		name = h.word(raw[last:])
	}
	if i := strings.LastIndex(raw, "to="); i > 0 && isSpace(raw[i-1]) {
		recipient = h.word(raw[i+len("to="):])
	}
	return name, recipient, false
}

// word returns the beginning of s up to white space or the next token of the header.
func (h *Header) word(s string) string {
	if i := strings.IndexFunc(s, func(r rune) bool { return r < 0x80 && isSpace(byte(r)) }); i >= 0 {
		s = s[:i]
	}
	for _, tokens := range [][]string{h.Begin, h.Body, h.End, h.Tokens, h.Name} {
		for _, token := range tokens {
			if i := strings.Index(s, token); i >= 0 {
				s = s[:i]
			}
		}
	}
	return s
}

// channel returns the channel of a body, and whether its header names a known channel.
func (h *Header) channel(name, recipient string) (ch Channel, known bool) {
	if recipient != "" {
		if ch, ok := h.Recipients[recipient]; ok {
			return ch, true
		}
		if ch, ok := h.Recipients["*"]; ok || h.Recipients != nil {
			if ok {
				return ch, true
			}
		} else {
			return ChannelTool, true
		}
	}
	if ch, ok := h.Channels[name]; ok {
		return ch, true
	}
	return ChannelReasoning, false
}

// openBody begins the body of a header that ends at byte end. A body that the
// prompt opened has no header.
func (s *Splitter) openBody(name, recipient string, end int) {
	ch, known := s.g.header.channel(name, recipient)
	if !known {
		s.diag(CodeUnknownChannel, s.pos, "")
	}
	s.openBodyOn(ch, end)
}

// openBodyOn is openBody for a channel.
func (s *Splitter) openBodyOn(ch Channel, end int) {
	opener := s.pos
	s.blocks++
	assumed := end == 0
	s.hdr.call = span{}
	switch {
	case ch == ChannelTool: // a call is whole: its header names the tool
		s.marks++
		s.hdr.call = span{ch: ch, block: s.blocks, mark: s.marks}
		s.put(end, s.hdr.call)
	case !assumed:
		s.putMark(end, s.blocks)
	}
	s.hdr.block, s.hdr.ch, s.hdr.begun = s.blocks, ch, true
	switch ch {
	case ChannelText:
		s.splice.live = false // a blank line comes between
	case ChannelReasoning:
		s.mode = inReasoning
		s.r = reasoning{block: s.blocks, opener: opener, name: -1, group: s.g.headerGroup, hdr: true, assumed: assumed, lookAt: -1}
	default:
		s.mode = inOpaque
	}
}

func (s *Splitter) opaqueSpan() span {
	if s.hdr.ch == ChannelTool {
		return s.hdr.call
	}
	return span{ch: s.hdr.ch, block: s.hdr.block}
}

// stepOpaque reads a body that only a header's token ends.
func (s *Splitter) stepOpaque() bool {
	w := watching(s.g.headerGroup, asAny)
	stop, k := s.nextMarker(w)
	s.put(stop, s.opaqueSpan())
	return k >= 0 && s.headerToken(s.token(k))
}
