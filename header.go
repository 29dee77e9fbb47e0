package sotto

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/dialect"
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
			s.absorb.after(t, s.g.names[t.name].phrase, call)
		} else {
			s.mark(t, block)
		}
		return true
	}
	end, ok := s.hdr.end(t, s.g.header, &s.in, &s.outcomes)
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
	raw := string(s.in.bytes(t.start, end))
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
func (st *reading) endBody() {
	st.hdr.block = 0
	st.mode = inText
	ts := st.stream() // outer text, or the output body in which the header stands
	ts.blank, ts.afterMarker = true, true
}

// stepLead reads a header that the prompt began: one of its Lead strings at the
// very start.
func (s *Splitter) stepLead() (done, more bool) {
	longest := 0
	for _, lead := range s.g.header.Lead {
		n := min(len(lead), s.in.limit)
		if string(s.in.data[:n]) != lead[:n] {
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
	if slices.Contains(s.g.header.Body, string(s.in.data[:longest])) {
		if s.autoHold {
			s.settleOutside()
		}
		s.openBody("", "", longest)
		return true, true
	}
	return true, s.headerToken(t)
}

// end returns the end of the header that begins with t: the end of its body
// token, the reply's end if that token never comes, or -1 if the header outgrew
// its bound. The result ok is false if the end has not come yet.
func (h *headerState) end(t token, g *header, in *window, o *outcomes) (end int, ok bool) {
	h.scanned = max(h.scanned, t.end)
	bound := t.start + g.MaxHeader
	b := in.bytes(h.scanned, max(min(in.limit, bound), h.scanned))
	longest, first, found := 0, -1, -1
	for _, token := range g.Body {
		longest = max(longest, len(token))
		i := bytes.Index(b, []byte(token))
		if i < 0 {
			continue
		}
		if at, to := h.scanned+i, h.scanned+i+len(token); found < 0 || at < first || at == first && to > found {
			first, found = at, to
		}
	}
	whole, over := o.left(doubtHeader)
	switch {
	case found >= 0:
		longer := found == in.limit && (over && !whole || !over && g.longerBody(string(in.bytes(first, found))))
		return found, !longer // the token may turn out to be longer
	case in.limit >= bound:
		return -1, true
	case !over:
		h.scanned = max(h.scanned, in.limit-longest+1)
		return 0, false
	case !whole:
		return -1, true
	}
	return in.limit, true
}

// A header reads the headers of a reply.
type header dialect.Header

// whole reports whether a header ends with a body token.
func (h *header) whole(raw string) bool {
	for _, token := range h.Body {
		if strings.HasSuffix(raw, token) {
			return true
		}
	}
	return false
}

// longerBody reports whether a body token begins with s and is longer.
func (h *header) longerBody(s string) bool {
	for _, token := range h.Body {
		if len(token) > len(s) && strings.HasPrefix(token, s) {
			return true
		}
	}
	return false
}

// parse reads a header: the channel's name, the recipient, and whether it only
// ends a body.
func (h *header) parse(raw string) (name, recipient string, closing bool) {
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
func (h *header) word(s string) string {
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
func (h *header) channel(name, recipient string) (ch Channel, known bool) {
	if recipient != "" {
		r, ok := h.Recipients[recipient]
		if !ok {
			r, ok = h.Recipients["*"]
		}
		switch {
		case ok:
			return channelOf(r), true
		case h.Recipients == nil:
			return ChannelTool, true
		}
	}
	if r, ok := h.Channels[name]; ok {
		return channelOf(r), true
	}
	return ChannelReasoning, false
}

// channelOf returns the channel of a body of a role.
func channelOf(r dialect.Role) Channel {
	switch r {
	case dialect.RoleText:
		return ChannelText
	case dialect.RoleNarration:
		return ChannelNarration
	case dialect.RoleTool:
		return ChannelTool
	case dialect.RoleAside:
		return ChannelAside
	}
	return ChannelReasoning
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
		s.hdr.call = span{ch: ch, block: s.blocks, mark: s.out.mark()}
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

func (st *reading) opaqueSpan() span {
	if st.hdr.ch == ChannelTool {
		return st.hdr.call
	}
	return span{ch: st.hdr.ch, block: st.hdr.block}
}

// stepOpaque reads a body that only a header's token ends.
func (s *Splitter) stepOpaque() bool {
	w := watching(s.g.headerGroup, asAny)
	stop, k := s.forms.nextMarker(w, s.pos, &s.in)
	s.put(stop, s.opaqueSpan())
	return k >= 0 && s.headerToken(s.forms.token(k))
}
