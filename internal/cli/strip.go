package cli

import (
	"errors"
	"fmt"

	"github.com/sotto-llm/sotto"
)

type stripCommand struct {
	reading
	Narration   string `enum:"text,drop" default:"text" placeholder:"WHERE" setting:"SOTTO_NARRATION" help:"Where narration goes: text gives it in its place in the text, drop leaves it out."`
	ReasoningTo string `name:"reasoning-to" placeholder:"WHERE" setting:"SOTTO_REASONING_TO" help:"Write the reasoning to a file, to fd:N, or to stderr."`
	JSONL       bool   `name:"jsonl" help:"Rewrite one field of every JSON line; every other byte stays."`
	Field       string `placeholder:"PATH" setting:"SOTTO_FIELD" help:"With --jsonl: the field, such as raw, messages.-1.content (from the end) or messages.#.content (every element)."`
	Strict      bool   `help:"With --jsonl: stop at the first line that fails."`
	File        string `arg:"" optional:"" placeholder:"FILE" help:"The reply, or with --jsonl the lines."`
}

// Help shows examples.
func (stripCommand) Help() string {
	return `Standard input is read as it comes, from outside every block unless --start says otherwise, and text appears as soon as it is certain. A FILE is read whole, with the start found out. Tool-call markup stays in the text.

With --jsonl a line that is broken or lacks the field is reported, passed on unchanged, and makes the exit status 1; blank lines are passed on.

Examples:

    ollama run deepseek-r1 "why is the sky blue?" | sotto strip
    sotto strip --start inside --reasoning-to thoughts.txt < reply.txt
    sotto strip --jsonl --field messages.-1.content chats.jsonl > clean.jsonl`
}

// Validate refuses flags that do not go together.
func (s *stripCommand) Validate() error {
	switch {
	case s.JSONL && s.Field == "":
		return fmt.Errorf("--jsonl needs --field")
	case s.JSONL && s.ReasoningTo != "":
		return fmt.Errorf("--reasoning-to does not go with --jsonl")
	case !s.JSONL && s.Strict:
		return fmt.Errorf("--strict goes with --jsonl only")
	}
	return nil
}

// Run strips one reply, or a field of every line.
func (s *stripCommand) Run(sh *shell, c *catalogue) error {
	if s.JSONL {
		return s.runLines(sh, c)
	}
	whole := s.File != "" && s.File != "-"
	start := sotto.Outside
	if whole {
		start = sotto.Auto
	}
	m, err := s.manner(sh, c, start)
	if err != nil {
		return err
	}
	if whole {
		// Read before the sink is made: it may be the same file.
		text, err := sh.readAll(s.File)
		if err != nil {
			return err
		}
		return s.strip(sh, m, true, func(st *stream) error { return st.whole(text, m.end) })
	}
	in, err := sh.open(s.File)
	if err != nil {
		return err
	}
	return s.strip(sh, m, false, func(st *stream) error { return st.run(in, m.end) })
}

func (s *stripCommand) strip(sh *shell, m manner, whole bool, read func(*stream) error) error {
	splitter, err := m.grammar.NewSplitter(s.options(m, whole))
	if err != nil {
		return usageError{fmt.Errorf("--start: %w", err), ""}
	}
	sink, err := openSink(sh, s.ReasoningTo)
	if err != nil {
		return err
	}
	err = read(&stream{splitter: splitter, out: sh.out, reasoning: sink})
	if err := errors.Join(err, sink.Close()); err != nil {
		return err
	}
	return verdict(splitter.Diagnostics(), m.start)
}

func (s *stripCommand) options(m manner, whole bool) sotto.Options {
	o := sotto.Options{Start: m.start, Inline: s.inline()}
	if whole {
		o.MaxHold = -1
	}
	return o
}

// inline returns the channels that stay in the text, which has no place beside it.
func (s *stripCommand) inline() []sotto.Channel {
	if s.Narration == "drop" {
		return []sotto.Channel{sotto.Tool}
	}
	return []sotto.Channel{sotto.Tool, sotto.Narration}
}

// verdict turns the remarks on one reply into the command's error.
func verdict(found []sotto.Diagnostic, start sotto.Start) error {
	for _, d := range found {
		if d.Code == sotto.OrphanClose && start == sotto.Outside {
			return hinted{
				fmt.Errorf("a block was closed at byte %d that never opened: reasoning may stand in the text", d.Offset),
				"if the prompt opens the block, read with --start inside",
			}
		}
	}
	for _, d := range found {
		if d.Code == sotto.NoVisibleAnswer {
			return errNoVisible
		}
	}
	return nil
}
