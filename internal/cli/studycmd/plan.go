package studycmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/agents/agentfile"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// runPlanner plans the cells of a study whose base is an experiment.
func runPlanner(sh *shell.Shell, names *dialectset.Set, f *study.File) (study.Planner, error) {
	base, err := agent.ReadConfig(f.Path(f.Base.Run))
	if err != nil {
		var faults *agent.ConfigError
		if !errors.As(err, &faults) {
			return nil, &study.Faulty{Faults: []yamlfile.Fault{f.BaseFault(err)}}
		}
		return nil, &study.Faulty{Faults: placed(faults, nil)}
	}
	surroundings := agentfile.Dependencies(sh.Getenv, func(name string) (*sotto.Grammar, error) { return names.Named(name) })
	surroundings.MCP = agent.OfflineMCP
	return func(c study.Case) (*study.Plan, error) { return planRun(f, base, surroundings, c) }, nil
}

func planRun(f *study.File, base *agent.Config, surroundings agent.Dependencies, c study.Case) (*study.Plan, error) {
	p := &study.Plan{Args: []string{"run", "--config=" + base.File()}}
	var set []agent.Setting
	for _, s := range c.Settings {
		set = append(set, agent.Setting{Key: s.Key, Value: s.Flow()})
		p.Args = append(p.Args, "--set="+s.Key+"="+s.Flow())
	}
	config, err := base.With(set)
	var x agent.Experiment
	if err == nil {
		config.Name = c.ID
		x, err = config.Experiment(surroundings)
	}
	var faults *agent.ConfigError
	switch {
	case errors.As(err, &faults):
		return nil, &study.Faulty{Faults: placed(faults, c.Settings)}
	case err != nil:
		return nil, err
	}
	if err := x.Close(); err != nil {
		return nil, err
	}
	if by := config.Operator.By; by != "" && by != "none" {
		return nil, &study.Faulty{Faults: []yamlfile.Fault{f.BaseFault(fmt.Errorf("operator.by is %s, and a study has no operator: set it to none, with set beside run", by))}}
	}
	p.Settings = x.Settings
	p.Read, p.Files = config.Files()
	p.Calls = int64(x.Planned()) * int64(cmp.Or(x.Limits.Invocations, agent.DefaultInvocations))
	return p, ask(p, config, surroundings)
}

// placed gives faults that --set has the places in the study's file.
func placed(e *agent.ConfigError, settings []study.Setting) []yamlfile.Fault {
	var list []yamlfile.Fault
	for _, f := range e.Faults {
		fault := yamlfile.Fault{Place: yamlfile.Place{File: f.File, Line: f.Line, Column: f.Column}, Key: f.Key, Err: f.Err}
		key, isSet := strings.CutPrefix(f.File, "--set ")
		i := slices.IndexFunc(settings, func(s study.Setting) bool { return s.Key == key })
		if isSet && i >= 0 {
			if err := f.Err; f.Key == key || f.Key == "" {
				fault = settings[i].Fault(fmt.Errorf("%s: %w", key, err))
			} else {
				fault = settings[i].Fault(fmt.Errorf("%s: %w", f.Key, err))
			}
		}
		list = append(list, fault)
	}
	return list
}

// ask says which server the run needs, and how to ask it.
func ask(p *study.Plan, config *agent.Config, surroundings agent.Dependencies) error {
	models := []agent.ModelConfig{config.Model}
	for _, a := range config.Agents {
		models = append(models, a.Model)
	}
	key, err := json.Marshal([]any{models, config.Advisory, len(config.Tools) > 0 || config.Memory == nil || len(config.Memory) > 0, config.System, config.Goal, config.Calls})
	if err != nil {
		return err
	}
	p.CheckKey = string(key)
	if m := config.Model; m.Provider != "scripted" {
		p.Server, p.Model = cmp.Or(m.URL, m.Provider), m.Name
	}
	p.Check = func(ctx context.Context) error {
		x, err := config.Experiment(surroundings)
		if err != nil {
			return err
		}
		defer x.Close()
		info, err := config.Probe(ctx, &x)
		if err != nil {
			return err
		}
		needs := (len(config.System)+len(config.Goal))/4 + config.Model.MaxTokens // four bytes count as a token
		if info.Window > 0 && needs > info.Window {
			return fmt.Errorf("the system prompt, the goal and a reply need about %d tokens, and the context window has %d (%s)", needs, info.Window, info.From)
		}
		if info.NoTools && config.Calls != "text" && (len(x.Tools) > 0 || len(x.Memory) > 0 || len(x.Agents) > 0) {
			return fmt.Errorf("the server says that %s cannot call tools: set calls: text, or memory: [] and no tools", config.Model.Name)
		}
		return nil
	}
	return nil
}
