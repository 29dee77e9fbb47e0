package reading

import (
	"bytes"
	"slices"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/gateway/internal/starts"
)

// lessons are what a reply shows about how replies of its kind begin.
type lessons struct {
	Inside    bool // the first byte is reasoning, without an opener
	opened    bool // reasoning was opened by a marker
	closed    bool // the reasoning at its start has ended
	alone     bool // a close of reasoning is alone on its line
	Unlearned bool // inside was assumed, and was wrong

	text     [maxLine]byte // the current line
	n        int
	dead     bool // the line holds more than a close
	fenced   bool // the line is in a code block
	anything bool
}

// maxLine is longer than a close marker and the white space around it.
const maxLine = 64

// line reads the raw reply by lines, and looks for a close that is alone on one.
func (l *lessons) line(text []byte, closes [][]byte) {
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		piece := text
		if end >= 0 {
			piece = text[:end]
		}
		if !l.dead {
			l.learn(piece)
		}
		if end < 0 {
			return
		}
		l.finish(closes)
		text = text[end+1:]
	}
}

func (l *lessons) learn(piece []byte) {
	if l.n == 0 {
		piece = trimLeft(piece)
	}
	if len(piece) > 0 && l.n == 0 && isWord(piece[0]) {
		l.dead = true
		return
	}
	n := copy(l.text[l.n:], piece)
	l.n += n
	l.dead = n < len(piece)
}

// isWord reports that no marker begins with c.
func isWord(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' }

// finish ends a line. A close in a code block is one that the reply only mentions.
func (l *lessons) finish(closes [][]byte) {
	if l.n > 0 {
		line := l.text[:l.n]
		if bytes.HasPrefix(line, fenceTicks) || bytes.HasPrefix(line, fenceTildes) {
			l.fenced = !l.fenced
		}
		l.alone = l.alone || !l.dead && !l.fenced && isClose(line, closes)
	}
	l.n, l.dead = 0, false
}

var fenceTicks, fenceTildes = []byte("```"), []byte("~~~")

// isClose reports whether b holds only a close of reasoning and white space.
func isClose(b []byte, closes [][]byte) bool {
	b = bytes.ToLower(bytes.TrimSpace(b))
	return slices.ContainsFunc(closes, func(c []byte) bool { return bytes.Equal(b, c) })
}

// piece reads the settled pieces of the reply. White space shows nothing.
func (l *lessons) piece(p sotto.Piece, closes [][]byte) {
	if len(trimLeft(p.Bytes)) == 0 {
		return
	}
	if !l.anything {
		l.anything = true
		switch p.Channel {
		case sotto.ChannelReasoning:
			l.Inside = true
		case sotto.ChannelMarkup: // a close at the very start ends an empty thought
			l.Inside = isClose(p.Bytes, closes)
		}
	}
	switch {
	case p.Channel == sotto.ChannelReasoning:
		l.opened = l.opened || !l.Inside
	case p.Channel != sotto.ChannelMarkup, l.Inside, l.opened:
		l.closed = true
	}
}

// Shows returns where a reply began, as markers of its own show; 0 if none does. suspect
// says that it had a close without an opener, which a reply may also only mention.
func (c *Choice) Shows() (s starts.Shown, suspect bool) {
	l := &c.Lessons
	switch {
	case c.Native:
		return starts.Outside, false
	case c.split == nil:
		return 0, false
	case l.Inside && l.closed && !c.Withheld, hasOrphan(c.split):
		if l.alone {
			return starts.Inside, true
		}
		return 0, true
	case l.opened:
		return starts.Outside, false
	}
	return 0, false
}

func hasOrphan(s *sotto.Splitter) bool { return s.Counts()[sotto.CodeOrphanClose] > 0 }

// ClosesOf returns the close markers of a dialect's reasoning, in lower case.
func ClosesOf(d dialect.Dialect) [][]byte {
	var all [][]byte
	for _, m := range d.Markers {
		if m.Role != dialect.RoleReasoning {
			continue
		}
		if m.Tag != "" {
			all = append(all, []byte("</"+m.Tag+">"))
		}
		for _, c := range m.Close {
			all = append(all, bytes.ToLower(bytes.TrimSpace([]byte(c))))
		}
	}
	return all
}
