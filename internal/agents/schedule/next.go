package schedule

import "time"

// maxYears is how far a search goes. The calendar repeats after 400 years.
const maxYears = 400

// Next returns the first time after t that is due. It is the zero time if there is none in the
// 400 years after t.
func (s *Schedule) Next(t time.Time) time.Time {
	if s.every > 0 {
		return time.Unix((floor(t.Unix(), s.every)+1)*s.every, 0).In(s.zone)
	}
	return s.search(t)
}

// floor divides, and rounds down.
func floor(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// search looks at the days of the clock, from the one before t on: a clock that is put back at
// midnight shows the day before once more. A found day is compared with the next one for the
// same reason.
func (s *Schedule) search(t time.Time) time.Time {
	local := t.In(s.zone)
	day := date{local.Year(), local.Month(), local.Day()}.add(-1)
	for end := day.year + maxYears; day.year <= end; day = s.following(day) {
		if at := s.onDay(day, t); !at.IsZero() {
			if next := s.onDay(day.add(1), t); !next.IsZero() && next.Before(at) {
				at = next
			}
			return at
		}
	}
	return time.Time{}
}

// A date is a day of the calendar.
type date struct {
	year  int
	month time.Month
	day   int
}

func (d date) add(days int) date {
	t := time.Date(d.year, d.month, d.day+days, 12, 0, 0, 0, time.UTC)
	return date{t.Year(), t.Month(), t.Day()}
}

// following returns the day after d, or the first of the next month if nothing is due in that
// of d.
func (s *Schedule) following(d date) date {
	if s.months.has(int(d.month)) {
		return d.add(1)
	}
	t := time.Date(d.year, d.month+1, 1, 12, 0, 0, 0, time.UTC)
	return date{t.Year(), t.Month(), 1}
}

// matches reports whether something is due on a day.
func (s *Schedule) matches(d date) bool {
	if !s.months.has(int(d.month)) {
		return false
	}
	inMonth := s.days.has(d.day)
	inWeek := s.weekdays.has(int(time.Date(d.year, d.month, d.day, 12, 0, 0, 0, time.UTC).Weekday()))
	if s.either {
		return inMonth || inWeek
	}
	return inMonth && inWeek
}

// possible reports whether a day ever matches. A day of the week and 29 February meet within
// 40 years, so the search ends long before its bound.
func (s *Schedule) possible() bool {
	for d := (date{2000, time.January, 1}); d.year <= 2000+maxYears; d = s.following(d) {
		if s.matches(d) {
			return true
		}
	}
	return false
}

// A stretch is a time in which the clock of a zone runs evenly: it shows offset seconds more
// than UTC. from and to are seconds since 1970.
type stretch struct{ from, to, offset int64 }

// stretches returns those that a day of the clock, which begins at midnight as if it were UTC,
// can touch. Clocks are within 26 hours of UTC.
func (s *Schedule) stretches(midnight int64) (list []stretch) {
	const beside = 26 * 60 * 60
	end := midnight + 24*60*60 + beside
	for at := midnight - beside; at < end; {
		t := time.Unix(at, 0).In(s.zone)
		_, offset := t.Zone()
		one := stretch{at, end, int64(offset)}
		if _, until := t.ZoneBounds(); !until.IsZero() && until.Unix() < end {
			one.to = until.Unix()
		}
		list = append(list, one)
		at = one.to
	}
	return list
}

// onDay returns the first time after t that is due on a day of the clock; zero if there is none.
func (s *Schedule) onDay(d date, t time.Time) (first time.Time) {
	if !s.matches(d) {
		return first
	}
	midnight := time.Date(d.year, d.month, d.day, 0, 0, 0, 0, time.UTC).Unix()
	list := s.stretches(midnight)
	if len(list) == 1 { // nearly every day: the times come in their order
		return s.onEvenDay(midnight-list[0].offset, t)
	}
	best, found := int64(0), false
	for h := range 24 {
		for m := range 60 {
			if !s.hours.has(h) || !s.minutes.has(m) {
				continue
			}
			for _, at := range s.moments(list, midnight+int64(h*60+m)*60) {
				if time.Unix(at, 0).After(t) && (!found || at < best) {
					best, found = at, true
				}
			}
		}
	}
	if !found {
		return first
	}
	return time.Unix(best, 0).In(s.zone)
}

// onEvenDay is onDay for a day on which the clock is not changed. It begins at a second.
func (s *Schedule) onEvenDay(begin int64, t time.Time) time.Time {
	for h := max(0, int(floor(t.Unix()-begin, 60*60))); h < 24; h++ {
		if !s.hours.has(h) {
			continue
		}
		for m := range 60 {
			if at := time.Unix(begin+int64(h*60+m)*60, 0); s.minutes.has(m) && at.After(t) {
				return at.In(s.zone)
			}
		}
	}
	return time.Time{}
}

// moments returns when the clock shows a time, which is given as if it were UTC.
func (s *Schedule) moments(list []stretch, shown int64) (moments []int64) {
	for i, one := range list {
		if at := shown - one.offset; one.from <= at && at < one.to {
			moments = append(moments, at)
			if !s.steady {
				return moments
			}
		}
		if s.steady || i == len(list)-1 {
			continue
		}
		if next := list[i+1]; shown-one.offset >= one.to && shown-next.offset < next.from {
			return []int64{next.from} // the clock left it out
		}
	}
	return moments
}

// Latest returns the last time in (after, until] that is due; zero if there is none.
func (s *Schedule) Latest(after, until time.Time) time.Time {
	due := func(from int64) time.Time {
		if next := s.Next(time.Unix(from, 0)); !next.IsZero() && !next.After(until) {
			return next
		}
		return time.Time{}
	}
	low, high := after.Unix(), until.Unix()
	if due(low).IsZero() {
		return time.Time{}
	}
	for low+1 < high { // something is due in (low, until], and nothing in (high, until]
		middle := low + (high-low)/2
		if due(middle).IsZero() {
			high = middle
		} else {
			low = middle
		}
	}
	return due(low)
}

// Count returns how many times in (after, until] are due, at most so many.
func (s *Schedule) Count(after, until time.Time, most int) (n int) {
	for at := s.Next(after); n < most && !at.IsZero() && !at.After(until); at = s.Next(at) {
		n++
	}
	return n
}
