package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/agents/schedule"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

func parse(t *testing.T, form, zone string) *schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(form, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const layout = "2006-01-02 15:04:05 -0700"

// TestNext shows what is due after a time, on the days when clocks are changed and on others.
func TestNext(t *testing.T) {
	for _, c := range []struct{ form, zone, after, want string }{
		{"every 15m", "Asia/Kathmandu", "2026-03-01 10:00:00 +0000", "2026-03-01 10:15:00 +0000"},
		{"every 1h", "Europe/Berlin", "2026-03-29 00:00:00 +0000", "2026-03-29 01:00:00 +0000"},
		{"at 06:30", "", "2026-03-01 06:30:00 +0000", "2026-03-02 06:30:00 +0000"},
		{"at 06:30 on monday", "", "2026-03-01 00:00:00 +0000", "2026-03-02 06:30:00 +0000"},
		{"AT 06:30, 18:30 ON Sat-Sun", "", "2026-03-07 07:00:00 +0000", "2026-03-07 18:30:00 +0000"},
		{"at 02:30", "Europe/Berlin", "2026-03-28 12:00:00 +0100", "2026-03-29 03:00:00 +0200"},          // left out
		{"at 02:30", "Europe/Berlin", "2026-10-25 00:00:00 +0200", "2026-10-25 02:30:00 +0200"},          // the first of two
		{"at 02:30", "Europe/Berlin", "2026-10-25 02:30:00 +0200", "2026-10-26 02:30:00 +0100"},          // … and not the second
		{"*/30 * * * *", "Europe/Berlin", "2026-10-25 02:30:00 +0200", "2026-10-25 02:00:00 +0100"},      // both
		{"15 */2 * * *", "Europe/Berlin", "2026-03-29 00:30:00 +0100", "2026-03-29 04:15:00 +0200"},      // left out
		{"*/15 2 * * *", "Europe/Berlin", "2026-03-29 03:00:00 +0200", "2026-03-30 02:00:00 +0200"},      // once for all
		{"at 00:15", "America/Sao_Paulo", "2018-11-03 12:00:00 -0300", "2018-11-04 01:00:00 -0200"},      // no midnight
		{"at 06:30 on friday", "Pacific/Apia", "2011-12-29 12:00:00 -1000", "2011-12-31 00:00:00 +1400"}, // no such day
		{"0 0 29 2 *", "", "2026-03-01 00:00:00 +0000", "2028-02-29 00:00:00 +0000"},                     // leap year
		{"0 0 29 2 *", "", "2096-03-01 00:00:00 +0000", "2104-02-29 00:00:00 +0000"},                     // not 2100
		{"0 0 29 2 */6", "", "2026-01-01 00:00:00 +0000", "2032-02-29 00:00:00 +0000"},                   // a Sunday or a Saturday
		{"0 12 13 * fri", "", "2026-03-01 00:00:00 +0000", "2026-03-06 12:00:00 +0000"},                  // either
		{"0 12 */2 * fri", "", "2026-03-01 00:00:00 +0000", "2026-03-13 12:00:00 +0000"},                 // both
		{"5-30/10,59 23 31 jan,dec 0-7", "", "2026-01-31 23:26:00 +0000", "2026-01-31 23:59:00 +0000"},   //
		{"0 9 * * sat-sun", "", "2026-03-07 09:00:00 +0000", "2026-03-08 09:00:00 +0000"},                //
		{"0 9 * * 5-7", "", "2026-03-07 09:00:00 +0000", "2026-03-08 09:00:00 +0000"},                    //
		{"30 0 * * *", "America/St_Johns", "2010-11-06 12:00:00 -0230", "2010-11-07 00:30:00 -0330"},     // put back at 00:01
		{"0 0 * * *", "America/St_Johns", "2010-11-06 12:00:00 -0230", "2010-11-07 00:00:00 -0230"},      // the first midnight
		{"at 02:10", "Australia/Lord_Howe", "2026-10-03 12:00:00 +1030", "2026-10-04 02:30:00 +1100"},    // half an hour
	} {
		after, err := time.Parse(layout, c.after)
		if err != nil {
			t.Fatal(err)
		}
		if got := parse(t, c.form, c.zone).Next(after); !got.Equal(mustTime(t, c.want)) {
			t.Errorf("%s in %q after %s: %s, want %s", c.form, c.zone, c.after, got.Format(layout), c.want)
		}
	}
}

func mustTime(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(layout, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestFaults: what is not a form, and what never comes, is an error that says what is wrong.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ form, zone, want string }{
		{"", "", "want a form"},
		{"every", "", "want a time such as"},
		{"every 500ms", "", "whole seconds"},
		{"every 1.5s", "", "whole seconds"},
		{"every -5m", "", "whole seconds"},
		{"every 9000h", "", "whole seconds"},
		{"at 6:30", "", "time of day"},
		{"at 24:00", "", "time of day"},
		{"at 06:30 on noday", "", "day of the week"},
		{"at 06:30 on */2", "", "names of days"},
		{"at 06:30, 18:00", "", "same minute"},
		{"at " + strings.Repeat("06:30,", 25) + "07:30", "", "24 at most"},
		{"* * * *", "", "five fields"},
		{"* * * * * *", "", "five fields"},
		{"60 * * * *", "", "minute \"60\": want a number from 0 to 59"},
		{"* 24 * * *", "", "hour"},
		{"* * 0 * *", "", "day of the month"},
		{"* * * 13 *", "", "month"},
		{"* * * * 8", "", "day of the week"},
		{"+5 * * * *", "", "minute"},
		{"1,, * * * *", "", "minute"},
		{"5/15 * * * *", "", "a step needs"},
		{"*/0 * * * *", "", "the step"},
		{"*/99 * * * *", "", "the step"},
		{"30-10 * * * *", "", "backwards"},
		{"* * * * fri-mon", "", "backwards"},
		{"0 0 30 2 *", "", "no such date"},
		{"0 0 31 4,6,9,11 *", "", "no such date"},
		{"0 0 31 feb */2", "", "no such date"},
		{"@daily", "", "five fields"},
		{"0 0 L * *", "", "day of the month"},
		{strings.Repeat("1,", 200) + "1 * * * *", "", "256 at most"},
		{"at 06:30", "Europe/Nowhere", "name of a zone"},
		{"at 06:30", "Local", "depends on the machine"},
		{"at 06:30", "../../etc/passwd", "name of a zone"},
	} {
		if s, err := schedule.Parse(c.form, c.zone); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q in %q: %v, %v, want an error with %q", c.form, c.zone, s, err, c.want)
		}
	}
}

// A line is one of a crontab, which is kept in a way that the parser does not know.
type line struct {
	fields [5]string
	has    [5]map[int]bool
}

var bounds = [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}

// randomLine makes a line. Often a field is *.
func randomLine(r *rand.Rand) (l line) {
	for i, b := range bounds {
		l.has[i] = map[int]bool{}
		add := func(from, to, step int) {
			for n := from; n <= to; n += step {
				l.has[i][n] = true
			}
		}
		number := func() int { return b[0] + r.IntN(b[1]-b[0]+1) }
		switch r.IntN(5) {
		case 0, 1:
			l.fields[i] = "*"
			add(b[0], b[1], 1)
		case 2:
			step := 1 + r.IntN(b[1])
			l.fields[i] = "*/" + strconv.Itoa(step)
			add(b[0], b[1], step)
		default:
			var parts []string
			for range 1 + r.IntN(3) {
				from := number()
				to, step := from+r.IntN(b[1]-from+1), 1+r.IntN(3)
				if r.IntN(2) == 0 {
					to, step = from, 1
					parts = append(parts, strconv.Itoa(from))
				} else {
					parts = append(parts, fmt.Sprintf("%d-%d/%d", from, to, step))
				}
				add(from, to, step)
			}
			l.fields[i] = strings.Join(parts, ",")
		}
	}
	return l
}

func (l line) String() string { return strings.Join(l.fields[:], " ") }

// shows reports whether a line has a time that a clock shows, which is given as if it were UTC.
func (l line) shows(minutes int64) bool {
	t := time.Unix(minutes*60, 0).UTC()
	inMonth, inWeek := l.has[2][t.Day()], l.has[4][int(t.Weekday())]
	day := inMonth && inWeek
	if l.fields[2][0] != '*' && l.fields[4][0] != '*' {
		day = inMonth || inWeek
	}
	return day && l.has[0][t.Minute()] && l.has[1][t.Hour()] && l.has[3][int(t.Month())]
}

// due looks at each minute, and returns those in (after, until] that are due.
func (l line) due(zone *time.Location, after, until time.Time) (list []int64) {
	seen := map[int64]bool{}
	steady := l.fields[1][0] == '*'
	last := int64(0)
	for at := after.Unix()/60*60 - 2*24*60*60; at <= until.Unix(); at += 60 {
		_, offset := time.Unix(at, 0).In(zone).Zone()
		shown := (at + int64(offset)) / 60
		is := l.shows(shown) && (steady || !seen[shown])
		for left := last + 1; !steady && last > 0 && left < shown; left++ {
			is = is || l.shows(left)
		}
		if is && at > after.Unix() {
			list = append(list, at)
		}
		seen[shown], last = true, shown
	}
	return list
}

// changes are days around which the clocks of zones are changed, in each way that there is.
var changes = []struct{ zone, day string }{
	{"Europe/Berlin", "2026-03-29"}, {"Europe/Berlin", "2026-10-25"}, {"America/New_York", "2027-03-14"}, {"America/New_York", "2027-11-07"},
	{"Australia/Lord_Howe", "2026-04-05"}, {"Australia/Lord_Howe", "2026-10-04"}, {"Pacific/Apia", "2011-12-30"}, {"Pacific/Apia", "2012-04-01"},
	{"America/Sao_Paulo", "2018-11-04"}, {"America/Sao_Paulo", "2018-02-18"}, {"America/Havana", "2026-11-01"}, {"America/St_Johns", "2010-11-07"},
	{"America/St_Johns", "2011-03-13"}, {"Antarctica/Troll", "2026-03-29"}, {"Antarctica/Troll", "2026-10-25"}, {"Africa/Casablanca", "2026-02-15"},
	{"Pacific/Kwajalein", "1993-08-21"}, {"Asia/Pyongyang", "2018-05-05"}, {"Asia/Kathmandu", "1986-01-01"}, {"America/Caracas", "2016-05-01"}, {"UTC", "2024-02-29"},
}

// TestAgainstEachMinute: Next gives what a look at each minute gives, around changes of clocks.
func TestAgainstEachMinute(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range effort.Times() {
		for _, c := range changes {
			zone, err := time.LoadLocation(c.zone)
			if err != nil {
				t.Fatal(err)
			}
			day, err := time.ParseInLocation(time.DateOnly, c.day, zone)
			if err != nil {
				t.Fatal(err)
			}
			l := randomLine(r)
			s, err := schedule.Parse(l.String(), c.zone)
			if err != nil {
				if !strings.Contains(err.Error(), "no such date") {
					t.Fatal(err)
				}
				continue
			}
			after := day.Add(-time.Duration(r.IntN(48*60*60)) * time.Second)
			until := after.Add(4 * 24 * time.Hour)
			want := l.due(zone, after, until)
			var got []int64
			for at := s.Next(after); !at.After(until); at = s.Next(at) {
				got = append(got, at.Unix())
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s in %s after %s: %s", l, c.zone, after.Format(layout), firstDifference(got, want, zone))
			}
			if n := s.Count(after, until, 1e6); n != len(want) {
				t.Fatalf("%s in %s: %d are counted, want %d", l, c.zone, n, len(want))
			}
			last := s.Latest(after, until)
			if len(want) == 0 != last.IsZero() || len(want) > 0 && last.Unix() != want[len(want)-1] {
				t.Fatalf("%s in %s: the latest is %s", l, c.zone, last.Format(layout))
			}
		}
	}
}

func firstDifference(got, want []int64, zone *time.Location) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return "nothing, want " + time.Unix(want[i], 0).In(zone).Format(layout)
		case i >= len(want):
			return time.Unix(got[i], 0).In(zone).Format(layout) + ", want nothing"
		case got[i] != want[i]:
			return time.Unix(got[i], 0).In(zone).Format(layout) + ", want " + time.Unix(want[i], 0).In(zone).Format(layout)
		}
	}
	return ""
}

// FuzzParse: a form that is taken has a next time after every time, which comes again from
// just before it, and a later time does not have an earlier one. Its own text means the same.
func FuzzParse(f *testing.F) {
	for _, form := range []string{"every 90s", "at 06:30, 07:30 on mon-fri", "*/15 8-18/2 1,15 jan-jun sun", "0 0 29 2 *", "0 0 30 2 *"} {
		f.Add(form, "Europe/Berlin", int64(1774745999), int64(3600))
	}
	f.Fuzz(func(t *testing.T, form, zone string, unix, later int64) {
		s, err := schedule.Parse(form, zone)
		if err != nil {
			return
		}
		const century = 100 * 366 * 24 * 60 * 60
		at := time.Unix(unix%century, 0)
		next := s.Next(at)
		if !next.After(at) {
			t.Fatalf("%q after %v: %v", form, at, next)
		}
		if again := s.Next(next.Add(-time.Second)); !again.Equal(next) {
			t.Fatalf("%q: %v, and from a second before %v", form, next, again)
		}
		if then := s.Next(at.Add(time.Duration(later%century) * time.Second).Add(0)); later%century >= 0 && then.Before(next) {
			t.Fatalf("%q: %v after %v, and %v after a later time", form, next, at, then)
		}
		if same, err := schedule.Parse(s.String(), zone); err != nil || !same.Next(at).Equal(next) {
			t.Fatalf("%q: its text %q means something else: %v", form, s, err)
		}
	})
}
