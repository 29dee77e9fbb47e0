package leak

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// TestTally: the report does not depend on the order in which replies come, and what a
// tally keeps is bounded, whatever the logs hold.
func TestTally(t *testing.T) {
	const replies = 3000
	report := func(order []int) *Report {
		tally := NewTally(2)
		var wait sync.WaitGroup
		for _, half := range [][]int{order[:replies/2], order[replies/2:]} {
			wait.Go(func() {
				for _, i := range half {
					r := Reply{Model: fmt.Sprint("m", i%7), Route: fmt.Sprint("r", i%3)}
					if i%5 == 0 {
						r.Leaks = []Placed{{InAnswer, Leak{Kinds()[i%3], "default", fmt.Sprint("sample ", i)}}, {InTitle, Leak{Block, "", "x"}}}
					}
					tally.count("f", i, r)
				}
			})
		}
		wait.Wait()
		return tally.Report()
	}
	order := make([]int, replies)
	for i := range order {
		order[i] = i
	}
	first, _ := json.Marshal(report(order))
	slices.Reverse(order)
	second, _ := json.Marshal(report(order))
	if string(first) != string(second) {
		t.Errorf("%s\n%s", first, second)
	}
	r := report(order)
	if r.Replies != replies || r.Leaked != replies/5 || len(r.Groups) != 21 || len(r.Kinds) != 4 || len(r.Examples) != 8 {
		t.Errorf("%+v", r)
	}
	many := NewTally(2)
	for i := range 5 * maxGroups {
		many.count("f", i, Reply{Model: fmt.Sprint(i)})
	}
	if r := many.Report(); len(r.Groups) != maxGroups+1 || r.Groups[0].Model != other || r.Groups[0].Replies != 4*maxGroups {
		t.Errorf("%d groups, %+v", len(r.Groups), r.Groups[0])
	}
}
