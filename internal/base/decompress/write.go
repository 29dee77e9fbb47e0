package decompress

import (
	"compress/gzip"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// A Writer compresses what is written to it. Flush makes all of it readable. Close ends
// the compressed stream, and leaves the writer below open.
type Writer interface {
	io.WriteCloser
	Flush() error
}

// foreign are the endings of compressions and archives that are not written.
var foreign = []string{".7z", ".br", ".bz2", ".gzip", ".lz", ".lz4", ".lzma", ".lzo", ".rar", ".snappy", ".sz", ".tbz2", ".tgz", ".txz", ".tzst", ".xz", ".z", ".zip", ".zlib", ".zstd"}

// NewWriter returns a writer to w for a file of this name: gzip for .gz, zstd for .zst,
// and nil for a name that says no compression. A compression that cannot be written is
// an error.
func NewWriter(name string, w io.Writer) (Writer, error) {
	plain, ending := CutEnding(name)
	if ending != "" && strings.EqualFold(filepath.Ext(plain), ".parquet") {
		return nil, fmt.Errorf("%s: a Parquet file is compressed inside, and is not compressed again: leave %s out of its name", name, ending)
	}
	switch ending {
	case ".gz":
		return gzip.NewWriter(w), nil
	case ".zst":
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	}
	if ending := strings.ToLower(filepath.Ext(name)); slices.Contains(foreign, ending) {
		return nil, fmt.Errorf("%s: files of this compression (%s) are not written: want a name that ends in .gz or .zst, or in neither", name, ending)
	}
	return nil, nil
}

// CutEnding cuts .gz or .zst from a name.
func CutEnding(name string) (plain, ending string) {
	switch ending := strings.ToLower(filepath.Ext(name)); ending {
	case ".gz", ".zst":
		return name[:len(name)-len(ending)], ending
	}
	return name, ""
}
