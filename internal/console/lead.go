package console

import (
	"fmt"
	"time"

	"github.com/sotto-llm/sotto/internal/console/view"
)

// A LeadPart is a part of the first line of a list, which says what one looks for in it: what
// failed, and what is the most.
type LeadPart struct {
	Text string
	Link string    // to what it is about; "" if it needs none
	Name string    // of a thing, after the text
	Time time.Time // after that; zero if there is none
}

// Counted is a number of things, with the form of their name that fits it.
func Counted(n int, name string) string { return counted(n, name) }

// FailedOf says how many of so many things of a page failed. name is that of the text for these.
func FailedOf(failed, of int, name string) string {
	switch {
	case failed == 0 && of == 1:
		return fmt.Sprintf(Word("lead.fine.one"), counted(of, name))
	case failed == 0:
		return fmt.Sprintf(Word("lead.fine"), counted(of, name))
	}
	if of == 1 {
		return fmt.Sprintf(Word("lead.failed.one"), counted(of, name))
	}
	return fmt.Sprintf(Word("lead.failed"), number(failed), counted(of, name))
}

// Lead is the first line of the list: of what is on the page, how much failed and when last, and
// how often a thought stood in the text; or the most and the least of what it is sorted by. A
// list with totals begins with these.
func (d listData) Lead() (list []LeadPart) {
	if len(d.Rows) == 0 || d.Sealed || d.Totals != nil {
		return nil
	}
	if d.Filter.Sort != "" {
		first, last := d.Rows[0], d.Rows[len(d.Rows)-1]
		text := d.Column + ": " + d.Fact(first.Fact)
		if first.Fact != last.Fact {
			text += " … " + d.Fact(last.Fact)
		}
		return []LeadPart{{Text: text}, {Text: Word("lead.first"), Link: d.LinkTo(first), Name: first.Model, Time: first.Time}}
	}
	failed, leaked, alike := 0, 0, true
	var newest *view.Row
	for i := range d.Rows {
		row := &d.Rows[i]
		if view.FailedOutcome(row.Outcome) {
			if failed++; newest == nil {
				newest = row
			}
			alike = alike && row.Outcome == newest.Outcome
		}
		if row.Leaked > 0 {
			leaked++
		}
	}
	f := d.Filter.Bare()
	part := LeadPart{Text: FailedOf(failed, len(d.Rows), "list.page")}
	if failed > 0 && alike && f.Outcome == "" {
		to := f
		to.Outcome = newest.Outcome
		part.Link = withQuery("exchanges", to.Values())
	}
	list = append(list, part)
	if newest != nil {
		list = append(list, LeadPart{Text: Word("lead.newest"), Link: d.LinkTo(*newest), Name: newest.Model, Time: newest.Time})
	}
	if leaked > 0 {
		part := LeadPart{Text: fmt.Sprintf(Word("lead.leaked"), number(leaked))}
		if !f.Leaked {
			to := f
			to.Leaked = true
			part.Link = withQuery("exchanges", to.Values())
		}
		list = append(list, part)
	}
	return list
}
