package jsonedit

import (
	"cmp"
	"slices"

	"github.com/tidwall/gjson"
)

// A Span is a range of bytes, End exclusive.
type Span struct{ Start, End int }

// Of returns the bytes of b that the span covers.
func (s Span) Of(b []byte) []byte { return b[s.Start:s.End] }

// SpanOf returns the span of a value in the bytes that it was parsed from.
func SpanOf(v gjson.Result) Span { return Span{v.Index, v.Index + len(v.Raw)} }

// An Edit replaces a span with With.
type Edit struct {
	Span
	With []byte
}

// Release lets go of what edits write, and returns their list for later ones. A list that
// grew long is not kept.
func Release(edits []Edit) []Edit {
	const many = 256
	if cap(edits) > many {
		return nil
	}
	clear(edits[:cap(edits)])
	return edits[:0]
}

// Splice appends b with edits made. The edits must not overlap. At the same place,
// the edit that is given first comes first.
func Splice(dst, b []byte, edits []Edit) []byte {
	if !slices.IsSortedFunc(edits, byStart) {
		slices.SortStableFunc(edits, byStart)
	}
	at := 0
	for _, e := range edits {
		dst = append(dst, b[at:e.Start]...)
		dst = append(dst, e.With...)
		at = e.End
	}
	return append(dst, b[at:]...)
}

// byStart orders edits by place. Insertions come before replacements at the same
// place.
func byStart(a, b Edit) int { return cmp.Or(a.Start-b.Start, a.End-b.End) }

// A Member is a member of a JSON object, or an element of an array, in the bytes
// that it was read from.
type Member struct {
	Key string // empty for an element
	// At is where the member begins: at its key's quote, or at the element.
	At    int
	Value gjson.Result
}

// End is the offset after the member's value.
func (m Member) End() int { return m.Value.Index + len(m.Value.Raw) }

// Span covers the member, without a comma.
func (m Member) Span() Span { return Span{m.At, m.End()} }

// ValueSpan covers its value.
func (m Member) ValueSpan() Span { return SpanOf(m.Value) }

// Members returns the members of an object, or the elements of an array. Their
// offsets are into the bytes that the whole was parsed from by [Parse].
func Members(of gjson.Result) []Member { return AppendMembers(nil, of) }

// AppendMembers appends them to a list.
func AppendMembers(list []Member, of gjson.Result) []Member {
	of.ForEach(func(key, value gjson.Result) bool {
		m := Member{Key: key.Str, At: key.Index, Value: value}
		if key.Type != gjson.String {
			m.At = value.Index
		}
		list = append(list, m)
		return true
	})
	return list
}

// Parse parses JSON that was checked, for example by package wire, without a copy:
// the result shares b's memory.
func Parse(b []byte) gjson.Result { return gjson.Parse(StringOf(b)) }

// Cut appends the edits that remove members from the object or array that contains
// them, with their commas. members must be all members of it. drop says which ones
// are removed.
func Cut(edits []Edit, members []Member, drop func(i int) bool) []Edit {
	kept := -1 // the last member that stays
	for i := 0; i < len(members); {
		if !drop(i) {
			kept = i
			i++
			continue
		}
		from := i
		for i < len(members) && drop(i) {
			i++
		}
		span := Span{members[from].At, members[i-1].End()}
		switch {
		case kept >= 0:
			span.Start = members[kept].End()
		case i < len(members):
			span.End = members[i].At
		}
		edits = append(edits, Edit{Span: span})
	}
	return edits
}
