package textcmd

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// A deltaStream reads the deltas of many replies, one JSON object per line. It
// writes each part of a reply as an event, one JSON object per line, as soon as it
// is certain.
type deltaStream struct {
	dialectset.Manner
	sh     *shell.Shell
	lines  *replyLineReader
	open   map[string]*deltaReply
	order  []*deltaReply // in the order in which they opened
	events []byte        // of the current line
	faults shell.Faults
}

// A deltaReply is one of the open replies.
type deltaReply struct {
	id     string // as it stands in the lines
	filter *sotto.Filter
	closed bool
}

// maxOpenReplies bounds the replies of a stream of deltas.
const maxOpenReplies = 10_000

func newDeltaStream(sh *shell.Shell, m dialectset.Manner, lines *dialectset.LineReader) *deltaStream {
	return &deltaStream{Manner: m, sh: sh, lines: newReplyLineReader("delta", lines), open: map[string]*deltaReply{}}
}

// run reads to the end of the input. Replies that are then still open end as the
// flags say.
func (s *deltaStream) run(in io.Reader, most int) error {
	from := bufio.NewReaderSize(in, chunk)
	failed := false
	var ended error
	for number := 1; ; number++ {
		line, err := batch.NextLine(from, most)
		var long *batch.LongLineError
		if err != nil && !errors.As(err, &long) {
			ended = err
			break
		}
		if line = batch.TrimLine(line); err == nil {
			if batch.Blank(line) {
				continue
			}
			err = s.line(line)
		}
		if err != nil {
			failed = true
			s.faults.Print(s.sh, fmt.Sprintf("line %d", number), err)
			s.events = batch.AppendError(s.events, batch.LineAt(number), err)
		}
		if err := s.write(); err != nil {
			return err
		}
	}
	s.faults.More(s.sh, "the stream")
	end := s.End
	if errors.Is(ended, io.EOF) {
		ended = nil
	} else {
		end = sotto.EndAborted
	}
	for _, r := range s.order {
		s.close(r, end)
	}
	if err := errors.Join(s.write(), ended); err != nil {
		return err
	}
	if failed {
		return batch.ErrFailed
	}
	return nil
}

// write writes the events, at once.
func (s *deltaStream) write() error {
	if len(s.events) == 0 {
		return nil
	}
	_, err := s.sh.Out.Write(s.events)
	s.events = s.events[:0]
	if err != nil {
		return fmt.Errorf("write: %w", files.Cause(err))
	}
	return s.sh.Flush()
}

// line reads a delta, the end of a reply, or both.
func (s *deltaStream) line(line []byte) error {
	d, err := s.lines.readDelta(line, s.Manner)
	if err != nil {
		return err
	}
	r, err := s.reply(d)
	if err != nil {
		return err
	}
	r.filter.Feed(d.text)
	if d.ends {
		s.close(r, d.End)
	}
	return nil
}

// reply returns the reply of a line. The reply opens with its first line.
func (s *deltaStream) reply(d *deltaLine) (*deltaReply, error) {
	if r := s.open[d.id]; r != nil {
		return r, nil
	}
	if len(s.open) == maxOpenReplies {
		return nil, fmt.Errorf("more than %d replies are open: end one first", maxOpenReplies)
	}
	f, err := d.Grammar.NewFilter(sotto.Options{Start: d.Start})
	if err != nil {
		return nil, err
	}
	r := &deltaReply{id: d.id, filter: f}
	f.OnText = func(text string) { s.text(r, "visible", 0, text) }
	f.OnReasoning = func(block int, text string) { s.text(r, "reasoning", block, text) }
	f.OnReasoningEnd = func(block int, closed bool) {
		s.begin(r, "reasoning_end", block)
		s.events = append(strconv.AppendBool(append(s.events, `,"closed":`...), closed), "}\n"...)
	}
	f.OnNarration = func(block int, text string) { s.text(r, "narration", block, text) }
	f.OnTool = func(block int, text string) { s.text(r, "tool", block, text) }
	s.open[d.id] = r
	s.order = append(s.order, r)
	return r, nil
}

// close ends a reply. Another reply may then use its id.
func (s *deltaStream) close(r *deltaReply, end sotto.Ending) {
	if r.closed {
		return
	}
	r.closed = true
	r.filter.Close(end)
	s.begin(r, "finished", 0)
	s.events = jsontext.AppendString(append(s.events, `,"end":`...), end.String())
	list := append([]sotto.Diagnostic{}, r.filter.Diagnostics()...)
	data, _ := json.Marshal(list) // texts and numbers
	s.events = append(append(s.events, `,"diagnostics":`...), data...)
	if more := r.filter.Counts().Total() - len(list); more > 0 {
		s.events = strconv.AppendInt(append(s.events, `,"more_diagnostics":`...), int64(more), 10)
	}
	s.events = append(s.events, "}\n"...)
	delete(s.open, r.id)
	if len(s.order) > 2*len(s.open)+16 { // drop the closed ones
		var order []*deltaReply
		for _, r := range s.order {
			if !r.closed {
				order = append(order, r)
			}
		}
		s.order = order
	}
}

func (s *deltaStream) text(r *deltaReply, event string, block int, text string) {
	s.begin(r, event, block)
	s.events = append(jsontext.AppendString(append(s.events, `,"text":`...), text), "}\n"...)
}

// begin begins the object of an event.
func (s *deltaStream) begin(r *deltaReply, event string, block int) {
	s.events = append(append(s.events, `{"v":1,"id":`...), r.id...)
	s.events = append(append(append(s.events, `,"event":"`...), event...), '"')
	if block > 0 {
		s.events = strconv.AppendInt(append(s.events, `,"block":`...), int64(block), 10)
	}
}
