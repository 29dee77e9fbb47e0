package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/agents/schedule"
)

// A ScheduleConfig is a task that an agent gets by the clock, where a gateway serves it.
type ScheduleConfig struct {
	Name   string        `yaml:"name"`
	When   string        `yaml:"when"`
	Zone   string        `yaml:"zone"`
	Task   string        `yaml:"task"`
	Missed string        `yaml:"missed"`
	Time   time.Duration `yaml:"time"`
}

// The bounds of schedules.
const (
	maxSchedules     = 32
	maxTask          = 64 << 10 // bytes
	defaultScheduled = time.Hour
	maxScheduled     = 7 * 24 * time.Hour
)

// A Schedule says when an agent gets a task without being asked. The form of When, for the
// clock of Zone, is in docs/howto/schedule-an-agent.md.
type Schedule struct {
	Name, When, Zone, Task string
	// SkipMissed says that times at which no gateway ran are not made up for. Otherwise the
	// last of them is.
	SkipMissed bool
	// Time is how long a run may take.
	Time time.Duration
}

// Schedules returns the schedules of a file, without opening what its agent uses.
func (c *Config) Schedules() ([]Schedule, error) {
	b := c.builder(Dependencies{})
	return b.schedules(), b.err()
}

// Confirms reports whether the agent has calls that need a person's consent.
func (c *Config) Confirms() bool {
	return len(c.MemoryConfirm) > 0 ||
		slices.ContainsFunc(c.Tools, func(t ToolConfig) bool { return t.Confirm || len(t.ConfirmTools) > 0 }) ||
		slices.ContainsFunc(c.Agents, func(a AgentConfig) bool { return a.Confirm })
}

func (b *builder) schedules() (list []Schedule) {
	all := b.c.Schedule
	if len(all) > maxSchedules {
		b.fault("schedule", "%d schedules: want %d at most", len(all), maxSchedules)
		return nil
	}
	for i, c := range all {
		path := fmt.Sprintf("schedule[%d]", i)
		if err := checkName(c.Name); err != nil {
			b.fault(path+".name", "%w", err)
		} else if slices.ContainsFunc(all[:i], func(other ScheduleConfig) bool { return other.Name == c.Name }) {
			b.fault(path+".name", "%q: another schedule has this name", c.Name)
		}
		if _, err := schedule.ParseZone(c.Zone); err != nil {
			b.fault(path+".zone", "%w", err)
		} else if _, err := schedule.Parse(c.When, c.Zone); err != nil {
			b.fault(path+".when", "%w", err)
		}
		switch {
		case strings.TrimSpace(c.Task) == "":
			b.fault(path+".task", "want the text that the agent gets")
		case len(c.Task) > maxTask:
			b.fault(path+".task", "it has %d bytes: want %d at most", len(c.Task), maxTask)
		}
		b.among(path+".missed", c.Missed, "once", "skip")
		if c.Time < 0 || c.Time > maxScheduled || c.Time > 0 && c.Time < time.Second {
			b.fault(path+".time", "want a time from 1s to %v", maxScheduled)
		}
		s := Schedule{Name: c.Name, When: c.When, Zone: c.Zone, Task: c.Task, SkipMissed: c.Missed == "skip", Time: c.Time}
		if s.Time == 0 {
			s.Time = defaultScheduled
		}
		list = append(list, s)
	}
	return list
}
