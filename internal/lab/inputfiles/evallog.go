package inputfiles

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/batch"
)

// A zipReader gives each sample of an .eval file, which is a zip archive with a file
// of JSON for each sample, as a line.
type zipReader struct {
	samples []*zip.File
	most    int // bytes of a sample
	out     []byte
}

// zipZstd is the method of zip archives for zstd.
const zipZstd = 93

func newZipReader(file *os.File, most int) (*zipReader, error) {
	if file == nil {
		return nil, errStream
	}
	info, err := file.Stat()
	if err != nil {
		return nil, files.Cause(err)
	}
	archive, err := zip.NewReader(file, info.Size())
	if err != nil {
		return nil, err
	}
	archive.RegisterDecompressor(zipZstd, zstd.ZipDecompressor(zstd.WithDecoderMaxWindow(64<<20), zstd.WithDecoderConcurrency(1)))
	z := &zipReader{most: most}
	for _, f := range archive.File {
		if strings.HasPrefix(f.Name, "samples/") && path.Ext(f.Name) == ".json" {
			z.samples = append(z.samples, f)
		}
	}
	if len(z.samples) == 0 {
		return nil, errors.New("there are no samples in the archive")
	}
	return z, nil
}

func (z *zipReader) Read(p []byte) (int, error) {
	if len(z.out) == 0 {
		if len(z.samples) == 0 {
			return 0, io.EOF
		}
		z.out = sampleLine(z.samples[0], z.most)
		z.samples = z.samples[1:]
	}
	n := copy(p, z.out)
	z.out = z.out[n:]
	return n, nil
}

// sampleLine reads a sample. One that cannot be read is a line too, so that the
// others are not lost.
func sampleLine(f *zip.File, most int) []byte {
	r, err := f.Open()
	if f.UncompressedSize64 > longRow {
		batch.Spare(most)
	}
	var text []byte
	if err == nil {
		text, err = files.ReadAll(r, int64(most))
		r.Close()
	}
	if err != nil {
		return batch.AppendFault(nil, fmt.Errorf("%s: %w", f.Name, err))
	}
	return append(oneLine(string(text)), '\n')
}

// skipToSamples skips what comes before the list of samples in a log in JSON, which is
// one object. It looks only at brackets and quotes; the reader of the samples must
// check them.
func skipToSamples(r *bufio.Reader) error {
	const name = `"samples"`
	var token []byte // the last string at depth 1
	depth, quote, slash := 0, false, false
	for {
		c, err := r.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return errors.New("the log has no list of samples")
		case err != nil:
			return err
		case quote:
			if len(token) <= len(name) {
				token = append(token, c)
			}
			quote = slash || c != '"'
			slash = !slash && c == '\\'
		case c == '"':
			quote, token = true, append(token[:0], c)
		case c == '[' && depth == 1 && string(token) == name:
			return r.UnreadByte()
		case c == '{' || c == '[':
			depth++
			token = token[:0]
		case c == '}' || c == ']':
			depth--
		case c == ',':
			token = token[:0]
		}
	}
}
