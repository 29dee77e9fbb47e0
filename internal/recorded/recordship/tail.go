package recordship

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/record"
)

// tail ships what is new in the segment that grows, in parts of whole lines.
func (s *Shipper) tail(ctx context.Context, f record.File) error {
	file, err := f.Open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if s.o.Head == nil {
		// Otherwise a loss of power could take back a line that was shipped. A file
		// system on which a reader cannot sync is as good as its writer's policy.
		_ = file.Sync()
	}
	if s.state.Segment != f.First {
		s.state.Segment, s.state.From, s.state.Line = f.First, 0, 0
	}
	if err := s.same(file, f); err != nil {
		return err
	}
	for ctx.Err() == nil {
		lines, err := linesFrom(file, s.state.From)
		if err != nil || len(lines) == 0 {
			return err
		}
		more, err := s.part(ctx, f, lines)
		if err != nil || !more {
			return err
		}
	}
	return ctx.Err()
}

// same checks that the segment has what was shipped of it.
func (s *Shipper) same(file *os.File, f record.File) error {
	if s.state.From == 0 {
		return nil
	}
	line := make([]byte, s.state.From-s.state.Line)
	if _, err := file.ReadAt(line, s.state.Line); err == io.EOF {
		return s.diverged(fmt.Sprintf("%s ends before event %d", filepath.Base(f.Path), s.state.Head.Seq))
	} else if err != nil {
		return err
	}
	if m, err := record.MarkOf(line); err != nil || m.Head != s.state.Head {
		return s.diverged(fmt.Sprintf("event %d is not the one that was shipped", s.state.Head.Seq))
	}
	return nil
}

// linesFrom reads whole lines from a place on: maxPart bytes at most, or one line.
func linesFrom(file io.ReaderAt, from int64) ([]byte, error) {
	for size := int64(maxPart); size <= 2*maxLine; size *= 4 {
		data, err := files.ReadAll(io.NewSectionReader(file, from, size), size)
		if err != nil {
			return nil, err
		}
		if end := bytes.LastIndexByte(data, '\n') + 1; end > 0 || int64(len(data)) < size {
			return data[:end], nil
		}
	}
	return nil, fmt.Errorf("a line is longer than %d bytes", maxLine)
}

// part ships the lines that are acknowledged. It reports whether these were all, so
// that more may follow.
func (s *Shipper) part(ctx context.Context, f record.File, lines []byte) (more bool, err error) {
	most := ^uint64(0)
	if s.o.Head != nil {
		most = s.o.Head().Seq
	}
	head, end, last := s.state.Head, 0, 0
	for end < len(lines) {
		n := bytes.IndexByte(lines[end:], '\n') + 1
		m, err := record.MarkOf(lines[end : end+n])
		if err != nil {
			return false, fmt.Errorf("%s at byte %d: %w", filepath.Base(f.Path), s.state.From+int64(end), err)
		}
		if m.Head.Seq > most {
			break
		}
		if s.state.From+int64(end) == 0 || m.Record != "" {
			if err := s.own(m.Record); err != nil {
				return false, err
			}
		}
		if head.Seq > 0 && (m.First != head.Seq+1 || m.Prev != head.Digest) {
			return false, s.diverged(fmt.Sprintf("event %d does not follow event %d", m.First, head.Seq))
		}
		head, last, end = m.Head, end, end+n
	}
	if end == 0 {
		return false, nil
	}
	data := lines[:end]
	if err := s.put(ctx, partNamed(f.First, s.state.From, data), compressed(data), "parts"); err != nil {
		return false, err
	}
	s.state.Head, s.state.Line, s.state.From = head, s.state.From+int64(last), s.state.From+int64(end)
	s.note()
	return end == len(lines), nil
}

// waiting returns how many bytes of a record are not there, and the first event that
// is not.
func (s *Shipper) waiting(list []record.File) (size int64, oldest record.Mark) {
	for _, f := range list {
		if f.Tombstone || f.First <= s.state.Done {
			continue
		}
		from := int64(0)
		if s.state.Segment == f.First {
			from = s.state.From
		}
		file, err := f.Open()
		if err != nil {
			continue
		}
		if info, err := file.Stat(); err == nil && info.Size() > from {
			if size == 0 {
				line, _ := bufio.NewReader(io.NewSectionReader(file, from, info.Size()-from)).ReadBytes('\n')
				oldest, _ = record.MarkOf(line)
			}
			size += info.Size() - from
		}
		file.Close()
	}
	return size, oldest
}
