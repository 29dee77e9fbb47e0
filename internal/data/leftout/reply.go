package leftout

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/alike"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// A Reply finds what one reply has that goes to no client of another API. It looks only at those frames of
// a stream that are not like the one before: to look at each takes longer than everything else that is done
// for most frames.
type Reply struct {
	of       *Value
	pictures bool
	frames   alike.Frames
}

// Reply returns what finds the members of one reply that are left out. pictures says that the client's API has
// a place for pictures.
func (v *Value) Reply(pictures bool) *Reply { return &Reply{of: v, pictures: pictures} }

// Find reports which members of a frame, or of a whole reply, are left out, to say. Of a frame that is like the one
// before it reports nothing.
func (r *Reply) Find(data []byte, say func(Finding)) {
	if r.frames.Like(data) {
		return
	}
	answer := false
	r.of.Find(data, r.pictures, func(f Finding) {
		answer = answer || f.Answer
		say(f)
	})
	if answer { // which fails each reply that has it
		return
	}
	r.frames.Learn(data, func(inside jsonedit.Span) bool { return r.of.passes(jsonedit.Parse(data), inside) })
}

// passes reports whether nothing is found in a string of a value, whatever it says.
func (v *Value) passes(at gjson.Result, inside jsonedit.Span) (pass bool) {
	switch {
	case v.choose != nil:
		return v.choose(at).passes(at, inside)
	case v.quiet, v.text && at.Type == gjson.String:
		return true
	case v.lost:
		return false
	case v.each != nil && at.IsArray(), v.open && at.IsObject():
		at.ForEach(func(key, member gjson.Result) bool {
			if s := jsonedit.SpanOf(member); inside.Start < s.Start || s.End < inside.End {
				return true
			}
			pass = v.of(key.Str).passes(member, inside)
			return false
		})
		return pass
	}
	return !v.open && v.each == nil
}
