package batch

import (
	"fmt"
	"strconv"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// A Place says where in its input a line is. It is the number of the line, from 1, or
// the byte at which it begins: a process that reads only a part of a file does not know
// how many lines come before.
type Place int64

// ByteAt is the place of a line that begins at a byte.
func ByteAt(offset int64) Place { return Place(-offset) }

// Number returns the number of the line, or 0 if it is not known.
func (p Place) Number() int { return int(max(p, 0)) }

// In names the place in an input whose lines are units such as "row".
func (p Place) In(unit string) string {
	if p <= 0 {
		return fmt.Sprintf("the line at byte %d", -p)
	}
	return fmt.Sprintf("%s %d", unit, p)
}

// next returns the place of the line after n bytes that hold this many lines.
func (p Place) next(n, lines int) Place {
	if p <= 0 {
		return p - Place(n)
	}
	return p + Place(lines)
}

// AppendError appends the object that represents a failed line.
func AppendError(dst []byte, at Place, err error) []byte {
	if at <= 0 {
		dst = strconv.AppendInt(append(dst, `{"v":1,"byte":`...), int64(-at), 10)
	} else {
		dst = strconv.AppendInt(append(dst, `{"v":1,"line":`...), int64(at), 10)
	}
	dst = append(dst, `,"error":`...)
	dst = jsontext.AppendString(dst, err.Error())
	return append(dst, "}\n"...)
}
