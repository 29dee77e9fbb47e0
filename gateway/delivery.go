package gateway

import (
	"unsafe"

	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/record"
)

// whereabouts say in which of the recorded replies a choice is, and a part of the account.
type whereabouts struct {
	choices []int         // of each reply
	parts   []map[int]int // of each reply: the thought, by the number of the part
}

// choice returns the reply that a choice is in. What an API sends apart from its texts is
// with the next text.
func (w *whereabouts) choice(n int) int {
	for i, number := range w.choices {
		if number >= n {
			return i
		}
	}
	return len(w.choices) - 1
}

// place returns a span in the form in which it is recorded.
func (w *whereabouts) place(s span) record.DeliveredSpan {
	out := record.DeliveredSpan{Reply: w.choice(s.choice), Start: s.start, End: s.end, Put: s.put, Unnamed: s.unnamed}
	if s.part == 0 {
		return out
	}
	for i, parts := range w.parts {
		if thought, ok := parts[s.part]; ok {
			out.Reply, out.Thought = i, thought+1
			return out
		}
	}
	return record.DeliveredSpan{Reply: out.Reply, Unnamed: s.size()}
}

// delivery is what the client got of a reply; nil if there was no reply.
func (x *exchange) delivery(where *whereabouts) *record.Delivery {
	if len(where.choices) == 0 {
		return nil
	}
	r := &x.reading
	d := &record.Delivery{Display: string(r.display), Narration: string(r.narration), Promoted: r.promoted(), Guard: x.judgements.verdict()}
	if !x.streamed && (x.err != nil || r.failure != nil) {
		return d // the client got an error
	}
	for _, c := range r.choices {
		if c == nil {
			continue
		}
		for i, name := range []string{record.PlaceText, record.PlaceField, record.PlaceNarration} {
			got := &c.trace.got[i]
			if got.bytes == 0 {
				continue
			}
			t := record.Delivered{Reply: where.choice(c.number), Place: name, Bytes: got.bytes, More: got.more}
			got.sum.Sum(t.Digest[:0])
			for _, s := range got.spans {
				t.Spans = append(t.Spans, where.place(s))
			}
			d.Texts = append(d.Texts, t)
		}
	}
	return d
}

// verdict is what a guard did to a reply, in a word; empty if it judged
// nothing.
func (l *judgements) verdict() string {
	if l == nil || l.n == 0 {
		return ""
	}
	worst := guard.Pass
	for _, d := range l.list {
		switch action := guard.Action(d.action()); {
		case action == guard.End, d.err != nil && worst != guard.End:
			worst = action
		case action == guard.Cut && worst == guard.Pass:
			worst = action
		}
	}
	return string(worst)
}

// size is the memory that the notes hold.
func (t *tracer) size() int {
	n := cap(t.natives) * int(unsafe.Sizeof(nativeRun{}))
	for i := range t.got {
		if n += cap(t.got[i].spans) * int(unsafe.Sizeof(span{})); t.got[i].sum != nil {
			n += sumCost
		}
	}
	return n
}

// sumCost is what a running digest holds.
const sumCost = 128
