package sotto

import "unsafe"

// Size returns about how many bytes of memory the splitter takes now, for a server that
// bounds what all its streams hold together. It counts the splitter itself and what it
// has allocated, used or not. It does not count the grammar, which splitters share, and
// Options.Tools. It takes constant time.
func (s *Splitter) Size() int {
	n := int(unsafe.Sizeof(*s)) + cap(s.in.buf) + cap(s.easy.out) + cap(s.out.view.many) + cap(s.out.view.wait)
	n += sizeOf(s.forms.toks) + sizeOf(s.out.pend) + sizeOf(s.out.pieces) + sizeOf(s.forms.hidden) + sizeOf(s.forms.lex.breaks) + sizeOf(s.splice.x.breaks)
	n += sizeOf(s.ahead.fences.closers[0]) + sizeOf(s.ahead.fences.closers[1]) + sizeOf(s.diags.kept) + sizeOf(s.diags.pending)
	n += s.outer.size() + s.body.stream.size() + sizeOfMap(s.ahead.line.last)
	if s.atHold != nil {
		n += int(unsafe.Sizeof(*s.atHold))
	}
	if s.pads.seen != nil {
		n += int(unsafe.Sizeof(*s.pads.seen))
	}
	return n
}

// size returns what a stream has allocated.
func (t *stream) size() int {
	return sizeOf(t.runs.list) + sizeOf(t.notes) + sizeOfMap(t.runs.long)
}

func sizeOf[T any](s []T) int {
	var t T
	return cap(s) * int(unsafe.Sizeof(t))
}

// sizeOfMap estimates what a map takes: at most half of the places of its table are empty.
func sizeOfMap[K comparable, V any](m map[K]V) int {
	var k K
	var v V
	if m == nil {
		return 0
	}
	return mapSize + len(m)*2*int(unsafe.Sizeof(k)+unsafe.Sizeof(v))
}

// mapSize is what a map takes that has no entries.
const mapSize = 48
