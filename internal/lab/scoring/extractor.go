package scoring

import (
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/replyjson"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
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
	dialectset.Manner
	Task    answer.Task
	Problem answer.Problem // the parts that all replies share
	Options answer.Options
	// With are the members that the object for a reply carries of the reply itself.
	With replyjson.With
}

// Trace distils a reply to the text that memory keeps of a solution.
func (e *Extractor) Trace(p *Posed, candidate string) string {
	work := ""
	if reply, err := p.Grammar.Parse(p.Raw, p.Start, p.End); err == nil {
		work = answer.Work(e.Task, p.Problem, candidate, reply.Visible())
	}
	return answer.Trace(e.Task, p.Problem, candidate, work)
}

// AppendCarried appends what the object for a reply carries of the reply.
func (e *Extractor) AppendCarried(dst []byte, p *Posed) ([]byte, error) {
	c, _, err := e.With.Carry(p.Raw, p.separated, replyjson.MaxCarried, func() (*sotto.Reply, error) { return p.Grammar.Parse(p.Raw, p.Start, p.End) })
	return c.Append(dst), err
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
	o.Grammar, o.Start, o.End = r.Grammar, r.Start, r.End
	if o.FromReasoning {
		o.Reasoning = r.separated
	}
	if o.Grammar == sotto.Default() {
		o.Grammar = nil // the same, but known to be the default
	}
	return answer.Extract(e.Task, r.Raw, r.Problem, o)
}
