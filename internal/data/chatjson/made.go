package chatjson

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
)

// A CallForm says how an API writes a call.
type CallForm uint8

const (
	// CallDelta is the form of a frame of chat completions: the calls of a choice have an
	// index.
	CallDelta CallForm = iota
	CallWhole          // the same in a whole message
	CallOllama
)

// made are the calls that a reply gets in addition to the upstream's.
type made struct {
	out     []byte // those of the object under way
	choices map[int]*numbers
}

// numbers are the indices of a choice's calls, if it has calls of both kinds: the
// client's by the upstream's.
type numbers struct {
	next, made int
	of         map[int]int
}

// number returns the numbers of a choice. A reply has few choices: the gateway limits
// them.
func (m *made) number(choice int) *numbers {
	n := m.choices[choice]
	if n == nil {
		if m.choices == nil {
			m.choices = map[int]*numbers{}
		}
		n = &numbers{of: map[int]int{}}
		m.choices[choice] = n
	}
	return n
}

// Called reports whether a choice has got a call in addition to the upstream's.
func (s *Speech) Called(choice int) bool {
	n := s.made.choices[choice]
	return n != nil && n.made > 0
}

// call appends a call.
func (s *Speech) call(choice int, p wire.Part) {
	n := s.made.number(choice)
	if len(s.made.out) > 0 {
		s.made.out = append(s.made.out, ',')
	}
	s.made.out = appendCall(s.made.out, s.Form, n.next, p)
	n.next++
	n.made++
}

func appendCall(dst []byte, form CallForm, index int, p wire.Part) []byte {
	dst = append(dst, '{')
	if form == CallDelta {
		dst = append(strconv.AppendInt(append(dst, `"index":`...), int64(index), 10), ',')
	}
	dst = jsontext.AppendVerbatim(append(dst, `"id":`...), p.ID)
	if form == CallOllama {
		dst = strconv.AppendInt(append(dst, `,"function":{"index":`...), int64(index), 10)
		dst = jsontext.AppendVerbatim(append(dst, `,"name":`...), p.Name)
		return append(append(append(dst, `,"arguments":`...), p.Text...), "}}"...)
	}
	dst = jsontext.AppendVerbatim(append(dst, `,"type":"function","function":{"name":`...), p.Name)
	return append(jsontext.AppendVerbatim(append(dst, `,"arguments":`...), p.Text), "}}"...)
}

// renumber appends the edits that give the upstream's own calls of a frame their place
// among those that the client has.
func (s *Speech) renumber(edits []jsonedit.Edit, choice int, list gjson.Result) []jsonedit.Edit {
	if s.Form != CallDelta {
		return edits
	}
	list.ForEach(func(_, v gjson.Result) bool {
		index := v.Get("index")
		if index.Type != gjson.Number {
			return true
		}
		is, n := int(index.Num), s.made.number(choice)
		at, known := n.of[is]
		if !known && len(n.of) < maxCalls {
			if at = is; n.made > 0 {
				at = n.next
			}
			n.of[is], n.next = at, max(n.next, at+1)
		}
		if at != is && (known || len(n.of) < maxCalls) {
			edits = append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(index), With: strconv.AppendInt(nil, int64(at), 10)})
		}
		return true
	})
	return edits
}

// addCalls appends the edit that puts the made calls into an object that has a list of
// calls, or returns the member that is to be added.
func (s *Speech) addCalls(edits []jsonedit.Edit, o Object) (_ []jsonedit.Edit, add []byte) {
	out := s.made.out
	for _, m := range o.Members {
		if m.Key != "tool_calls" {
			continue
		}
		edits = s.renumber(edits, o.Choice, m.Value)
		switch {
		case len(out) == 0:
		case m.Value.Get("0").Exists():
			end := m.End() - 1
			edits = append(edits, jsonedit.Edit{Span: jsonedit.Span{Start: end, End: end}, With: append([]byte{','}, out...)})
		default:
			edits = append(edits, jsonedit.Edit{Span: m.ValueSpan(), With: append(append([]byte{'['}, out...), ']')})
		}
		return edits, nil
	}
	if len(out) == 0 {
		return edits, nil
	}
	return edits, append(append([]byte(`"tool_calls":[`), out...), ']')
}

// AppendParts appends parts as members of an object of ours.
func (s *Speech) AppendParts(dst []byte, choice int, text string, parts []wire.Part) []byte {
	s.made.out = s.made.out[:0]
	for _, p := range parts {
		if p.Place == wire.Call {
			s.call(choice, p)
		}
	}
	if len(s.made.out) > 0 {
		dst = append(append(append(dst, `"tool_calls":[`...), s.made.out...), "],"...)
		s.made.out = s.made.out[:0]
	}
	return AppendParts(dst, text, s.Names, parts)
}
