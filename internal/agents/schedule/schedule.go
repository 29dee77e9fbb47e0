// Package schedule says when something is due: at regular intervals, at times of the day, or as
// a line of crontab(5) says.
//
//	s, err := schedule.Parse("at 06:30 on monday-friday", "Europe/Berlin")
//	next := s.Next(time.Now())
//
// # Forms
//
//	every 15m                      whole seconds, counted from 1970-01-01 00:00 UTC
//	at 06:30                       each day
//	at 06:30, 18:00 on mon, fri    days by name, or as a range: monday-friday
//	30 6 * * mon-fri               minute, hour, day of the month, month, day of the week
//
// A field of the last form is a list of numbers, names, ranges and *, each of the last two with a
// step: 0-30/10, */15. Sunday is 0 or 7. If neither the day of the month nor the day of the week
// begins with *, either of them is enough; otherwise both must match, as in crontab(5).
//
// # Clocks that are changed
//
// An interval is not affected. A time of day that a clock leaves out, when it is put forward, is
// due at the first moment after the gap. One that comes twice, when the clock is put back, is
// due the first time. Where the hour is * or */N, as in "*/15 * * * *", neither holds: what is
// left out is left out, and what comes twice is due twice, so that the distances stay.
//
// A date that never comes, such as 30 February, is an error of [Parse].
package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxText bounds the bytes of a form, and of the name of a zone.
const MaxText = 256

// The bounds of an interval.
const (
	MinEvery = time.Second
	MaxEvery = 366 * 24 * time.Hour
)

// A Schedule says when something is due. It does not change.
type Schedule struct {
	text string
	zone *time.Location

	every int64 // seconds; 0 if the clock decides

	minutes, hours, days, months, weekdays set
	// either says that a day of the month or a day of the week is enough.
	either bool
	// steady says that the hour is any or each Nth, so that changes of the clock are followed.
	steady bool
}

// A set has a bit for each number from 0 to 59.
type set uint64

func (s set) has(n int) bool { return s>>n&1 == 1 }

// String returns the form.
func (s *Schedule) String() string { return s.text }

// Zone returns the zone of the clock.
func (s *Schedule) Zone() *time.Location { return s.zone }

// Parse reads a form, for the clock of a zone: a name of the IANA's database such as
// Europe/Berlin. If it is empty, the zone is UTC.
func Parse(text, zone string) (*Schedule, error) {
	at, err := ParseZone(zone)
	if err != nil {
		return nil, err
	}
	if len(text) > MaxText {
		return nil, fmt.Errorf("the form has %d bytes: want %d at most", len(text), MaxText)
	}
	s := &Schedule{text: strings.Join(strings.Fields(text), " "), zone: at}
	word, rest, _ := strings.Cut(s.text, " ")
	switch strings.ToLower(word) {
	case "":
		err = errors.New("want a form such as every 15m, at 06:30, or 30 6 * * mon-fri")
	case "every":
		err = s.interval(rest)
	case "at":
		err = s.times(rest)
	default:
		err = s.crontab(s.text)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// ParseZone returns a zone by its name; UTC for "". The zone of the machine has no name here,
// since another machine may take over.
func ParseZone(name string) (*time.Location, error) {
	switch {
	case name == "":
		return time.UTC, nil
	case strings.EqualFold(name, "local"):
		return nil, fmt.Errorf("%q depends on the machine: want the name of a zone, such as Europe/Berlin", name)
	case len(name) > MaxText:
		return nil, fmt.Errorf("the name of the zone has %d bytes: want %d at most", len(name), MaxText)
	}
	at, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q is not the name of a zone, such as Europe/Berlin or UTC", name)
	}
	return at, nil
}

// interval reads what follows every.
func (s *Schedule) interval(text string) error {
	d, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
	switch {
	case err != nil:
		return fmt.Errorf("every %s: want a time such as 90s, 15m or 24h", text)
	case d < MinEvery || d > MaxEvery || d%time.Second != 0:
		return fmt.Errorf("every %s: want whole seconds, from %v to %v", text, MinEvery, MaxEvery)
	}
	s.every = int64(d / time.Second)
	return nil
}

// maxTimes bounds the times of day of a form.
const maxTimes = 24

// times reads what follows at. The times of day must have one minute or one hour in common, or
// be one: the form is kept as minutes × hours.
func (s *Schedule) times(text string) error {
	clock, days, on := strings.Cut(strings.ToLower(text), " on ")
	list := strings.Split(clock, ",")
	if len(list) > maxTimes {
		return fmt.Errorf("%d times of day: want %d at most", len(list), maxTimes)
	}
	for _, one := range list {
		t, err := time.Parse("15:04", strings.TrimSpace(one))
		if err != nil || len(strings.TrimSpace(one)) != len("15:04") {
			return fmt.Errorf("at %s: want a time of day from 00:00 to 23:59", strings.TrimSpace(one))
		}
		s.hours |= 1 << t.Hour()
		s.minutes |= 1 << t.Minute()
	}
	if n, most := len(list), count(s.hours)*count(s.minutes); most > n {
		return fmt.Errorf("at %s: want times with the same minute, such as 06:30, 18:30, or a schedule for each", clock)
	}
	s.days, s.months, s.weekdays = all(1, 31), all(1, 12), all(0, 6)
	if !on {
		return nil
	}
	if strings.ContainsAny(days, "0123456789*/") {
		return fmt.Errorf("on %s: want names of days, such as monday, friday or monday-friday", days)
	}
	var err error
	if s.weekdays, err = weekday.parse(strings.ReplaceAll(days, " ", "")); err != nil {
		return err
	}
	s.weekdays = sundays(s.weekdays)
	return nil
}

func count(s set) (n int) {
	for ; s != 0; s &= s - 1 {
		n++
	}
	return n
}

func all(from, to int) (s set) {
	for n := from; n <= to; n++ {
		s |= 1 << n
	}
	return s
}

// sundays makes the 7 that stands for Sunday a 0.
func sundays(s set) set {
	if s.has(7) {
		s |= 1
	}
	return s &^ (1 << 7)
}

// A field is one of a line of crontab.
type field struct {
	what     string
	from, to int
	names    []string // of the numbers from from on, in full
}

var (
	minute   = field{"minute", 0, 59, nil}
	hour     = field{"hour", 0, 23, nil}
	monthDay = field{"day of the month", 1, 31, nil}
	month    = field{"month", 1, 12, []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}}
	weekday  = field{"day of the week", 0, 7, []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}}
)

// crontab reads five fields.
func (s *Schedule) crontab(text string) error {
	f := strings.Fields(strings.ToLower(text))
	if len(f) != 5 {
		return fmt.Errorf("%q: want every TIME, at HH:MM, or five fields: minute, hour, day of the month, month, day of the week", text)
	}
	for i, to := range []struct {
		field
		set *set
	}{{minute, &s.minutes}, {hour, &s.hours}, {monthDay, &s.days}, {month, &s.months}, {weekday, &s.weekdays}} {
		var err error
		if *to.set, err = to.parse(f[i]); err != nil {
			return err
		}
	}
	s.weekdays = sundays(s.weekdays)
	s.either = !strings.HasPrefix(f[2], "*") && !strings.HasPrefix(f[4], "*")
	s.steady = strings.HasPrefix(f[1], "*")
	if !s.possible() {
		return fmt.Errorf("%q: no such date ever comes", text)
	}
	return nil
}

// parse reads a field.
func (f field) parse(text string) (s set, err error) {
	for part := range strings.SplitSeq(text, ",") {
		more, err := f.part(part)
		if err != nil {
			return 0, fmt.Errorf("%s %q: %w", f.what, part, err)
		}
		s |= more
	}
	return s, nil
}

// part reads a number, a name, a range or *, the last two with a step.
func (f field) part(text string) (s set, err error) {
	of, by, stepped := strings.Cut(text, "/")
	from, to, ranged := strings.Cut(of, "-")
	low, high := f.from, f.to
	switch {
	case of == "*":
		if f.what == weekday.what {
			high = 6 // 7 is Sunday again
		}
	default:
		if low, err = f.number(from); err != nil {
			return 0, err
		}
		high = low
		if ranged {
			if high, err = f.number(to); err != nil {
				return 0, err
			}
			if high == 0 && f.what == weekday.what && low > 0 {
				high = 7 // sat-sun
			}
		}
	}
	step := 1
	if stepped {
		if of != "*" && !ranged {
			return 0, fmt.Errorf("a step needs * or a range, such as %s-%d/%s", of, f.to, by)
		}
		if step, err = strconv.Atoi(by); err != nil || !digits(by) || step < 1 || step > f.to {
			return 0, fmt.Errorf("the step is from 1 to %d", f.to)
		}
	}
	if high < low {
		return 0, errors.New("the range goes backwards: write it as two, with a comma between them")
	}
	for n := low; n <= high; n += step {
		s |= 1 << n
	}
	return s, nil
}

// number reads a number or a name, in full or by three letters.
func (f field) number(text string) (int, error) {
	for i, name := range f.names {
		if text == name || len(text) == 3 && text == name[:3] {
			return f.from + i, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || !digits(text) || n < f.from || n > f.to {
		named := ""
		if f.names != nil {
			named = ", or a name such as " + f.names[1]
		}
		return 0, fmt.Errorf("want a number from %d to %d%s", f.from, f.to, named)
	}
	return n, nil
}

// digits reports whether a number has neither a sign nor more digits than any needs.
func digits(text string) bool {
	return len(text) <= 3 && strings.Trim(text, "0123456789") == ""
}
