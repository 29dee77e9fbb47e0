package agent

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/sotto-llm/sotto/internal/data/yamlfile"
	"github.com/sotto-llm/sotto/model"
)

// Probe asks the servers of all models of the experiment whether they serve them.
// It returns what is known of the experiment's own model. Models without a server
// always answer. [Run] does the same before it begins or resumes a run.
func (x *Experiment) Probe(ctx context.Context) (model.Info, error) {
	info, faults := x.probe(ctx)
	var list []error
	for _, f := range faults {
		list = append(list, f.err)
	}
	return info, errors.Join(list...)
}

// A probeFault is a model that cannot be invoked, and the key of the file that names
// it.
type probeFault struct {
	key string
	err error
}

func (x *Experiment) probe(ctx context.Context) (info model.Info, faults []probeFault) {
	var asked []any
	ask := func(key string, m any) (info model.Info) {
		c, ok := m.(model.Checker)
		if ok && reflect.ValueOf(m).Comparable() {
			ok = !slices.Contains(asked, m)
			asked = append(asked, m)
		}
		if ok {
			var err error
			if info, err = c.Check(ctx); err != nil {
				faults = append(faults, probeFault{key, err})
			}
		}
		return info
	}
	info = ask("model", x.Model)
	if x.Embedder != nil {
		ask("advisory.model", x.Embedder)
	}
	var below func(key string, list []Subagent)
	below = func(key string, list []Subagent) {
		for i := range list {
			at := fmt.Sprintf("%sagents[%d].", key, i)
			if list[i].Model != nil {
				ask(at+"model", list[i].Model)
			}
			below(at, list[i].Agents)
		}
	}
	below("", x.Agents)
	for _, t := range x.Tools {
		if m, ok := t.(*subagentTool); ok {
			ask(m.key, m.Model)
		}
	}
	return info, faults
}

// Probe does what [Experiment.Probe] does for an experiment of this file. If a model
// cannot be invoked, the error is a [*ConfigError] with the line that names it.
func (c *Config) Probe(ctx context.Context, x *Experiment) (model.Info, error) {
	info, faults := x.probe(ctx)
	if len(faults) == 0 {
		return info, nil
	}
	var list []yamlfile.Fault
	for _, f := range faults {
		list = append(list, yamlfile.Fault{Place: c.placeOf(f.key), Key: f.key, Err: f.err})
	}
	return info, configError(list)
}
