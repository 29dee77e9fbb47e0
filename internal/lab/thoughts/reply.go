package thoughts

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/recorded/eventtext"
	"github.com/sotto-llm/sotto/record"
)

// maxRead bounds how much of a thought is read for what repeats within it and for names
// of tools, maxKept how much of it is kept as a text, and maxGiven how much of it is
// compared with others and given to models.
const (
	maxRead  = 1 << 20
	maxKept  = 64 << 10
	maxGiven = 16 << 10
)

// A place is where a reply is: of its event, and which choice.
type place struct {
	run    string
	seq    uint64
	choice int
	digest record.Digest
}

// key is the place without the digest.
func (p place) key() place {
	p.digest = record.Digest{}
	return p
}

// A reply is one reply of a model, as the figures need it.
type reply struct {
	rank  rank
	place place
	model string
	label string // of its group, unless groups are by verdict or diagnostic
	// series is the run or the conversation that it belongs to; empty if none.
	series string
	cycle  int

	thought  int // bytes
	all      int // bytes, the thought included
	withheld int
	sealed   int
	tokens   int64 // of reasoning, as the provider counted them; 0 if it did not

	verdict     verdict
	inReasoning bool // its answer was found in the thought
	end         sotto.Ending
	codes       []sotto.Code // each once, in order; they are shared strings

	hasText  bool // all of the thought is recorded
	same     uint64
	number   int     // of the thoughts with a text of its run, from 1
	itself   float64 // the share of shingles that repeat; NaN if it is too short
	previous float64 // similarity to the thought before; NaN if there is none
	nearest  float64 // the highest similarity to one of those before
	text     string  // of those that are compared as texts
	cut      bool    // the text is only the beginning
}

type verdict uint8

const (
	unjudged verdict = iota
	wrong
	right
)

// verdictNames are the names of groups by verdict.
var verdictNames = [...]string{"unjudged", "wrong", "right"}

// root is the run that a reply belongs to, or the one that called it: the name of the
// run of an agent that another one calls is the caller's, a plus sign and more.
func (r *reply) root() string {
	root, _, _ := strings.Cut(r.series, "+")
	return root
}

// A rank decides which replies are held.
type rank struct{ a, b uint64 }

func (r rank) compare(s rank) int { return cmp.Or(cmp.Compare(r.a, s.a), cmp.Compare(r.b, s.b)) }

func rankOf(p *place, cycle int, thought string) rank {
	h := sha256.New()
	var b [8]byte
	write := func(n uint64) {
		binary.BigEndian.PutUint64(b[:], n)
		h.Write(b[:])
	}
	h.Write(p.digest[:])
	h.Write([]byte(p.run))
	write(uint64(len(p.run)))
	write(uint64(cycle))
	write(uint64(p.choice))
	h.Write([]byte(thought))
	sum := h.Sum(nil)
	return rank{binary.BigEndian.Uint64(sum), p.seq}
}

// A thinking is the thought of a reply as it was recorded.
type thinking struct {
	text     string // what was recorded of it, as far as it is read
	bytes    int
	withheld int
	sealed   int
	more     bool // the text is longer
}

// thinkingOf collects the reasoning of a reply. Its parts are separated by newlines.
func thinkingOf(r *record.Reply) (t thinking, all int) {
	read := *r
	read.Segments = eventtext.SegmentsOf(r)
	text := eventtext.Text{Content: r.Raw, Reply: &read}
	var b strings.Builder
	block := -1
	for _, s := range text.Stretches() {
		if s.Channel != sotto.ChannelReasoning {
			continue
		}
		if s.Block != block && b.Len() > 0 {
			b.WriteByte('\n')
		}
		block = s.Block
		t.add(&b, s.Part)
	}
	all = r.Raw.Len()
	for i := range r.Reasoning {
		n := &r.Reasoning[i]
		all += n.Text.Len()
		if n.Sealed {
			t.bytes, t.sealed = t.bytes+n.Text.Len(), t.sealed+n.Text.Len()
			continue
		}
		if b.Len() > 0 && n.Text.Len() > 0 {
			b.WriteByte('\n')
		}
		for _, p := range n.Text.Parts() {
			t.add(&b, p)
		}
	}
	t.text = b.String()
	return t, all
}

// add adds a part of a text to a thought.
func (t *thinking) add(b *strings.Builder, p record.Part) {
	t.bytes += p.End - p.Start
	if p.Why != "" {
		t.withheld += p.End - p.Start
		return
	}
	room := maxRead - b.Len()
	if len(p.Text) > room {
		t.more = true
		p.Text = shorttext.Cut(p.Text, max(0, room))
	}
	b.WriteString(p.Text)
}
