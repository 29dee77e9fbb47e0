package inputfiles

import (
	"bufio"
	"bytes"
	"io"

	"github.com/sotto-llm/sotto/internal/base/decompress"
	"github.com/sotto-llm/sotto/internal/lab/parquetfile"
)

// HeadSize is how many bytes of an input AreLines needs, if it has so many.
const HeadSize = buffered

// AreLines reports whether an input with these first bytes holds plain JSON Lines of
// which each line is a record by itself, so that a part of them can be read.
func AreLines(head []byte, name string, set Settings) bool {
	if decompress.Compressed(head) || set.From != "" {
		return false
	}
	if set.Format != "" && set.Format != Auto {
		return set.Format == Lines
	}
	return detect(bufio.NewReaderSize(bytes.NewReader(head), buffered), name) == Lines
}

// OpenLines returns the records of plain JSON Lines.
func OpenLines(r io.Reader) *Source {
	return &Source{Reader: bufio.NewReaderSize(r, buffered), Unit: "line", Sized: true}
}

// NeedsFile reports whether an input with these first bytes is not read from its
// beginning to its end.
func NeedsFile(head []byte) bool {
	return bytes.HasPrefix(head, []byte(parquetfile.Magic)) || bytes.HasPrefix(head, []byte(zipMagic))
}
