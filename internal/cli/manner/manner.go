// Package manner defines the flags that say how to read a reply.
package manner

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/bytesize"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// Flags say how to read a reply.
type Flags struct {
	Dialect string `short:"d" placeholder:"NAME" xor:"dialect" setting:"SOTTO_DIALECT" help:"Read the reply in this dialect; see sotto dialects. With auto, the default, the model of a record chooses it, or else markers in the reply that only one family writes."`
	Model   string `short:"m" placeholder:"NAME" xor:"dialect" setting:"SOTTO_MODEL" help:"Read the reply in the dialect of this model."`
	Start   string `short:"s" placeholder:"START" setting:"SOTTO_START" help:"Where the reply begins: outside every block; inside the reasoning block (or inside:NAME) that the prompt opened; auto if that is not known."`
	End     string `short:"e" placeholder:"END" setting:"SOTTO_END" help:"How the reply ended: stopped (by the model), cut (at a limit), aborted, or unknown."`
}

// Bound is the flag that bounds the records, and one reply that is read whole.
type Bound struct {
	MaxLine Size `name:"max-line" default:"64MiB" placeholder:"SIZE" help:"How long a record may be, and one reply that is read whole (${default}). A longer one is an error, and the rest is read. About five times as much memory is needed."`
}

// A Size is a flag with a number of bytes.
type Size int

// UnmarshalText reads a size such as 64MiB.
func (s *Size) UnmarshalText(text []byte) error {
	n, err := bytesize.Parse[int](string(text))
	*s = Size(n)
	return err
}

// Manner resolves the flags. Without --start, the reply begins as the dialect says,
// or as given here.
func (r *Flags) Manner(sh *shell.Shell, c *dialectset.Set, start sotto.Beginning) (dialectset.Manner, error) {
	var m dialectset.Manner
	if err := m.End.UnmarshalText([]byte(r.End)); err != nil {
		return m, errorhint.Usage(fmt.Errorf("--end: %w", err), "")
	}
	var err error
	if m.Grammar, err = r.grammar(sh, c); err != nil {
		return m, err
	}
	m.Name, m.Model = m.Grammar.Dialect().Name, r.Model
	m.By = r.by(m.Grammar)
	m.Given = r.Start != ""
	m.Start = cmp.Or(sotto.Beginning(r.Start), dialectset.OwnStart(m.Grammar), start)
	if _, err := m.Grammar.NewSplitter(sotto.Options{Start: m.Start}); err != nil {
		return m, StartError(err, "want outside, inside, inside:NAME or auto")
	}
	return m, nil
}

// Lines are the flags of commands that read one reply per JSON line.
type Lines struct {
	Flags
	ModelField string `name:"model-field" placeholder:"PATH" help:"With --jsonl: the field of the model, which chooses the dialect of its line, also with --dialect or --model: these are for lines whose model has no dialect. Without this flag, --dialect and --model, a member such as model or response.model chooses it."`
}

// Reader returns the reader of what the lines say about their replies.
func (l *Lines) Reader(c *dialectset.Set) (*dialectset.LineReader, error) {
	return c.LineReader(l.ModelField, l.chosen())
}

// ValidateLines refuses a field of lines without lines.
func (l *Lines) ValidateLines(jsonl bool) error {
	if l.ModelField != "" && !jsonl {
		return errors.New("--model-field needs --jsonl")
	}
	return nil
}

// CheckField refuses the field of a reply without lines. A variable may name the
// field for all commands.
func CheckField(sh *shell.Shell, field string, jsonl bool) error {
	if jsonl || field == "" || field == sh.Getenv("SOTTO_FIELD") {
		return nil
	}
	return errorhint.Usage(errors.New("--field needs --jsonl"), "without it, the whole input is one reply")
}

// DefaultField is the field of the reply if no flag names one.
const DefaultField = "raw"

// shownModels is how many models ReportUnknown names.
const shownModels = 5

// ReportUnknown says, once for a run, in how many lines the model has no dialect.
func ReportUnknown(sh *shell.Shell, r *dialectset.LineReader, m dialectset.Manner) {
	lines, models := r.Unknown()
	if lines == 0 {
		return
	}
	for i, model := range models {
		models[i] = shorttext.Quote(model)
	}
	if len(models) > shownModels {
		models = append(models[:shownModels], "…")
	}
	how := "in dialect " + m.Name
	if m.By == dialectset.ByDefault {
		how = "by their markers, or else " + how
	}
	sh.Hintf("no dialect is known for the models of %d lines, which were read %s: %s", lines, how, strings.Join(models, ", "))
}

// StartError reports an invalid start. The error begins with "start".
func StartError(err error, want string) error {
	return errorhint.Usage(fmt.Errorf("--start: %s", errorhint.WithoutName("start", err)), want)
}

// chosen reports whether a flag names a dialect or a model.
func (r *Flags) chosen() bool {
	return r.Dialect != "" && r.Dialect != dialectset.Auto || r.Model != ""
}

// by says which flag chose the dialect.
func (r *Flags) by(g *sotto.Grammar) dialectset.By {
	switch {
	case r.Model != "" && g != sotto.Default():
		return dialectset.ByModel
	case r.Model == "" && r.chosen():
		return dialectset.ByFlag
	}
	return dialectset.ByDefault // also for a model of which no dialect is known
}

func (r *Flags) grammar(sh *shell.Shell, c *dialectset.Set) (*sotto.Grammar, error) {
	if r.Model == "" {
		name := r.Dialect
		if name == dialectset.Auto {
			name = ""
		}
		g, err := c.Named(name)
		if err != nil {
			return nil, dialectset.UnknownDialect(err)
		}
		return g, nil
	}
	g, known := c.ForModel(r.Model)
	if !known {
		sh.Hintf("no dialect is known for model %q; using the default dialect", r.Model)
		return sotto.Default(), nil
	}
	return g, nil
}
