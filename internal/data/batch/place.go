package batch

import (
	"fmt"
	"strconv"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// A Place says where in its input a line is. It is the number of the line, from 1, or
// the byte at which it begins: a process that reads only a part of a file does not know
// how many lines come before. In a compressed file it is the byte at which a frame begins,
// and the byte in the text of the frame.
type Place struct {
	line   int // 0 if it is not known
	byte   int64
	frame  int64
	packed bool // there is a frame
}

// LineAt is the place of a line with a number.
func LineAt(number int) Place { return Place{line: number} }

// ByteAt is the place of a line that begins at a byte.
func ByteAt(offset int64) Place { return Place{byte: offset} }

// FrameAt is the place of a line that begins at a byte of the text of a frame.
func FrameAt(frame, offset int64) Place { return Place{byte: offset, frame: frame, packed: true} }

// Number returns the number of the line, or 0 if it is not known.
func (p Place) Number() int { return p.line }

// After returns the place of a line that has n more lines before it.
func (p Place) After(n int) Place {
	if p.line > 0 {
		p.line += n
	}
	return p
}

// In names the place in an input whose lines are units such as "row".
func (p Place) In(unit string) string {
	switch {
	case p.line > 0:
		return fmt.Sprintf("%s %d", unit, p.line)
	case p.packed:
		return fmt.Sprintf("the line at byte %d of the frame at byte %d", p.byte, p.frame)
	}
	return fmt.Sprintf("the line at byte %d", p.byte)
}

// AppendError appends the object that represents a failed line.
func AppendError(dst []byte, at Place, err error) []byte {
	dst = append(dst, `{"v":1,"`...)
	if at.packed {
		dst = strconv.AppendInt(append(dst, `frame":`...), at.frame, 10)
		dst = append(dst, `,"`...)
	}
	if at.line > 0 {
		dst = strconv.AppendInt(append(dst, `line":`...), int64(at.line), 10)
	} else {
		dst = strconv.AppendInt(append(dst, `byte":`...), at.byte, 10)
	}
	dst = append(dst, `,"error":`...)
	dst = jsontext.AppendString(dst, err.Error())
	return append(dst, "}\n"...)
}
