package history

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// Originals say what became of messages that were put back as their provider sent them.
type Originals struct {
	Body []byte // the request; nil if nothing changed
	// Messages are those that are known, by their index in the new request: what they have is the
	// provider's own.
	Messages map[int]bool
	// Removed and Restored are bytes of blocks that the messages lost and got. First is the index
	// of the first message that changed, or -1.
	Removed, Restored, First int
}

// Original puts the assistant's messages back as the provider sent them, for an API whose messages are
// lists of blocks. The client may have emptied a thought, put it into a text, split its message or dropped
// the thought: what the store remembers of the reply decides, and not what came back.
//
//   - Words that the client has changed are the client's: a person may edit an answer. The thoughts are put
//     back around them if the message still has as many texts. Otherwise it stays as it is.
//   - Everything else that the client sends in the message is left out, apart from blocks of kinds that are
//     not known here.
//   - A message whose calls are not those of the reply stays as it is.
//   - A thought that the client dropped is put back if its provider needs it: in the current turn, and in
//     earlier ones if the policy or the family keeps them.
//   - A thought that the policy or the family removes is left out, unless it is signed or encrypted.
//   - A block that says the same as the provider's stays byte for byte, with what the client added to it,
//     unless the client speaks another API: then it is the provider's.
func Original(body []byte, q *wire.Request, policy Policy, k Knowledge, c wire.Codec) Originals {
	codec, ok := c.(wire.BlockCodec)
	if !ok || k.Recall == nil {
		return Originals{First: -1}
	}
	p := planner{q: q, k: k, policy: policy, rule: RuleFor(q.Model, c.Name()), can: c.Capabilities()}
	if p.policy == "" {
		p.policy = Auto
	}
	if p.k.Grammar == nil {
		p.k.Grammar, _ = sotto.ForModel(q.Model)
	}
	p.turns()
	p.reader, p.plain = readerOf(p.k.Grammar), readerOf(sotto.Default())
	w := originals{planner: &p, codec: codec, body: body, out: Originals{First: -1}}
	w.list, w.member = codec.Lists()
	w.bind()
	for i := 0; i < len(q.Messages); {
		next := w.replyFrom(i)
		if known := w.recallOf(i, next); len(known.Blocks) > 0 {
			if w.messages == nil && !w.find() {
				break
			}
			w.put(i, next, known.Blocks)
		}
		i = next
	}
	return w.finish()
}

// An originals puts messages back.
type originals struct {
	*planner
	codec        wire.BlockCodec
	list, member string

	body     []byte
	all      []jsonedit.Member // the elements of the list in the body
	messages [][2]int          // of each message, its elements: from, to
	edits    []jsonedit.Edit
	gone     map[int]bool // elements that are left out
	out      Originals
	shift    int // by how many items the messages before are more than they were
}

// replyFrom returns the index after the reply that begins with message i. If several of the assistant follow
// each other where each should be one reply, they are skipped: which of them are one is not known.
func (w *originals) replyFrom(i int) (next int) {
	if w.q.Messages[i].Role != "assistant" {
		return i + 1
	}
	for next = i + 1; next < len(w.q.Messages) && w.q.Messages[next].Role == "assistant"; {
		next++
	}
	return next
}

// recallOf returns what is remembered of a reply. One of its items stands for it.
func (w *originals) recallOf(i, next int) (known Remembered) {
	if w.q.Messages[i].Role != "assistant" || w.member != "" && next > i+1 {
		return known
	}
	for ; i < next && len(known.Blocks) == 0; i++ {
		known, _ = w.k.Recall(i)
	}
	return known
}

// find looks up the messages in the body. It returns false if they are not those of the request.
func (w *originals) find() bool {
	w.all = jsonedit.Members(jsonedit.Parse(w.body).Get(w.list))
	joins := func(gjson.Result) bool { return false }
	if j, ok := w.codec.(wire.JoiningCodec); ok {
		joins = func(v gjson.Result) bool { return j.IsReply(v.Raw) }
	}
	reply := false // the last one is the model's, and goes on
	for i := range w.all {
		if is := joins(w.all[i].Value); is && reply {
			w.messages[len(w.messages)-1][1] = i + 1
		} else {
			w.messages, reply = append(w.messages, [2]int{i, i + 1}), is
		}
	}
	return len(w.messages) == len(w.q.Messages)
}

// read compares messages i to next with the reply. It returns false if they are not that.
func (w *originals) read(i, next int, blocks []string) (m ledgerMessage, ok bool) {
	m = ledgerMessage{codec: w.codec, known: blocks, bridged: w.k.Bridged}
	ok = m.content(w.all[w.messages[i][0]:w.messages[next-1][1]], w.member) && m.fits(w.planner) && m.keepWords(w.planner)
	return m, ok
}

// put puts a reply back, which stands in messages i to next.
func (w *originals) put(i, next int, blocks []string) {
	from, to := w.messages[i][0], w.messages[next-1][1]
	m, ok := w.read(i, next, blocks)
	if !ok || m.dropped && !w.wantsDropped(i, m.sealed) {
		return
	}
	if w.strips(i) {
		m.strip(w.planner)
	}
	if !m.bridged && m.alike(w.planner) {
		w.known(i, next-i)
		return
	}
	now, count, same := m.write()
	if w.member != "" {
		count = next - i
	}
	w.known(i, count)
	if same {
		return
	}
	if w.member == "" {
		now.list = now.list[1 : len(now.list)-1] // items stand in the list of the request
	}
	before := len(w.edits)
	w.edits = m.edits(w.edits, now)
	for at := from + 1; at < to && w.member != ""; at++ { // the first has all blocks
		if w.gone == nil {
			w.gone = map[int]bool{}
		}
		w.gone[at] = true
	}
	grown := 0
	for _, e := range w.edits[before:] {
		grown += len(e.With) - (e.Span.End - e.Span.Start)
	}
	w.out.changed(i, grown)
}

// known notes that messages of the new request are the provider's own.
func (w *originals) known(from, count int) {
	if w.out.Messages == nil {
		w.out.Messages = map[int]bool{}
	}
	for i := range count {
		w.out.Messages[from+w.shift+i] = true
	}
	if w.member == "" {
		w.shift += count - (w.replyFrom(from) - from)
	}
}

func (w *originals) finish() Originals {
	if len(w.gone) > 0 {
		w.edits = jsonedit.Cut(w.edits, w.all, func(i int) bool { return w.gone[i] })
	}
	if len(w.edits) > 0 {
		w.out.Body = jsonedit.Splice(make([]byte, 0, len(w.body)+w.out.Restored), w.body, w.edits)
	}
	return w.out
}

func (o *Originals) changed(message, grown int) {
	if grown > 0 {
		o.Restored += grown
	} else {
		o.Removed -= grown
	}
	if o.First < 0 {
		o.First = message
	}
}

// wantsDropped reports whether a message gets back a thought that the client does not send in any form. What
// is sealed is needed in the current turn alone: providers ignore that of earlier turns, unless signatures bind it.
func (p *planner) wantsDropped(i int, sealed bool) bool {
	switch {
	case p.policy == Preserve || sealed && !p.keepsSealed(i):
		return false
	case p.policy == Restore || sealed && p.can.Items:
		return true
	case p.policy == Auto:
		return sealed || p.rule.Need == NeedAll || p.rule.Need == NeedCalls && p.tools[i]
	}
	return false
}

// callIDs are the ids of the calls among blocks.
func callIDs(list []wire.Block) (ids []string) {
	for _, b := range list {
		if b.Kind == wire.BlockCall {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

func hasThought(list []wire.Block) bool {
	return slices.ContainsFunc(list, func(b wire.Block) bool { return b.Kind == wire.BlockThought })
}
