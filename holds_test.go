package sotto

import (
	"math"
	"testing"
)

// TestBarrier: the first byte that anything holds is the barrier, and the widest of the doubts
// that hold it is the one that it waits for.
func TestBarrier(t *testing.T) {
	open := func() (h holds) {
		h.reset(Default(), false)
		return h
	}
	h := open()
	if b := h.barrier(); b != math.MaxInt {
		t.Errorf("without a doubt, the barrier is %d", b)
	}
	h.wait(doubtQuote, 7)
	if b, p, k := h.barrier(), h.firstDoubt(), h.doubtAt(7); b != math.MaxInt || p != -1 || k != doubtQuote {
		t.Errorf("a doubt without a time limit: barrier %d, first %d, %v", b, p, k)
	}
	h.wait(doubtFence, 7)
	if b, p := h.barrier(), h.firstDoubt(); b != math.MaxInt || p != 7 {
		t.Errorf("a doubt with a time limit: barrier %d, first %d", b, p)
	}
	h.outHold = 9
	if b, p, k := h.barrier(), h.firstDoubt(), h.doubtAt(9); b != 9 || p != 7 || k != doubtOutput {
		t.Errorf("text that may be aside: barrier %d, first %d, %v", b, p, k)
	}
	h.pads.begin(&state{}, -1)
	h.pads.hold = 5
	if b, p, k := h.barrier(), h.firstDoubt(), h.doubtAt(5); b != 5 || p != 5 || k != doubtPad {
		t.Errorf("an answer in a pad: barrier %d, first %d, %v", b, p, k)
	}
	h.autoHold = true
	if b, p, k := h.barrier(), h.firstDoubt(), h.doubtAt(0); b != 0 || p != 0 || k != doubtStart {
		t.Errorf("an undecided start: barrier %d, first %d, %v", b, p, k)
	}
}

// TestRoom: no byte is read before a doubt has expired that could still decide it.
func TestRoom(t *testing.T) {
	h := holds{maxHold: 10}
	for n, want := range map[int]int{20: 11, 29: 2, 30: 1, 40: 1} {
		if got := h.room(100, 20, n); got != want {
			t.Errorf("with byte 20 held, %d bytes may be read after byte %d, want %d", got, n, want)
		}
	}
	if h.due(20, 30) || !h.due(20, 31) {
		t.Error("a doubt about byte 20 ends after byte 30")
	}
	if h.maxHold = 0; h.room(100, 0, 50) != 100 || h.due(0, 1000) {
		t.Error("without a bound a doubt ends")
	}
}

// TestPads: the bytes from the first opener that may begin the answer are held. A whole output
// block takes the place of what came before it, in the open pad and in the closed one.
func TestPads(t *testing.T) {
	var p pads
	p.forget()
	p.begin(&state{}, 3)
	output := func(at int, kind tokenKind, family int8) {
		p.outputMarker(token{start: at, end: at + 2, kind: kind}, family, &reasoning{block: at})
	}
	holds := func(want int, k doubtKind) {
		t.Helper()
		if p.hold != want || p.doubt() != k {
			t.Errorf("byte %d is held by the doubt %q, want %d by %q", p.hold, doubts[p.doubt()].name, want, doubts[k].name)
		}
	}
	output(10, kindOpen, 0)
	output(20, kindOpen, 1)
	holds(10, doubtPad)
	output(30, kindClose, 1)
	holds(20, doubtWhole)
	if w := p.seen.cur.whole; w.r.block != 20 || p.seen.cur.stop != 32 {
		t.Errorf("the block begins in %v and stops at %d", w, p.seen.cur.stop)
	}
	p.close(50)
	holds(20, doubtClosed)
	p.begin(&state{}, -1)
	output(60, kindOpen, 0)
	holds(20, doubtClosed)
	output(70, kindClose, 0)
	holds(60, doubtWhole)
	p.expire(75)
	if p.hold != -1 {
		t.Errorf("byte %d is held after the end", p.hold)
	}
	output(73, kindOpen, 0) // ends where the pads were given up
	if p.hold != -1 {
		t.Errorf("byte %d is held by an opener before the end", p.hold)
	}
	output(76, kindOpen, 0)
	holds(76, doubtPad)
}

// TestGiveUp: as soon as the reply shows something, no closed pad holds its answer.
func TestGiveUp(t *testing.T) {
	var p pads
	p.forget()
	p.giveUp() // without a pad
	p.begin(&state{}, -1)
	p.outputMarker(token{start: 1, end: 2}, 0, &reasoning{})
	p.outputMarker(token{start: 3, end: 4, kind: kindClose}, 0, &reasoning{})
	p.close(5)
	if p.giveUp(); p.hold != -1 {
		t.Errorf("byte %d is held", p.hold)
	}
}

// TestAbsorb: a phrase takes all white space, a marker with optional newlines that many, and
// neither more.
func TestAbsorb(t *testing.T) {
	for _, c := range []struct {
		trail  uint16
		phrase bool
		text   string
		want   int
		over   bool
	}{
		{2, false, "\n\n\n", 2, true}, {2, false, "\n", 1, false}, {2, false, "\n a", 1, true}, {1, false, " \n", 0, true},
		{0, true, " \n\t x", 4, true}, {0, true, " \n", 2, false}, {0, false, "\n", 0, true},
	} {
		var in window
		in.load([]byte(c.text), 0)
		in.next(len(c.text))
		in.limit = in.n
		var a absorb
		a.after(token{trail: c.trail}, c.phrase, span{})
		if to := a.take(0, &in); to != c.want || a.over(to, &in) != c.over {
			t.Errorf("%+v: up to byte %d, over: %v", c, to, a.over(to, &in))
		}
	}
}
