package recordstats_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/recorded/recordstats"
	"github.com/sotto-llm/sotto/record"
)

// TestBy: the rows of each choice of members have all events between them, and what one
// row has is equal in these members.
func TestBy(t *testing.T) {
	day := time.Date(2026, 11, 22, 23, 30, 0, 0, time.FixedZone("", -3600)) // the 23rd in UTC
	var events []record.Event
	for i := range 24 {
		x := record.Exchange{Caller: fmt.Sprint("c", i%2), Model: fmt.Sprint("m", i%3), Upstream: "u", Usage: &record.Usage{Input: 100, Output: int64(i), CacheRead: 10}}
		e := record.Event{Time: day.Add(time.Duration(i/12) * 24 * time.Hour), Payload: x}
		if i == 0 {
			e.Payload = record.Invocation{Model: "m0", Provider: "u", Usage: &record.Usage{Input: 100}}
		}
		events = append(events, e)
	}
	for _, test := range []struct {
		by   []recordstats.Member
		want string
	}{
		{nil, "[m0 u   8 800 70 84] [m1 u   8 800 80 92] [m2 u   8 800 80 100]"},
		{[]recordstats.Member{recordstats.Caller}, "[    1 100 0 0] [  c0  11 1100 110 132] [  c1  12 1200 120 144]"},
		{[]recordstats.Member{recordstats.Day}, "[   2026-11-23 12 1200 110 66] [   2026-11-24 12 1200 120 210]"},
		{[]recordstats.Member{recordstats.Model, recordstats.Caller, recordstats.Day}, ""},
	} {
		sum := recordstats.New(test.by...)
		for i := range events {
			sum.Add(&events[i])
		}
		sum.Finish()
		got, output := "", int64(0)
		for _, f := range sum.By {
			got += fmt.Sprintf(" [%s %s %s %s %d %d %d %d]", f.Model, f.Upstream, f.Caller, f.Day, f.Events, f.InputTokens, f.CachedTokens, f.OutputTokens)
			output += f.OutputTokens
		}
		if test.want != "" && got != " "+test.want {
			t.Errorf("by %v:%s\nwant %s", test.by, got, test.want)
		}
		if output != sum.Total.OutputTokens || output != 276 {
			t.Errorf("by %v: the rows have %d tokens of %d", test.by, output, sum.Total.OutputTokens)
		}
	}
}
