package recordset

import (
	"bufio"
	"encoding/json"
	"io"
	"iter"

	"github.com/sotto-llm/sotto/record"
)

// WriteLines writes what lines makes of each event, as JSON Lines; of nil at the end. A
// failed reading is passed to failed; if it returns nil, the reading continues.
func WriteLines[Line any](to io.Writer, events iter.Seq2[Event, error], lines func(*Event) []Line, failed func(error) error) error {
	out := bufio.NewWriterSize(to, 64<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	write := func(e *Event) error {
		for _, line := range lines(e) {
			if err := enc.Encode(line); err != nil {
				return err
			}
		}
		return nil
	}
	for e, err := range events {
		if err == nil && e.Type == record.TypeSealed {
			err = e.Source.Err(record.ErrSealed)
		}
		if err != nil {
			if err = failed(err); err != nil {
				return err
			}
			continue
		}
		if err := write(&e); err != nil {
			return err
		}
	}
	if err := write(nil); err != nil {
		return err
	}
	return out.Flush()
}
