package panel

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/lab/judge"
	"github.com/sotto-llm/sotto/internal/recorded/eventtext"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

const (
	// MaxGiven is how much of a text the raters get, in bytes.
	MaxGiven = 16 << 10
	// MaxReplies bounds the replies of a panel.
	MaxReplies = 100_000
	maxOpen    = 10_000 // cycles that have begun and not ended
	maxName    = 200    // bytes of an ID, a run or an author
)

// A Reply is a text to rate.
type Reply struct {
	// ID is its name in the output: that in a file, or made of the run and the cycle or event.
	ID     string `json:"id"`
	Run    string `json:"run,omitempty"`
	Cycle  int    `json:"cycle,omitempty"`
	Seq    uint64 `json:"seq,omitempty"` // of the last event with a part of it
	Choice int    `json:"choice,omitempty"`
	// Author is who wrote it, which no rater learns: the model, or what a field says.
	Author string `json:"author,omitempty"`
	Text   string `json:"-"`
	Cut    bool   `json:"cut,omitempty"` // Text is only the beginning

	digest record.Digest
	rank   [sha256.Size]byte
	number int
}

// A Collector takes replies from events or from lines. If there are more than Limit, it
// keeps those whose text has the lowest SHA-256: a sample that does not depend on their
// order.
type Collector struct {
	Of    string // as in a rubric
	Run   string // of which replies count; "" means all
	Limit int

	// Found is how many there were, and Withheld how many of them were not recorded whole, so
	// that they cannot be rated.
	Found, Withheld int

	replies []Reply
	open    map[cycleOf]*cycle
}

type cycleOf struct {
	from *recordset.Source
	run  string
}

// A cycle is what a run has said in its cycle so far.
type cycle struct {
	Reply
	thought, said strings.Builder
	withheld      bool
}

// Event takes what an event has.
func (c *Collector) Event(e *recordset.Event) {
	if c.Run != "" && e.Run != c.Run {
		return
	}
	switch x := e.Payload.(type) {
	case record.Invocation:
		if x.Error == "" {
			c.said(e, x.Model, x.Replies)
		}
	case record.Exchange:
		c.said(e, x.Model, x.Replies)
	case record.RunEnd:
		c.end(cycleOf{e.Source, e.Run})
	}
}

// said takes replies: each by itself, or as a part of its cycle.
func (c *Collector) said(e *recordset.Event, author string, replies []record.Reply) {
	for i := range replies {
		r := &replies[i]
		own := &cycle{Reply: Reply{Run: shorttext.Cut(strings.Clone(e.Run), maxName), Cycle: e.Cycle, Seq: e.Seq, Choice: r.Choice, Author: shorttext.Cut(strings.Clone(author), maxName), digest: r.Digest}}
		if e.Cycle == 0 {
			own.ID = name(e)
			own.take(r)
			c.settle(own)
			continue
		}
		key := cycleOf{e.Source, e.Run}
		if c.open == nil {
			c.open = map[cycleOf]*cycle{}
		}
		x := c.open[key]
		if x != nil && x.Cycle != e.Cycle {
			c.end(key)
			x = nil
		}
		if x == nil {
			if len(c.open) >= maxOpen {
				c.endAll()
			}
			own.ID = name(e)
			x = own
			c.open[key] = x
		}
		x.Seq, x.Choice, x.digest = e.Seq, r.Choice, r.Digest
		x.take(r)
	}
}

// name is the ID of a reply in a record.
func name(e *recordset.Event) string {
	parts := []string{}
	if e.Source != nil {
		parts = append(parts, e.Source.Name)
	}
	if e.Run != "" {
		parts = append(parts, shorttext.Cut(strings.Clone(e.Run), maxName))
	}
	if e.Cycle > 0 {
		return strings.Join(append(parts, "cycle", strconv.Itoa(e.Cycle)), "/")
	}
	return strings.Join(append(parts, "event", strconv.FormatUint(e.Seq, 10)), "/")
}

// take adds the text and the thought of a reply.
func (x *cycle) take(r *record.Reply) {
	read := *r
	read.Segments = eventtext.SegmentsOf(r)
	text := eventtext.Text{Content: r.Raw, Reply: &read}
	begun := map[*strings.Builder]bool{}
	add := func(to *strings.Builder, p record.Part) {
		if p.Why != "" {
			x.withheld = x.withheld || to == &x.said
			return
		}
		if !begun[to] && to.Len() > 0 {
			to.WriteString("\n\n")
		}
		begun[to] = true
		if room := MaxGiven + 1 - to.Len(); room > 0 { // one more shows that it is cut
			to.WriteString(p.Text[:min(len(p.Text), room)])
		}
	}
	for _, s := range text.Stretches() {
		switch s.Channel {
		case sotto.ChannelReasoning:
			add(&x.thought, s.Part)
		case sotto.ChannelText:
			add(&x.said, s.Part)
		}
	}
	for i := range r.Reasoning {
		if !r.Reasoning[i].Sealed {
			for _, p := range r.Reasoning[i].Text.Parts() {
				add(&x.thought, p)
			}
		}
	}
}

func (c *Collector) end(key cycleOf) {
	if x := c.open[key]; x != nil {
		delete(c.open, key)
		c.settle(x)
	}
}

func (c *Collector) endAll() {
	list := make([]cycleOf, 0, len(c.open))
	for key := range c.open {
		list = append(list, key)
	}
	slices.SortFunc(list, func(a, b cycleOf) int { return cmp.Compare(c.open[a].Seq, c.open[b].Seq) })
	for _, key := range list {
		c.end(key)
	}
}

// settle takes a reply that is whole.
func (c *Collector) settle(x *cycle) {
	thought, said := strings.TrimSpace(x.thought.String()), strings.TrimSpace(x.said.String())
	switch {
	case c.Of != judge.OfThought && x.withheld:
		c.Found++
		c.Withheld++
		return
	case c.Of == judge.OfThought:
		x.Text = thought
	case c.Of == judge.OfAll && thought != "":
		x.Text = "[what was thought]\n" + thought + "\n\n[what was said]\n" + said
	default:
		x.Text = said
	}
	c.add(x.Reply)
}

// Line takes a reply of a file: what was read of it, and the thought that the server
// separated.
func (c *Collector) Line(id, author, thought string, read *sotto.Reply) {
	x := &cycle{Reply: Reply{ID: shorttext.Cut(id, maxName), Author: shorttext.Cut(author, maxName)}}
	x.thought.WriteString(strings.TrimSpace(thought + "\n" + strings.Join(read.Reasoning(), "\n")))
	x.said.WriteString(read.Visible())
	c.settle(x)
}

// add keeps a reply, if it has a text and is in the sample.
func (c *Collector) add(r Reply) {
	if r.Text == "" {
		return
	}
	c.Found++
	if len(r.Text) > MaxGiven {
		r.Text, r.Cut = shorttext.Cut(r.Text, MaxGiven), true
	}
	r.Text = strings.ToValidUTF8(r.Text, "\uFFFD")
	r.number = c.Found
	r.rank = sha256.Sum256([]byte(r.Text))
	c.replies = append(c.replies, r)
	if len(c.replies) >= 2*c.Limit {
		c.cut()
	}
}

func (c *Collector) cut() {
	slices.SortFunc(c.replies, func(a, b Reply) int {
		return cmp.Or(bytes.Compare(a.rank[:], b.rank[:]), cmp.Compare(a.number, b.number))
	})
	c.replies = c.replies[:min(len(c.replies), c.Limit)]
}

// errNone is the error of a panel without texts.
var errNone = errors.New("there is no text to rate")

// Replies returns the replies that were kept, in the order in which they came.
func (c *Collector) Replies() ([]Reply, error) {
	c.endAll()
	c.cut()
	if len(c.replies) == 0 {
		return nil, errNone
	}
	slices.SortFunc(c.replies, func(a, b Reply) int { return cmp.Compare(a.number, b.number) })
	return c.replies, nil
}

// Subjects returns the different texts of replies, and which of them each reply has.
func Subjects(replies []Reply) (list []judge.Subject, of []int) {
	at := map[[sha256.Size]byte]int{}
	for i := range replies {
		r := &replies[i]
		key := r.rank
		if r.Cut {
			key[0] ^= 1 // the beginning of a text is not that text
		}
		n, known := at[key]
		if !known {
			n = len(list)
			at[key] = n
			s := judge.Subject{Text: r.Text, Cut: r.Cut, Run: r.Run, Cycle: r.Cycle, Seq: r.Seq, Choice: r.Choice, Reply: r.digest}
			if r.Seq == 0 {
				s.ID = r.ID
			}
			list = append(list, s)
		}
		of = append(of, n)
	}
	return list, of
}
