package serving

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// TestArrivalsLaw: whatever requests do, in any order, no more is held than the limits
// say, no more bodies are on their way, and nothing is left at the end.
func TestArrivalsLaw(t *testing.T) {
	const limit, most = 1000, 50
	rnd := rand.New(rand.NewPCG(3, 4))
	a := NewArrivals(most, limit)
	var open []*Arrival
	stopped := 0
	for range 20_000 {
		switch n := len(open); {
		case n == 0 || rnd.IntN(3) == 0:
			open = append(open, a.Begin(string(rune('a'+rnd.IntN(3))), func() { stopped++ }))
		case rnd.IntN(4) == 0:
			i := rnd.IntN(n)
			open[i].End()
			open = append(open[:i], open[i+1:]...)
		case rnd.IntN(4) == 0:
			_ = open[rnd.IntN(n)].Whole()
		default:
			if err := open[rnd.IntN(n)].Add(int64(rnd.IntN(200))); err != nil && !errors.Is(err, ErrBusy) && !errors.Is(err, ErrCut) {
				t.Fatal(err)
			}
		}
		sum := int64(0)
		for _, held := range a.by {
			sum += held
			if held > limit/2 {
				t.Fatalf("one caller holds %d of %d", held, limit)
			}
		}
		if held, bodies := a.Held(); sum != held || sum > limit || bodies > most {
			t.Fatalf("held: %d, by callers %d; %d are on their way", held, sum, bodies)
		}
	}
	for _, x := range open {
		x.End()
	}
	if held, bodies := a.Held(); held != 0 || bodies != 0 || stopped == 0 {
		t.Errorf("%d bytes and %d bodies are left, %d were cut", held, bodies, stopped)
	}
}
