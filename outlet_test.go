package sotto

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestOutlet: pieces have each byte once, on the channel on which it was last put, in segments
// that are as long as they can be; none has a byte behind the barrier. Their visible bytes are
// what the segments of the whole reply show.
func TestOutlet(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	kinds := []span{{ch: ChannelText}, {ch: ChannelReasoning, block: 1}, {ch: ChannelText, output: true, block: 2}, {ch: ChannelAside},
		{ch: ChannelNarration, block: 3}, {ch: ChannelTool, block: 4, mark: 1}}
	const words = "a b\n\nc  d\n e f \n"
	for range 2000 {
		text := strings.Repeat(words, 4)[:1+random.IntN(4*len(words))]
		var in window
		in.load([]byte(text), 0)
		in.next(len(text))
		o := outlet{view: view{inline: inlineMask([]Channel{ChannelTool})}}
		o.reset()
		var r Reply
		put := make([]span, len(text)) // by byte
		barrier := math.MaxInt
		take := func() {
			pieces := o.given()
			for _, p := range pieces {
				if end := p.Offset + len(p.Bytes); end > barrier {
					t.Fatalf("%q: a piece ends at byte %d, behind the barrier %d", text, end, barrier)
				}
			}
			r.add(pieces)
			for _, p := range pieces {
				r.Raw += string(p.Bytes)
				r.Dialect += string(p.Visible)
			}
			o.drop()
		}
		for pos := 0; pos < len(text); {
			sp := kinds[random.IntN(len(kinds))]
			sp.start, sp.end = pos, pos+1+random.IntN(len(text)-pos)
			if random.IntN(3) == 0 && barrier > pos {
				barrier = pos // a doubt opens
			}
			o.put(sp, barrier, &in, nil)
			for ; pos < sp.end; pos++ {
				put[pos] = sp
			}
			switch random.IntN(4) {
			case 0: // the doubt ends
				barrier = math.MaxInt
				o.flush(barrier, &in, nil)
			case 1: // what is in doubt is read again
				if barrier < pos {
					pos = barrier + random.IntN(pos-barrier)
					o.takeBack(pos)
				}
			}
			take()
		}
		barrier = math.MaxInt
		o.flush(barrier, &in, nil)
		o.end(len(text), &outcomes{ended: true, end: EndStopped})
		take()
		if r.Raw != text {
			t.Fatalf("the pieces of %q are %q", text, r.Raw)
		}
		for i, sg := range r.Segments {
			for k := sg.Start; k < sg.End; k++ {
				if sp := put[k]; sp.ch != sg.Channel || sp.block != sg.Block || sp.output != sg.Output {
					t.Fatalf("%q: byte %d was put as %v and is in %v", text, k, sp, sg)
				}
			}
			if i > 0 && put[sg.Start].same(&put[sg.Start-1]) {
				t.Fatalf("%q: a segment ends at byte %d, in mid-span", text, sg.Start)
			}
		}
		r.End = EndStopped
		if want := r.VisibleWith(ChannelTool); r.Dialect != want {
			t.Fatalf("%q in %v shows %q, want %q", text, r.Segments, r.Dialect, want)
		}
	}
}

// TestOutletSetsAside: of what is pending, only text outside every block becomes aside.
func TestOutletSetsAside(t *testing.T) {
	var o outlet
	o.reset()
	for i, sp := range []span{{ch: ChannelText}, {ch: ChannelReasoning, block: 1}, {ch: ChannelText}, {ch: ChannelText, output: true, block: 2}} {
		sp.start, sp.end = i, i+1
		o.put(sp, 0, nil, nil)
	}
	o.setAside(1)
	var got []Channel
	for _, sp := range o.pend {
		got = append(got, sp.ch)
	}
	if want := []Channel{ChannelText, ChannelReasoning, ChannelAside, ChannelText}; !slices.Equal(got, want) {
		t.Errorf("pending: %v, want %v", got, want)
	}
}
