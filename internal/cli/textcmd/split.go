package textcmd

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/cli/manner"
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/data/replyjson"
	"github.com/sotto-llm/sotto/internal/lab/columns"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// Split prints the reading of replies as JSON.
type Split struct {
	manner.Lines
	reading.Records
	lineOutput
	reading.Unread
	JSONL  bool     `name:"jsonl" xor:"lines" help:"Read one reply per record, and print one object per line."`
	Stream bool     `name:"stream" xor:"lines" help:"Read one delta per JSON line, for many replies at once, and print events as they become certain."`
	Field  string   `placeholder:"PATH" setting:"SOTTO_FIELD" help:"With --jsonl: the field of the reply (raw), such as choices.0.message.content."`
	Files  []string `arg:"" optional:"" name:"file" placeholder:"FILE" help:"The reply, or with --jsonl or --stream the lines. Several files are read one after another."`
}

// Help shows examples.
func (Split) Help() string {
	return `The object: {"v","visible","reasoning":[…],"narration":[…],"segments":[{"channel","start","end"}],"diagnostics":[{"code","offset"}],"dialect","start"}. At most 1,000 diagnostics are listed; "more_diagnostics" counts the rest. Spans and offsets are bytes of the raw reply. Invalid UTF-8 is U+FFFD in the strings of the object; the spans still count the raw bytes. The diagnostic of a literal marker has a "reason".

With --jsonl, a line is {"id","raw"} or {"id","deltas":[…]}, with optional "dialect", "start" and "end". The output is the same object with "id" after "v", in the order of the lines. A line that fails gives {"v":1,"line":N,"error":"…"} and exit status 1. Blank lines are skipped. With --from, a reply of which the log has separated the reasoning has it in "native_reasoning". Instead of JSON Lines, the input may be a JSON array of such objects, or a CSV or Parquet file with such columns.

With --stream, a line is {"id","delta"}: one delta of the reply with that id. The first delta may have "dialect" and "start". {"id","end"}, or "end" beside the last delta, ends the reply. Many replies may be open at once. Each event is printed as soon as it is certain, in the order of the reply: {"v","id","event","block","text"} for "visible" (which has no "block"), "reasoning", "narration" and "tool"; {"v","id","event":"reasoning_end","block","closed"}; and at the end {"v","id","event":"finished","end","diagnostics":[…]}. Without "start", a reply begins outside every block, except in a dialect whose prompts open the reasoning ("pre_opens": "yes"). There, no event comes before the reasoning closes. At the end of the input, open replies end as --end says.

Examples:

    sotto split reply.txt
    printf '<think>a</think>b' | sotto split --end stopped
    sotto split --jsonl --model deepseek-r1 replies.jsonl > read.jsonl
    printf '{"id":1,"delta":"<think>a</thi"}\n{"id":1,"delta":"nk>b","end":"stopped"}\n' | sotto split --stream`
}

// Validate refuses flags that cannot be combined.
func (s *Split) Validate() error {
	return cmp.Or(s.ValidateUnread(), s.ValidateLines(s.batch()), s.lineOutput.validate(s.batch(), s.Files))
}

// batch reports whether the input holds records.
func (s *Split) batch() bool { return s.JSONL || s.Given(s.Files...) }

// Run reads one reply, or the reply of every line.
func (s *Split) Run(sh *shell.Shell, c *dialectset.Set, as *reading.Invocation) error {
	start := sotto.BeginAuto
	if s.Stream {
		start = sotto.BeginOutside
	}
	m, err := s.Manner(sh, c, start)
	if err != nil {
		return err
	}
	lines, err := s.Reader(c)
	if err != nil {
		return err
	}
	defer manner.ReportUnknown(sh, lines, m)
	if err := manner.CheckField(sh, s.Field, s.batch()); err != nil {
		return err
	}
	if s.Stream {
		in, err := sh.Open(one(s.Files))
		if err != nil {
			return err
		}
		defer in.Close()
		return newDeltaStream(sh, m, lines).run(in, int(s.MaxLine))
	}
	watch := reading.NewWatch(c)
	defer watch.Report(sh)
	if s.batch() {
		err := s.runLines(sh, c, as, m, lines, watch)
		watch.ReportRead(sh)
		if s.Shard == "" && (err == nil || errors.Is(err, batch.ErrFailed)) {
			if gate := s.CheckUnread(watch.Tally()); gate != nil {
				return gate
			}
		}
		return err
	}
	raw, err := sh.ReadAll(one(s.Files), int(s.MaxLine))
	if err != nil {
		return err
	}
	c.Choose(&m, raw)
	reading.HintLines(sh, one(s.Files), raw)
	reply, err := m.Grammar.Parse(raw, m.Start, m.End)
	watch.See(m, raw, reply)
	if err != nil {
		return fmt.Errorf("split: %w", err)
	}
	watch.SeeRead(reply.Diagnostics, func() string { return raw })
	if _, err := sh.Out.Write(append(replyjson.Append(nil, nil, reply), '\n')); err != nil {
		return fmt.Errorf("write: %w", files.Cause(err))
	}
	if reply.Counts[sotto.CodeNoVisibleAnswer] > 0 {
		return shell.ErrNoVisible
	}
	return nil
}

// runLines reads the reply of every record.
func (s *Split) runLines(sh *shell.Shell, c *dialectset.Set, as *reading.Invocation, m dialectset.Manner, lines *dialectset.LineReader, watch *reading.Watch) error {
	field := cmp.Or(s.Field, manner.DefaultField)
	steps, err := jsonpath.Parse(field)
	if err != nil || jsonpath.Many(steps) {
		return errorhint.Usage(fmt.Errorf("--field %s: want the path of one field", field), "")
	}
	r := &lineRun{records: s.Records, to: &s.lineOutput, files: s.Files, members: new(columns.Split), catalogue: c, as: as, watch: watch}
	return r.run(sh, func(set *columns.Set) batch.LineFunc {
		return set.Checked(splitLine(m, lines, field, s.Log(s.Files...), watch))
	})
}

// splitLine returns the function that processes one line: it replaces the reply by
// its reading. The records of a log can have reasoning that a server has separated.
func splitLine(m dialectset.Manner, lines *dialectset.LineReader, field string, log bool, watch *reading.Watch) batch.LineFunc {
	records := newReplyLineReader(field, lines)
	return func(dst, line, _ []byte, at batch.Place) ([]byte, error) {
		if batch.Blank(line) {
			return dst, nil
		}
		r, err := records.parse(line, m)
		var reply *sotto.Reply
		if err == nil {
			text := r.text()
			reply, err = r.Grammar.Parse(text, r.Start, r.End)
			watch.See(r.Manner, text, reply)
		}
		if err != nil {
			return batch.AppendError(dst, at, err), err
		}
		watch.SeeRead(reply.Diagnostics, func() string { return reply.Raw })
		id := r.id
		if id == nil {
			id = []byte("null")
		}
		dst = replyjson.Append(dst, id, reply)
		if log {
			dst = replyjson.WithNative(dst, r.native)
		}
		return append(dst, '\n'), nil
	}
}
