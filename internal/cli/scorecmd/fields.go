package scorecmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/sotto-llm/sotto/internal/cli/manner"
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// fields are the flags that say which member of a line holds what. A path that you
// give must exist in every line. A default may be missing.
type fields struct {
	Field        string `placeholder:"PATH" setting:"SOTTO_FIELD" help:"With --jsonl: the field of the reply (raw), such as choices.0.message.content."`
	IDField      string `name:"id-field" placeholder:"PATH" help:"With --jsonl: the field of the id (id)."`
	InputField   string `name:"input-field" placeholder:"PATH" help:"With --jsonl: the field of the question (input). A value that is not a string is used as JSON text."`
	GoldField    string `name:"gold-field" placeholder:"PATH" help:"With --jsonl: the field of the right answer (gold). With --gold-file, it is in that file."`
	OptionsField string `name:"options-field" placeholder:"PATH" help:"With --jsonl: the field with the list of options of a choice (options)."`
	GoldFile     string `name:"gold-file" placeholder:"FILE" help:"With --jsonl: take the right answers from FILE, joined by id, and the options of lines that do not have them."`
	GoldIDField  string `name:"gold-id-field" placeholder:"PATH" help:"With --gold-file: the field of the id there (id)."`
}

// validate refuses flags that cannot be combined.
func (f *fields) validate(jsonl bool) error {
	switch {
	case !jsonl && f.GoldFile != "":
		return errors.New("--gold-file needs --jsonl")
	case f.GoldIDField != "" && f.GoldFile == "":
		return errors.New("--gold-id-field needs --gold-file")
	}
	return nil
}

func (f *fields) reader(sh *shell.Shell, lines *dialectset.LineReader) (*scoring.LineReader, error) {
	id, gold, options := scoring.Placed(f.IDField, "id"), scoring.Placed(f.GoldField, "gold"), scoring.Placed(f.OptionsField, "options")
	field := cmp.Or(f.Field, manner.DefaultField)
	if f.GoldFile == "" {
		return scoring.NewLineReader(lines, id, field, scoring.Placed(f.InputField, "input"), gold, options)
	}
	options.Required = false // it may be in the gold file
	r, err := scoring.NewLineReader(lines, id, field, scoring.Placed(f.InputField, "input"), scoring.LineField{}, options)
	if err == nil {
		r.Golds, err = f.golds(sh)
	}
	return r, err
}

// golds reads the gold file. Its first fault ends the run: with a wrong join, every
// verdict would be wrong.
func (f *fields) golds(sh *shell.Shell) (*scoring.GoldFile, error) {
	g, err := scoring.NewGoldFile(f.GoldFile, cmp.Or(f.GoldIDField, "id"), cmp.Or(f.GoldField, "gold"), cmp.Or(f.OptionsField, "options"))
	if err != nil {
		return nil, err
	}
	src, err := new(reading.Records).Open(sh, f.GoldFile)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	g.Unit = src.Unit
	for number := 1; ; number++ {
		line, err := batch.NextLine(src.Reader, 0)
		if errors.Is(err, io.EOF) {
			return g, nil
		}
		if err == nil {
			err = src.Fault(line)
		}
		if err == nil && !batch.BlankLine(line) {
			err = g.Add(batch.TrimLine(line), number)
		}
		if err != nil {
			return nil, fmt.Errorf("gold file %s: %s %d: %w", f.GoldFile, src.Unit, number, err)
		}
	}
}

// reportUnasked prints which lines of the gold file no reply has asked for, and
// reports whether there are any: replies are missing, and the summary does not count
// them.
func reportUnasked(sh *shell.Shell, g *scoring.GoldFile) bool {
	if g == nil {
		return false
	}
	var faults shell.Faults
	for number, err := range g.Unasked {
		faults.Print(sh, fmt.Sprintf("%s: %s %d", g.Name(), g.Unit, number), err)
	}
	faults.More(sh, g.Name())
	return faults.Any()
}
