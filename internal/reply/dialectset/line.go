package dialectset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
)

// The members of a JSON line that say how to read its reply, in the order of
// LineReader.Paths. Of the members from memberReasons on, each is the reason that an
// API gives for the end of a reply. After them come the members of the model.
const (
	memberDialect = iota
	memberStart
	memberEnd
	memberReasons
)

var lineMembers = []string{
	memberDialect: "dialect", memberStart: "start", memberEnd: "end",
	memberReasons: "finish_reason", "stop_reason", "done_reason", "choices.0.finish_reason",
}

// A LineReader reads what JSON lines say about their own replies. It is safe for
// concurrent use.
type LineReader struct {
	Paths [][]jsonpath.Step // of the members that it reads
	names *Set
	field string // of the model, if a flag names it
	// chosen says that flags chose the dialect: the usual members of a model do not.
	chosen bool

	mu      sync.Mutex
	models  map[string]knownModel
	unknown int // lines whose model has no dialect
}

// A knownModel is the dialect of a model. The grammar is nil if the model has no
// dialect.
type knownModel struct {
	grammar *sotto.Grammar
	name    string
}

// maxModels bounds the names of models that are remembered.
const maxModels = 1000

// LineReader returns a reader of lines. This is the rule for all commands: the model of a
// line chooses the dialect of a line that does not name one, and its reply that of a line
// without such a model ([Set.Choose]). field is where a flag says
// that the model is; every line must have it. If field is "", the first of
// modelname.Members that a line has is its model, unless a flag chose a dialect for all
// lines.
func (c *Set) LineReader(field string, chosen bool) (*LineReader, error) {
	r := &LineReader{names: c, field: field, chosen: chosen, models: map[string]knownModel{}}
	members := lineMembers
	if field == "" {
		members = slices.Concat(lineMembers, modelname.Members)
	}
	for _, name := range members {
		steps, _ := jsonpath.Parse(name)
		r.Paths = append(r.Paths, steps)
	}
	if field == "" {
		return r, nil
	}
	steps, err := jsonpath.Parse(field)
	if err == nil && jsonpath.Many(steps) {
		err = fmt.Errorf("field %q: want the path of one field", field)
	}
	if err != nil {
		return nil, errorhint.Usage(fmt.Errorf("--model-field: %w", err), "want a path such as model or response.body.model")
	}
	r.Paths = append(r.Paths, steps)
	return r, nil
}

// Read changes m to what a line says about its own reply. A finder has found the
// Paths from the path first on. A start in the line takes precedence over that of the
// flags, and that over the dialect's. The member end takes precedence over the reason
// of an API.
func (r *LineReader) Read(f *jsonpath.Finder, first int, m *Manner) error {
	var own [memberReasons]string
	for i := range own {
		text, err := f.Text(first+i, lineMembers[i])
		if err != nil {
			return err
		}
		if text != nil {
			own[i] = *text
		}
	}
	was := m.Grammar
	if err := r.readDialect(f, first, own[memberDialect], m); err != nil {
		return err
	}
	if own[memberStart] != "" {
		m.Start = sotto.Beginning(own[memberStart])
	}
	if own[memberStart] != "" || m.Given && m.Grammar != was {
		if _, err := m.Grammar.NewSplitter(sotto.Options{Start: m.Start}); err != nil {
			return err
		}
	}
	if own[memberEnd] != "" {
		return m.End.UnmarshalText([]byte(own[memberEnd]))
	}
	for i := memberReasons; i < len(lineMembers); i++ {
		// A log may use the name for something else: what is not a text says nothing.
		if reason, err := f.Text(first+i, lineMembers[i]); err == nil && reason != nil {
			m.End = cmp.Or(endFor(*reason), m.End)
		}
	}
	return nil
}

// readDialect changes m to the model of a line, and to the dialect that the line names or to
// that of its model. A model that a flag names is that of all lines, unless a flag also names
// their field.
func (r *LineReader) readDialect(f *jsonpath.Finder, first int, name string, m *Manner) error {
	var grammar *sotto.Grammar
	model, err := r.modelOf(f, first+len(lineMembers))
	if r.field != "" && model != "" || m.Model == "" {
		m.Model = model
	}
	by := ByModel
	switch {
	case name != "" && name != Auto:
		grammar, err = r.names.Named(name)
		by = ByRecord
	case err == nil && (r.field != "" || model != "" && !r.chosen):
		grammar, name = r.forModel(model)
	}
	if err != nil || grammar == nil {
		return err
	}
	m.Grammar, m.Name, m.By = grammar, name, by
	if !m.Given {
		m.Start = cmp.Or(OwnStart(grammar), m.Start)
	}
	return nil
}

// modelOf returns the model of a line, or "". at is the first path of its members.
func (r *LineReader) modelOf(f *jsonpath.Finder, at int) (string, error) {
	if r.field != "" {
		if f.Last(at) == nil {
			return "", fmt.Errorf("field %s %w", r.field, jsonpath.ErrMissing)
		}
		model, err := f.Text(at, r.field)
		if err != nil || model == nil {
			return "", err
		}
		return *model, nil
	}
	for i := range modelname.Members {
		// A log may use the name for something else: what is not a text says nothing.
		if model, err := f.Text(at+i, modelname.Members[i]); err == nil && model != nil && *model != "" {
			return *model, nil
		}
	}
	return "", nil
}

// forModel returns the dialect of a model, and counts the lines for which there is
// none.
func (r *LineReader) forModel(model string) (*sotto.Grammar, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, seen := r.models[model]
	if !seen {
		if g, ok := r.names.ForModel(model); ok {
			known = knownModel{g, g.Dialect().Name}
		}
		if len(r.models) < maxModels {
			r.models[model] = known
		}
	}
	if known.grammar == nil {
		r.unknown++
	}
	return known.grammar, known.name
}

// Choose changes m to the family of the reply of a line; see [Set.Choose].
func (r *LineReader) Choose(m *Manner, reply string) { r.names.Choose(m, reply) }

// ChooseBytes is Choose for a reply in bytes, which it copies only if it has markers that
// the default dialect does not know.
func (r *LineReader) ChooseBytes(m *Manner, reply []byte) {
	if by := r.names.chooserOf(m); by != nil {
		if m.Plain = !by.foreign.AnyIn(reply); !m.Plain {
			r.names.choose(m, string(reply), by)
		}
	}
}

// Unknown returns how many lines have a model without a dialect, and some of these
// models in order. It returns none if no flag names the field of the model: many logs
// are of models that mark nothing.
func (r *LineReader) Unknown() (lines int, models []string) {
	if r.field == "" {
		return 0, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for model, known := range r.models {
		if known.grammar == nil {
			models = append(models, model)
		}
	}
	slices.Sort(models)
	return r.unknown, models
}

// The reasons by which the APIs of OpenAI, Anthropic, Ollama, Google and Cohere, and
// the servers that imitate them, say how a reply ended.
var (
	stopReasons = []string{"stop", "eos", "eos_token", "end_turn", "stop_sequence", "tool_use", "tool_calls", "function_call", "tool_call", "complete", "completed"}
	cutReasons  = []string{"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", "pause_turn"}
	failReasons = []string{"content_filter", "refusal", "safety", "recitation", "error", "abort", "aborted", "cancelled", "canceled"}
)

// endFor returns the end that a reason stands for.
func endFor(reason string) sotto.Ending {
	reason = strings.ToLower(reason)
	switch {
	case slices.Contains(stopReasons, reason):
		return sotto.EndStopped
	case slices.Contains(cutReasons, reason):
		return sotto.EndCut
	case slices.Contains(failReasons, reason):
		return sotto.EndAborted
	}
	return sotto.EndUnknown
}
