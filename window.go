package sotto

// A window holds the bytes at hand: those that have come and are not given out.
//
//	held from earlier calls | the delta
//	base                read up to n
//
// The reader sees the bytes up to limit, and the byte before base.
type window struct {
	full  []byte // the available bytes; data is the part of them that was read
	data  []byte
	base  int // offset of data[0]
	prior byte
	buf   []byte // backs full if bytes are held between calls
	n     int    // bytes read
	limit int    // reading stops here: n, or less while a pad is read again
	looks int    // bytes looked at, other than by the lexer
}

// reset begins the next reply, and keeps the memory.
func (w *window) reset() { *w = window{buf: w.buf[:0]} }

// load appends a delta to the held bytes. What lies before byte settled may be forgotten.
func (w *window) load(delta []byte, settled int) {
	if len(w.buf) == 0 {
		w.full, w.base = delta, w.n
		return
	}
	if off := settled - w.base; off > len(w.buf)/2 {
		w.prior = w.buf[off-1]
		w.buf = w.buf[:copy(w.buf, w.buf[off:])]
		w.base += off
	}
	w.buf = append(w.buf, delta...)
	w.full = w.buf
	w.data = w.full[:w.n-w.base]
}

// unread returns how many of the available bytes are not read.
func (w *window) unread() int { return w.base + len(w.full) - w.n }

// next reads k more bytes and returns them.
func (w *window) next(k int) []byte {
	w.data = w.full[:w.n-w.base+k]
	w.n += k
	return w.data[len(w.data)-k:]
}

// keep holds what is not settled until the next call.
func (w *window) keep(settled int) {
	off := settled - w.base
	if off == len(w.full) {
		w.prior = w.full[off-1]
		w.buf = w.buf[:0]
	} else if len(w.buf) == 0 {
		if off > 0 {
			w.prior = w.full[off-1]
		}
		w.buf = append(w.buf, w.full[off:]...)
		w.base += off
	}
	w.full, w.data = nil, nil
}

// skipped notes that all bytes except the held ones were read and given out elsewhere;
// last is the last of them.
func (w *window) skipped(last byte) { w.base, w.prior = w.n-len(w.buf), last }

// at returns byte i of the reply, which is available.
func (w *window) at(i int) byte { return w.data[i-w.base] }

// bytes returns bytes [from, to) of the reply, which are available.
func (w *window) bytes(from, to int) []byte { return w.data[from-w.base : to-w.base] }

// byteBefore returns the raw byte before byte i, 0 at the reply's start.
func (w *window) byteBefore(i int) byte {
	if i > w.base {
		return w.data[i-1-w.base]
	}
	if i == 0 {
		return 0
	}
	return w.prior
}

// quotedBy reports whether the byte at end, after a marker, is the quote before it. The
// result ready is false if it has not come.
func (w *window) quotedBy(q byte, end int, o *outcomes) (quoted, ready bool) {
	if end < w.limit {
		return w.at(end) == q, true
	}
	return o.left(doubtQuote)
}

// maybeMark reports whether the reply so far is the beginning of a byte order mark.
func (w *window) maybeMark() bool {
	return w.n < len(byteOrderMark) && string(w.data[:w.n]) == byteOrderMark[:w.n]
}

// byteOrderMark counts as white space at the reply's start.
const byteOrderMark = "\xEF\xBB\xBF"

// skipMark drops a byte order mark from b, whose first byte is byte from.
func skipMark(b []byte, from int) []byte {
	if from == 0 && len(b) >= len(byteOrderMark) && string(b[:len(byteOrderMark)]) == byteOrderMark {
		return b[len(byteOrderMark):]
	}
	return b
}
