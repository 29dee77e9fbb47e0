package recordcmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/manner"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

type importCommand struct {
	Files   []string `arg:"" name:"file" help:"The logs."`
	From    string   `required:"" enum:"contreact" placeholder:"LOG" help:"What the files are: contreact, the logs of ContReAct-Ollama."`
	Model   string   `short:"m" placeholder:"NAME" help:"The model that wrote the replies, if the logs do not say it. Without --dialect, they are read in its dialect."`
	Dialect string   `short:"d" placeholder:"NAME" help:"Read the replies in this dialect; see sotto dialects."`
	Start   string   `short:"s" placeholder:"START" help:"Where the replies begin: outside every block; inside the reasoning block (or inside:NAME) that the prompt opened; auto if that is not known."`
	manner.Bound
	recording.Settings

	formats Formats
}

// Help explains what is imported.
func (importCommand) Help() string {
	return `Makes a record of the logs of another program. The replies are recorded byte for byte, and read in the dialect that the flags name. The logs of ContReAct do not say which model it was: give --model. If the replies have tags that the dialect of the model does not have, such as <thinking>, give --dialect default too.

The record must be new. A line that cannot be read is reported with its place, and the others are imported. If the import was interrupted, remove the folder and begin again. The time in a log is the event's member "happened"; its member "time" is when it was imported.

docs/tables.md says which members of the logs are kept.

Examples:

    sotto record import --from contreact logs/run-1.jsonl --model qwen3:8b --dialect default --record study/run-1
    sotto record table thoughts study/run-1`
}

// Run imports.
func (x *importCommand) Run(sh *shell.Shell, c *dialectset.Set) error {
	if x.Record == "" {
		return errorhint.Usage(fmt.Errorf("--record is missing: it names the folder of the new record"), "")
	}
	log, err := x.formats.log("--from", x.From)
	if err != nil {
		return err
	}
	flags := manner.Flags{Dialect: x.Dialect, Start: x.Start}
	if x.Dialect == "" {
		flags.Model = x.Model
	}
	how, err := flags.Manner(sh, c, sotto.BeginAuto)
	if err != nil {
		return err
	}
	if _, err := os.Stat(x.Record); err == nil {
		if some, err := recording.HasEvents(x.Record); err != nil || some {
			return errorhint.Add(fmt.Errorf("%s has events already", x.Record), "import into a new folder; records in one folder are read as one")
		}
	}
	w, err := x.Settings.Open(nil, nil)
	if err != nil {
		return err
	}
	name, failed := "", false
	read := log.Import(Import{To: w, Manner: how, Model: x.Model, MaxLine: int(x.MaxLine), Fault: func(line int, err error) {
		failed = true
		sh.Errorf("%s:%d: %v", name, line, err)
	}})
	for _, name = range x.Files {
		if err = importFile(sh, read, name); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
			break
		}
	}
	if closing := w.Close(); err == nil {
		err = closing
	}
	if err == nil && failed {
		err = batch.ErrFailed
	}
	return err
}

func importFile(sh *shell.Shell, read func(context.Context, io.Reader, string) error, name string) error {
	in, err := sh.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	run := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	return read(context.Background(), in, run)
}
