package sotto

import (
	"math/rand/v2"
	"testing"
)

// TestWindow: what is not settled is at hand, and the byte before it, however the reply is cut
// into deltas and whatever has been settled. Nothing is read in a delta after the call.
func TestWindow(t *testing.T) {
	const reply = "<think>a</think>\n\nThe answer, in ten words or so.\n"
	random := rand.New(rand.NewPCG(3, 1))
	var w window
	for range 2000 {
		w.reset()
		settled := 0
		for w.n < len(reply) {
			delta := []byte(reply[w.n:][:1+random.IntN(min(9, len(reply)-w.n))])
			if w.load(delta, settled); len(w.buf) > 2*(w.n-settled)+len(delta) {
				t.Fatalf("of %d bytes that are not settled and a delta of %d, %d are kept", w.n-settled, len(delta), len(w.buf))
			}
			for w.unread() > 0 {
				from, k := w.n, 1+random.IntN(w.unread())
				if got := string(w.next(k)); got != reply[from:from+k] {
					t.Fatalf("%q is read at byte %d, want %q", got, from, reply[from:from+k])
				}
				if got := string(w.bytes(settled, w.n)); got != reply[settled:w.n] {
					t.Fatalf("%q is at hand from byte %d, want %q", got, settled, reply[settled:w.n])
				}
				if settled > 0 && w.byteBefore(settled) != reply[settled-1] {
					t.Fatalf("before byte %d is %q, want %q", settled, w.byteBefore(settled), reply[settled-1])
				}
				settled += random.IntN(w.n - settled + 1)
			}
			w.keep(settled)
			clear(delta)
		}
	}
}

// TestWindowMark: the beginning of a byte order mark may be one, until it is whole or broken.
func TestWindowMark(t *testing.T) {
	for reply, want := range map[string]bool{"\xEF": true, "\xEF\xBB": true, byteOrderMark: false, "\xEF\xBBa": false, "a": false} {
		var w window
		w.load([]byte(reply), 0)
		w.next(len(reply))
		if w.maybeMark() != want {
			t.Errorf("%q may be a mark: %v", reply, !want)
		}
	}
}
