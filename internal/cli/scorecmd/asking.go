package scorecmd

import (
	"cmp"
	"errors"
	"path/filepath"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/cli/manner"
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/replyjson"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// An asking holds the flags that say what to look for in a reply, and the parts of
// the question that all replies share.
type asking struct {
	Task          string `short:"t" placeholder:"TASK" xor:"task" setting:"SOTTO_TASK" help:"The name of the task that the replies answer."`
	TaskFile      string `name:"task-file" placeholder:"FILE" xor:"task" setting:"SOTTO_TASK_FILE" help:"A task of your own (JSON or YAML)."`
	Input         string `placeholder:"TEXT" help:"The question, for lines that do not have it."`
	Gold          string `placeholder:"TEXT" help:"The right answer, for lines that do not have it."`
	Schema        string `placeholder:"FILE" help:"The JSON Schema of task json."`
	Lang          string `placeholder:"LANG" help:"The language of task code."`
	CodeFile      string `name:"code-file" placeholder:"NAME" help:"The file that is the answer, for task code, if a reply holds several."`
	JSONKey       string `name:"json-key" placeholder:"KEY" help:"The key of the answer in JSON, for task json_answer and for replies that are one JSON object. If missing, the usual keys."`
	FromReasoning bool   `name:"from-reasoning" help:"If the text has no answer, take one from an explicit marker in the reasoning."`
	ScanCut       bool   `name:"scan-cut" help:"Also search replies that were cut from the bottom, if no answer is marked."`
}

// common holds the flags of extract and score.
type common struct {
	manner.Lines
	reading.Records
	asking
	fields
	output
	reading.Sharding
	reading.Columns
	With []string `enum:"raw,reading" placeholder:"WHAT" help:"Carry in each object what it is about: raw (the reply, byte for byte), reading (the object that sotto split prints for it), or both."`
	recording.Settings
}

// validate refuses flags that cannot be combined. whole are the names of flags that are
// set and need the whole batch.
func (x *common) validate(batch bool, inputs []string, whole ...string) error {
	return cmp.Or(x.fields.validate(batch), x.ValidateLines(batch), x.output.validate(batch, len(inputs)), x.ValidateShard(x.Output, batch, whole...),
		x.validateColumns(batch, len(inputs)), checkResume(&x.Settings, &x.output))
}

// prepare opens what a run needs: the extractor, and the evidence, which is nil if
// nothing is recorded.
func (x *common) prepare(sh *shell.Shell, c *dialectset.Set, agent string) (*scoring.Extractor, *evidence, error) {
	m, err := x.Manner(sh, c, sotto.BeginAuto)
	if err != nil {
		return nil, nil, err
	}
	e, err := x.extractor(m)
	if err != nil {
		return nil, nil, err
	}
	e.With = replyjson.Named(x.With)
	settings, resumed, err := x.recorded(sh)
	if err != nil {
		return nil, nil, err
	}
	v, err := openEvidence(settings, sh, agent, e, x.Model, &x.output, resumed)
	return e, v, err
}

// recorded returns how a run is recorded, and whether it may have been begun before. Each
// shard has a record of its own in the folder, since a record has one writer.
func (x *common) recorded(sh *shell.Shell) (s *recording.Settings, resumed bool, err error) {
	if x.Shard == "" || x.Record == "" {
		return &x.Settings, x.Resume, nil
	}
	shard, err := x.ParseShard(sh)
	if err != nil {
		return nil, false, err
	}
	own := x.Settings
	own.Record = filepath.Join(x.Record, shard.Name())
	return &own, len(own.RecordRecipient) == 0, nil // an encrypted record cannot be read back
}

// reader returns the reader of lines.
func (x *common) reader(sh *shell.Shell, c *dialectset.Set) (*scoring.LineReader, error) {
	lines, err := x.Lines.Reader(c)
	if err != nil {
		return nil, err
	}
	return x.fields.reader(sh, lines)
}

func (a *asking) extractor(m dialectset.Manner) (*scoring.Extractor, error) {
	e := &scoring.Extractor{Manner: m, Problem: answer.Problem{Input: a.Input, Gold: a.Gold, Lang: a.Lang, File: a.CodeFile, Key: a.JSONKey}}
	e.Options = answer.Options{FromReasoning: a.FromReasoning, ScanCut: a.ScanCut}
	var err error
	if e.Task, err = a.task(); err != nil {
		return nil, err
	}
	if a.Schema != "" {
		if e.Problem.Schema, err = files.Read("schema", a.Schema, files.MaxSettings); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (a *asking) task() (answer.Task, error) {
	switch {
	case a.TaskFile != "":
		return scoring.ReadTask(a.TaskFile)
	case a.Task == "":
		return nil, errorhint.Usage(errors.New("no task"), "want --task, one of "+scoring.TaskNames()+"; or --task-file")
	}
	task, err := answer.TaskNamed(a.Task)
	if err != nil {
		return nil, errorhint.Usage(err, "want one of "+scoring.TaskNames())
	}
	return task, nil
}
