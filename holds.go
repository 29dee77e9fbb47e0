package sotto

import "math"

// holds are the doubts of a reply that are open, what they hold back, and what was found
// that waits with it. The bytes before the barrier are final.
type holds struct {
	outcomes
	maxHold int   // in bytes; 0 means unlimited
	doubt   doubt // what the reader waits for

	autoHold bool      // the start is undecided: pending from 0
	assumed  Beginning // where the reply began if no marker decides it; empty for G8
	outHold  int       // from here on outer text is aside if an output block comes (G10), or -1
	atHold   *state    // where the reader stood there; nil until there is one
	pads     pads
	diags    findings
}

// reset begins the next reply, and keeps the memory.
func (h *holds) reset(g *Grammar, auto bool) {
	h.pads.done = false
	h.pads.forget()
	*h = holds{outcomes: g.outcomes(), maxHold: h.maxHold, doubt: doubt{at: -1}, autoHold: auto,
		outHold: -1, atHold: h.atHold, pads: h.pads, diags: findings{reported: -1}}
}

// A doubt is what the reader waits for: an answer about byte at.
type doubt struct {
	kind doubtKind
	at   int // -1 if it waits only for the rest of a form
}

// wait notes that the reader waits for the bytes that answer a doubt about byte p.
func (h *holds) wait(k doubtKind, p int) bool {
	h.doubt = doubt{k, p}
	return false
}

// barrier returns where the pending bytes begin; nothing from there on is final.
func (h *holds) barrier() int {
	b := math.MaxInt
	if h.autoHold {
		b = 0
	}
	if h.outHold >= 0 {
		b = min(b, h.outHold)
	}
	if h.pads.hold >= 0 {
		b = min(b, h.pads.hold)
	}
	return b
}

// firstDoubt returns the first undecided byte of the timed doubt, or -1.
func (h *holds) firstDoubt() int {
	p := h.barrier()
	if h.doubt.at >= 0 && h.doubt.kind.timed() {
		p = min(p, h.doubt.at)
	}
	if p == math.MaxInt {
		return -1
	}
	return p
}

// doubtAt returns which doubt holds byte p, the first that is held. If several do, it is
// the widest one.
func (h *holds) doubtAt(p int) doubtKind {
	switch {
	case h.autoHold:
		return doubtStart
	case h.pads.hold == p:
		return h.pads.doubt()
	case h.outHold == p:
		return doubtOutput
	}
	return h.doubt.kind
}

// room returns how many of the next k bytes may be read at once, so that no doubt is
// decided by bytes that come after its expiry. The bytes before n are read, and those
// before settled are final.
func (h *holds) room(k, settled, n int) int {
	if h.maxHold > 0 {
		k = min(k, max(settled+h.maxHold+1-n, 1))
	}
	return k
}

// due reports whether byte at is too late to decide a doubt about byte p.
func (h *holds) due(p, at int) bool { return h.maxHold > 0 && at > p+h.maxHold }

// diag takes a diagnostic, which waits with the byte that it is about.
func (h *holds) diag(c Code, offset int, why Reason) {
	d := Diagnostic{c, offset, why}
	if offset < h.barrier() {
		h.diags.keep(d)
		return
	}
	h.diags.pending = append(h.diags.pending, d)
}

// reportExpired reports that a hold at byte p ran out. Several doubts that opened
// at one byte are one hold: an undecided start, and text that an output block may
// set aside.
func (h *holds) reportExpired(p int) {
	if h.diags.reported == p {
		return
	}
	h.diags.reported = p
	h.diag(CodeHoldExpired, p, "")
}
