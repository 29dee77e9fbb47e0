// Package serveagents lets a gateway answer as agents: as models of its own, and over A2A.
package serveagents

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/agentfile"
	"github.com/sotto-llm/sotto/internal/agents/agentmodel"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/agentpart"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/serve/settings"
	"github.com/sotto-llm/sotto/record"
)

// Part lets a gateway answer as agents.
type Part struct{}

// Check adds the faults in the settings and the files of agents.
func (Part) Check(sh *shell.Shell, s *settings.Setup) {
	checkFiles(sh, s)
	checkA2A(sh, s)
	checkSchedules(s, time.Now())
}

// Read reads the files of all agents.
func (Part) Read(sh *shell.Shell, s *settings.Setup) (agentpart.Agents, error) {
	all, err := agentsOf(sh, s)
	if err != nil {
		return nil, err
	}
	return &all, nil
}

// agents are those that a gateway serves.
type agents struct {
	served []*agent.Agent // as models
	a2a    *agent.Agent   // over A2A; nil for none
}

// agentsOf reads the files of all agents.
func agentsOf(sh *shell.Shell, s *settings.Setup) (all agents, err error) {
	defer func() {
		if err != nil {
			_ = all.Close()
		}
	}()
	for i, name := range s.Agents {
		a, err := readAgent(name, sh, s)
		if err == nil && slices.ContainsFunc(all.served, func(b *agent.Agent) bool { return b.Name == a.Name }) {
			err = errors.Join(fmt.Errorf("%s: another agent is called %s too", name, a.Name), a.Close())
		}
		if err != nil {
			return all, s.FaultAt(fmt.Sprintf("agents[%d]", i), err)
		}
		all.served = append(all.served, a)
	}
	all.a2a, err = rootAgent(sh, s)
	return all, err
}

// readAgent reads the file of an agent that answers whoever asks: without a memory.
func readAgent(name string, sh *shell.Shell, s *settings.Setup) (*agent.Agent, error) {
	file, err := agent.ReadConfig(name)
	if err != nil {
		return nil, err
	}
	a, err := file.Agent(agentfile.Dependencies(sh.Getenv, s.Gateway.Named))
	if err != nil {
		return nil, err
	}
	if err := a.Check(false); err != nil {
		_ = a.Close()
		return nil, errorhint.Add(fmt.Errorf("%s: %w", name, err), "only a run, a chat and a conversation that is kept have a memory, so that no agent that it calls can need it")
	}
	return a, nil
}

// remarks says which keys of an agent's file have less effect here than in a run.
func remarks(name string) []string {
	c, err := agent.ReadConfig(name)
	if err != nil {
		return nil
	}
	var list []string
	if p := agent.Policy(c.Thoughts.Policy); p != "" && p != agent.Strip {
		what := "no thought of an earlier message returns to the model"
		if p == agent.Keep {
			what += ", only those of the message that it answers"
		}
		list = append(list, fmt.Sprintf("%s: thoughts.policy: %s is for runs: here %s", name, p, what))
	}
	if c.Thoughts.Recall {
		list = append(list, fmt.Sprintf("%s: thoughts.recall: only a run has the tool recall_thoughts", name))
	}
	if len(c.Schedule) > 0 && c.Confirms() {
		list = append(list, fmt.Sprintf("%s: schedule: nobody can be asked in a scheduled run: calls that need a person's consent are refused there", name))
	}
	if len(c.Memory) > 0 {
		list = append(list, fmt.Sprintf("%s: memory: only a conversation that is kept has one: see docs/howto/agent-as-a-model.md", name))
	}
	return list
}

// checkFiles adds the faults in the files of agents.
func checkFiles(sh *shell.Shell, s *settings.Setup) {
	if len(s.Faults) > 0 {
		return
	}
	for _, name := range s.Agents {
		a, err := readAgent(name, sh, s)
		if err == nil {
			err = a.Close()
		}
		if all, ok := errors.AsType[*agent.ConfigError](err); ok {
			for _, f := range all.Faults {
				s.Faults = append(s.Faults, &settings.Fault{Err: f})
			}
		} else if err != nil {
			s.Faults = append(s.Faults, &settings.Fault{Err: err})
		}
		s.Warnings = append(s.Warnings, remarks(name)...)
	}
}

// all lists the agents.
func (a *agents) all() []*agent.Agent {
	return slices.DeleteFunc(append(slices.Clone(a.served), a.a2a), func(a *agent.Agent) bool { return a == nil })
}

// Secrets are the values that no record may hold.
func (a *agents) Secrets() []string {
	var list []string
	for _, one := range a.all() {
		list = append(list, one.Secrets...)
	}
	return list
}

// Close ends what the agents started.
func (a *agents) Close() error {
	var list []error
	for _, one := range a.all() {
		list = append(list, one.Close())
	}
	return errors.Join(list...)
}

// Models puts the agents before the upstream of a gateway.
func (a *agents) Models(s *settings.Settings, kept *record.Writer, talks *conversation.Store, log *slog.Logger) (stop func()) {
	g := &s.Gateway
	m := &agentmodel.Models{Base: gateway.UpstreamTransport(g.Limits), Agents: a.served, Record: kept, Kept: talks, Log: log}
	if len(a.served) > 0 {
		g.Transport, g.Separated = m, m.Has
	}
	for _, one := range a.served {
		log.Info("an agent is served", "model", agentmodel.Prefix+one.Name)
	}
	return m.Close
}
