package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
)

// An accumulator collects a reply as it comes, and passes it on. The replies of every
// client go through it, so that the deltas and the Reply cannot differ.
type accumulator struct {
	on     func(Delta) error
	limits Limits

	model, finish string
	end           sotto.Ending
	finished      bool // the API's own sign that the reply is complete
	usage         Usage

	raw      strings.Builder
	thoughts []*thinking
	calls    []*calling
	given    int // calls passed on
	size     int // bytes kept
	spoke    bool

	content, thought seam
	thinksIn         *thinking // the thought whose text may have a piece in the thought's seam
	refused          error     // what on returned
}

// A thinking is a thought that is still growing.
type thinking struct {
	Thought
	text  strings.Builder
	seal  strings.Builder // its signature
	signs bool            // it has a signature, possibly an empty one
	block int             // its number, if the API has blocks
	// complete says that Raw is as the provider sent it.
	complete bool
}

// A calling is a call that is still growing.
type calling struct {
	Call
	arguments strings.Builder
	start     string   // the arguments that its block began with
	keys      []string // of its extra members
	extra     map[string]string
}

// call returns the call as it is now.
func (c *calling) call() Call {
	c.Call.Arguments = c.arguments.String()
	if c.keys != nil {
		var o jsonwrite.Object
		for _, key := range c.keys {
			o.Raw(key, c.extra[key])
		}
		c.Call.Extra = o.End()
	}
	return c.Call
}

// overhead is what each part of a reply counts in addition to its bytes. So a reply
// of many empty parts is bounded too.
const overhead = 1 << 10

// memberCost is what a member that is kept counts in addition to its bytes.
const memberCost = 128

func (h *accumulator) give(d Delta) error {
	h.spoke = true
	if h.on == nil || h.refused != nil {
		return h.refused
	}
	if err := h.on(d); err != nil {
		h.refused = err
		return err
	}
	return nil
}

// grow counts bytes that are kept.
func (h *accumulator) grow(n int) error {
	h.size += n
	if h.size > h.limits.Reply {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, h.limits.Reply)
	}
	return nil
}

// say adds content.
func (h *accumulator) say(text string) error {
	if text = h.content.join(text); text == "" {
		return nil
	}
	if err := h.grow(len(text)); err != nil {
		return err
	}
	h.raw.WriteString(text)
	return h.give(Delta{Text: text})
}

// begin adds a thought without text.
func (h *accumulator) begin(field string) (*thinking, error) {
	if err := h.settle(); err != nil {
		return nil, err
	}
	t := &thinking{Thought: Thought{Field: field, At: h.raw.Len()}}
	h.thoughts = append(h.thoughts, t)
	return t, h.grow(len(field) + overhead)
}

// think adds text to a thought.
func (h *accumulator) think(t *thinking, text string) error {
	if h.thinksIn != t {
		if err := h.settle(); err != nil {
			return err
		}
	}
	h.thinksIn = t
	return h.thinks(t, h.thought.join(text))
}

func (h *accumulator) thinks(t *thinking, text string) error {
	if text == "" {
		return nil
	}
	if err := h.grow(len(text)); err != nil {
		return err
	}
	t.text.WriteString(text)
	return h.give(Delta{Thought: text})
}

// settle gives what the thought's seam still holds.
func (h *accumulator) settle() error {
	held := h.thought.rest()
	if h.thinksIn == nil {
		return nil
	}
	return h.thinks(h.thinksIn, held)
}

// thoughtOf returns the thought of a field, and makes it if there was none.
func (h *accumulator) thoughtOf(field string) (*thinking, error) {
	for _, t := range h.thoughts {
		if t.Field == field {
			return t, nil
		}
	}
	return h.begin(field)
}

// newCall adds a call, whose members are filled in as they come.
func (h *accumulator) newCall() (*calling, error) {
	if len(h.calls) >= h.limits.Calls {
		return nil, fmt.Errorf("%w: more than %d calls", ErrTooLarge, h.limits.Calls)
	}
	c := new(calling)
	h.calls = append(h.calls, c)
	return c, nil
}

// argue adds to a call's arguments.
func (h *accumulator) argue(c *calling, arguments string) error {
	c.arguments.WriteString(arguments)
	return h.grow(len(arguments))
}

// addExtra keeps the members of a call that Call has no field for.
func (h *accumulator) addExtra(c *calling, call gjson.Result) error {
	for _, m := range jsonedit.Members(jsonedit.Parse([]byte(call.Raw))) {
		if slices.Contains(callMembers, m.Key) || !says(m.Value) {
			continue
		}
		if c.extra == nil {
			c.extra = map[string]string{}
		}
		key := strings.Clone(m.Key)
		old, ok := c.extra[key]
		more := max(0, len(m.Value.Raw)-len(old))
		if !ok {
			c.keys = append(c.keys, key)
			more += len(key) + memberCost
		}
		c.extra[key] = strings.Clone(m.Value.Raw)
		if err := h.grow(more); err != nil {
			return err
		}
	}
	return nil
}

// callMembers are the members of a call that Call has fields for, or that only have
// a meaning in a stream.
var callMembers = []string{"id", "type", "index", "function"}

// giveCalls passes on the calls that have not been passed on. All of them are
// complete.
func (h *accumulator) giveCalls() error {
	for h.given < len(h.calls) {
		c := h.calls[h.given].call()
		h.given++
		if err := h.give(Delta{Call: &c}); err != nil {
			return err
		}
	}
	return nil
}

// rest gives what the seams still hold.
func (h *accumulator) rest() error {
	if err := h.settle(); err != nil {
		return err
	}
	held := h.content.rest()
	if held == "" {
		return nil
	}
	if err := h.grow(len(held)); err != nil {
		return err
	}
	h.raw.WriteString(held)
	return h.give(Delta{Text: held})
}

// reply returns what came; aborted says that the reply is incomplete.
func (h *accumulator) reply(aborted bool) Reply {
	r := Reply{Model: h.model, Raw: h.raw.String(), End: h.end, Finish: h.finish, Usage: h.usage}
	if aborted {
		r.End = sotto.EndAborted
	}
	for _, t := range h.thoughts {
		t.Thought.Text = t.text.String()
		if t.Thought.Text != "" || t.Raw != nil {
			r.Thoughts = append(r.Thoughts, t.Thought)
		}
	}
	for _, c := range h.calls {
		r.Calls = append(r.Calls, c.call())
	}
	return r
}

// A seam joins the halves of a character that a server wrote as two escapes
// ("\ud83d\ude00") and split between two frames.
type seam struct{ held string }

func (s *seam) join(text string) string {
	if text == "" {
		return ""
	}
	if s.held != "" {
		if len(text) >= 3 && text[0] == 0xED && text[1]&0xF0 == 0xB0 {
			high := rune(s.held[1]&0xF)<<6 | rune(s.held[2]&0x3F)
			low := rune(text[1]&0xF)<<6 | rune(text[2]&0x3F)
			text = string(0x10000+(high<<10|low)) + text[3:]
		} else {
			text = s.held + text
		}
		s.held = ""
	}
	if n := len(text); n >= 3 && text[n-3] == 0xED && text[n-2]&0xF0 == 0xA0 {
		s.held = text[n-3:]
		text = text[:n-3]
	}
	return text
}

func (s *seam) rest() string {
	held := s.held
	s.held = ""
	return held
}

// isObject reports whether arguments are a JSON object, as some APIs require.
func isObject(arguments string) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal([]byte(arguments), &o) == nil && o != nil
}
