package cli

import (
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/catalogue"
	"github.com/sotto-llm/sotto/internal/files"
)

// taskNames lists the tasks for the help.
func taskNames() string {
	var names []string
	for _, t := range answer.Tasks() {
		names = append(names, t.Name())
	}
	return strings.Join(names, ", ")
}

// An extractor draws candidates from replies.
type extractor struct {
	catalogue.Manner
	task    answer.Task
	problem answer.Problem // as far as every reply shares it
	options answer.Options
}

// readTask reads a task of the user's own.
func readTask(name string) (answer.Task, error) {
	data, err := files.Read("task file", name, files.MaxSettings)
	if err != nil {
		return nil, err
	}
	return answer.ReadTask(name, data)
}

// extract draws the candidate from one reply.
func (e *extractor) extract(r *posed) answer.Extraction {
	o := e.options
	o.Grammar, o.Start, o.End = r.Grammar, r.Start, r.End
	if o.Grammar == sotto.Default() {
		o.Grammar = nil // the same, and known to be
	}
	return answer.Extract(e.task, r.raw, r.problem, o)
}
