package servecmd

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agentfile"
	"github.com/sotto-llm/sotto/internal/agentmodel"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/conversation"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/internal/settings"
	"github.com/sotto-llm/sotto/record"
)

// agents are those that a gateway serves.
type agents struct {
	served []*agent.Agent // as models
	a2a    *agent.Agent   // over A2A; nil for none
}

// agents reads the files of all agents.
func (c *Command) agents(sh *shell.Shell, s *settings.Setup) (all agents, err error) {
	defer func() {
		if err != nil {
			_ = all.close()
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
	all.a2a, err = c.a2aAgent(sh, s)
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
		return nil, hint.Add(fmt.Errorf("%s: %w", name, err), "only a run, a chat and a conversation that is kept have a memory, so that no agent that it calls can need it")
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
	if len(c.Memory) > 0 {
		list = append(list, fmt.Sprintf("%s: memory: only a conversation that is kept has one: see docs/agent.md", name))
	}
	return list
}

// checkAgents adds the faults in the files of agents.
func (c *Command) checkAgents(sh *shell.Shell, s *settings.Setup) {
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

// secrets are the values that no record may hold.
func (a *agents) secrets() []string {
	var list []string
	for _, one := range a.all() {
		list = append(list, one.Secrets...)
	}
	return list
}

// close ends what the agents started.
func (a *agents) close() error {
	var list []error
	for _, one := range a.all() {
		list = append(list, one.Close())
	}
	return errors.Join(list...)
}

// models puts the agents before the upstream of a gateway. Conversations are kept in the
// store that replicas share, or in the data folder.
func (a *agents) models(s *settings.Settings, kept *record.Writer, shared conversation.Level, log *slog.Logger) (*agentmodel.Models, error) {
	g := &s.Gateway
	m := &agentmodel.Models{Base: gateway.UpstreamTransport(g.Limits), Agents: a.served, Record: kept, Log: log}
	if g.Data != "" || shared != nil {
		m.Kept = &conversation.Store{Folder: filepath.Join(g.Data, "conversations"), Limits: s.Conversations, Secrets: record.NewSecrets(a.secrets()...)}
	}
	if shared != nil {
		if err := m.Kept.Share(shared, g.SharedSecret); err != nil {
			return nil, err
		}
	}
	if len(a.served) > 0 {
		g.Transport, g.Separated = m, m.Has
	}
	for _, one := range a.served {
		log.Info("an agent is served", "model", agentmodel.Prefix+one.Name)
	}
	return m, nil
}
