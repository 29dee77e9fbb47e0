package scoring

import (
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/catalogue"
	"github.com/sotto-llm/sotto/internal/files"
)

// TaskNames lists the tasks for the help.
func TaskNames() string {
	var names []string
	for _, t := range answer.Tasks() {
		names = append(names, t.Name())
	}
	return strings.Join(names, ", ")
}

// An Extractor extracts candidates from replies.
type Extractor struct {
	catalogue.Manner
	Task    answer.Task
	Problem answer.Problem // the parts that all replies share
	Options answer.Options
}

// ReadTask reads a task that the user defines.
func ReadTask(name string) (answer.Task, error) {
	data, err := files.Read("task file", name, files.MaxSettings)
	if err != nil {
		return nil, err
	}
	return answer.ReadTask(name, data)
}

// Extract extracts the candidate from one reply.
func (e *Extractor) Extract(r *Posed) answer.Extraction {
	o := e.Options
	o.Grammar, o.Start, o.End, o.Reasoning = r.Grammar, r.Start, r.End, r.separated
	if o.Grammar == sotto.Default() {
		o.Grammar = nil // the same, but known to be the default
	}
	return answer.Extract(e.Task, r.Raw, r.Problem, o)
}
