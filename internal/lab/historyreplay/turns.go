package historyreplay

import (
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/record"
)

// maxTurns bounds the bytes of replies that are kept to be put back into later
// requests. The oldest are dropped first.
const maxTurns = 256 << 20

// A turn is a reply of the model as it came.
type turn struct {
	text     string
	thoughts []record.Thought
	calls    []record.Call
}

func (t *turn) size() int {
	n := len(t.text) + 256
	for _, o := range t.thoughts {
		n += len(o.Text.Text) + len(o.Raw.Text) + 128
	}
	for _, c := range t.calls {
		n += len(c.Arguments.Text) + len(c.Extra.Text) + 128
	}
	return n
}

// turns are the replies of the record so far, by what a later request shows of them.
// A client that got a reply without its reasoning sends it back without, so a message
// is known by its visible text, its calls and the message before it.
type turns struct {
	known map[[32]byte]*turn
	order [][32]byte
	size  int
	max   int // of size
	lost  int // that were dropped
}

// keyOf names a reply by what clients keep of it.
func keyOf(before *record.Message, visible string, calls []record.Call) [32]byte {
	h := newDigest()
	if before != nil {
		h.part(before.Role)
		h.words(string(before.Text.Text))
		h.part(before.CallID)
	}
	h.words(visible)
	for _, c := range calls {
		h.part(c.ID)
		h.part(c.Name)
	}
	return h.sum()
}

// count keeps the first choice of an exchange's reply. A reply of which not all was
// recorded is not kept.
func (t *turns) count(x *record.Exchange) {
	if len(x.Replies) == 0 || len(x.Messages) == 0 || x.Outcome != "answered" {
		return
	}
	one, visible, ok := turnOf(x.Replies, capabilities(x.ModelAPI()).Texts)
	if !ok {
		return
	}
	key := keyOf(&x.Messages[len(x.Messages)-1], visible, one.calls)
	if t.known == nil {
		t.known = map[[32]byte]*turn{}
	}
	if old := t.known[key]; old != nil {
		t.size -= old.size()
	} else {
		t.order = append(t.order, key)
	}
	t.known[key] = one
	t.size += one.size()
	for t.size > t.max && len(t.order) > 0 {
		first := t.order[0]
		t.order = t.order[1:]
		t.size -= t.known[first].size()
		delete(t.known, first)
		t.lost++
	}
}

// turnOf is what a client shows as one message: the first choice of a reply, or all
// its texts in an API that numbers no choices. ok is false if not all of it was
// recorded.
func turnOf(replies []record.Reply, texts bool) (one *turn, visible string, ok bool) {
	one = &turn{}
	var seen strings.Builder
	for _, r := range replies {
		if !texts && r.Choice != replies[0].Choice {
			break
		}
		if !wholeThoughts(r.Reasoning) || !wholeCalls(r.ToolCalls) || !r.Raw.Whole() {
			return nil, "", false
		}
		raw := string(r.Raw.Text)
		for _, s := range r.Segments {
			if s.Channel == sotto.ChannelText && 0 <= s.Start && s.Start <= s.End && s.End <= len(raw) {
				seen.WriteString(raw[s.Start:s.End])
			}
		}
		one.text += raw
		one.thoughts = append(one.thoughts, r.Reasoning...)
		one.calls = append(one.calls, r.ToolCalls...)
	}
	return one, seen.String(), true
}

// find returns what the model said when it wrote a message of a later request.
func (t *turns) find(before, m *record.Message) *turn {
	return t.known[keyOf(before, string(m.Text.Text), m.ToolCalls)]
}

func wholeThoughts(list []record.Thought) bool {
	for _, t := range list {
		if !t.Text.Whole() || !t.Raw.Whole() {
			return false
		}
	}
	return true
}

func wholeCalls(list []record.Call) bool {
	for _, c := range list {
		if !c.Arguments.Whole() || !c.Extra.Whole() {
			return false
		}
	}
	return true
}
