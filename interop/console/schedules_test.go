package console

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/agents/schedule"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/screens"
	"github.com/sotto-llm/sotto/record"
)

// schedulesIn are the states of the screen of schedules, each on a console of its own.
func schedulesIn(t *testing.T) map[string]string {
	due := time.Date(2026, 3, 2, 6, 30, 0, 0, time.UTC)
	of := func(name, answer string, runs int) []schedule.Status {
		s := schedule.Status{Agent: "clerk", Name: name, When: "at 06:30 on monday-friday", Zone: "Europe/Berlin", Next: []time.Time{due.Add(24 * time.Hour), due.Add(48 * time.Hour)}}
		for i := range runs {
			at := due.Add(time.Duration(-i) * 24 * time.Hour)
			s.Past = append(s.Past, schedule.Run{Due: at, Outcome: "answered", Began: at, Ended: at.Add(time.Minute), Run: "clerk:q6sfktk3xgqv4n2a", Record: "this", Processes: 1 + i%2, Answer: record.Text(answer)})
		}
		s.Past = append(s.Past, schedule.Run{Due: due.Add(-999 * time.Hour), Until: due.Add(-990 * time.Hour), Times: 9, Outcome: schedule.Missed})
		return []schedule.Status{s}
	}
	lists := map[string][]schedule.Status{
		"empty": {}, "chosen": of("morning", "It rains.", 3), "failed": nil,
		"long":          of(strings.Repeat("averyverylongname", 2), strings.Repeat("averyverylongwordwithoutanyspace", 30), 100),
		"hostile":       of("morning", "</td><script>hacked=1</script>\u202eevil", 2),
		"right to left": of("morning", "המגדל בגובה 553 מטר.", 2),
	}
	bases := map[string]string{}
	for state, list := range lists {
		w, dir := consoletest.Open(t)
		t.Cleanup(func() { w.Close() })
		c := newConsole(console.Config{Record: consoletest.Store(t, dir), Dir: dir, Name: "audit", Schedules: &console.Schedules{Record: "this", Status: func() ([]schedule.Status, error) {
			if list == nil {
				return nil, errors.New("the store cannot be reached")
			}
			return list, nil
		}}}, screens.Config{})
		s := httptest.NewServer(http.StripPrefix("/ops", c))
		t.Cleanup(func() { c.Close(); s.CloseClientConnections(); s.Close() })
		bases["schedules "+state] = s.URL + "/ops/"
	}
	return bases
}
