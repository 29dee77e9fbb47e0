package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/sotto-llm/sotto"
)

// chunk is how much of a stream is read at once; what is there is read at once.
const chunk = 32 << 10

// A stream feeds a splitter and writes what becomes certain, at once.
type stream struct {
	splitter  *sotto.Splitter
	out       io.Writer
	reasoning *blockWriter
}

// run reads source to its end. A source that breaks ends the reply as aborted.
func (st *stream) run(source io.Reader, end sotto.End) error {
	buf := make([]byte, chunk)
	for {
		n, err := source.Read(buf)
		if n > 0 {
			if err := st.write(st.splitter.Feed(buf[:n])); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return st.write(st.splitter.Close(end))
		case err != nil:
			return errors.Join(fmt.Errorf("read: %w", cause(err)), st.write(st.splitter.Close(sotto.Aborted)))
		}
	}
}

// whole reads a reply that is at hand.
func (st *stream) whole(text string, end sotto.End) error {
	if err := st.write(st.splitter.FeedString(text)); err != nil {
		return err
	}
	return st.write(st.splitter.Close(end))
}

// write gives out what the last call on the splitter settled.
func (st *stream) write(pieces []sotto.Piece) error {
	if text := st.splitter.Visible(); len(text) > 0 {
		if _, err := st.out.Write(text); err != nil {
			return fmt.Errorf("write: %w", cause(err))
		}
	}
	for _, p := range pieces {
		if p.Channel != sotto.Reasoning {
			continue
		}
		if err := st.reasoning.write(p.Block, p.Bytes); err != nil {
			return fmt.Errorf("write reasoning: %w", cause(err))
		}
	}
	return nil
}
