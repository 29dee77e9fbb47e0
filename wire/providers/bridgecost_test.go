package providers_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

// A passer is a [wire.Reader] that lets everything pass, and keeps nothing.
type passer struct{ part [1]wire.Part }

func (p *passer) Found(e wire.Event) []wire.Part {
	p.part[0] = wire.Part{Text: e.Text}
	switch e.Kind {
	case wire.EventText:
	case wire.EventThought:
		p.part[0].Place = wire.Reasoning
	case wire.EventMember, wire.EventRefusal:
		p.part[0].Place = wire.Member
	default:
		return nil
	}
	return p.part[:]
}

func (*passer) Close(int, sotto.Ending) []wire.Part      { return nil }
func (*passer) Open() []int                              { return nil }
func (*passer) Fail(error)                               {}
func (*passer) Finish(sotto.Ending) ([]wire.Part, error) { return nil, nil }
func (*passer) Findings() string                         { return "" }
func (*passer) Share() (reasoning, all int)              { return 0, 0 }

// deltas are the frames of a long text of an API: those that begin it, and the pieces.
func deltas(t testing.TB, api providers.API) (begin, pieces []wire.Frame) {
	var list []string
	for i := range 300 {
		list = append(list, fmt.Sprintf(`{"content":"word %d "}`, i))
	}
	stream := chatStream("stop", list...)
	if chat := providers.APIs()[0]; api.Name != chat.Name {
		stream = feed(chat.Codec, chat.Codec.Reply(bridgedTo(chat.Codec, api.Codec, true)), stream, &passer{})
	}
	all := slices.Collect(frames(api.Codec, stream))
	if len(all) < 290 {
		t.Fatalf("%s has %d frames", api.Name, len(all))
	}
	return all[:40], all[40:280]
}

// through feeds frames to a reply once, and returns what does it again with further ones, over and over.
func through(y wire.Reply, begin, pieces []wire.Frame) func() {
	out, i := []byte(nil), 0
	for _, f := range slices.Concat(begin, pieces) {
		out = y.Frame(out[:0], f, &passer{})
	}
	r := &passer{}
	return func() {
		out = y.Frame(out[:0], pieces[i%len(pieces)], r)
		i++
	}
}

// exact is a reply that is written in the API that it came in.
func exact(api providers.API) wire.Reply {
	return api.Codec.Reply(wire.Settings{Written: true, Request: &wire.Request{Stream: true}})
}

// TestBridgeAllocations: a piece of text costs no allocation across two APIs that it does not cost in the upstream's alone.
func TestBridgeAllocations(t *testing.T) {
	own := map[string]float64{}
	for _, api := range providers.APIs() {
		begin, pieces := deltas(t, api)
		own[api.Name] = testing.AllocsPerRun(400, through(exact(api), begin, pieces))
	}
	for _, from := range providers.APIs() {
		begin, pieces := deltas(t, from)
		for _, to := range providers.APIs() {
			if from.Name == to.Name {
				continue
			}
			n := testing.AllocsPerRun(400, through(from.Codec.Reply(bridgedTo(from.Codec, to.Codec, true)), begin, pieces))
			if n > own[from.Name] {
				t.Errorf("%s to %s: %v allocations for a piece, within the first it is %v", from.Name, to.Name, n, own[from.Name])
			}
		}
	}
}

// BenchmarkBridge measures a piece of text across two APIs, beside one that is written in its own API.
func BenchmarkBridge(b *testing.B) {
	for _, from := range providers.APIs() {
		begin, pieces := deltas(b, from)
		for _, to := range providers.APIs() {
			name, y := from.Name+" to "+to.Name, exact(from)
			if from.Name != to.Name {
				y = from.Codec.Reply(bridgedTo(from.Codec, to.Codec, true))
			}
			b.Run(name, func(b *testing.B) {
				next := through(y, begin, pieces)
				b.ReportAllocs()
				for b.Loop() {
					next()
				}
			})
		}
	}
}
