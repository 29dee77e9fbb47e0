package agent

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/spelling"
	"github.com/sotto-llm/sotto/model"
)

// maxAgents bounds the agents of a file. Each may name all others, to the depth of
// maxDepth.
const maxAgents = 32

// agents returns the agents of the file, with the agents that each may call.
func (b *builder) agents(parent model.Model) []Subagent {
	if len(b.c.Agents) > maxAgents {
		b.fault(fmt.Sprintf("agents[%d]", maxAgents), "want %d agents at most", maxAgents)
		return nil
	}
	list := make([]Subagent, len(b.c.Agents))
	for i := range list {
		list[i] = b.agent(agentPath(i), &b.c.Agents[i], parent)
	}
	l := linker{builder: b, all: list, said: map[string]bool{}}
	linked := slices.Clone(list)
	for i := range linked {
		linked[i].Agents = l.below([]int{i})
	}
	return linked
}

// agentPath is the path of an agent of the file.
func agentPath(i int) string { return fmt.Sprintf("agents[%d]", i) }

// A linker finds the agents that agents name.
type linker struct {
	*builder
	all  []Subagent
	said map[string]bool // faults that were reported
}

func (l *linker) once(path, format string, args ...any) {
	if !l.said[path] {
		l.said[path] = true
		l.fault(path, format, args...)
	}
}

// below returns the agents that the last of a chain of agents may call. Each agent
// of the chain calls the next one.
func (l *linker) below(chain []int) []Subagent {
	i := chain[len(chain)-1]
	if len(chain) == maxDepth {
		l.chatBelow(i)
	}
	var list []Subagent
	for j, name := range l.c.Agents[i].Agents {
		path := fmt.Sprintf("agents[%d].agents[%d]", i, j)
		k := slices.IndexFunc(l.all, func(a Subagent) bool { return a.Name == name })
		switch {
		case k < 0:
			l.once(path, "%q: there is no such agent%s", name, insteadOf(name, l.names()))
		case slices.Contains(l.c.Agents[i].Agents[:j], name):
			l.once(path, "%q appears twice", name)
		case slices.Contains(chain, k):
			if circle := chain[slices.Index(chain, k):]; slices.Min(circle) == k { // else it is found from there
				l.once(path, "%q: agents that call each other in a circle never end: %s", name, l.circle(circle))
			}
		case len(chain) >= maxDepth:
			l.once(path, "%q: agents nest deeper than %d levels", name, maxDepth)
		default:
			a := l.all[k]
			a.Agents = l.below(append(slices.Clip(chain), k))
			list = append(list, a)
		}
	}
	return list
}

func (l *linker) names() []string {
	var list []string
	for i := range l.all {
		list = append(list, l.all[i].Name)
	}
	return list
}

// circle writes who calls whom.
func (l *linker) circle(chain []int) string {
	var names []string
	for _, i := range append(slices.Clip(chain), chain[0]) {
		names = append(names, l.all[i].Name)
	}
	return strings.Join(names, " calls ")
}

func (b *builder) agent(path string, a *AgentConfig, parent model.Model) Subagent {
	s := Subagent{Name: a.Name, Description: a.Description, System: a.System, Start: sotto.Beginning(a.Start), Calls: CallMode(a.Calls), Tools: a.Tools, Limits: a.Limits.limits()}
	if err := s.check(1); err != nil {
		b.fault(path+".name", "%v", err)
	}
	if a.Confirm {
		b.confirm = append(b.confirm, a.Name)
	}
	b.among(path+".calls", a.Calls, "native", "text", "both")
	b.limits(path+".limits", a.Limits)
	if !reflect.ValueOf(a.Model).IsZero() {
		s.Model, s.API, s.Request = b.model(path+".model", a.Model)
		b.opens(s.Model)
	}
	switch {
	case s.Model != nil:
		s.Grammar = b.grammar(path+".dialect", a.Dialect, a.Start, s.Model)
	case a.Dialect != "" || a.Start != "":
		s.Grammar = b.grammar(path+".dialect", cmp.Or(a.Dialect, b.c.Dialect), a.Start, parent)
	}
	return s
}

// insteadOf continues a message about a name that is not among those given.
func insteadOf(name string, given []string) string {
	if len(given) == 0 {
		return ", because there is none at all"
	}
	return ": " + spelling.DidYouMean(name, given, "want some of")
}
