package scorecmd

import (
	"cmp"
	"errors"
	"slices"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/cli/manner"
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/internal/lab/columns"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// Extract prints the answers of replies.
type Extract struct {
	common
	reading.Unread
	JSONL   bool     `name:"jsonl" help:"Read one reply per record: JSON line, element of a JSON array, or row of a CSV or Parquet file."`
	Distill []string `aliases:"distil" enum:"query,trace" placeholder:"WHAT" help:"Add the canonical query of the question, or the trace of the candidate: query, trace, or both."`
	Files   []string `arg:"" optional:"" name:"file" placeholder:"FILE" help:"The reply, or with --jsonl the lines. Several files are read one after another."`
}

// Help shows examples.
func (Extract) Help() string {
	return `The object: {"v","id","candidate","method","span":[start,end],"status","rules","attempts":[…]}. The candidate is normalised. Its span is in bytes of the raw reply, or null if there is no candidate. The status is ok, no_answer, truncated or ambiguous.

Without --jsonl, the reply is plain text, --input has the question, and exit status 3 means that the reply has no answer. With --jsonl, a line is {"id","raw","input","gold","options"}, with optional "dialect", "start" and "end"; which of the members are needed depends on the task. A file that begins with [ is an array of such objects, and FILE.csv and FILE.parquet have such columns. Objects are printed in the order of the lines. A line that fails gives {"v":1,"line":N,"error":"…"} and exit status 1. Blank lines are skipped.

Tasks: ` + scoring.TaskNames() + `.

Examples:

    printf '<think>3*8</think>Answer: 3*8 = 24' | sotto extract --task game24 --input '3 8 1 1'
    sotto extract --task math --jsonl replies.jsonl > candidates.jsonl
    sotto extract --task game24 --jsonl --input-field gold --distill query replies.jsonl
    sotto extract --task math --jsonl --record audit --record-policy batch -o candidates.jsonl replies.jsonl`
}

// batch reports whether the input holds records.
func (x *Extract) batch() bool { return x.JSONL || x.Given(x.Files...) }

// Validate refuses flags that cannot be combined.
func (x *Extract) Validate() error {
	return cmp.Or(x.validate(x.batch(), x.Files), x.ValidateUnread())
}

// Run extracts from one reply, or from the reply of every line.
func (x *Extract) Run(sh *shell.Shell, c *dialectset.Set, as *reading.Invocation) error {
	if err := manner.CheckField(sh, x.Field, x.batch()); err != nil {
		return err
	}
	e, v, err := x.prepare(sh, c, "extract")
	if err != nil {
		return err
	}
	return v.end(x.run(sh, c, as, e, v))
}

func (x *Extract) run(sh *shell.Shell, c *dialectset.Set, as *reading.Invocation, e *scoring.Extractor, v *evidence) error {
	if !x.batch() {
		return x.one(sh, c, e, v)
	}
	r, err := x.reader(sh, c)
	if err != nil {
		return err
	}
	b := &batchRun{sh: sh, records: x.Records, files: x.Files, reader: r, extractor: e, watch: reading.NewWatch(c), evidence: v}
	if b.added, err = x.added(new(columns.Extract)); err != nil {
		return err
	}
	b.judge = func(dst []byte, p *scoring.Posed) ([]byte, error) {
		found := e.Extract(p)
		if err := v.line(p, found, nil); err != nil {
			return dst, err
		}
		return x.append(dst, e, p, scoring.IDOf(p), found)
	}
	if x.Shard != "" {
		return b.shard(&x.common, c, as, nil, nil)
	}
	err = b.run(&x.output)
	b.watch.ReportRead(sh)
	if err == nil || errors.Is(err, batch.ErrFailed) {
		err = worst(err, x.CheckUnread(b.watch.Tally()))
	}
	return err
}

// one extracts from a reply in plain text.
func (x *Extract) one(sh *shell.Shell, c *dialectset.Set, e *scoring.Extractor, v *evidence) error {
	p, err := readOne(sh, c, e, x.Files, int(x.MaxLine))
	if err != nil {
		return err
	}
	found := e.Extract(p)
	if err := v.line(p, found, nil); err != nil {
		return err
	}
	object, err := x.append(nil, e, p, nil, found)
	if err != nil {
		return err
	}
	if err := sh.Print(append(object, '\n')); err != nil {
		return err
	}
	return noAnswer(found)
}

// append appends the object for a reply.
func (x *Extract) append(dst []byte, e *scoring.Extractor, p *scoring.Posed, id []byte, found answer.Extraction) ([]byte, error) {
	at := len(dst)
	dst = scoring.AppendExtraction(dst, id, found)
	if slices.Contains(x.Distill, "query") {
		query, _ := e.Task.Distil(p.Problem, "")
		dst = jsontext.AppendString(append(dst, `,"query":`...), query)
	}
	if slices.Contains(x.Distill, "trace") {
		dst = jsontext.AppendString(append(dst, `,"trace":`...), e.Trace(p, found.Candidate))
	}
	dst, err := e.AppendCarried(dst, p)
	if err != nil {
		return dst[:at], err
	}
	return append(dst, '}'), nil
}

// readOne reads FILE as one reply in plain text.
func readOne(sh *shell.Shell, c *dialectset.Set, e *scoring.Extractor, files []string, most int) (*scoring.Posed, error) {
	name := slices.Concat(files, []string{""})[0]
	raw, err := sh.ReadAll(name, most)
	if err != nil {
		return nil, err
	}
	reading.HintLines(sh, name, raw)
	p := &scoring.Posed{Manner: e.Manner, Raw: raw, Problem: e.Problem}
	c.Choose(&p.Manner, raw)
	return p, nil
}

// An answerless is the error of one reply without an answer. It wraps ErrNoVisible,
// so the status is the same.
type answerless struct{}

func (answerless) Error() string        { return "the reply has no answer" }
func (answerless) Is(target error) bool { return target == shell.ErrNoVisible }

// noAnswer is the error of one reply without a candidate.
func noAnswer(found answer.Extraction) error {
	if found.Status == answer.NoAnswer || found.Status == answer.Truncated {
		return answerless{}
	}
	return nil
}
