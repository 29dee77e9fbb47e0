package catalogue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/internal/jsonpath"
)

// The members of a JSON line that say how to read its reply, in the order of
// LineReader.Paths. Of the members from memberReasons on, each is the reason that an
// API gives for the end of a reply. After them comes the model, if its field is given.
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
	names *Catalogue
	model string // the field of the model; "" for none

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

// LineReader returns a reader of lines. If a field of the model is given, the model
// chooses the dialect of lines that do not name one.
func (c *Catalogue) LineReader(model string) (*LineReader, error) {
	r := &LineReader{names: c, model: model, models: map[string]knownModel{}}
	for _, name := range lineMembers {
		steps, _ := jsonpath.Parse(name)
		r.Paths = append(r.Paths, steps)
	}
	if model == "" {
		return r, nil
	}
	steps, err := jsonpath.Parse(model)
	if err == nil && jsonpath.Many(steps) {
		err = fmt.Errorf("field %q: want the path of one field", model)
	}
	if err != nil {
		return nil, hint.Usage(fmt.Errorf("--model-field: %w", err), "want a path such as model or response.body.model")
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
		m.Start = sotto.Start(own[memberStart])
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

// readDialect changes m to the dialect that a line names, or to that of its model.
func (r *LineReader) readDialect(f *jsonpath.Finder, first int, name string, m *Manner) error {
	var grammar *sotto.Grammar
	var err error
	switch {
	case name != "":
		if grammar, err = r.names.Named(name); err != nil {
			return err
		}
	case r.model != "":
		at := first + len(lineMembers)
		if f.Last(at) == nil {
			return fmt.Errorf("field %s %w", r.model, jsonpath.ErrMissing)
		}
		model, err := f.Text(at, r.model)
		if err != nil {
			return err
		}
		if model == nil {
			model = new(string)
		}
		if grammar, name = r.forModel(*model); grammar == nil {
			return nil
		}
	default:
		return nil
	}
	m.Grammar, m.Name = grammar, name
	if !m.Given {
		m.Start = cmp.Or(OwnStart(grammar), m.Start)
	}
	return nil
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

// Unknown returns how many lines have a model without a dialect, and some of these
// models in order.
func (r *LineReader) Unknown() (lines int, models []string) {
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
func endFor(reason string) sotto.End {
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
