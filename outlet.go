package sotto

import "slices"

// A Piece is settled bytes: a segment, or a part of one, that will not be taken
// back. Pieces come in the order of the reply; pieces of one segment share its number.
type Piece struct {
	Channel Channel
	Output  bool // the text of an output block
	Block   int  // the block's number, 0 outside every block
	Segment int  // the segment's number, from 0
	Offset  int  // offset of the first byte in the raw reply
	// Bytes are the piece's bytes, valid until the next call on the Splitter. The
	// last piece of a reply may have none.
	Bytes []byte
	// Visible are the bytes of the visible text that became certain with the piece:
	// its own bytes, some of them, or white space before them that waited. Joined,
	// those of all pieces are Reply.Visible. They are valid as long as Bytes.
	Visible []byte
}

// A span is read bytes before they are settled.
type span struct {
	start, end int
	ch         Channel
	output     bool
	block      int
	mark       int // the marker's number, or 0 if it is not a marker
}

func (a *span) same(b *span) bool {
	return a.ch == b.ch && a.output == b.output && a.block == b.block && a.mark == b.mark
}

// An outlet takes the spans of a reply as they are read, and gives out as pieces what is
// settled: the bytes before a barrier, which it is told.
type outlet struct {
	pend    []span // not settled
	marks   int    // number of markers given, to tell the spans of two markers apart
	pieces  []Piece
	segment int  // of the last piece
	last    span // of which it was a part
	view    view
	order   order
}

// reset begins the next reply, and keeps the memory.
func (o *outlet) reset() {
	o.view.reset()
	o.order = order{watched: o.order.watched}
	o.pend, o.pieces = o.pend[:0], o.pieces[:0]
	o.marks, o.segment, o.last = 0, -1, span{mark: -1}
}

// mark returns the number of a new marker.
func (o *outlet) mark() int {
	o.marks++
	return o.marks
}

// put takes the next span, which is not empty.
func (o *outlet) put(sp span, barrier int, in *window, found *findings) {
	if len(o.pend) == 0 && barrier > sp.start {
		o.release(sp, in, found)
		return
	}
	if k := len(o.pend); k > 0 && o.pend[k-1].same(&sp) {
		o.pend[k-1].end = sp.end
		return
	}
	o.pend = append(o.pend, sp)
}

// flush gives out the pending bytes before the barrier.
func (o *outlet) flush(barrier int, in *window, found *findings) {
	i := 0
	for ; i < len(o.pend) && o.pend[i].start < barrier; i++ {
		sp := o.pend[i]
		if sp.end > barrier {
			sp.end = barrier
			o.pend[i].start = barrier
			o.release(sp, in, found)
			break
		}
		o.release(sp, in, found)
	}
	o.pend = append(o.pend[:0], o.pend[i:]...)
}

// takeBack drops what is pending from byte at on.
func (o *outlet) takeBack(at int) {
	for len(o.pend) > 0 && o.pend[len(o.pend)-1].start >= at {
		o.pend = o.pend[:len(o.pend)-1]
	}
	if k := len(o.pend); k > 0 {
		o.pend[k-1].end = min(o.pend[k-1].end, at)
	}
}

// setAside makes pending text outside every block aside, from byte from on.
func (o *outlet) setAside(from int) {
	for i := range o.pend {
		if sp := &o.pend[i]; sp.ch == ChannelText && sp.block == 0 && sp.start >= from {
			sp.ch = ChannelAside
		}
	}
}

// release gives out a span.
func (o *outlet) release(sp span, in *window, found *findings) {
	b := in.bytes(sp.start, sp.end)
	o.order.note(sp, b, found)
	if !sp.same(&o.last) {
		o.segment++
		o.last = sp
	} else if k := len(o.pieces); k > 0 {
		p := &o.pieces[k-1]
		p.Bytes = in.bytes(p.Offset, sp.end)
		o.view.add(sp, b)
		p.Visible = o.view.out()
		return
	}
	o.view.next()
	o.view.add(sp, b)
	o.pieces = append(o.pieces, Piece{sp.ch, sp.output, sp.block, o.segment, sp.start, b, o.view.out()})
}

// end gives the bytes that waited for the reply's end, which is byte n, to be visible, with
// the last piece.
func (o *outlet) end(n int, how *outcomes) {
	if len(o.pieces) == 0 {
		o.view.next()
	}
	o.view.end(how)
	v := o.view.out()
	switch k := len(o.pieces); {
	case k > 0:
		o.pieces[k-1].Visible = v
	case len(v) > 0:
		sp := o.last
		o.pieces = append(o.pieces, Piece{sp.ch, sp.output, sp.block, o.segment, n, nil, v})
	}
}

// drop forgets the pieces of the last call, so that their deltas can be freed.
func (o *outlet) drop() {
	clear(o.pieces)
	o.pieces = o.pieces[:0]
	o.view.begin()
}

// given returns the pieces, without room to append to what they share.
func (o *outlet) given() []Piece {
	o.view.one = nil // it is a part of the delta, which the caller may free
	for i := range o.pieces {
		p := &o.pieces[i]
		p.Bytes, p.Visible = slices.Clip(p.Bytes), slices.Clip(p.Visible)
	}
	return slices.Clip(o.pieces)
}
