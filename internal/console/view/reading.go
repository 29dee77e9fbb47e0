package view

import (
	"context"
	"sort"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/recorded/eventtext"
	"github.com/sotto-llm/sotto/record"
)

// A Reread asks for another reading of a reply than the recorded one. Empty fields
// keep what was recorded.
type Reread struct {
	Dialect string `json:"dialect,omitempty"`
	Start   string `json:"start,omitempty"`
}

// opened is an exchange that was read from the record, with the readings of its
// replies as they are needed.
type opened struct {
	event record.Event
	parts

	mu       sync.Mutex // over the readings of this event only
	readings map[readingKey]*reading
}

// A readingKey names a reading of one reply of an event.
type readingKey struct {
	choice int
	again  Reread
}

// maxRereads bounds the readings of an event in other dialects that are kept.
const maxRereads = 2

// A reading is a reply, divided into runs of bytes on one channel.
type reading struct {
	reply    *record.Reply
	parts    []run
	total    int // bytes of the reply as it came
	answer   string
	dialect  string
	start    string
	diags    []sotto.Diagnostic
	more     int // diagnostics beyond diags
	reread   bool
	withheld int // bytes that are not in the record
}

// A run is a part of a reply on one channel, recorded or not.
type run struct {
	record.Part
	channel sotto.Channel
	block   int
}

// reading returns the reading of a reply. It is kept with its event, because a long
// reply is shown slice by slice.
func (s *Source) reading(o *opened, choice int, again Reread) (*reading, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := readingKey{choice, again}
	if r := o.readings[key]; r != nil {
		return r, nil
	}
	if again == (Reread{}) {
		o.readings[key] = s.read(&o.replies[choice])
		return o.readings[key], nil
	}
	r, err := s.reread(&o.replies[choice], again)
	if err != nil {
		return nil, err
	}
	o.forget(again)
	o.readings[key] = r
	return r, nil
}

// forget makes room for a reading in another dialect.
func (o *opened) forget(again Reread) {
	others := map[Reread]bool{}
	for key := range o.readings {
		if key.again != (Reread{}) && key.again != again {
			others[key.again] = true
		}
	}
	if len(others) < maxRereads {
		return
	}
	for key := range o.readings {
		if others[key.again] {
			delete(o.readings, key)
		}
	}
}

// read divides a reply as it was recorded.
func (s *Source) read(reply *record.Reply) *reading {
	r := &reading{
		reply: reply, total: reply.Raw.Len(), dialect: reply.Dialect, start: string(reply.Start),
		diags: reply.Diagnostics, more: reply.MoreDiagnostics,
	}
	segments := reply.Segments
	if reply.Raw.Whole() {
		if parsed, err := s.grammar(reply.Dialect).ParseWith(string(reply.Raw.Text), reply.Options(), reply.End); err == nil {
			r.answer = parsed.Visible()
			if len(segments) == 0 {
				segments = record.ReplyOf(parsed).Segments
			}
		}
	}
	r.divide(segments)
	if !reply.Raw.Whole() {
		r.answer = r.text()
	}
	return r
}

// reread reads a reply in another dialect, or from another start.
func (s *Source) reread(reply *record.Reply, again Reread) (*reading, error) {
	if !reply.Raw.Whole() {
		return nil, errCut
	}
	name, o := again.Dialect, reply.Options()
	if name == "" {
		name = reply.Dialect
	}
	if again.Start != "" {
		o.Start = sotto.Beginning(again.Start)
	}
	g, err := s.named(name)
	if err != nil {
		return nil, err
	}
	parsed, err := g.ParseWith(string(reply.Raw.Text), o, reply.End)
	if err != nil {
		return nil, err
	}
	r := &reading{
		reply: reply, total: reply.Raw.Len(), dialect: parsed.Dialect, start: string(o.Start), answer: parsed.Visible(), reread: true,
		diags: parsed.Diagnostics, more: parsed.Counts.Total() - len(parsed.Diagnostics),
	}
	r.divide(record.ReplyOf(parsed).Segments)
	return r, nil
}

// grammar returns a dialect that a record names, or the default one.
func (s *Source) grammar(name string) *sotto.Grammar {
	if g, err := s.named(name); err == nil && name != "" {
		return g
	}
	return sotto.Default()
}

// divide makes the runs of segments.
func (r *reading) divide(segments []record.Segment) {
	read := *r.reply
	read.Segments = segments
	text := eventtext.Text{Content: read.Raw, Reply: &read}
	for _, p := range text.Stretches() {
		r.parts = append(r.parts, run{p.Part, p.Channel, p.Block})
		if p.Why != "" {
			r.withheld += p.End - p.Start
		}
	}
}

// text joins what is recorded of the text of a reply.
func (r *reading) text() string {
	var b strings.Builder
	for _, p := range r.parts {
		if p.channel == sotto.ChannelText {
			b.WriteString(p.Text)
		}
	}
	return strings.TrimSpace(b.String())
}

// SliceSize is how many bytes of a reply a slice has, except that no character is
// cut.
const SliceSize = 32 << 10

// A Slice is a part of the bytes of a reply.
type Slice struct {
	V      int    `json:"v"`
	Event  uint64 `json:"event"`
	Choice int    `json:"choice"`
	Total  int    `json:"total"` // bytes of the reply
	Start  int    `json:"start"`
	End    int    `json:"end"`
	Runs   []Run  `json:"runs"`
	Bars   []Bar  `json:"-"`
	// Number is the number of the slice, from 1.
	Number int    `json:"number"`
	Reread Reread `json:"reread,omitzero"`
	// Dialect and From say how the reply was read.
	Dialect string `json:"dialect"`
	From    string `json:"from"`
}

// Slices is how many slices the reply has.
func (s *Slice) Slices() int { return max(1, (s.Total+SliceSize-1)/SliceSize) }

// A Run is a run of bytes on one channel, or a part of one.
type Run struct {
	Channel sotto.Channel `json:"channel"`
	Block   int           `json:"block,omitempty"`
	Start   int           `json:"start"`
	End     int           `json:"end"`
	Text    record.Text   `json:"text"`
	// Why is empty, or the reason why the bytes are not recorded.
	Why string `json:"why,omitempty"`
	// Marks are the diagnostics at Start.
	Marks []sotto.Diagnostic `json:"diagnostics,omitempty"`
	// Hit says that a reader asked for this place, and First that it begins here.
	Hit   bool `json:"hit,omitempty"`
	First bool `json:"-"`
}

// Bytes returns the slice of a reply that holds the byte at a place.
func (s *Source) Bytes(ctx context.Context, seq uint64, choice, at int, again Reread) (*Slice, error) {
	o, err := s.open(ctx, seq)
	if err != nil {
		return nil, err
	}
	if choice < 0 || choice >= len(o.replies) {
		return nil, errChoice(choice, len(o.replies))
	}
	r, err := s.reading(o, choice, again)
	if err != nil {
		return nil, err
	}
	out := r.slice(seq, choice, at)
	out.Reread = again
	return out, nil
}

// at returns the number of the part that holds a byte.
func (r *reading) at(place int) int {
	return sort.Search(len(r.parts), func(i int) bool { return r.parts[i].End > place })
}

// boundary moves a place back to where a character begins.
func (r *reading) boundary(place int) int {
	if place >= r.total {
		return r.total
	}
	i := r.at(place)
	if i == len(r.parts) {
		return place
	}
	p := &r.parts[i]
	if p.Why != "" {
		return p.Start // a replacement is not divided
	}
	return p.Start + shorttext.Boundary(p.Text, place-p.Start)
}

// runs returns the runs from one place to another, cut at each diagnostic.
func (r *reading) runs(start, end int) []Run {
	marks := r.diags[sort.Search(len(r.diags), func(i int) bool { return r.diags[i].Offset >= start }):]
	list := []Run{}
	for i := r.at(start); i < len(r.parts) && r.parts[i].Start < end; i++ {
		p := r.parts[i]
		for at := max(p.Start, start); at < min(p.End, end); {
			one := Run{Channel: p.channel, Block: p.block, Start: at, End: min(p.End, end), Why: p.Why}
			for len(marks) > 0 && marks[0].Offset <= at {
				one.Marks, marks = append(one.Marks, marks[0]), marks[1:]
			}
			if len(marks) > 0 && p.Why == "" {
				one.End = min(one.End, marks[0].Offset)
			}
			if p.Why == "" {
				one.Text = record.Text(p.Text[at-p.Start : one.End-p.Start])
			} else {
				one.Text, one.End = record.Text(p.Text), p.End
			}
			at = one.End
			list = append(list, one)
		}
	}
	if end == r.total && len(marks) > 0 {
		list = append(list, Run{Channel: sotto.ChannelMarkup, Start: end, End: end, Marks: marks})
	}
	return list
}

// barCount is how many parts a strip has.
const barCount = 240

// A Bar is a part of the strip that shows a whole reply to scale.
type Bar struct {
	Channel sotto.Channel
	From    int // in parts of the strip
	Wide    int
	At      int // the byte where it begins
}

// Strip is how wide a strip is.
func Strip() int { return barCount }

// bars divides a reply into equal parts, each with the channel that most of its
// bytes have, and joins equal neighbours.
func (r *reading) bars() []Bar {
	if r.total == 0 {
		return nil
	}
	var sums [barCount][6]int
	for _, p := range r.parts {
		for at := p.Start; at < p.End; {
			i := min(barCount-1, at*barCount/r.total)
			next := min(p.End, max(at+1, ((i+1)*r.total+barCount-1)/barCount))
			sums[i][min(int(p.channel), 5)] += next - at
			at = next
		}
	}
	var list []Bar
	last := sotto.ChannelText
	for i, sum := range sums {
		best, most := last, 0 // a part narrower than a byte looks as the one before it
		for c, n := range sum {
			if n > most {
				best, most = sotto.Channel(c), n
			}
		}
		if n := len(list); n > 0 && list[n-1].Channel == best {
			list[n-1].Wide++
		} else {
			list = append(list, Bar{best, i, 1, i * r.total / barCount})
		}
		last = best
	}
	return list
}
