package anthropic

import (
	"slices"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/wire"
)

// A reader reads each choice with a splitter, byte by byte, so that its parts
// come in the order of the text.
type reader struct {
	start      sotto.Beginning
	hide, tags bool

	split  map[int]*sotto.Splitter
	inTags map[int]bool // a <think> was given for native reasoning
	opened []int
	closed map[int]sotto.Ending
	buf    []byte
	runs   []run
	parts  []wire.Part
}

type run struct {
	place wire.Place
	size  int
}

func (d *reader) choice(i int) *sotto.Splitter {
	if d.split == nil {
		d.split, d.inTags, d.closed = map[int]*sotto.Splitter{}, map[int]bool{}, map[int]sotto.Ending{}
	}
	if d.split[i] == nil {
		s, err := sotto.Default().NewSplitter(sotto.Options{Start: d.start, MaxHold: -1})
		if err != nil {
			panic(err)
		}
		d.split[i] = s
		d.opened = append(d.opened, i)
	}
	if _, ok := d.closed[i]; ok {
		panic("a closed choice is read")
	}
	d.buf, d.runs = d.buf[:0], d.runs[:0]
	return d.split[i]
}

func (d *reader) add(p wire.Place, b []byte) {
	if len(b) == 0 || p == wire.Reasoning && d.hide {
		return
	}
	if n := len(d.runs); n > 0 && d.runs[n-1].place == p {
		d.runs[n-1].size += len(b)
	} else {
		d.runs = append(d.runs, run{p, len(b)})
	}
	d.buf = append(d.buf, b...)
}

func (d *reader) addPieces(s *sotto.Splitter, pieces []sotto.Piece) {
	for _, p := range pieces {
		switch p.Channel {
		case sotto.ChannelReasoning:
			d.add(wire.Reasoning, p.Bytes)
		case sotto.ChannelNarration:
			d.add(wire.Narration, p.Bytes)
		}
		d.add(wire.Content, p.Visible)
	}
}

func (d *reader) take() []wire.Part {
	d.parts = d.parts[:0]
	at := 0
	for _, r := range d.runs {
		d.parts = append(d.parts, wire.Part{Place: r.place, Text: d.buf[at : at+r.size]})
		at += r.size
	}
	return d.parts
}

func (d *reader) endTags(i int) {
	if d.inTags[i] {
		delete(d.inTags, i)
		d.add(wire.Content, []byte("</think>"))
	}
}

func (d *reader) Text(i int, b []byte) []wire.Part {
	s := d.choice(i)
	d.endTags(i)
	for at := range b {
		d.addPieces(s, s.Feed(b[at:at+1]))
	}
	return d.take()
}

func (d *reader) Native(i int, b []byte) []wire.Part {
	d.choice(i)
	switch {
	case !d.tags:
		d.add(wire.Reasoning, b)
	case !d.hide:
		if !d.inTags[i] {
			d.inTags[i] = true
			d.add(wire.Content, []byte("<think>"))
		}
		d.add(wire.Content, b)
	}
	return d.take()
}

func (d *reader) Found(f wire.Event) []wire.Part {
	switch {
	case f.Kind == wire.EventMember:
		return []wire.Part{{Text: f.Text}}
	case f.Kind == wire.EventText:
		return d.Text(f.Choice, f.Text)
	case f.Kind == wire.EventThought && !f.Again && len(f.Text) > 0, f.Kind == wire.EventDetails && len(f.Text) > 0:
		return d.Native(f.Choice, f.Text)
	}
	return nil
}

func (d *reader) Close(i int, end sotto.Ending) []wire.Part {
	if _, ok := d.closed[i]; ok {
		return nil
	}
	s := d.choice(i)
	d.opened = slices.DeleteFunc(d.opened, func(o int) bool { return o == i })
	d.closed[i] = end
	d.endTags(i)
	d.addPieces(s, s.Close(end))
	return d.take()
}

func (d *reader) Fail(error) {}

func (d *reader) Open() []int                            { return d.opened }
func (*reader) Finish(sotto.Ending) ([]wire.Part, error) { return nil, nil }
func (*reader) Findings() string                         { return "" }
func (d *reader) Share() (reasoning, all int)            { return 0, 0 }
