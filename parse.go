package sotto

import "slices"

// Parse reads a whole reply: the splitter fed once and closed, with no bound on a
// hold. An unknown BeginInside name is an error.
//
// If start is "", it is the dialect's, or BeginAuto where that is BeginOutside: the whole
// reply is there, so it costs no wait that an orphan close makes everything before it
// reasoning. If you pass BeginOutside, a thought that the prompt opened is text, flagged
// [CodeOrphanClose].
func (g *Grammar) Parse(raw string, start Beginning, end Ending) (*Reply, error) {
	return g.ParseWith(raw, Options{Start: start}, end)
}

// ParseWith is Parse with the tools of the request, too. Of the options it reads Start
// and Tools; the others are for replies that are still coming.
func (g *Grammar) ParseWith(raw string, o Options, end Ending) (*Reply, error) {
	start := o.Start
	if start == "" {
		start = g.wholeStart()
	}
	s, err := g.parser(start)
	if err != nil {
		return nil, err
	}
	s.callable, s.out.view.inline = o.Tools, 0
	r := &Reply{Raw: raw, Dialect: g.d.Name, Start: start, End: end, Tools: o.Tools, parted: g.header != nil}
	r.add(s.FeedString(raw))
	r.add(s.Close(end))
	r.Diagnostics, r.Counts = s.diags.kept, s.Counts()
	g.release(s, len(raw))
	return r, nil
}

// wholeStart is where a whole reply begins if the caller does not say.
func (g *Grammar) wholeStart() Beginning {
	if start := Beginning(g.d.Start); start != BeginOutside {
		return start
	}
	return BeginAuto
}

// maxParsed bounds how much of the last reply a splitter that waits for the next
// one may keep.
const maxParsed = 64 << 10

// parser returns a splitter without a bound on a hold, reusing one from an
// earlier reply if possible.
func (g *Grammar) parser(start Beginning) (*Splitter, error) {
	s, ok := g.parsers.Get().(*Splitter)
	if !ok {
		return g.NewSplitter(Options{Start: start, MaxHold: -1})
	}
	p, err := g.place(start)
	if err != nil {
		return nil, err
	}
	s.start = p
	s.Reset()
	return s, nil
}

// release keeps a splitter for later replies.
func (g *Grammar) release(s *Splitter, size int) {
	if size <= maxParsed {
		g.parsers.Put(s)
	}
}

func (r *Reply) add(pieces []Piece) {
	if k := len(pieces); k > 0 {
		r.Segments = slices.Grow(r.Segments, pieces[k-1].Segment+1-len(r.Segments))
	}
	for _, p := range pieces {
		if k := len(r.Segments); k > p.Segment {
			r.Segments[p.Segment].End = p.Offset + len(p.Bytes)
			continue
		}
		r.Segments = append(r.Segments, Segment{p.Channel, p.Block, p.Output, p.Offset, p.Offset + len(p.Bytes)})
	}
}

// Strip returns only the visible text, for history and memory. It reads again
// until nothing changes, four times at most, and withholds what is left. The bytes
// of the inline channels stay in their places.
func (g *Grammar) Strip(raw string, start Beginning, inline ...Channel) (string, error) {
	if start == "" {
		start = g.wholeStart()
	}
	mask := inlineMask(inline)
	for range 4 {
		text, err := g.visible(raw, start, mask)
		if err != nil {
			return "", err
		}
		if text == raw || g.isPlain(text) {
			return text, nil
		}
		raw, start = text, BeginOutside
	}
	if text, err := g.visible(raw, BeginOutside, mask); err != nil || text != raw {
		return "", err
	}
	return raw, nil
}

// visible is Reply.VisibleWith, without the rest of a Reply.
func (g *Grammar) visible(raw string, start Beginning, inline uint8) (string, error) {
	s, err := g.parser(start)
	if err != nil {
		return "", err
	}
	s.callable, s.out.view.inline = nil, inline
	var few [8]Span
	shown := viewSpans{list: few[:0]}
	s.out.view.spans = &shown
	s.FeedString(raw)
	s.Close(EndUnknown)
	s.out.view.spans = nil
	g.release(s, len(raw))
	return joinSpans(raw, shown.list), nil
}

// isPlain reports whether a reading of the text from the outside shows all of it, since no
// form of a marker begins in it, and it is not blank. In a channel grammar a reading decides:
// it may begin within a header.
func (g *Grammar) isPlain(text string) bool {
	if g.header != nil {
		return false
	}
	b := bytesOf(text)
	at, _ := g.lex.firstViable(b)
	return at == len(b) && firstNonSpace(b) >= 0
}

// Parse reads a whole reply in the [Default] dialect: the tags that models and prompts
// use most, such as <think>. It does not know the literal markers of some families,
// such as [THINK] or <|channel|>: their reasoning would be text. For these use
// [ForModel] or [Named]. The start is unknown: an orphan close makes everything before
// it reasoning.
func Parse(raw string, end Ending) *Reply {
	r, err := Default().Parse(raw, BeginAuto, end)
	if err != nil {
		panic(err) // BeginAuto is a start of every dialect
	}
	return r
}

// Strip returns the visible text of a whole reply in the [Default] dialect, for
// history and memory. See [Parse] for what that dialect does not know. If four readings
// do not clean the text, Strip withholds it and returns an empty string.
func Strip(raw string) string {
	text, err := Default().Strip(raw, BeginAuto)
	if err != nil {
		panic(err) // BeginAuto is a start of every dialect
	}
	return text
}
