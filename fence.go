package sotto

import "bytes"

// The shortest runs of a fence.
var ticks, tildes = []byte("```"), []byte("~~~")

// A fence is a run of three or more; the zero fence means that there is none.
type fence struct {
	ch   byte
	size int
}

func (f fence) open() bool { return f.size > 0 }

// skip returns the offset of the newline before the next line of b that may close
// the fence, or before its last line, or len(b). Byte from is in mid-line.
func (f fence) skip(b []byte, from int) int {
	run := ticks
	if f.ch == '~' {
		run = tildes
	}
	for from < len(b) {
		to := len(b)
		if i := bytes.Index(b[from:], run); i >= 0 {
			to = from + i
		}
		if i := bytes.LastIndexByte(b[from:to], '\n'); i >= 0 {
			return from + i
		}
		from = min(to+len(run), len(b))
	}
	return from
}

// lineScan looks for a line that is only a run: such a line closes a fence.
type lineScan struct {
	phase linePhase
	ch    byte
	size  int
}

type linePhase uint8

const (
	lineIndent linePhase = iota // ^  ```
	lineRun                     //   ``^`
	lineTail                    //   ```^  white space
	lineOther                   //   some^thing else
)

// skip returns how many bytes at the start of b cannot change the scan.
func (l *lineScan) skip(b []byte) int {
	if l.phase != lineOther {
		return 0
	}
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i
	}
	return len(b)
}

// feed reads a byte and reports whether a line that is only a run ends with it.
func (l *lineScan) feed(c byte) bool {
	if c == '\n' {
		full := l.phase == lineRun || l.phase == lineTail
		if full {
			l.phase = lineIndent
			return true
		}
		*l = lineScan{}
		return false
	}
	switch l.phase {
	case lineIndent:
		switch {
		case isSpace(c):
		case c == '`' || c == '~':
			l.phase, l.ch, l.size = lineRun, c, 1
		default:
			l.phase = lineOther
		}
	case lineRun:
		switch {
		case c == l.ch:
			l.size++
		case isSpace(c):
			l.phase = lineTail
		default:
			l.phase = lineOther
		}
	case lineTail:
		if !isSpace(c) {
			l.phase = lineOther
		}
	}
	return false
}

// closes reports whether the run just read closes f.
func (l *lineScan) closes(f fence) bool { return l.ch == f.ch && l.size >= f.size }

// atRun reports whether the line is only a run so far.
func (l *lineScan) atRun() bool { return l.phase == lineRun || l.phase == lineTail }
