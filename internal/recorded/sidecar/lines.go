package sidecar

import (
	"bytes"
	"errors"
	"path/filepath"

	"github.com/sotto-llm/sotto/record"
)

// A placed line is one of a block: its rows are n from row on.
type placed struct {
	data   []byte
	at     int64
	row, n int
}

// linesOf divides a block.
func linesOf(f *file, data []byte, from, to blockEnd) (list []placed, err error) {
	row, at := from.rows, from.at
	for line := range bytes.Lines(data) {
		n := 1
		if f.h.Rows != f.h.Lines {
			m, err := record.MarkOf(line)
			if err != nil || m.Head.Seq-m.First > maxRows {
				return nil, errStale
			}
			n = int(m.Head.Seq-m.First) + 1
		}
		if row+n > to.rows {
			return nil, errStale
		}
		list = append(list, placed{line, at, row, n})
		row, at = row+n, at+int64(len(line))
	}
	if row != to.rows || !bytes.HasSuffix(data, []byte("\n")) {
		return nil, errStale
	}
	return list, nil
}

// eventsOf returns the events of a line. The error is a [record.LineError] if it cannot be read.
func eventsOf(s *Store, seg *segment, x stretch, l placed) ([]record.Event, error) {
	events, err := record.EventsOf(l.data, s.o)
	if err != nil {
		return nil, &record.LineError{Segment: filepath.Base(x.seg.Path), Offset: l.at - x.at, Err: err}
	}
	if len(events) != l.n || events[0].Seq != seg.f.h.First+uint64(l.row) {
		return nil, errStale
	}
	return events, nil
}

func isLine(err error) bool {
	_, ok := errors.AsType[*record.LineError](err)
	return ok
}
