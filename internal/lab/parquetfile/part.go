package parquetfile

import (
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/format"
)

// Part limits what is read to the row groups that begin at a byte in [from, to) of a file of
// this size, and returns how many rows come before. It is called before the first row is
// read. Each group begins in one place, whatever the file says: those that it says lie
// outside of the file, or before the group that precedes them, are moved. So parts that
// cover the file have each group once, in order.
func (f *File) Part(from, to, size int64) (before int, err error) {
	at, rows := int64(0), int64(0)
	f.last = 0
	for i := range f.meta.RowGroups {
		group := &f.meta.RowGroups[i]
		if group.NumRows < 0 || group.NumRows > math.MaxInt64-rows {
			return 0, fmt.Errorf("row group %d: %w", i+1, errThrift)
		}
		at = max(at, min(begin(group), size-1))
		switch {
		case at < from:
			f.group, rows = i+1, rows+group.NumRows
		case at < to:
			f.last = i + 1
		}
	}
	f.last = max(f.last, f.group)
	return int(rows), nil
}

// begin returns the first byte of a row group that has one.
func begin(group *format.RowGroup) int64 {
	at := int64(math.MaxInt64)
	for i := range group.Columns {
		c := &group.Columns[i].MetaData
		at = min(at, chunkBegin(c))
	}
	return at
}

// chunkBegin returns the first byte of a column of a row group.
func chunkBegin(c *format.ColumnMetaData) int64 {
	if c.DictionaryPageOffset != 0 {
		return c.DictionaryPageOffset
	}
	return c.DataPageOffset
}
