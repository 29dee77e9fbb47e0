package servecmd

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sotto-llm/sotto/internal/agents/schedule"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/transact"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// printSchedules lists the schedules of the agents, and their runs.
func (c *Command) printSchedules(sh *shell.Shell, s *settings.Setup) error {
	var level transact.Level
	shared, unshare, err := share(&s.Settings, prometheus.NewRegistry(), s.Gateway.Logger)
	if err != nil {
		return err
	}
	defer unshare()
	if shared != nil {
		level = shared
	}
	list := []schedule.Status{}
	if c.Agents != nil {
		if list, err = c.Agents.Schedules(s, level); err != nil {
			return err
		}
	}
	if c.JSON {
		return shell.PrintJSON(sh.Out, struct {
			V         int               `json:"v"`
			Schedules []schedule.Status `json:"schedules"`
		}{1, list})
	}
	if len(list) == 0 {
		sh.Hintf("no agent has a schedule: see schedule in docs/howto/schedule-an-agent.md")
		return nil
	}
	rows := [][]string{{"SCHEDULE", "WHEN", "DUE", "STARTED", "ENDED", "OUTCOME", "RUN"}}
	for _, st := range list {
		name, when := st.Agent+"/"+st.Name, st.When+" "+st.Zone
		for _, next := range st.Next[:min(1, len(st.Next))] {
			rows = append(rows, []string{name, when, shownTime(next), "-", "-", "next", "-"})
		}
		for _, r := range st.Past {
			outcome := r.Outcome
			if r.Times > 1 {
				outcome += fmt.Sprintf(" (%d times)", r.Times)
			}
			if r.Fault != "" {
				outcome += ": " + shorttext.Escape(string(r.Fault), 80)
			}
			rows = append(rows, []string{name, when, shownTime(r.Due), shownTime(r.Began), shownTime(r.Ended), strings.TrimSpace(outcome), cmp.Or(r.Run, "-")})
		}
	}
	return texttable.Print(sh.Text, rows)
}

// shownTime writes a time, or - for none.
func shownTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
