package reading

import (
	"unsafe"

	"github.com/sotto-llm/sotto/record"
)

// Whereabouts say in which of the recorded replies a choice is, and a part of the account.
type Whereabouts struct {
	Choices []int         // of each reply
	Parts   []map[int]int // of each reply: the thought, by the number of the part
}

// choice returns the reply that a choice is in. What an API sends apart from its texts is
// with the next text.
func (w *Whereabouts) choice(n int) int {
	for i, number := range w.Choices {
		if number >= n {
			return i
		}
	}
	return len(w.Choices) - 1
}

// place returns a span in the form in which it is recorded.
func (w *Whereabouts) place(s span) record.DeliveredSpan {
	out := record.DeliveredSpan{Reply: w.choice(s.choice), Start: s.start, End: s.end, Put: s.put, Unnamed: s.unnamed}
	if s.part == 0 {
		return out
	}
	for i, parts := range w.Parts {
		if thought, ok := parts[s.part]; ok {
			out.Reply, out.Thought = i, thought+1
			return out
		}
	}
	return record.DeliveredSpan{Reply: out.Reply, Unnamed: s.size()}
}

// Delivery is what the client got of a reply; nil if there was no reply. guard is what a
// guard did to it. failed says that the client got an error in its place.
func (r *Reading) Delivery(where *Whereabouts, guard string, failed bool) *record.Delivery {
	if len(where.Choices) == 0 {
		return nil
	}
	d := &record.Delivery{Display: string(r.Display), Narration: string(r.Narration), Promoted: r.promoted(), Guard: guard}
	if failed {
		return d
	}
	for _, c := range r.Choices {
		if c == nil {
			continue
		}
		for i, name := range []string{record.PlaceText, record.PlaceField, record.PlaceNarration} {
			got := &c.trace.got[i]
			if got.bytes == 0 {
				continue
			}
			t := record.Delivered{Reply: where.choice(c.Number), Place: name, Bytes: got.bytes, More: got.more}
			got.sum.Sum(t.Digest[:0])
			for _, s := range got.spans {
				t.Spans = append(t.Spans, where.place(s))
			}
			d.Texts = append(d.Texts, t)
		}
	}
	return d
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
