package dialecttest

import (
	"math/rand/v2"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/testhook"
)

// mostLooks is how often a byte may be looked at: four times, plus at most one
// marker lookup for every four bytes.
const mostLooks = 4.25

// longReply is the length of the replies whose cost is measured.
const longReply = 2 << 10

// linear is law 5: no byte is looked at more than four times, however long the
// reply is. The reply repeats tr.raw.
func (s *suite) linear(tr trial) *fault {
	raw := strings.Repeat(tr.raw, max(longReply/len(tr.raw), 1))
	for _, step := range []int{len(raw), 1} {
		sp := s.splitter(tr)
		for i := 0; i < len(raw); i += step {
			sp.FeedString(raw[i : i+step])
		}
		sp.Close(tr.end)
		if looks := float64(testhook.Looks(sp)) / float64(len(raw)); looks > mostLooks {
			return tr.fault("%.2f looks a byte at %d bytes in deltas of %d", looks, len(raw), step)
		}
	}
	return nil
}

// linearTrials returns n strings to repeat: strings that are costly for other
// readers, then the dialect's own tokens alone, in pairs, and in longer mixtures.
func (s *suite) linearTrials(n int) []trial {
	units := []string{" ", "\n", "<", "`", "`\n", "~~~\n", "` `` ``` ", `"`, "\xff"}
	rnd := rand.New(rand.NewPCG(1, uint64(len(s.tokens))))
	short := s.tokens
	for len(short) > 0 && len(short[len(short)-1]) > longReply/32 { // the white space of a tight dialect
		short = short[:len(short)-1]
	}
	token := func() string { return short[rnd.IntN(len(short))] }
	for len(units) < n {
		var unit string
		switch k := len(units); {
		case k%4 == 0:
			unit = []string{"", "x", "` ", "```a\n", "\n"}[rnd.IntN(5)] + token() + []string{"", " "}[rnd.IntN(2)]
		case k%4 == 1:
			unit = token() + "x" + token()
		case k%4 == 2:
			unit = token() + "\n" + token() + " y "
		default:
			for range 2 + rnd.IntN(5) {
				unit += token()
			}
		}
		units = append(units, unit)
	}
	var trials []trial
	for i, unit := range units[:n] {
		hold := s.holds[i%len(s.holds)]
		trials = append(trials, trial{raw: unit, start: s.starts[i%len(s.starts)], end: Ends[i%3], maxHold: hold},
			trial{raw: unit, start: sotto.BeginOutside, end: sotto.EndStopped, maxHold: -1})
	}
	return trials
}
