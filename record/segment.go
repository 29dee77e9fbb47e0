package record

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Files of a record. A segment is named by its first event. Its index has the same
// name, and so does its tombstone once it was pruned.
const (
	segmentExt   = ".jsonl"
	indexExt     = ".index"
	tombstoneExt = ".pruned"
	lockName     = "LOCK"
	nameDigits   = 20
	maxLine      = 160 << 20
	maxMaxEvent  = 112 << 20 // with those that are sealed with it, and in base64, it is a line
)

// file is the part of a file that the writer uses for a segment.
type file interface {
	io.ReaderAt
	io.WriterAt
	Sync() error
	Truncate(size int64) error
	Close() error
	Stat() (fs.FileInfo, error)
}

func openFile(path string, flag int) (file, error) { return openRegular(path, flag) }

// segment is a file of events.
type segment struct {
	first uint64
	path  string
}

func (s segment) name() string { return filepath.Base(s.path) }

func (s segment) with(ext string) string { return strings.TrimSuffix(s.path, segmentExt) + ext }

func segmentAt(dir string, first uint64) segment {
	return segment{first, filepath.Join(dir, fmt.Sprintf("%0*d%s", nameDigits, first, segmentExt))}
}

// segmentsOf lists a record's segments in order.
func segmentsOf(dir string) ([]segment, error) {
	firsts, err := numbered(dir, segmentExt)
	list := make([]segment, len(firsts))
	for i, n := range firsts {
		list[i] = segmentAt(dir, n)
	}
	return list, err
}

// numbered lists the numbers of a folder's files with an extension, in order and
// without a gap that a writer beside it would fill.
//
// A file that is made while the folder is read may be left out of the list, although
// a later one is in it. It stands when the folder is read again. So the list is that
// of a second reading, up to the last number of the first.
func numbered(dir, ext string) ([]uint64, error) {
	return settled(func() ([]uint64, error) { return numbersIn(dir, ext) })
}

func settled(read func() ([]uint64, error)) ([]uint64, error) {
	first, err := read()
	if err != nil || len(first) == 0 {
		return nil, err
	}
	list, err := read()
	last := slices.Max(first)
	list = slices.DeleteFunc(list, func(n uint64) bool { return n > last })
	slices.Sort(list)
	return list, err
}

func numbersIn(dir, ext string) (list []uint64, err error) {
	err = eachName(dir, func(name string) {
		if n, ok := numberOf(name, ext); ok {
			list = append(list, n)
		}
	})
	return list, err
}

// numberOf returns the number in the name of a file with an extension.
func numberOf(name, ext string) (n uint64, ok bool) {
	name, ok = strings.CutSuffix(name, ext)
	n, err := strconv.ParseUint(name, 10, 64)
	return n, ok && err == nil && len(name) == nameDigits && n > 0
}

// IsSegment reports whether a file with this name, in the folder of a record, holds
// events, or held them until they were pruned.
func IsSegment(name string) bool {
	_, segment := numberOf(name, segmentExt)
	_, pruned := numberOf(name, tombstoneExt)
	return segment || pruned
}

// lines reads a file line by line.
type lines struct {
	r          io.Reader
	buf        []byte
	start, end int
	off        int64 // of buf[start]
	err        error
}

func newLines(r io.Reader, off int64) *lines { return &lines{r: r, off: off} }

// errLongLine is the error of a line that is longer than any that may be read.
var errLongLine = fmt.Errorf("a line of more than %d bytes", maxLine)

// errTorn is the error of bytes after the last newline.
var errTorn = errors.New("torn line")

// next returns a line with its newline, valid until the next call, and its place.
// At the end the error is io.EOF, or errTorn with the bytes of a line without
// newline.
func (l *lines) next() (line []byte, off int64, err error) {
	seen := l.start
	for {
		if i := bytes.IndexByte(l.buf[seen:l.end], '\n'); i >= 0 {
			line, off = l.buf[l.start:seen+i+1], l.off
			l.start += len(line)
			l.off += int64(len(line))
			return line, off, nil
		}
		if l.err != nil {
			return l.last()
		}
		seen = l.fill()
	}
}

// last ends the reading.
func (l *lines) last() ([]byte, int64, error) {
	rest := l.buf[l.start:l.end]
	if l.err == io.EOF && len(rest) > 0 {
		return rest, l.off, errTorn
	}
	return nil, l.off, l.err
}

// fill reads more; it returns where the new bytes begin.
func (l *lines) fill() int {
	copy(l.buf, l.buf[l.start:l.end])
	l.start, l.end = 0, l.end-l.start
	if l.end == len(l.buf) {
		if len(l.buf) >= maxLine {
			l.err = errLongLine
			return l.end
		}
		l.buf = append(make([]byte, 0, min(max(64<<10, 4*len(l.buf)), maxLine)), l.buf...)
		l.buf = l.buf[:cap(l.buf)]
	}
	from := l.end
	n, err := l.r.Read(l.buf[l.end:])
	l.end, l.err = l.end+n, err
	return from
}

// A tail says how a segment ends.
type tail struct {
	size int64  // up to the last newline
	torn int64  // bytes after it
	line []byte // the last line, nil in an empty segment
}

// tailOf finds a segment's end, reading backwards.
func tailOf(f file) (tail, error) {
	info, err := f.Stat()
	if err != nil {
		return tail{}, err
	}
	size := info.Size()
	end, err := lastNewline(f, size)
	if err != nil {
		return tail{}, err
	}
	t := tail{size: end, torn: size - end}
	if end == 0 {
		return t, nil
	}
	from, err := lastNewline(f, end-1)
	if err != nil {
		return tail{}, err
	}
	t.line = make([]byte, end-from)
	_, err = f.ReadAt(t.line, from)
	return t, err
}

// lastNewline returns the place after the last newline before end, or 0. It looks
// back no further than a line can be long.
func lastNewline(f io.ReaderAt, end int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for from := end; end > 0; {
		if from-end > maxLine {
			return 0, errLongLine
		}
		n := min(end, int64(len(buf)))
		if _, err := f.ReadAt(buf[:n], end-n); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return end - n + int64(i) + 1, nil
		}
		end -= n
	}
	return 0, nil
}

// headOf returns the head that a line defines.
func headOf(line []byte) (Head, error) {
	f, err := parseFrame(line)
	return Head{f.last, sha256.Sum256(line)}, err
}

// headBefore returns the head before segment number i of a list. It is the end of
// the segment before it, or a tombstone has it.
func headBefore(dir string, list []segment, i int) (Head, error) {
	first := ^uint64(0)
	if i < len(list) {
		first = list[i].first
	}
	for i--; i >= 0; i-- {
		line, err := lastLine(list[i])
		if errors.Is(err, fs.ErrNotExist) { // pruned by now
			break
		}
		if err != nil || line != nil {
			return headIf(line, err)
		}
	}
	t, err := lastStone(dir, first)
	if err != nil || t == nil {
		return Head{}, err
	}
	return Head{t.Last, t.Head}, nil
}

func headIf(line []byte, err error) (Head, error) {
	if err != nil {
		return Head{}, err
	}
	return headOf(line)
}

// lastLine returns a segment's last line, nil if it has none.
func lastLine(s segment) ([]byte, error) {
	f, err := openRegular(s.path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := tailOf(f)
	return t.line, err
}

// createdAt returns the time of a segment's first event.
func createdAt(f file) (time.Time, bool) {
	buf := make([]byte, frontSize)
	n, _ := f.ReadAt(buf, 0)
	at, err := time.Parse(time.RFC3339Nano, member(buf[:n], `"time":"`))
	return at, err == nil
}
