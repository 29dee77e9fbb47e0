package demo

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/typeset"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/reply/painter"
)

const (
	budget = 7 * time.Second       // from the first delta to the last
	pause  = 50 * time.Millisecond // after a delta, at most
	few    = 50                    // with more replies than this there are no pauses
)

// ErrFailed is the error of a show in which a reply failed.
var ErrFailed = errors.New("some replies failed")

// A Show shows replies as they stream.
type Show struct {
	// Fault is told why the reply of a line failed.
	Fault func(line int, err error)

	paint   *painter.Painter
	watched bool // on a terminal
	compact bool // a line for each reply
	pause   time.Duration
	due     time.Time // when the next delta is due

	shown  int
	alike  int
	failed bool
	broken error // why nothing more can be written
	total  counts
}

// NewShow returns a show on w. One that is watched pauses after each delta.
func NewShow(w *typeset.Writer, watched bool, fault func(line int, err error)) *Show {
	return &Show{Fault: fault, paint: painter.New(w), watched: watched, due: time.Now()}
}

// Run shows the replies that next gives, up to io.EOF. Its error is ErrFailed if a reply
// failed, after Fault was told, or else that of reading or writing.
func (s *Show) Run(next func() (Reply, error)) error {
	var first []Reply
	var err error
	for err == nil && len(first) <= few {
		var r Reply
		if r, err = next(); err == nil {
			first = append(first, r)
		}
	}
	s.choosePace(first)
	for i := range first {
		s.show(&first[i])
	}
	for err == nil && s.broken == nil {
		var r Reply
		if r, err = next(); err == nil {
			s.show(&r)
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read: %w", files.Cause(err))
	}
	s.summary()
	if s.flush(); s.broken != nil {
		return fmt.Errorf("write: %w", files.Cause(s.broken))
	}
	if s.failed {
		return ErrFailed
	}
	return nil
}

// choosePace divides the time among the deltas of a few replies. Many replies are
// shown without pauses, and with one line each if nobody is watching.
func (s *Show) choosePace(first []Reply) {
	if len(first) > few {
		s.compact = !s.watched
		return
	}
	deltas := 1
	for i := range first {
		deltas += len(first[i].pieces())
	}
	s.pause = min(pause, budget/time.Duration(deltas))
}

// show streams one reply.
func (s *Show) show(r *Reply) {
	if s.broken != nil {
		return
	}
	if r.Err != nil {
		s.fail(r, r.Err)
		return
	}
	splitter, err := r.Grammar.NewSplitter(sotto.Options{Start: r.Start, MaxHold: -1})
	if err != nil {
		s.fail(r, err)
		return
	}
	if !s.compact {
		s.title(r)
	}
	s.shown++
	t := &tally{}
	for _, delta := range r.pieces() {
		s.print(t, splitter.FeedString(delta))
		s.wait()
	}
	s.print(t, splitter.Close(r.End))
	s.paint.EndRun()
	whole, err := r.Grammar.Parse(r.text(), r.Start, r.End)
	switch {
	case err != nil:
		s.fail(r, err)
	case t.same(whole):
		s.alike++
	default:
		s.fail(r, errors.New("the streamed reading of a reply differs from the whole reading"))
	}
	s.total.plus(t.counts)
	if s.compact {
		s.line(r, t, splitter.Diagnostics())
	} else {
		s.paint.Note(t.counts.String() + painter.Remarks(splitter.Diagnostics()))
	}
}

// wait waits until the next delta is due. A late delta shortens the pauses after
// it, so that the demo ends in time.
func (s *Show) wait() {
	if s.pause > 0 && s.watched && s.broken == nil {
		s.due = s.due.Add(s.pause)
		time.Sleep(time.Until(s.due))
	}
}

func (s *Show) print(t *tally, pieces []sotto.Piece) {
	for _, p := range pieces {
		t.count(p)
		if !s.compact {
			s.paint.Piece(p)
		}
	}
	if !s.compact {
		s.flush()
	}
}

func (s *Show) flush() {
	if err := s.paint.Flush(); err != nil {
		s.broken = err
	}
}

func (s *Show) fail(r *Reply, err error) {
	s.paint.EndRun()
	s.flush()
	s.failed = true
	s.Fault(r.Number, err)
}

func (s *Show) summary() {
	replies := fmt.Sprintf("%d replies", s.shown)
	if s.shown == 1 {
		replies = "1 reply"
	}
	s.paint.Plain(fmt.Sprintf("\n%s: %s; streamed and whole readings equal: %d of %d\n", replies, s.total, s.alike, s.shown))
}

// title prints what comes next.
func (s *Show) title(r *Reply) {
	caption := r.Caption
	if caption == "" {
		caption = fmt.Sprintf("line %d", r.Number)
		if r.ID != "" {
			caption += ", id " + r.ID
		}
	}
	if s.shown > 0 {
		s.paint.Plain("\n")
	}
	s.paint.Heading(fmt.Sprintf("%d. %s", s.shown+1, visible.Line(caption)), fmt.Sprintf("  [%s, starts %s, ends %s]", visible.Line(r.Dialect), visible.Line(string(r.Start)), r.End))
}

// line prints a reply on one line.
func (s *Show) line(r *Reply, t *tally, found []sotto.Diagnostic) {
	name := fmt.Sprint(r.Number)
	if r.ID != "" {
		name = r.ID
	}
	answer := shorttext.OneLine(string(t.visible[:min(len(t.visible), 400)]))
	s.paint.Plain(visible.Line(shorttext.Columns(name+"  "+t.String()+painter.Remarks(found)+"  │ "+answer, 240)) + "\n")
}
