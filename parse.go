package sotto

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
		start = Beginning(g.d.Start)
		if start == BeginOutside {
			start = BeginAuto
		}
	}
	s, err := g.parser(start)
	if err != nil {
		return nil, err
	}
	s.callable = o.Tools
	r := &Reply{Raw: raw, Dialect: g.d.Name, Start: start, End: end, Tools: o.Tools, parted: g.header != nil}
	r.add(s.FeedString(raw))
	r.add(s.Close(end))
	r.Diagnostics, r.Counts = s.diags.kept, s.Counts()
	if len(raw) <= maxParsed {
		g.parsers.Put(s)
	}
	return r, nil
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

func (r *Reply) add(pieces []Piece) {
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
	for range 4 {
		r, err := g.Parse(raw, start, EndUnknown)
		if err != nil {
			return "", err
		}
		text := r.VisibleWith(inline...)
		if text == raw {
			return text, nil
		}
		raw, start = text, BeginOutside
	}
	r, err := g.Parse(raw, BeginOutside, EndUnknown)
	if err != nil || r.VisibleWith(inline...) != raw {
		return "", err
	}
	return raw, nil
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
