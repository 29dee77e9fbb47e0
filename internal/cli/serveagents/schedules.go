package serveagents

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	_ "time/tzdata" // a replica must know the zones of its files, whatever its machine has

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/agents/schedule"
	"github.com/sotto-llm/sotto/internal/agents/scheduler"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/cli/agentpart"
	"github.com/sotto-llm/sotto/internal/data/transact"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// agentFiles are the files of agents that settings name, each once.
func agentFiles(s *settings.Setup) (list []string) {
	all := s.Agents
	if s.A2A.On && s.A2A.Agent != "" {
		all = append(all[:len(all):len(all)], s.A2A.Agent)
	}
	for _, name := range all {
		known := false
		for _, other := range list {
			known = known || files.SameFile(name, other)
		}
		if !known {
			list = append(list, name)
		}
	}
	return list
}

// jobsIn returns the schedules of files. named returns the agent of a file; nil where its name
// alone is needed.
func jobsIn(list []string, named func(string) *agent.Agent) (jobs []scheduler.Job, err error) {
	var all []error
	of := map[string]string{} // file by the name of its agent
	for _, file := range list {
		c, err := agent.ReadConfig(file)
		var schedules []agent.Schedule
		if err == nil {
			schedules, err = c.Schedules()
		}
		if err != nil {
			all = append(all, faultsIn(err)...)
			continue
		}
		a := named(file)
		if a == nil {
			a = &agent.Agent{Name: c.Name}
		}
		if other := of[a.Name]; other != "" && len(schedules) > 0 {
			all = append(all, fmt.Errorf("%s: the agent of %s is called %s too: with schedules, both need names of their own", file, other, a.Name))
			continue
		}
		if len(schedules) > 0 {
			of[a.Name] = file
		}
		for _, one := range schedules {
			jobs = append(jobs, scheduler.Job{Agent: a, Schedule: one})
		}
	}
	return jobs, errors.Join(all...)
}

// faultsIn are the faults in the file of an agent, one by one.
func faultsIn(err error) (list []error) {
	all, ok := errors.AsType[*agent.ConfigError](err)
	if !ok {
		return []error{err}
	}
	for _, f := range all.Faults {
		list = append(list, f)
	}
	return list
}

// errNowhere is the error of schedules that could not be kept.
var errNowhere = errorhint.Usage(errors.New("an agent has a schedule, and there is no folder for what is known of it"), "name a folder with --data DIR, or a store of replicas with --shared")

// keeperOf is where what is known of schedules is kept: in the store that replicas share, or in
// the data folder. It is nil if there is neither.
func keeperOf(s *settings.Setup, shared transact.Level) (scheduler.Keeper, error) {
	switch {
	case shared != nil:
		space, err := transact.New(shared, s.Gateway.SharedSecret, "schedules", scheduler.Limits())
		return scheduler.Shared{Space: space}, err
	case s.Gateway.Data != "":
		return scheduler.Folder(filepath.Join(s.Gateway.Data, "schedules")), nil
	}
	return nil, nil
}

// Schedules returns what is known of the schedules of the agents.
func (Part) Schedules(s *settings.Setup, shared transact.Level) ([]schedule.Status, error) {
	jobs, err := jobsIn(agentFiles(s), func(string) *agent.Agent { return nil })
	if err != nil || len(jobs) == 0 {
		return []schedule.Status{}, err
	}
	keeper, err := keeperOf(s, shared)
	if err != nil {
		return nil, err
	}
	if keeper == nil {
		return nil, errNowhere
	}
	return scheduler.StatusOf(keeper, jobs, time.Now())
}

// A timed is the schedules of the agents of a gateway.
type timed struct {
	files  []string
	of     map[string]*agent.Agent // by the file
	keeper scheduler.Keeper        // nil if there is no place
	runs   *scheduler.Scheduler
}

// Schedule gives agents their tasks when they are due.
func (a *agents) Schedule(at *agentpart.Front) (agentpart.Schedules, error) {
	t := &timed{files: agentFiles(at.Settings), of: map[string]*agent.Agent{}}
	if a.a2a != nil {
		t.of[at.Settings.A2A.Agent] = a.a2a
	}
	for i, one := range a.served {
		t.of[at.Settings.Agents[i]] = one
	}
	var err error
	if t.keeper, err = keeperOf(at.Settings, at.Shared); err != nil {
		return nil, err
	}
	t.runs = scheduler.New(scheduler.Options{Keeper: t.keeper, Record: at.Record, Log: at.Log})
	use, err := t.Reread()
	if err != nil {
		return nil, err
	}
	use()
	return t, nil
}

// Files are the files that have them.
func (t *timed) Files() []string { return t.files }

// Reread reads the files again. The agents themselves stay as they are.
func (t *timed) Reread() (use func(), err error) {
	jobs, err := jobsIn(t.files, func(file string) *agent.Agent { return t.of[file] })
	if err == nil && len(jobs) > 0 && t.keeper == nil {
		err = errNowhere
	}
	return func() { t.runs.Set(jobs) }, err
}

// Drain waits for the runs that are going.
func (t *timed) Drain(ctx context.Context) error { return t.runs.Drain(ctx) }

// Close interrupts the runs that are going.
func (t *timed) Close() { t.runs.Close() }

// Status returns what is known of the schedules.
func (t *timed) Status() ([]schedule.Status, error) {
	if t.keeper == nil {
		return []schedule.Status{}, nil
	}
	return t.runs.Status(time.Now())
}

// checkSchedules adds the faults of schedules that the files alone do not show, and says when
// each is due next.
func checkSchedules(s *settings.Setup, now time.Time) {
	if len(s.Faults) > 0 {
		return
	}
	jobs, err := jobsIn(agentFiles(s), func(string) *agent.Agent { return nil })
	if err == nil && len(jobs) > 0 && s.Gateway.Data == "" && s.Shared == "" {
		err = errNowhere
	}
	if err != nil {
		s.Faults = append(s.Faults, &settings.Fault{Err: err})
		return
	}
	for _, j := range jobs {
		form, err := schedule.Parse(j.When, j.Zone)
		if err != nil {
			continue // the file was checked
		}
		s.Warnings = append(s.Warnings, fmt.Sprintf("the schedule %s of the agent %s is due next at %s", j.Schedule.Name, j.Agent.Name, strings.Join(times(form.Following(now, 3)), ", ")))
	}
}

func times(all []time.Time) (list []string) {
	for _, t := range all {
		list = append(list, t.Format(time.RFC3339))
	}
	return list
}
