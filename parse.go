package sotto

// Parse reads a reply that is whole at hand: the splitter fed once and closed,
// with no bound on a hold. An unknown StartInside name is an error.
func (g *Grammar) Parse(raw string, start Start, end End) (*Reply, error) {
	s, err := g.parser(start)
	if err != nil {
		return nil, err
	}
	if start == "" {
		start = g.d.Start
	}
	r := &Reply{Raw: raw, Dialect: g.d.Name, Start: start, End: end}
	r.add(s.FeedString(raw))
	r.add(s.Close(end))
	r.Diagnostics, r.Counts = s.diags.kept, s.Counts()
	if len(raw) <= maxParsed {
		g.parsers.Put(s)
	}
	return r, nil
}

// maxParsed bounds what a splitter that waits for the next reply may keep of the
// last one.
const maxParsed = 64 << 10

// parser returns a splitter without a bound on a hold, if there is one of an
// earlier reply that one.
func (g *Grammar) parser(start Start) (*Splitter, error) {
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

// Strip returns the visible text alone, for history and memory: it reads again
// until nothing changes, four times at most, and withholds what is left.
// The bytes of the inline channels stay in their places.
func (g *Grammar) Strip(raw string, start Start, inline ...Channel) (string, error) {
	for range 4 {
		r, err := g.Parse(raw, start, EndUnknown)
		if err != nil {
			return "", err
		}
		text := r.VisibleWith(inline...)
		if text == raw {
			return text, nil
		}
		raw, start = text, StartOutside
	}
	r, err := g.Parse(raw, StartOutside, EndUnknown)
	if err != nil || r.VisibleWith(inline...) != raw {
		return "", err
	}
	return raw, nil
}

// Parse reads a whole reply of any model in the [Default] dialect, its start
// unknown: an orphan close makes all before it reasoning.
func Parse(raw string, end End) *Reply {
	r, err := Default().Parse(raw, StartAuto, end)
	if err != nil {
		panic(err) // StartAuto is a start of every dialect
	}
	return r
}

// Strip returns the visible text of a whole reply of any model, for history
// and memory. What four readings cannot clean it withholds: then it is empty.
func Strip(raw string) string {
	text, err := Default().Strip(raw, StartAuto)
	if err != nil {
		panic(err) // StartAuto is a start of every dialect
	}
	return text
}
