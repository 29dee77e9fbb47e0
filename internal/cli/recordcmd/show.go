package recordcmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/recorded/eventtext"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/internal/reply/painter"
	"github.com/sotto-llm/sotto/record"
)

type showCommand struct {
	source
	filter
	found
	JSON bool `name:"json" help:"Print the lines of the events exactly as the record has them."`
	lookedFlag
	Seq []string `arg:"" optional:"" name:"seq" help:"The numbers of events, as ls prints them: 1234, or worker-1:1234 if the folder holds several records. Without one, all events that the flags select."`
}

// Help explains how events are shown.
func (showCommand) Help() string {
	return `Reasoning is dim and the answer plain, as in sotto demo. Without colour, a word before each line names its channel. Control sequences in texts are shown as visible characters. Brackets mark what was not recorded. Checkpoints are left out unless --type or --json asks for them.

Examples:

    sotto record show audit 1234
    sotto record show audit --run run-7 --cycle 2
    sotto record show audit --id chatcmpl-7Qy
    sotto record show audits --trace 0af7651916cd43dd8448eb211c80319c
    sotto record show study worker-1:1234
    sotto record show audit --json --from 2h | jq .payload.model`
}

// Run prints events.
func (s *showCommand) Run(sh *shell.Shell) error {
	q, err := s.query()
	if err != nil {
		return err
	}
	if err := s.open(); err != nil {
		return err
	}
	limit, types := q.Limit, q.Types
	if s.any() {
		q.Limit, q.Types = 0, nil // they are about the events that are found
	}
	q.NoCheckpoints = !s.JSON && len(q.Types) == 0
	set, err := s.records()
	if err != nil {
		return err
	}
	p := &eventPrinter{Painter: painter.New(sh.Out.Typesetter()), sh: sh, json: s.JSON, set: set}
	defer p.Flush()
	if len(s.Seq) > 0 {
		return p.numbered(s.Seq)
	}
	bad := badLines{sh: sh}
	events := set.Events(q)
	if s.any() {
		events = set.Search(sidecar.Query{Query: q, IDs: slices.Collect(maps.Keys(s.values))})
	}
	for e, err := range events {
		if err == nil {
			if !s.has(&e) || len(types) > 0 && !slices.Contains(types, e.Type) {
				continue
			}
			err = p.event(&e)
			limit--
		} else if err = bad.skip(err); err == nil {
			continue
		}
		if err != nil {
			return err
		}
		if s.any() && limit == 0 {
			break
		}
	}
	s.say(sh, set)
	return bad.err()
}

// numbered prints the events with the given names.
func (p *eventPrinter) numbered(names []string) error {
	for _, name := range names {
		from, n, err := eventNamed(p.set, name)
		if err != nil {
			return err
		}
		found := false
		for e, err := range from.Store.Events(sidecar.Query{Query: record.Query{After: max(n, 1) - 1, Limit: 1}}) {
			if err != nil {
				return readHint(from.Err(err))
			}
			sealed, _ := e.Payload.(record.SealedBatch)
			if found = e.Seq <= n && n <= max(e.Seq, sealed.Last); found {
				if err := p.event(&recordset.Event{Event: e, Source: from}); err != nil {
					return err
				}
			}
		}
		if !found {
			return from.Err(fmt.Errorf("there is no event %d in the record", n))
		}
	}
	return nil
}

// eventNamed reads the name of an event: its number, after its record and a colon if
// there are several records.
func eventNamed(set *recordset.Set, name string) (from *recordset.Source, n uint64, err error) {
	number := name
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		number = name[i+1:]
		from, err = set.Named(name[:i])
	} else {
		from, err = set.Only("a number alone")
	}
	if err != nil {
		return nil, 0, err
	}
	if n, err = strconv.ParseUint(number, 10, 64); err != nil {
		return nil, 0, errorhint.Usage(fmt.Errorf("event %q: want a number, such as 1234 or worker-1:1234", name), "")
	}
	return from, n, nil
}

type followCommand struct {
	source
	filter
	All  bool `help:"Begin with the events that exist already."`
	JSON bool `name:"json" help:"Print the lines of the events exactly as the record has them."`
}

// Help explains how following ends.
func (followCommand) Help() string {
	return `Prints as sotto record show does: events from now on, or from where --after, --from or --all begins. It ends at an interrupt, or after --limit events. An event may be shown before its writer knows that it is on disk.`
}

// Run prints events as they arrive.
func (f *followCommand) Run(sh *shell.Shell) error {
	q, err := f.query()
	if err != nil {
		return err
	}
	set, err := f.records()
	if err != nil {
		return err
	}
	from, err := set.Only("follow")
	if err != nil {
		return err
	}
	r, err := from.Reader()
	if err != nil {
		return err
	}
	q.NoCheckpoints = !f.JSON && len(q.Types) == 0
	if q.After == 0 && q.From.IsZero() && !f.All {
		head, err := r.Head()
		if err != nil {
			return err
		}
		q.After = head.Seq
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	p := &eventPrinter{Painter: painter.New(sh.Out.Typesetter()), sh: sh, json: f.JSON, set: set}
	bad := badLines{sh: sh}
	for e, err := range r.Follow(ctx, q) {
		if err == nil {
			err = errors.Join(p.event(&recordset.Event{Event: e, Source: from}), p.Flush())
		} else {
			err = bad.skip(err)
		}
		if err != nil {
			return err
		}
	}
	return bad.err()
}

// An eventPrinter prints events.
type eventPrinter struct {
	*painter.Painter
	sh   *shell.Shell
	json bool
	set  *recordset.Set
	n    int
}

func (p *eventPrinter) event(e *recordset.Event) error {
	if p.json {
		return p.sh.Print(append(e.Line(), '\n'))
	}
	if p.n++; p.n > 1 {
		p.Plain("\n")
	}
	p.head(e)
	w := eventtext.Walker{Text: p.text, Members: p.members, Guard: p.guard}
	w.Event(&e.Event)
	return p.Flush() // after an error of the stream, every later write fails with it
}

// head prints the kind of an event.
func (p *eventPrinter) head(e *recordset.Event) {
	number := eventName(p.set, e.Source, e.Seq)
	if s, ok := e.Payload.(record.SealedBatch); ok && s.Last > e.Seq {
		number += fmt.Sprintf("-%d", s.Last)
	}
	where := ""
	if e.Run != "" {
		where = fmt.Sprintf("  %s, cycle %d", e.Run, e.Cycle)
	}
	if e.Unsearched > 0 {
		where += fmt.Sprintf("  (may hold %d secrets: there were too many to search for)", e.Unsearched)
	}
	p.Heading(visible.Line("#"+number+" "+string(e.Type)), fmt.Sprintf("  %s%s", e.Time.Format(time.RFC3339Nano), visible.Line(where)))
}

// members prints plain values on one line.
func (p *eventPrinter) members(path string, list []eventtext.Member) {
	var words []string
	for _, m := range list {
		if m.Value != "" {
			words = append(words, visible.Line(m.Name)+" "+visible.Line(m.Value))
		}
	}
	if path != "" {
		path += ": "
	}
	p.Note(visible.Line(path) + strings.Join(words, ", "))
}

// guard prints what a guard decided: how many pieces passed, and each other verdict on a
// line, with its reason.
func (p *eventPrinter) guard(g *record.Guarding) {
	summary, notable := eventtext.Verdicts(g)
	p.Note(visible.Line("guard " + g.ID + ": " + summary))
	for _, j := range notable {
		at := "guard: " + eventtext.Verdict(&j)
		switch {
		case !j.Reason.Whole():
			p.text(eventtext.Text{Path: at, Content: j.Reason, Channel: sotto.ChannelReasoning})
			continue
		case j.Reason.Text != "":
			at += ": " + string(j.Reason.Text)
		}
		p.Note(visible.Line(at))
	}
}

// text prints text, each channel in its style.
func (p *eventPrinter) text(t eventtext.Text) {
	p.Note(visible.Line(t.Path) + manners(t.Reply))
	for _, s := range t.Stretches() {
		if s.Why == "" || s.Text != "" {
			p.Piece(sotto.Piece{Channel: s.Channel, Block: s.Block, Bytes: []byte(s.Text)})
			continue
		}
		p.EndRun()
		p.Note(notRecorded(s.End-s.Start, s.Why))
	}
	p.EndRun()
}

// notRecorded says how many bytes are not recorded, and why.
func notRecorded(n int, why string) string {
	if why == record.CutByLimit {
		return fmt.Sprintf("[%d bytes are not recorded: the reply is longer than the limit]", n)
	}
	return fmt.Sprintf("[%d bytes of %s are not recorded]", n, visible.Line(why))
}

// manners describes how a reply was read.
func manners(r *record.Reply) string {
	if r == nil {
		return ""
	}
	text := fmt.Sprintf(" [%s, starts %s, ends %s]", orUnknown(r.Dialect), orUnknown(string(r.Start)), r.End)
	return visible.Line(text + painter.Remarks(r.Diagnostics))
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}
