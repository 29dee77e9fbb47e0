package providers_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/ndjson"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

// A said is what a reply says, as a reader of it hears.
type said struct {
	text, thought, model, calls string
	output                      int64
	end                         sotto.Ending
	ended                       bool
	failure                     error
}

// A hearer is a [wire.Reader] that separates nothing.
type hearer struct {
	said
	args map[int]int // where the arguments of each call stand in list
	list []string
	part [1]wire.Part
}

func (h *hearer) Found(e wire.Event) []wire.Part {
	h.part[0] = wire.Part{Text: e.Text}
	switch e.Kind {
	case wire.EventText:
		h.text += string(e.Text)
		return h.part[:]
	case wire.EventMember, wire.EventRefusal:
		h.part[0].Place = wire.Member
		return h.part[:]
	case wire.EventThought:
		h.part[0].Place = wire.Reasoning
		if !e.Again {
			h.thought += string(e.Text)
		}
		return h.part[:]
	case wire.EventCall:
		at, ok := h.args[e.Index]
		if !ok {
			at = len(h.list)
			h.args[e.Index], h.list = at, append(h.list, "")
		}
		if e.Whole {
			h.list[at] = ""
		}
		if !e.Again {
			h.list[at] += e.Name + string(e.Text)
		}
		h.calls = strings.Join(h.list, ";")
	case wire.EventModel:
		h.model = e.Name
	case wire.EventUsage:
		h.output = max(h.output, e.Usage.Output)
	case wire.EventFinish:
		h.end, h.ended = e.End, true
	}
	return nil
}

func (h *hearer) Close(int, sotto.Ending) []wire.Part    { return nil }
func (*hearer) Open() []int                              { return nil }
func (h *hearer) Fail(err error)                         { h.failure = err }
func (*hearer) Finish(sotto.Ending) ([]wire.Part, error) { return nil, nil }
func (*hearer) Findings() string                         { return "" }
func (*hearer) Share() (reasoning, all int)              { return 0, 0 }

// events are what a reply says, in order. Each list comes together.
func events(rnd *rand.Rand, calls bool) (batches [][]wire.Event, want said) {
	add := func(list ...wire.Event) { batches = append(batches, list) }
	want = said{model: "m-1", output: 7, ended: true, end: []sotto.Ending{sotto.EndStopped, sotto.EndCut}[rnd.IntN(2)]}
	add(wire.Event{Kind: wire.EventModel, Name: want.model, ID: "id_1"}, wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfRole})
	words := func() string { return []string{"a", "b \n", "\"c\\", "é😀", "<d>"}[rnd.IntN(5)] }
	for range rnd.IntN(4) {
		t := words()
		want.thought += t
		add(wire.Event{Kind: wire.EventThought, Name: "reasoning_content", Member: true, Text: []byte(t)})
	}
	for range rnd.IntN(4) {
		t := words()
		want.text += t
		add(wire.Event{Kind: wire.EventText, Text: []byte(t)})
	}
	if want.end == sotto.EndStopped && calls {
		for i := range rnd.IntN(3) {
			add(wire.Event{Kind: wire.EventCall, Index: 100 + i, Name: "f", ID: fmt.Sprint("call_", i), Text: []byte(`{"x":1}`)})
			want.calls = strings.TrimPrefix(want.calls+`;f{"x":1}`, ";")
		}
	}
	add(wire.Event{Kind: wire.EventFinish, End: want.end}, wire.Event{Kind: wire.EventUsage, Usage: wire.Usage{Input: 5, Output: 7, Reasoning: -1, CacheRead: -1, CacheWrite: -1}}, wire.Event{Kind: wire.EventEnd})
	return batches, want
}

// TestWriters: what the writer of an API makes of events, the codec of that API reads, whole
// and streamed, however the events come together.
func TestWriters(t *testing.T) {
	for _, c := range providers.Codecs() {
		calls := c.Capabilities().Calls
		for seed := range uint64(200 * effort.Times()) {
			batches, want := events(rand.New(rand.NewPCG(seed, 1)), calls)
			if name := c.Name(); name == "cohere.chat" || name == "bedrock.converse" {
				want.model = "" // replies do not name it
			}
			if c.Name() == "mistral.conversations" { // its outputs name the model, and nothing says why they end
				want.end = sotto.EndStopped
				if want.text+want.thought+want.calls == "" {
					want.model = ""
				}
			}
			set := wire.Settings{Fields: []string{"reasoning_content"}, Request: &wire.Request{Stream: seed%2 == 0}}
			var out []byte
			h := &hearer{args: map[int]int{}}
			y := c.Reply(wire.Settings{Request: set.Request})
			if writer := c.Writer(set); seed%2 == 0 {
				var all []wire.Event
				for i, b := range batches {
					if all = append(all, b...); seed%4 == 0 || i == len(batches)-1 {
						out = writer.Frames(out, all)
						all = nil
					}
				}
				read(c, y, out, h)
			} else {
				var all []wire.Event
				for _, b := range batches {
					all = append(all, b...)
				}
				out = writer.Whole(nil, all)
				if !foreignjson.Valid(out) {
					t.Fatalf("%s: %s", c.Name(), out)
				}
				y.Whole(nil, out, h)
			}
			if h.said != want {
				t.Fatalf("%s, seed %d:\n%+v\nwant\n%+v\n%s", c.Name(), seed, h.said, want, out)
			}
		}
	}
}

func read(c wire.Codec, y wire.Reply, stream []byte, r wire.Reader) {
	for f := range frames(c, stream) {
		y.Frame(nil, f, r)
	}
	y.End(nil, nil, r)
}

// frames are those of a stream.
func frames(c wire.Codec, stream []byte) iter.Seq[wire.Frame] {
	return func(yield func(wire.Frame) bool) {
		var lines ndjson.Scanner
		var events sse.Scanner
		for len(stream) > 0 {
			var f wire.Frame
			if c.Framing() == wire.NDJSON {
				l, ok := lines.Next(stream)
				if !ok {
					return
				}
				f = wire.Frame{Raw: l.Raw, Data: l.Data, At: l.At}
			} else {
				e, ok := events.Next(stream)
				if !ok {
					return
				}
				f = wire.Frame(e)
			}
			stream = stream[len(f.Raw):]
			if !yield(f) {
				return
			}
		}
	}
}
