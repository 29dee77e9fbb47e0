package agent

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A Reflection is a reflection of three parts, as the template asks for it. Its
// thought is treated as any thought: the policy decides what happens to it. The
// other two parts are what later cycles read.
type Reflection struct {
	Thought  string `json:"thought"`
	Progress string `json:"reflection_on_progress"`
	Plan     string `json:"plan_for_next_cycle"`
}

const templateLesson = `Write your reflection as one JSON object with three texts, and nothing else:

{"thought": "what you think of it all", "reflection_on_progress": "what you did and found", "plan_for_next_cycle": "what you will do next"}

Of these only reflection_on_progress and plan_for_next_cycle are sure to be shown to you again.`

// thoughtMember finds the thought in a reflection of three parts that is malformed.
var thoughtMember = lazyregexp.New(`(?im)(["'“”‘’]thoughts?["'“”‘’]|^[\s{,*]*thoughts?\**)\s*[:=]`)

// ReadReflection reads a reflection of three parts: one JSON object, which may
// stand in a code fence. ok is false for any other text.
func ReadReflection(text string) (r Reflection, ok bool) {
	text = strings.TrimSpace(text)
	if body, fenced := oneFence(text); fenced {
		text = body
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(&r) != nil || d.InputOffset() != int64(len(text)) {
		return Reflection{}, false
	}
	return r, strings.TrimSpace(r.Progress+r.Plan) != ""
}

// segments returns the segments of a reply as they are recorded and counted. The
// thought of a reflection of three parts is reasoning, as if it stood in a block of
// its own. If it cannot be identified, all of the text is.
func (t *turn) segments(reading *sotto.Reply, calls []model.Call) []record.Segment {
	list := record.ReplyOf(reading).Segments
	if !t.template || len(calls) > 0 {
		return list
	}
	visible := strings.TrimSpace(deliverable(t.Grammar, reading))
	_, whole := ReadReflection(visible)
	if !whole && !thoughtMember.MatchString(visible) || len(t.box.textCalls(visible, reading)) > 0 {
		return list
	}
	for i, s := range list {
		at := strings.LastIndex(reading.Raw[s.Start:s.End], visible)
		if whole && s.Channel == sotto.ChannelText && at >= 0 {
			return slices.Concat(list[:i], parted(s, s.Start+at, thoughtSpans(visible)), list[i+1:])
		}
	}
	for i, s := range list {
		if s.Channel == sotto.ChannelText {
			list[i].Channel = sotto.ChannelReasoning
		}
	}
	return list
}

// parted cuts the thoughts of a reflection out of its segment. The reflection
// begins at a byte of the reply.
func parted(s record.Segment, begins int, thoughts []record.Span) (list []record.Segment) {
	for _, span := range thoughts {
		before, thought := s, s
		before.End = begins + span.Start
		thought.Channel, thought.Start, thought.End = sotto.ChannelReasoning, before.End, begins+span.End
		s.Start = thought.End
		list = append(list, before, thought)
	}
	return append(list, s)
}

// thoughtSpans returns the places of the thoughts in a reflection of three parts.
func thoughtSpans(text string) (list []record.Span) {
	offset := 0
	if body, fenced := oneFence(text); fenced {
		offset = strings.Index(text, body)
		text = body
	}
	d := json.NewDecoder(strings.NewReader(text))
	_, err := d.Token() // the brace
	for err == nil && d.More() {
		var name json.Token
		var value json.RawMessage
		if name, err = d.Token(); err == nil {
			err = d.Decode(&value)
		}
		if s, ok := name.(string); ok && err == nil && strings.EqualFold(s, "thought") {
			end := offset + int(d.InputOffset())
			list = append(list, record.Span{Start: end - len(value), End: end})
		}
	}
	return list
}

// String returns what later cycles read of it.
func (r Reflection) String() string {
	var parts []string
	if s := strings.TrimSpace(r.Progress); s != "" {
		parts = append(parts, "Progress: "+s)
	}
	if s := strings.TrimSpace(r.Plan); s != "" {
		parts = append(parts, "Plan: "+s)
	}
	return strings.Join(parts, "\n")
}
