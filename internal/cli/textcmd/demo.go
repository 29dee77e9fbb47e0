// Package textcmd has the commands that read replies as text: demo, strip, split
// and dialects.
package textcmd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/manner"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/jsonpath"
	"github.com/sotto-llm/sotto/internal/reply/demo"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// Demo shows replies as they stream.
type Demo struct {
	manner.Flags
	Field string `default:"raw" placeholder:"PATH" setting:"SOTTO_FIELD" help:"The field of a line of FILE that holds the reply."`
	File  string `arg:"" optional:"" placeholder:"FILE" help:"JSON Lines with replies of your own. Without it, scripted ones."`
}

// Help shows examples.
func (Demo) Help() string {
	return `Each reply streams through the splitter in small deltas. Reasoning is dimmed, the answer plain, narration in italics, and markers are hidden. Without colour, a word before each line names its channel. Each reply is followed by the bytes of every channel and the diagnostics. The demo ends within ten seconds.

Examples:

    sotto demo
    NO_COLOR=1 sotto demo | less
    sotto demo --field response replies.jsonl`
}

// demoLine bounds a line, in bytes: some are held at once.
const demoLine = 2 << 20

// Run streams the scripted replies, or those of FILE.
func (d *Demo) Run(sh *shell.Shell, c *dialectset.Set) error {
	steps, err := jsonpath.Parse(d.Field)
	if err != nil || jsonpath.Many(steps) {
		return errorhint.Usage(fmt.Errorf("--field %s: want the path of one field", d.Field), "")
	}
	m, err := d.Manner(sh, c, sotto.BeginAuto)
	if err != nil {
		return err
	}
	next := demo.Scripted()
	if d.File != "" {
		in, err := sh.Open(d.File)
		if err != nil {
			return err
		}
		defer in.Close()
		own, err := c.LineReader("", d.Dialect != "" || d.Model != "")
		if err != nil {
			return err
		}
		lines := &shownLines{r: bufio.NewReaderSize(in, 64<<10), records: newReplyLineReader(d.Field, own), m: m}
		next = lines.next
	}
	err = demo.NewShow(sh.Out.Typesetter(), sh.Out.TTY, sh.LineError).Run(next)
	if errors.Is(err, demo.ErrFailed) {
		return batch.ErrFailed
	}
	return err
}

// shownLines reads reply lines one by one.
type shownLines struct {
	r       *bufio.Reader
	records *replyLineReader
	m       dialectset.Manner
	number  int
}

// next returns the next line that is not blank, and io.EOF after the last.
func (l *shownLines) next() (demo.Reply, error) {
	for {
		line, err := batch.NextLine(l.r, demoLine)
		l.number++
		var long *batch.LongLineError
		if errors.As(err, &long) {
			return demo.Reply{Number: l.number, Err: err}, nil
		}
		if !batch.Blank(bytes.TrimSuffix(line, []byte("\n"))) {
			rec, broken := l.records.parse(bytes.TrimSpace(line), l.m)
			if broken != nil {
				return demo.Reply{Number: l.number, Err: broken}, nil
			}
			return demo.Reply{
				Number: l.number, ID: string(rec.id), Caption: rec.caption, Dialect: rec.Name,
				Grammar: rec.Grammar, Start: rec.Start, End: rec.End, Deltas: rec.deltas,
			}, nil
		}
		if err != nil {
			return demo.Reply{}, err
		}
	}
}
