package parquetfile

import (
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/parquet-go/parquet-go"
)

// A Queue holds the rows of a file that have been read and not yet written again, so that a
// Writer does not read the file a second time. AppendNext adds to it, by one goroutine, and a
// Writer takes from it, by another one. Whoever reads ahead bounds it.
type Queue struct {
	mu   sync.Mutex
	rows []queued
	end  bool // the last row has been read
	most int  // rows that it has held at once
}

// A queued is the values of a row, or the error of one that is too long.
type queued struct {
	values parquet.Row
	err    error
}

// Keep makes AppendNext add each row to a queue, which it returns. It is called before the
// first row is read.
func (f *File) Keep() *Queue {
	f.kept = new(Queue)
	return f.kept
}

// add adds the row that the file has read.
func (q *Queue) add(f *File, err error) {
	one := queued{err: err}
	if err == nil {
		bytes := 0
		for i := range f.cursors {
			bytes += f.cursors[i].bytes
		}
		one.values = copied(f.cursors, make([]byte, 0, bytes))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rows = append(q.rows, one)
	q.most = max(q.most, len(q.rows))
}

// copied returns the values of a row. They are in pages that the file gives back.
func copied(cursors []cursor, texts []byte) parquet.Row {
	n := 0
	for i := range cursors {
		n += len(cursors[i].now)
	}
	row := make(parquet.Row, 0, n)
	for i := range cursors {
		for _, v := range cursors[i].now {
			rep, def := v.RepetitionLevel(), v.DefinitionLevel()
			switch v.Kind() {
			case parquet.ByteArray, parquet.FixedLenByteArray:
				from := len(texts)
				texts = append(texts, v.ByteArray()...)
				text := texts[from:len(texts):len(texts)]
				if v.Kind() == parquet.ByteArray {
					v = parquet.ByteArrayValue(text)
				} else {
					v = parquet.FixedLenByteArrayValue(text)
				}
			}
			row = append(row, v.Level(rep, def, i))
		}
	}
	return row
}

func (q *Queue) finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.end = true
}

var errQueue = errors.New("more rows are written than were read")

// next takes the next row. At the end of the file it returns io.EOF.
func (q *Queue) next() (parquet.Row, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.rows) == 0 {
		if q.end {
			return nil, io.EOF
		}
		return nil, errQueue
	}
	one := q.rows[0]
	q.rows[0] = queued{}
	if q.rows = q.rows[1:]; len(q.rows) == 0 {
		q.rows = nil
	} else if cap(q.rows) > 4*len(q.rows) {
		q.rows = slices.Clone(q.rows)
	}
	return one.values, one.err
}
