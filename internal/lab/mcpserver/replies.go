package mcpserver

import (
	"cmp"
	"context"
	"errors"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/data/replyjson"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// readingArguments are the arguments that say how to read a reply.
const readingArguments = `
	"text": {"type": "string", "description": "The raw reply of the model, as it came, with all its tags."},
	"model": {"type": "string", "description": "The model that wrote the reply. It chooses the dialect."},
	"dialect": {"type": "string", "description": "The dialect of the reply, such as harmony or magistral. Default: think tags and the like."},
	"start": {"type": "string", "description": "Where the reply begins: outside every block, inside the reasoning block that the prompt opened, or auto (default)."},
	"end": {"type": "string", "enum": ["stopped", "cut", "aborted", "unknown"], "description": "How the reply ended: stopped by the model, cut at a limit, or aborted."}`

// questionArguments are the arguments that say what was asked.
const questionArguments = `,
	"task": {"type": "string", "description": "The kind of answer, such as choice, number, math, yesno, exact, code, json or game24."},
	"input": {"type": "string", "description": "The question, for tasks whose answers depend on it."},
	"options": {"description": "The options of a question with options: a list of texts."}`

var (
	splitTool = tool{
		name: "split", title: "Split a reply",
		description: "Separates what a language model thought from what it said in one reply. Gives the visible text, the blocks of reasoning, the narration, the segments as byte spans of the reply, and what was unusual in it.",
		schema:      `{"type": "object", "properties": {` + readingArguments + `}, "required": ["text"]}`,
	}
	extractTool = tool{
		name: "extract", title: "Extract the answer",
		description: "Finds the one answer that a reply gives to a task, never in the model's reasoning. Gives the candidate, the method that found it, and its byte span in the reply.",
		schema:      `{"type": "object", "properties": {` + readingArguments + questionArguments + `}, "required": ["text", "task"]}`,
	}
	scoreTool = tool{
		name: "score", title: "Judge the answer",
		description: "Extracts the answer of a reply, and judges it: by the right answer, or by the rules of the task. Gives what extract gives, and the verdict with its reason.",
		schema: `{"type": "object", "properties": {` + readingArguments + questionArguments + `,
	"gold": {"description": "The right answer, or a list of answers that are all right. Games need none."}}, "required": ["text", "task"]}`,
	}
)

// replyTools are the tools that read a reply. Their arguments have the form of a
// line of sotto score --jsonl, and are read as one.
type replyTools struct {
	names *dialectset.Set
	// replies reads the reply alone, and questions also what was asked.
	replies, questions *scoring.LineReader
	paths              [][]jsonpath.Step
}

// The arguments that replyTools reads itself, in the order of its paths.
const (
	argumentModel = iota
	argumentTask
)

func newReplyTools(names *dialectset.Set) (*replyTools, error) {
	field := func(name string) scoring.LineField { return scoring.LineField{Name: name} }
	none := scoring.LineField{}
	lines, err := names.LineReader("", true) // the argument model is read below
	if err != nil {
		return nil, err
	}
	r := &replyTools{names: names}
	if r.replies, err = scoring.NewLineReader(lines, none, "text", none, none, none); err != nil {
		return nil, err
	}
	if r.questions, err = scoring.NewLineReader(lines, none, "text", field("input"), field("gold"), field("options")); err != nil {
		return nil, err
	}
	for _, name := range []string{"model", "task"} {
		steps, err := jsonpath.Parse(name)
		if err != nil {
			return nil, err
		}
		r.paths = append(r.paths, steps)
	}
	return r, nil
}

// decode reads the arguments of a call: the reply, how it is read, and, with the reader
// of questions, what was asked.
func (r *replyTools) decode(arguments []byte, questions *scoring.LineReader) (p scoring.Posed, e scoring.Extractor, err error) {
	var f jsonpath.Finder
	if err := f.Find(arguments, r.paths...); err != nil {
		return p, e, err
	}
	if e.Manner, err = r.manner(&f); err != nil {
		return p, e, err
	}
	if questions == r.questions {
		if e.Task, err = r.task(&f); err != nil {
			return p, e, err
		}
	}
	err = questions.Read(&p, arguments, &e)
	if unknown, ok := errors.AsType[*dialect.UnknownError](err); ok {
		err = dialectset.UnknownDialect(unknown)
	}
	return p, e, err
}

// manner returns how a reply of the model is read if the arguments say no more.
func (r *replyTools) manner(f *jsonpath.Finder) (dialectset.Manner, error) {
	m := dialectset.Manner{Grammar: sotto.Default()}
	model, err := f.Text(argumentModel, "model")
	if err != nil {
		return m, err
	}
	if model != nil {
		if g, known := r.names.ForModel(*model); known {
			m.Grammar = g
		}
	}
	m.Name = m.Grammar.Dialect().Name
	m.Start = cmp.Or(dialectset.OwnStart(m.Grammar), sotto.BeginAuto)
	return m, nil
}

func (r *replyTools) task(f *jsonpath.Finder) (answer.Task, error) {
	name, err := f.Text(argumentTask, "task")
	if err != nil {
		return nil, err
	}
	if name == nil {
		return nil, errorhint.Add(errors.New("there is no task"), "want one of "+scoring.TaskNames())
	}
	task, err := answer.TaskNamed(*name)
	if err != nil {
		return nil, errorhint.Add(err, "want one of "+scoring.TaskNames())
	}
	return task, nil
}

func (r *replyTools) split(_ context.Context, arguments []byte) ([]byte, error) {
	p, _, err := r.decode(arguments, r.replies)
	if err != nil {
		return nil, err
	}
	reply, err := p.Grammar.Parse(p.Raw, p.Start, p.End)
	if err != nil {
		return nil, err
	}
	return replyjson.Append(nil, nil, reply), nil
}

func (r *replyTools) extract(_ context.Context, arguments []byte) ([]byte, error) {
	p, e, err := r.decode(arguments, r.questions)
	if err != nil {
		return nil, err
	}
	return append(scoring.AppendExtraction(nil, nil, e.Extract(&p)), '}'), nil
}

func (r *replyTools) score(_ context.Context, arguments []byte) ([]byte, error) {
	p, e, err := r.decode(arguments, r.questions)
	if err != nil {
		return nil, err
	}
	was := e.Judge(&p)
	if err := scoring.BadGold(was); err != nil {
		return nil, err
	}
	return scoring.AppendResult(nil, nil, was), nil
}
