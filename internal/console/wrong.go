package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto/internal/console/explore"
)

// A wrong is one thing that is not as it should be.
type wrong struct {
	// Gateway is at which one, on a page of several.
	Gateway string `json:"gateway,omitempty"`
	What    string `json:"what"`
	// Said is what a program said of it.
	Said string `json:"said,omitempty"`
	// Link leads to more about it.
	Link string `json:"link,omitempty"`
}

const (
	// littleRoom is how much room of its disk a record should have.
	littleRoom = 1 << 30
	// lately is how far back changes for the worse are looked for.
	lately = "7d"
	// maxWrong bounds the changes that are listed of one measure.
	maxWrong = 3
)

// An alarm is a counter that should be 0, and what it means if it is not.
type alarm struct{ counter, means string }

func alarms() []alarm {
	return []alarm{
		{"sotto_record_dropped_total", Word("wrong.dropped")}, {"sotto_unread_total", Word("wrong.unread")},
		{"sotto_leaks_passed_total", Word("wrong.passed")}, {"sotto_upstream_lists_failed_total", Word("wrong.lists")},
	}
}

// wrongs lists what is wrong, as far as the page can know: what cannot be reached, what is
// damaged, and what was lost.
func (d *healthData) wrongs() (list []wrong) {
	add := func(what, said, link string) { list = append(list, wrong{What: what, Said: said, Link: link}) }
	for _, u := range d.Upstreams {
		if u.Fault != "" {
			add(fmt.Sprintf(Word("wrong.upstream"), u.URL), u.Fault, "")
		}
	}
	if h := d.Record; h != nil {
		if h.Fault != "" {
			add(Word("wrong.record"), h.Fault, "")
		}
		if h.Free > 0 && h.Free < littleRoom {
			add(fmt.Sprintf(Word("wrong.room"), size(int(h.Free))), "", "")
		}
		if v := d.Verified; v.Fault != "" || len(v.Findings) > 0 {
			said := v.Fault
			if said == "" {
				said = v.Findings[0]
			}
			add(Word("health.bad"), said, "#verified")
		}
	}
	sums := map[string]float64{}
	for _, n := range d.Counters {
		sums[n.Name] += n.Value
	}
	for _, a := range alarms() {
		if n := sums[a.counter]; n > 0 {
			add(fmt.Sprintf(a.means, number(int64(n))), "", "#counters")
		}
	}
	return list
}

// worse lists what became worse lately: of each model, what the client got of thoughts, failures,
// failing tools and durations.
func (c *Console) worse(ctx context.Context) (list []wrong, err error) {
	for _, m := range []explore.Measure{explore.Reached, explore.Failed, explore.Tools, explore.Took} {
		q := explore.Query{Of: m, By: explore.ByModel, From: lately}
		a, err := explore.AskQuickly(ctx, c.config.Record, q)
		if err != nil {
			return list, err // the record's own fault is listed
		}
		found := 0
		for i := range a.Series {
			s := &a.Series[i]
			now, before := s.Now(), s.Before()
			if before == nil || now.Value.Value <= before.Value.Value || found == maxWrong {
				continue
			}
			found++
			q.Model = s.Name
			list = append(list, wrong{
				What: seriesName(s) + ": " + fmt.Sprintf(Word("says."+string(m)), amount(m, now.Value.Value)) + fmt.Sprintf(Word("wrong.since"), ago(c.config.Now(), now.From), amount(m, before.Value.Value)),
				Link: exploreLink(q),
			})
		}
	}
	return list, nil
}

// Checked says what was looked at when nothing is wrong.
func (d healthData) Checked() string {
	var list []string
	if d.Gateway {
		list = append(list, Word("checked.upstreams"), Word("checked.counters"))
	}
	if d.Record != nil {
		list = append(list, Word("checked.record"), Word("checked.room"))
	}
	if d.compared {
		list = append(list, Word("checked.changes"))
	}
	return strings.Join(list, ", ")
}
