package textcmd

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/files"
)

// chunk is how much of a stream is read at most at once. Available bytes are read
// at once.
const chunk = 32 << 10

// deltasOf reads a source to its end. If reading fails, the reply is aborted.
func deltasOf(source io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		buf := make([]byte, chunk)
		for {
			n, err := source.Read(buf)
			switch {
			case n > 0 && !yield(string(buf[:n]), nil), errors.Is(err, io.EOF):
				return
			case err != nil:
				yield("", fmt.Errorf("read: %w", files.Cause(err)))
				return
			}
		}
	}
}

// oneDelta returns a complete reply as a single delta.
func oneDelta(text string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { yield(text, nil) }
}

// maxHead bounds how much of a reply headOf keeps.
const maxHead = 1 << 20

// headOf passes deltas on, and keeps the beginning of the reply.
func headOf(deltas iter.Seq2[string, error], head *strings.Builder) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for delta, err := range deltas {
			head.WriteString(delta[:min(len(delta), maxHead-head.Len())])
			if !yield(delta, err) {
				return
			}
		}
	}
}

// A stream writes each part of a reply as soon as it is certain.
type stream struct {
	out       io.Writer
	reasoning *blockWriter
}

// run writes the events of a reply, and returns the last.
func (st *stream) run(events iter.Seq2[sotto.Event, error]) (sotto.ReplyEnd, error) {
	var last sotto.ReplyEnd
	for ev, err := range events {
		if err != nil {
			return last, err
		}
		switch ev := ev.(type) {
		case sotto.VisibleDelta:
			if _, err := io.WriteString(st.out, ev.Text); err != nil {
				return last, fmt.Errorf("write: %w", files.Cause(err))
			}
		case sotto.ReasoningDelta:
			if err := st.reasoning.write(ev.Block, []byte(ev.Text)); err != nil {
				return last, fmt.Errorf("write reasoning: %w", files.Cause(err))
			}
		case sotto.ReplyEnd:
			last = ev
		}
	}
	return last, nil
}
