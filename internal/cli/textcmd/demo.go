// Package textcmd has the commands that read replies as text: demo, strip, split
// and dialects.
package textcmd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/batch"
	"github.com/sotto-llm/sotto/internal/catalogue"
	"github.com/sotto-llm/sotto/internal/cli/painter"
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/files"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/internal/jsonpath"
	"github.com/sotto-llm/sotto/internal/scripted"
	"github.com/sotto-llm/sotto/internal/shorttext"
	"github.com/sotto-llm/sotto/internal/visible"
)

// Demo shows replies as they stream.
type Demo struct {
	reading.Flags
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

const (
	demoBudget = 7 * time.Second       // from the first delta to the last
	demoPause  = 50 * time.Millisecond // after a delta, at most
	demoFew    = 50                    // with more replies than this there are no pauses
)

// Run streams the scripted replies, or those of FILE.
func (d *Demo) Run(sh *shell.Shell, c *catalogue.Catalogue) error {
	steps, err := jsonpath.Parse(d.Field)
	if err != nil || jsonpath.Many(steps) {
		return hint.Usage(fmt.Errorf("--field %s: want the path of one field", d.Field), "")
	}
	m, err := d.Manner(sh, c, sotto.StartAuto)
	if err != nil {
		return err
	}
	var source io.Reader = strings.NewReader(scripted.Demo())
	if d.File != "" {
		in, err := sh.Open(d.File)
		if err != nil {
			return err
		}
		defer in.Close()
		source = in
	}
	field := d.Field
	if d.File == "" {
		field = "raw"
	}
	own, err := c.LineReader("")
	if err != nil {
		return err
	}
	lines := &shownLines{r: bufio.NewReaderSize(source, 64<<10), records: newReplyLineReader(field, own), m: m}
	return newDemo(sh).run(lines)
}

// A shownLine is one line of a file of replies.
type shownLine struct {
	*replyLine
	number int
	err    error // the fault of a broken line
}

// shownLines reads reply lines one by one.
type shownLines struct {
	r       *bufio.Reader
	records *replyLineReader
	m       catalogue.Manner
	number  int
}

// next returns the next line that is not blank, and io.EOF after the last.
func (l *shownLines) next() (shownLine, error) {
	for {
		line, err := l.r.ReadBytes('\n')
		l.number++
		if !batch.Blank(bytes.TrimSuffix(line, []byte("\n"))) {
			rec, broken := l.records.read(bytes.TrimSpace(line), l.m)
			return shownLine{rec, l.number, broken}, nil
		}
		if err != nil {
			return shownLine{}, err
		}
	}
}

// A demo shows replies.
type demo struct {
	sh      *shell.Shell
	paint   *painter.Painter
	compact bool // a line per reply
	pause   time.Duration
	due     time.Time // when the next delta is due; zero if nobody is watching

	shown  int
	alike  int
	failed bool
	total  counts
}

func newDemo(sh *shell.Shell) *demo {
	d := &demo{sh: sh, paint: painter.New(sh)}
	if sh.Out.TTY {
		d.due = time.Now()
	}
	return d
}

func (d *demo) run(lines *shownLines) error {
	var first []shownLine
	var err error
	for err == nil && len(first) <= demoFew {
		var line shownLine
		if line, err = lines.next(); err == nil {
			first = append(first, line)
		}
	}
	d.choosePace(first)
	for _, line := range first {
		d.show(line)
	}
	for err == nil {
		var line shownLine
		if line, err = lines.next(); err == nil {
			d.show(line)
		}
	}
	if !errors.Is(err, io.EOF) {
		return fmt.Errorf("read: %w", files.Cause(err))
	}
	d.summary()
	if err := d.paint.Flush(); err != nil {
		return fmt.Errorf("write: %w", files.Cause(err))
	}
	if d.failed {
		return batch.ErrFailed
	}
	return nil
}

// choosePace divides the time among the deltas of a few replies. Many replies are
// shown without pauses, and with one line each if nobody is watching.
func (d *demo) choosePace(first []shownLine) {
	if len(first) > demoFew {
		d.compact = !d.sh.Out.TTY
		return
	}
	deltas := 1
	for _, line := range first {
		if line.err == nil {
			deltas += len(line.pieces())
		}
	}
	d.pause = min(demoPause, demoBudget/time.Duration(deltas))
}

// show streams one reply.
func (d *demo) show(line shownLine) {
	if line.err != nil {
		d.fail(line, line.err)
		return
	}
	splitter, err := line.Grammar.NewSplitter(sotto.Options{Start: line.Start, MaxHold: -1})
	if err != nil {
		d.fail(line, err)
		return
	}
	if !d.compact {
		d.title(d.shown+1, line)
	}
	d.shown++
	t := &tally{}
	for _, delta := range line.pieces() {
		d.take(t, splitter.FeedString(delta))
		d.wait()
	}
	d.take(t, splitter.Close(line.End))
	d.paint.EndRun()
	whole, err := line.Grammar.Parse(line.text(), line.Start, line.End)
	switch {
	case err != nil:
		d.fail(line, err)
	case t.same(whole):
		d.alike++
	default:
		d.fail(line, errors.New("the streamed reading of a reply differs from the whole reading"))
	}
	d.total.add(t.counts)
	if d.compact {
		d.line(line, t, splitter.Diagnostics())
	} else {
		d.paint.Note(t.counts.String() + painter.Remarks(splitter.Diagnostics()))
	}
}

// wait waits until the next delta is due. A late delta shortens the pauses after
// it, so that the demo ends in time.
func (d *demo) wait() {
	if d.pause > 0 && !d.due.IsZero() {
		d.due = d.due.Add(d.pause)
		time.Sleep(time.Until(d.due))
	}
}

func (d *demo) take(t *tally, pieces []sotto.Piece) {
	for _, p := range pieces {
		t.add(p)
		if !d.compact {
			d.paint.Piece(p)
		}
	}
	if !d.compact {
		d.paint.Flush()
	}
}

func (d *demo) fail(line shownLine, err error) {
	d.paint.EndRun()
	d.paint.Flush()
	d.failed = true
	d.sh.LineError(line.number, err)
}

func (d *demo) summary() {
	d.paint.Plain(fmt.Sprintf("\n%s: %s; streamed and whole readings equal: %d of %d\n", shell.Plural(d.shown, "1 reply", "%d replies"), d.total, d.alike, d.shown))
}

// title prints what comes next.
func (d *demo) title(number int, line shownLine) {
	caption := line.caption
	if caption == "" {
		caption = fmt.Sprintf("line %d", line.number)
		if line.id != nil {
			caption += ", id " + string(line.id)
		}
	}
	if number > 1 {
		d.paint.Plain("\n")
	}
	d.paint.Heading(fmt.Sprintf("%d. %s", number, visible.Line(caption)), fmt.Sprintf("  [%s, starts %s, ends %s]", visible.Line(line.Name), visible.Line(string(line.Start)), line.End))
}

// line prints a reply on one line.
func (d *demo) line(line shownLine, t *tally, found []sotto.Diagnostic) {
	name := fmt.Sprint(line.number)
	if line.id != nil {
		name = string(line.id)
	}
	answer := strings.Join(strings.Fields(string(t.visible[:min(len(t.visible), 400)])), " ")
	d.paint.Plain(visible.Line(shorttext.Columns(name+"  "+t.String()+painter.Remarks(found)+"  │ "+answer, 240)) + "\n")
}

// pieces returns the deltas of a record. A reply that is given whole is cut at
// places as awkward as the boundaries of tokens.
func (r *replyLine) pieces() []string {
	if len(r.deltas) != 1 {
		return r.deltas
	}
	var cuts []string
	rest := r.deltas[0]
	for i := 0; rest != ""; i++ {
		n := min([...]int{3, 5, 1, 7, 2, 4}[i%6], len(rest))
		cuts, rest = append(cuts, rest[:n]), rest[n:]
	}
	return cuts
}
