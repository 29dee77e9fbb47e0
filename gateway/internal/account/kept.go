package account

import (
	"bytes"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/record"
)

// A Kept is a text as far as it is kept. If there is no room for all of a reply, the
// middle of its runs is left out: first that of thoughts. The zero value is empty.
type Kept struct {
	bytes []byte
	// omitted are the parts that are left out, in order, as places of the whole text. Each
	// lies in one of the runs that [Room.Fit] was given, or at the end of the text.
	omitted []record.Span
	size    int // of the whole text
}

// Size is the length of the whole text.
func (k *Kept) Size() int { return k.size }

// Add appends a text, also if that is more than there is room for: [Room.Fit] makes room.
func (k *Kept) Add(text []byte, room *Room) {
	if len(text) == 0 {
		return
	}
	if !room.Reserve(len(text)) {
		k.omit(len(text))
		return
	}
	k.bytes, k.size = append(k.bytes, text...), k.size+len(text)
}

// omit appends bytes that are not kept.
func (k *Kept) omit(n int) {
	if last := len(k.omitted) - 1; last >= 0 && k.omitted[last].End == k.size {
		k.omitted[last].End += n
	} else {
		k.omitted = append(k.omitted, record.Span{Start: k.size, End: k.size + n})
	}
	k.size += n
}

// clear empties a text, and gives its room back.
func (k *Kept) clear(room *Room) {
	room.Left += len(k.bytes)
	*k = Kept{bytes: k.bytes[:0]}
}

// Content returns the text in the form in which it is recorded.
func (k *Kept) Content() record.Content {
	c := record.Say(string(k.bytes))
	for _, s := range k.omitted {
		c.Cuts = append(c.Cuts, record.Cut{Start: s.Start, End: s.End, Why: record.CutByLimit})
	}
	return c
}

// is reports whether the text is recorded like this.
func (k *Kept) is(c record.Content) bool {
	return k.size == c.Len() && len(k.omitted) == len(c.Cuts) && string(k.bytes) == string(c.Text)
}

// begins reports whether a text begins with this one, as far as it is kept.
func (k *Kept) begins(text []byte) bool {
	if len(text) < k.size {
		return false
	}
	at, rest := 0, k.bytes
	for _, s := range k.omitted {
		n := s.Start - at
		if !bytes.Equal(text[at:s.Start], rest[:n]) {
			return false
		}
		at, rest = s.End, rest[n:]
	}
	return bytes.Equal(text[at:k.size], rest)
}

// addStart appends the first n bytes of another text.
func (k *Kept) addStart(from *Kept, n int, room *Room) {
	at, rest := 0, from.bytes
	for _, s := range from.omitted {
		if s.Start >= n {
			break
		}
		k.Add(rest[:s.Start-at], room)
		rest = rest[s.Start-at:]
		k.omit(min(s.End, n) - s.Start)
		at = s.End
	}
	if at < n {
		k.Add(rest[:min(n-at, len(rest))], room)
	}
}

// longest returns how much is kept of that run of which most is kept.
func (k *Kept) longest(runs []record.Span) (most int) {
	omitted := k.omitted
	for _, r := range runs {
		var hole record.Span
		hole, omitted = holeIn(r, omitted)
		most = max(most, r.End-r.Start-(hole.End-hole.Start))
	}
	return most
}

// holeIn returns what is left out of a run, and the omissions from there on.
func holeIn(r record.Span, omitted []record.Span) (record.Span, []record.Span) {
	for len(omitted) > 0 && omitted[0].End <= r.Start {
		omitted = omitted[1:]
	}
	if len(omitted) > 0 && omitted[0].Start < r.End {
		return omitted[0], omitted
	}
	return record.Span{}, omitted
}

// bound leaves out the middle of each run of which more than most is kept, and returns how
// many bytes that is. Runs are in order. Half of what stays is the
// run's beginning, and half its end.
func (k *Kept) bound(runs []record.Span, most int) int {
	var next []record.Span
	omitted, shift := k.omitted, 0 // those from the run on, and the bytes of those before it
	pass := func() {
		shift += omitted[0].End - omitted[0].Start
		omitted = omitted[1:]
	}
	for _, r := range runs {
		for len(omitted) > 0 && omitted[0].End <= r.Start {
			next = append(next, omitted[0])
			pass()
		}
		hole, _ := holeIn(r, omitted)
		if r.End-r.Start-(hole.End-hole.Start) <= most {
			continue
		}
		cut := k.middle(r, hole, shift, most)
		if hole.End > 0 {
			cut.Start, cut.End = min(cut.Start, hole.Start), max(cut.End, hole.End)
			pass()
		}
		next = append(next, cut)
	}
	return k.leaveOut(append(next, omitted...))
}

// middle returns the part of a run that is left out if at most so many bytes of it are kept.
// It begins and ends with whole characters. shift is how much is left out before the run.
func (k *Kept) middle(r, hole record.Span, shift, most int) record.Span {
	within := func(at int) bool { // a character
		switch {
		case at <= r.Start || at >= r.End || hole.Start <= at && at < hole.End:
			return false
		case at >= hole.End:
			at -= hole.End - hole.Start
		}
		return !utf8.RuneStart(k.bytes[at-shift])
	}
	s := record.Span{Start: r.Start + most/2, End: r.End - most/2}
	for i := 0; i < utf8.UTFMax && within(s.Start); i++ {
		s.Start--
	}
	for i := 0; i < utf8.UTFMax && within(s.End); i++ {
		s.End++
	}
	return s
}

// leaveOut leaves out more than before.
func (k *Kept) leaveOut(next []record.Span) int {
	w, at := 0, walker{k: k}
	start := 0
	for _, s := range append(next, record.Span{Start: k.size, End: k.size}) {
		if start < s.Start {
			from := at.place(start)
			w += copy(k.bytes[w:], k.bytes[from:from+s.Start-start])
		}
		start = s.End
	}
	freed := len(k.bytes) - w
	k.bytes, k.omitted = k.bytes[:w], next
	return freed
}

// A walker finds places of a whole text in what is kept of it, in order.
type walker struct {
	k     *Kept
	next  int // omission
	shift int // bytes left out before it
}

func (w *walker) place(at int) int {
	for ; w.next < len(w.k.omitted) && w.k.omitted[w.next].End <= at; w.next++ {
		w.shift += w.k.omitted[w.next].End - w.k.omitted[w.next].Start
	}
	return at - w.shift
}

// place returns where the byte of the whole text is in what is kept; or, if it is left out,
// where the gap is.
func (k *Kept) place(at int) (index, gone int) {
	index = len(k.bytes) - (k.size - at)
	for i := len(k.omitted) - 1; i >= 0 && k.omitted[i].End > at; i-- {
		s := k.omitted[i]
		if s.Start <= at {
			return 0, s.End
		}
		index += s.End - s.Start
	}
	return index, 0
}

// stretch returns what is kept from one place of the whole text to another, up to where
// something is left out. If that is at the first place, gone is where it ends.
func (k *Kept) stretch(from, to int) (text []byte, gone int) {
	index, gone := k.place(from)
	if gone > 0 {
		return nil, min(gone, to)
	}
	for i := len(k.omitted) - 1; i >= 0 && k.omitted[i].End > from; i-- {
		to = min(to, k.omitted[i].Start)
	}
	return k.bytes[index : index+to-from], 0
}

// Follows returns how many bytes of a text are those of the whole text from one place to
// another. Bytes that were left out count as the same.
func (k *Kept) Follows(from, to int, text []byte) (n int) {
	for from < to && n < len(text) {
		kept, gone := k.stretch(from, to)
		if gone > 0 {
			skip := min(gone-from, len(text)-n)
			from, n = from+skip, n+skip
			continue
		}
		same := 0
		for same < len(kept) && n+same < len(text) && kept[same] == text[n+same] {
			same++
		}
		if from, n = from+same, n+same; same < len(kept) {
			break
		}
	}
	return n
}

// Find returns where a text stands between two places, or -1, and how many bytes were
// looked at.
func (k *Kept) Find(from, to int, text []byte) (place, looked int) {
	for from < to {
		kept, gone := k.stretch(from, to)
		if gone > 0 {
			from = gone
			continue
		}
		if i := bytes.Index(kept, text); i >= 0 {
			return from + i, looked + i
		}
		looked, from = looked+len(kept), from+len(kept)
	}
	return -1, looked
}
