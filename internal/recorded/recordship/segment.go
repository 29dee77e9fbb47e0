package recordship

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// encoders keep their memory while they are used. Between two uses, a collection of garbage
// frees it. A window of 8 MiB, the default, needs 16 MiB, and makes what is shipped 3 % smaller.
var encoders = sync.Pool{New: func() any {
	z, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(2<<20), zstd.WithLowerEncoderMem(true))
	return z
}}

// compressed returns data in one frame.
func compressed(data []byte) []byte {
	zip := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(zip)
	return zip.EncodeAll(data, nil)
}

// segment ships a segment that does not grow any more. It replaces its parts.
func (s *Shipper) segment(ctx context.Context, f record.File, last uint64) error {
	file, err := f.Open()
	if err != nil {
		return err
	}
	defer file.Close()
	if err := s.continues(f, file); err != nil {
		return err
	}
	p, err := pack(file)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, files.Cause(err))
	}
	mark, err := record.MarkOf(p.last)
	if err != nil {
		return fmt.Errorf("%s: the last line: %w", filepath.Base(f.Path), err)
	}
	if err := s.put(ctx, segmentNamed(f.First, last, p.size, p.digest), p.data, "segments"); err != nil {
		return err
	}
	s.sealed(last, mark.Head)
	s.note()
	s.forget(ctx, f.First)
	return nil
}

// continues checks that a segment still begins as it was shipped.
func (s *Shipper) continues(f record.File, file *os.File) error {
	first, err := bufio.NewReader(io.NewSectionReader(file, 0, maxLine)).ReadBytes('\n')
	if err != nil && err != io.EOF {
		return err
	}
	mark, err := record.MarkOf(first)
	if err != nil {
		return fmt.Errorf("%s: the first line: %w", filepath.Base(f.Path), err)
	}
	if err := s.own(mark.Record); err != nil {
		return err
	}
	if s.state.Head.Seq == f.First-1 && s.state.Head.Seq > 0 && mark.Prev != s.state.Head.Digest {
		return s.diverged(fmt.Sprintf("event %d is not the one that was shipped", s.state.Head.Seq))
	}
	if s.state.Segment != f.First {
		return nil
	}
	return s.same(file, f)
}

// A packed is a segment as it is shipped. The plain segment is never in memory as a whole.
type packed struct {
	data   []byte // compressed, in frames
	frames []int  // and their lengths
	size   int64  // of the plain segment
	digest [sha256.Size]byte
	last   lastLine
}

// pack reads a segment and compresses it.
func pack(file *os.File) (*packed, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	p := &packed{size: info.Size()}
	if p.size > maxSegment {
		return nil, fmt.Errorf("it is larger than %d MiB", maxSegment>>20)
	}
	zip := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(zip)
	digest, framer := sha256.New(), sidecar.Framer{Zip: zip}
	n, err := io.Copy(io.MultiWriter(digest, &framer, &p.last), io.NewSectionReader(file, 0, p.size))
	if err != nil {
		return nil, err
	}
	if n < p.size {
		return nil, fmt.Errorf("it has become shorter: %w", io.ErrUnexpectedEOF)
	}
	p.data, p.frames = framer.End()
	digest.Sum(p.digest[:0])
	return p, nil
}

// A lastLine keeps the last line of what is written to it.
type lastLine []byte

func (l *lastLine) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	switch at := bytes.LastIndexByte(p[:len(p)-1], '\n'); {
	case at >= 0:
		*l = append((*l)[:0], p[at+1:]...)
	case bytes.HasSuffix(*l, []byte("\n")):
		*l = append((*l)[:0], p...)
	default:
		*l = append(*l, p...)
	}
	return len(p), nil
}
