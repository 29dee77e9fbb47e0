package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// What a prompt loses, if it does not fit into the model's context window: the earliest
// reflections, the least related thoughts, the earliest calls of earlier cycles, the results
// of the turn's tools, the earliest messages, and last a part of the latest reflection. Each
// loses no more than is needed. What is never cut is the system prompt, the goal or the message
// to be answered, the definitions of tools, and what the model said in the last step of the
// turn. What was cut stays cut until the turn ends, so that servers can reuse what they have
// of the prompt.

// stub is how many bytes of a result are worth keeping.
const stub = 200

// A fitting is what a turn has cut.
type fitting struct {
	results, bytes int // results that were shortened, and by how much in all
	messages       int // messages that were left out
	task           string
}

// over returns how many bytes a request exceeds what the window has for it: the rest is for
// the reply.
func (w *window) over(q *model.Request) int64 {
	bytes := promptBytes(q)
	n := w.estimate(bytes) + w.reserve(q) - int64(w.size)
	if n <= 0 {
		return 0
	}
	// Rounded up: an estimate of one token may stand for several bytes.
	return max(n*bytes/max(w.estimate(bytes), 1), 1)
}

// reserve is how many tokens of the window are kept for the reply: as many as it may have,
// at least a tenth of the window, at most half of it.
func (w *window) reserve(q *model.Request) int64 {
	size := int64(w.size)
	return min(max(int64(q.MaxTokens), size/10), size/2)
}

// fit cuts the messages of a request until it leaves room for the reply, or nothing is left
// that may be cut. It records what it has cut.
func (t *turn) fit(ctx context.Context, q *model.Request) error {
	w := t.window
	if w == nil || w.size == 0 || !w.cuts || w.over(q) == 0 {
		return nil
	}
	t.messages = slices.Clone(t.messages) // they may be the caller's
	before := w.estimate(promptBytes(q))
	was := t.lost()
	over := func() int64 {
		q.Messages = t.messages
		return w.over(q)
	}
	fixed := t.fixed()
	if fixed == 0 {
		t.fitDraft(over)
	}
	t.fitResults(over, fixed)
	if fixed == 0 {
		t.fitMessages(over)
		t.fitLatest(over)
	}
	over()
	now := t.lost()
	if now == was {
		return nil
	}
	text := fmt.Sprintf("The prompt would have about %d tokens, and the model's context window has %d. Left out to fit it: %s.", before, w.size, now)
	return t.advise(ctx, "context_cut", text, w.estimate(promptBytes(q)))
}

// fixed is how many messages must stay as they are: a signature of this turn binds what
// precedes it.
func (t *turn) fixed() int {
	if !t.rule.Binds {
		return 0
	}
	for i := len(t.messages) - 1; i >= t.given; i-- {
		if slices.ContainsFunc(t.messages[i].Thoughts, isSealed) {
			return i + 1
		}
	}
	return 0
}

func isSealed(x model.Thought) bool { return x.Sealed }

// unsign removes the signed thoughts of earlier turns, if what precedes them has changed: the
// provider would refuse them, and does not need them.
func (t *turn) unsign() {
	if !t.rule.Binds {
		return
	}
	for i := range t.given {
		m := &t.messages[i]
		m.Thoughts = slices.DeleteFunc(slices.Clone(m.Thoughts), isSealed)
	}
}

// fitDraft cuts what the prompt of a cycle brings from earlier ones.
func (t *turn) fitDraft(over func() int64) {
	d := t.draft
	if d == nil {
		return
	}
	for _, part := range []struct {
		*omission
		stays int
	}{{&d.reflections, 1}, {&d.thoughts, 0}, {&d.calls, 0}} {
		for part.without < part.all-part.stays && over() > 0 {
			part.without++
			t.rewrite()
		}
	}
}

// rewrite writes the first messages of a cycle as the draft has them now.
func (t *turn) rewrite() {
	copy(t.messages, t.draft.write(&t.extra))
	t.cut.task = ""
	t.remark()
}

// fitLatest cuts the latest reflection.
func (t *turn) fitLatest(over func() int64) {
	d := t.draft
	if d == nil || d.reflections.all == 0 {
		return
	}
	memory := d.run.memories[len(d.run.memories)-1]
	for d.latest < len(memory.line(d.run.x.ReflectionLabel)) {
		n := over()
		if n == 0 {
			return
		}
		d.latest += int(n)
		t.rewrite()
	}
}

// fitResults shortens the results of the turn's tools, from a message on, the earliest first.
func (t *turn) fitResults(over func() int64, from int) {
	for i := max(from, t.given); i < len(t.messages); i++ {
		n := over()
		if n == 0 {
			return
		}
		m := &t.messages[i]
		head, text := "", m.Text
		switch {
		case m.Role == model.User && strings.HasPrefix(text, resultOf):
			at := strings.IndexByte(text, '\n') + 1
			head, text = text[:at], text[at:]
		case m.Role != model.ToolRole:
			continue
		}
		const note = "[… %d bytes of this result are left out: they do not fit into the context window]"
		most := len(text) - int(n) - len(note) - 20
		if most < stub {
			most = 0
		}
		kept := shorttext.Cut(text, most)
		without := len(text) - len(kept)
		short := kept + fmt.Sprintf(note, without)
		if len(short) >= len(text) { // it was shortened before, or is short
			continue
		}
		m.Text = head + short
		t.cut.results++
		t.cut.bytes += without
	}
}

// fitMessages leaves out the earliest messages: whole exchanges of the conversation, then whole
// steps of the turn, which are calls with their results. The last step stays.
func (t *turn) fitMessages(over func() int64) {
	for over() > 0 {
		from, to := t.earliest()
		if to == 0 {
			return
		}
		t.messages = slices.Delete(t.messages, from, to)
		if to <= t.given {
			t.given -= to - from
			t.unsign()
		}
		t.cut.messages += to - from
		t.remark()
	}
}

// earliest finds the earliest messages that can be left out together; 0, 0 if there are none.
func (t *turn) earliest() (from, to int) {
	asks := func(i int) bool {
		return t.messages[i].Role == model.User && !strings.HasPrefix(t.messages[i].Text, resultOf)
	}
	if len(t.messages) > 0 && t.messages[0].Role == model.System {
		from = 1
	}
	// The conversation before the message that is answered.
	for i := from + 1; i < t.given; i++ {
		if asks(i) {
			return from, i
		}
	}
	// A step begins with what the model said.
	from = t.given
	for i := from + 1; i < len(t.messages); i++ {
		if t.messages[i].Role == model.Assistant && t.messages[from].Role == model.Assistant {
			return from, i
		}
	}
	return 0, 0
}

// remark says in the message that is answered that messages are left out.
func (t *turn) remark() {
	if t.cut.messages == 0 || t.given == 0 {
		return
	}
	m := &t.messages[t.given-1]
	if t.cut.task == "" {
		t.cut.task = m.Text
	}
	m.Text = t.cut.task + fmt.Sprintf("\n\n(%d earlier messages are left out: they do not fit into the context window.)", t.cut.messages)
}

// losses is all that a prompt has lost.
type losses struct {
	fitting
	reflections, thoughts, calls, latest int
}

func (t *turn) lost() losses {
	l := losses{fitting: t.cut}
	l.task = ""
	if d := t.draft; d != nil {
		l.reflections, l.thoughts, l.calls, l.latest = d.reflections.without, d.thoughts.without, d.calls.without, d.latest
	}
	return l
}

func (l losses) String() string {
	var list []string
	add := func(n int, one, more string) {
		switch {
		case n == 1:
			list = append(list, one)
		case n > 1:
			list = append(list, fmt.Sprintf(more, n))
		}
	}
	add(l.reflections, "1 earlier reflection", "%d earlier reflections")
	add(l.thoughts, "1 earlier thought", "%d earlier thoughts")
	add(l.calls, "1 call of an earlier cycle", "%d calls of earlier cycles")
	add(l.bytes, "1 byte of the results of tools", "%d bytes of the results of tools")
	add(l.messages, "1 earlier message", "%d earlier messages")
	if l.latest > 0 {
		list = append(list, "a part of the latest reflection")
	}
	return strings.Join(list, ", ")
}

// advise tells the observer of what happens to a prompt, and records it.
func (t *turn) advise(ctx context.Context, code, text string, tokens int64) error {
	if f := t.Observer.OnWindow; f != nil && t.journal.live() {
		f(WindowReport{Run: t.Run, Cycle: t.Cycle, Prompt: tokens, Window: int64(t.window.size), Text: text})
	}
	_, err := t.journal.put(ctx, t.Run, t.Cycle, record.Advisory{Code: code, Text: record.Say(text)})
	return err
}
