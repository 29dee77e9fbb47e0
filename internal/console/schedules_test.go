package console_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/agents/schedule"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/lab/screens"
)

// The page of schedules has their next times and their runs. A run of this record has a link, one of
// another record has none, and a text of an agent is a text. A store that cannot be reached is said.
func TestSchedules(t *testing.T) {
	due := time.Date(2026, 3, 2, 6, 30, 0, 0, time.UTC)
	list := []schedule.Status{{
		Agent: "clerk", Name: "morning", When: "at 06:30", Zone: "Europe/Berlin", Next: []time.Time{due.Add(24 * time.Hour)},
		Past: []schedule.Run{
			{Due: due, Outcome: "answered", Began: due, Ended: due.Add(time.Minute), Run: "clerk:own", Record: "this", Processes: 2, Answer: "<b>Rain</b>"},
			{Due: due, Until: due.Add(time.Hour), Times: 3, Outcome: schedule.Missed},
			{Due: due, Outcome: "failed", Run: "clerk:other", Record: "that", Processes: 1, Fault: "no model"},
		},
	}, {Agent: "clerk", Name: "never", When: "every 1h", Zone: "UTC", Past: []schedule.Run{}}}
	var fault error
	shown := &console.Schedules{Record: "this", Status: func() ([]schedule.Status, error) { return list, fault }}
	base := serve(t, withLab(console.Config{Record: consoletest.Store(t, consoletest.Scripted(t)), Schedules: shown}, screens.Config{}), "/p/")
	_, page := get(t, base+"schedules")
	for _, want := range []string{"clerk · morning", "Europe/Berlin", `datetime="2026-03-03T06:30:00Z"`, `href="runs/clerk:own"`, "2 processes", "3 times", "&lt;b&gt;Rain", "no model", "Nothing was due yet."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "runs/clerk:other") || strings.Contains(page, "<b>Rain") {
		t.Error(page)
	}
	if _, text := get(t, base+"schedules?format=json"); !strings.Contains(text, `"until":"2026-03-02T07:30:00Z"`) || !strings.Contains(text, `"v":1`) {
		t.Error(text)
	}
	fault = errors.New("away")
	if resp, _ := get(t, base+"schedules"); resp.StatusCode != 500 {
		t.Error(resp.Status)
	}
	plain := serve(t, console.Config{Record: consoletest.Store(t, consoletest.Scripted(t))}, "/p/")
	if resp, page := get(t, plain+"schedules"); resp.StatusCode != 404 || strings.Contains(page, ">Schedules<") {
		t.Errorf("%s: a console without agents has the screen", resp.Status)
	}
}
