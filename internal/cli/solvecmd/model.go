package solvecmd

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/modelflags"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/model"
)

// modelFlags are the flags that choose the model.
type modelFlags struct {
	Model string `short:"m" placeholder:"NAME" help:"The name of the model on its server. Without it, a scripted stand-in answers."`
	modelflags.Server
	Script  string `placeholder:"FILE" help:"Play the scripted replies of FILE; see docs/models.md."`
	Replies string `placeholder:"FILE" help:"Play logged replies, one JSON object per line, in order for each problem."`
	Field   string `default:"raw" placeholder:"PATH" help:"With --replies: the field of the reply (${default})."`
	Embed   string `placeholder:"NAME" help:"Also compare problems by the embeddings of this model, on the same server."`
}

const scriptedName = "scripted"

// memoryFile names the default memory. Models that are played have memories of
// their own: what they "solve" is not the merit of any model.
func (m *modelFlags) memoryFile() string {
	switch {
	case m.Replies != "":
		return "memory-replayed.db"
	case m.Script != "" || m.Model == "" || m.Model == scriptedName:
		return "memory-scripted.db"
	}
	return "memory.db"
}

// apply sets the model and the embedder.
func (m *modelFlags) apply(sh *shell.Shell, x *streamCommand, o *solve.Options) (err error) {
	switch {
	case m.Replies != "":
		o.Model, err = m.recorded(sh, x, o.Task)
	case m.Script != "":
		o.Model, err = model.Open(model.Config{Provider: scriptedName, Script: m.Script})
	case m.Model == "" && m.Embed == "" && (m.URL != "" || m.KeyFile != "" || m.Provider != "ollama"):
		return errorhint.Usage(errors.New("a server is given, but no model"), "want --model NAME; or --model scripted for the stand-in, which knows the right answers")
	case m.Model == "" || m.Model == scriptedName:
		o.Model = solve.Scripted{Task: o.Task}
	default:
		o.Model, err = m.Open(m.Model)
	}
	if err != nil || m.Embed == "" {
		return err
	}
	o.Embedder, err = m.Embedder(m.Embed)
	o.Space = m.Embed
	return err
}

// recorded reads logged replies.
func (m *modelFlags) recorded(sh *shell.Shell, x *streamCommand, t solve.Task) (*solve.Recorded, error) {
	digest := newDigest()
	replies := solve.NewRecorded(filepath.Base(m.Replies), t)
	r, err := x.lineReader(t, m.Field)
	if err != nil {
		return nil, err
	}
	err = r.each(sh, m.Replies, func(p solve.Problem, raw string, line *posedLine) error {
		if raw == "" && !line.hasRaw {
			return fmt.Errorf("field %s %w", m.Field, jsonpath.ErrMissing)
		}
		replies.Add(p, raw, line.end)
		return digest.hash(p, raw, line.end)
	})
	if err != nil {
		return nil, fmt.Errorf("--replies: %w", err)
	}
	if x.Shuffle != nil {
		replies.Shuffle(*x.Shuffle)
	}
	x.replies = digest.String()
	return replies, nil
}

// lineReader reads problems and, if field is not "", replies to them.
func (x *streamCommand) lineReader(t solve.Task, field string) (*problemReader, error) {
	r := &problemReader{task: t}
	paths := []string{"id", x.InputField, x.GoldField, "options", cmp.Or(field, "raw"), "end", "schema", "lang"}
	if field != "" || x.Replies == "" {
		for _, w := range x.Where {
			path, value, ok := strings.Cut(w, "=")
			if !ok {
				return nil, errorhint.Usage(fmt.Errorf("--where %q: want PATH=VALUE", w), "such as --where arm=CoT")
			}
			paths, r.where = append(paths, path), append(r.where, value)
		}
	}
	for _, path := range paths {
		steps, err := jsonpath.Parse(path)
		if err == nil && jsonpath.Many(steps) {
			err = fmt.Errorf("field %q: want the path of one field", path)
		}
		if err != nil {
			return nil, errorhint.Usage(err, "want a path such as input or question.text")
		}
		r.paths = append(r.paths, steps)
	}
	return r, nil
}
