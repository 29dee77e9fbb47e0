package batch

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto/internal/base/bytesize"
	"github.com/sotto-llm/sotto/internal/base/files"
)

// MaxLine is how long a line may be if no flag says it, in bytes. A small file that is
// compressed can hold a line of any length.
const MaxLine = files.MaxReply

// OwnLine is how long a line may be that Sotto wrote: it can carry a reply and its reading,
// which have 64 MiB together.
const OwnLine = 80 << 20

// A LongLineError is the error of a line that is longer than it may be.
type LongLineError struct {
	Most   int
	Offset int64 // of its first byte in the input, decompressed; -1 if that is not known
}

func (e *LongLineError) Error() string {
	text := fmt.Sprintf("longer than %v", bytesize.Format(int64(e.Most)))
	if e.Offset >= 0 {
		text += fmt.Sprintf(", from byte %d on", e.Offset)
	}
	return text
}

// Raise is the end of the error of a line that is too long, for commands with the flag.
const Raise = "; --max-line raises the bound"

// faultMark begins a line that stands for one that could not be read. The rest of it is
// the error. No JSON begins so, and no input can know it.
var faultMark = "\x00" + rand.Text() + "\x00"

// AppendFault appends the line that stands for one that could not be read.
func AppendFault(dst []byte, err error) []byte {
	dst = append(dst, faultMark...)
	dst = append(dst, strings.ReplaceAll(err.Error(), "\n", " ")...)
	return append(dst, '\n')
}

// Fault returns the error of a line that could not be read, of which this stands in its
// place. It returns nil for any other line.
func Fault(line []byte) error {
	text, ok := bytes.CutPrefix(line, []byte(faultMark))
	if !ok {
		return nil
	}
	return errors.New(string(bytes.TrimRight(text, "\r\n")))
}

// NextLine reads a line with its line end. The last line may have none. Of a line of more
// than most bytes, or MaxLine if most is 0, nothing is kept: the error is a
// *LongLineError, and the next call reads the line after it.
func NextLine(r *bufio.Reader, most int) (line []byte, err error) {
	if most == 0 {
		most = MaxLine
	}
	long := false
	for err = bufio.ErrBufferFull; errors.Is(err, bufio.ErrBufferFull); {
		var part []byte
		part, err = r.ReadSlice('\n')
		if long = long || len(line)+len(part) > most+len("\r\n"); long {
			line = nil
			continue
		}
		line = append(grown(line, len(part), most), part...)
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return line, fmt.Errorf("read: %w", files.Cause(err))
	case long || len(TrimLine(line)) > most:
		return nil, &LongLineError{Most: most, Offset: -1}
	case len(line) > 0:
		return line, nil
	}
	return nil, err
}

// grown returns a buffer with room for n more bytes. It doubles, but not beyond what a
// line may have.
func grown(b []byte, n, most int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	if cap(b) > bigLine {
		Spare(most)
	}
	return append(make([]byte, 0, max(len(b)+n, min(2*cap(b), most+len("\r\n")))), b...)
}

// bigLine is how long a line is, in bytes, of which only one is processed at a time.
const bigLine = 4 << 20

var sparing sync.Mutex

// Spare makes the garbage collector frugal for the rest of the process, which has met a
// record of up to most bytes that is long: it may let the heap grow to twice what is in
// use, and several copies of such a record are. A limit that the user has set stays.
func Spare(most int) {
	sparing.Lock()
	defer sparing.Unlock()
	limit := int64(most)*3 + 16<<20
	if now := debug.SetMemoryLimit(-1); now == math.MaxInt64 || now < limit && spared == now {
		debug.SetMemoryLimit(limit)
		spared = limit
	}
}

var spared int64 // the limit that Spare has set
