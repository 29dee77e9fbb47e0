package textcmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/manner"
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// Strip prints the visible text of replies.
type Strip struct {
	manner.Lines
	reading.Records
	lineOutput
	Narration   string   `enum:"text,drop" default:"text" placeholder:"WHERE" setting:"SOTTO_NARRATION" help:"Where narration goes: text (in its place in the text), drop (left out)."`
	ReasoningTo string   `name:"reasoning-to" placeholder:"WHERE" setting:"SOTTO_REASONING_TO" help:"Write the reasoning to a file, to fd:N, or to stderr."`
	JSONL       bool     `name:"jsonl" help:"Rewrite one field of every record; no other byte of a JSON line changes."`
	Field       string   `placeholder:"PATH" setting:"SOTTO_FIELD" help:"With --jsonl: the field, such as raw, messages.-1.content (from the end) or messages.#.content (every element)."`
	Strict      bool     `help:"With --jsonl: stop at the first line that fails."`
	Files       []string `arg:"" optional:"" name:"file" placeholder:"FILE" help:"The reply, or with --jsonl the records. Several files are read one after another."`
}

// Help shows examples.
func (Strip) Help() string {
	return `Standard input is read as a stream, and text appears as soon as it is certain. Without --start, the reply begins outside every block, except in a dialect whose prompts open the reasoning (sotto dialects NAME says "pre_opens": "yes"). There, nothing appears before the reasoning closes. A FILE is read whole, and the command finds out where it begins. Tool-call markup stays in the text. ollama run prints lines of its own around the thoughts of a model: --dialect ollama_cli reads them.

With --jsonl, the members dialect, model, start and end of a line say how to read its reply. If sotto leaks would count a reply of the output, the exit status is 1. Without end, the members finish_reason, stop_reason and done_reason say whether it was cut. A line that is broken or lacks the field is reported, printed unchanged, and makes the exit status 1. If an object has the field twice, each is stripped. Blank lines are printed unchanged. The elements of a JSON array and the rows of a CSV or Parquet file come out as JSON Lines; the values of CSV are texts. A row that cannot be read gives {"v":1,"line":N,"error":"…"}. With --from messages and --from ollama, the output is the log with what users see: the texts of the model are stripped, and the reasoning that a server has separated is removed. Other logs are refused. --field is not needed.

Examples:

    ollama run deepseek-r1 "why is the sky blue?" | sotto strip --dialect ollama_cli
    sotto strip --start inside --reasoning-to thoughts.txt < reply.txt
    sotto strip --jsonl --field messages.-1.content chats.jsonl > clean.jsonl
    sotto strip --from messages -o clean.parquet traces.parquet`
}

// Validate refuses flags that cannot be combined.
func (s *Strip) Validate() error {
	switch {
	case s.batch() && s.field() == "":
		return fmt.Errorf("%s needs --field", s.why())
	case s.batch() && s.ReasoningTo != "":
		return fmt.Errorf("--reasoning-to cannot be combined with %s", s.why())
	case !s.batch() && s.Strict:
		return fmt.Errorf("--strict needs --jsonl")
	}
	return cmp.Or(s.ValidateLines(s.batch()), s.lineOutput.validate(s.batch(), s.Files))
}

// batch reports whether the input holds records.
func (s *Strip) batch() bool { return s.JSONL || s.Given(s.Files...) }

// field returns the field of the reply. In the records of a preset, it is known.
func (s *Strip) field() string {
	if s.Log(s.Files...) {
		return "raw"
	}
	return s.Field
}

// why says why the input holds records.
func (s *Strip) why() string {
	if s.JSONL {
		return "--jsonl"
	}
	return "a file of records"
}

// Run strips one reply, or a field of every line.
func (s *Strip) Run(sh *shell.Shell, c *dialectset.Set, as *reading.Invocation) error {
	if s.batch() {
		return s.runLines(sh, c, as)
	}
	if err := manner.CheckField(sh, s.Field, false); err != nil {
		return err
	}
	name := one(s.Files)
	whole := name != "" && name != "-"
	start := sotto.BeginOutside
	if whole {
		start = sotto.BeginAuto
	}
	m, err := s.Manner(sh, c, start)
	if err != nil {
		return err
	}
	if whole {
		// Read it before making the sink, which may be the same file.
		text, err := sh.ReadAll(name, int(s.MaxLine))
		if err != nil {
			return err
		}
		c.Choose(&m, text)
		return s.strip(sh, c, m, true, oneDelta(text))
	}
	in, err := sh.Open(name)
	if err != nil {
		return err
	}
	return s.strip(sh, c, m, false, deltasOf(in))
}

func (s *Strip) strip(sh *shell.Shell, c *dialectset.Set, m dialectset.Manner, whole bool, deltas iter.Seq2[string, error]) error {
	o := s.options(m, whole)
	if _, err := m.Grammar.NewSplitter(o); err != nil { // before making the sink
		return manner.StartError(err, "")
	}
	sink, err := openSink(sh, s.ReasoningTo)
	if err != nil {
		return err
	}
	written := &headWriter{w: sh.Out}
	shown := &ollamaLines{w: written}
	var head strings.Builder
	last, err := (&stream{out: shown, reasoning: sink}).run(m.Grammar.Events(headOf(deltas, &head), sotto.StreamOptions{Options: o, End: func() sotto.Ending { return m.End }}))
	if err := errors.Join(err, sink.Close()); err != nil {
		return err
	}
	if m.Name != ollamaDialect && !shown.leaked() {
		reading.HintLines(sh, one(s.Files), head.String())
	}
	if err := verdict(last, m.Start); err != nil {
		if !whole && strings.TrimSpace(head.String()) == "" {
			return errorhint.Add(err, "standard input is empty; in a pipe, ollama run needs its prompt as an argument: ollama run MODEL PROMPT")
		}
		return err
	}
	if shown.leaked() && m.Name != ollamaDialect {
		return errorhint.Add(
			fmt.Errorf("the text has the lines %q and %q, which ollama run prints around a thought: the text holds reasoning", ollamaOpen, ollamaClose),
			"to read the output of ollama run, use --dialect "+ollamaDialect)

	}
	watch := reading.NewWatch(c)
	watch.Whole(m, written.head)
	watch.SeeRead(last.Diagnostics, head.String)
	if err := watch.Err(); err != nil {
		return err
	}
	watch.ReportLate(sh)
	return nil
}

// A headWriter keeps the beginning of a text that it passes on.
type headWriter struct {
	w    io.Writer
	head []byte
}

func (h *headWriter) Write(p []byte) (int, error) {
	h.head = append(h.head, p[:min(len(p), maxHead-len(h.head))]...)
	return h.w.Write(p)
}

// The lines that ollama run prints around a thought, and the dialect that reads
// them.
const (
	ollamaDialect = "ollama_cli"
	ollamaOpen    = "Thinking..."
	ollamaClose   = "...done thinking."
)

// ollamaLines passes text on. It checks whether the text begins with the line that
// ollama run prints before a thought, and contains the line that it prints after
// one.
type ollamaLines struct {
	w      io.Writer
	line   []byte // the current line, as long as it can be one of the two
	long   bool   // it cannot be one of the two
	opened bool   // the first line was the one before a thought
	closed bool
	over   bool // the search is over
}

func (o *ollamaLines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0 && !o.over; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		o.line = append(o.line, line[:min(len(line), len(ollamaClose)+2-len(o.line))]...)
		o.long = o.long || len(o.line) > len(ollamaClose)+1
		if ended {
			o.end()
		}
		rest = after
	}
	return o.w.Write(p)
}

// end checks a line that has ended.
func (o *ollamaLines) end() {
	line := string(bytes.TrimRight(o.line, " \r"))
	switch {
	case o.opened:
		o.closed = !o.long && line == ollamaClose
		o.over = o.closed
	case o.long || line != "":
		o.opened = line == ollamaOpen
		o.over = !o.opened
	}
	o.line, o.long = o.line[:0], false
}

// leaked reports whether both lines were found.
func (o *ollamaLines) leaked() bool {
	if !o.over {
		o.end()
	}
	return o.closed
}

func (s *Strip) options(m dialectset.Manner, whole bool) sotto.Options {
	o := sotto.Options{Start: m.Start, Inline: s.inline()}
	if whole {
		o.MaxHold = -1
	}
	return o
}

// inline returns the channels that stay in the text, because it has no place for
// them elsewhere.
func (s *Strip) inline() []sotto.Channel {
	if s.Narration == "drop" {
		return []sotto.Channel{sotto.ChannelTool}
	}
	return []sotto.Channel{sotto.ChannelTool, sotto.ChannelNarration}
}

// verdict turns the remarks on one reply into the command's error.
func verdict(f sotto.ReplyEnd, start sotto.Beginning) error {
	if f.Counts[sotto.CodeOrphanClose] > 0 && start == sotto.BeginOutside {
		where := ""
		for _, d := range f.Diagnostics { // it may not be among the first
			if d.Code == sotto.CodeOrphanClose {
				where = fmt.Sprintf(" at byte %d", d.Offset)
				break
			}
		}
		return errorhint.Add(
			fmt.Errorf("a block closed%s that never opened: the text may hold reasoning", where),
			"if the prompt opens the block, use --start inside")

	}
	switch {
	case f.Counts[sotto.CodeNoVisibleAnswer] == 0:
		return nil
	case start == sotto.BeginAuto && slices.Contains(f.Diagnostics, sotto.Diagnostic{Code: sotto.CodeHoldExpired}):
		return errorhint.Add(shell.ErrNoVisible, "no marker showed where the reply begins, so all of it counts as reasoning; if the prompt opens no block, use --start outside")
	}
	return shell.ErrNoVisible
}
