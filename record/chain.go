package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Head says where a record ends: its last event and the digest of that line. If
// you keep it elsewhere, it shows whether the record was cut or rewritten since.
type Head struct {
	Seq    uint64
	Digest Digest
}

// String returns the head as one word: SEQ:DIGEST.
func (h Head) String() string { return strconv.FormatUint(h.Seq, 10) + ":" + h.Digest.String() }

// MarshalText returns the head as one word.
func (h Head) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what String wrote.
func (h *Head) UnmarshalText(b []byte) error {
	seq, digest, ok := strings.Cut(strings.TrimSpace(string(b)), ":")
	n, err := strconv.ParseUint(seq, 10, 64)
	if !ok || err != nil {
		return fmt.Errorf("not a head: %q", b)
	}
	h.Seq = n
	return h.Digest.UnmarshalText([]byte(digest))
}

// formatVersion is the version of the lines that this package writes.
const formatVersion = 2

// The part of a line that has the same form in every version: what Verify reads of
// it. Newer versions may add members between, but none before seq and none after
// prev.
const (
	lineFront = `{"v":`
	lineSeq   = `,"seq":`
	lineLast  = `,"last":`
	lineTime  = `,"time":"`
	lineID    = `,"record":"`
	lineType  = `,"type":"`
	linePrev  = `,"prev":"`
	lineBack  = "\"}\n"
	tailSize  = len(linePrev) + 2*sha256.Size + len(lineBack)
	frontSize = 512 // v, seq, last, time, run, cycle and type are within it
)

// A frame holds what the chain needs of a line.
type frame struct {
	v           int
	first, last uint64 // the events in it
	prev        Digest
	typ         Type
	time        string
	id          string // of the record, in the first line of a segment
}

var errFrame = errors.New("not a line of a record")

// parseFrame reads a line, including its newline. It reads no more of it than it
// must.
func parseFrame(line []byte) (f frame, err error) {
	rest, ok := bytes.CutPrefix(line, []byte(lineFront))
	if !ok || len(line) < tailSize {
		return f, errFrame
	}
	v, rest, ok1 := leadingUint(rest)
	rest, ok2 := bytes.CutPrefix(rest, []byte(lineSeq))
	first, rest, ok3 := leadingUint(rest)
	if !ok1 || !ok2 || !ok3 || v == 0 || v > math.MaxInt32 || first == 0 {
		return f, errFrame
	}
	f.v, f.first, f.last = int(v), first, first
	if more, ok := bytes.CutPrefix(rest, []byte(lineLast)); ok {
		if f.last, rest, ok = leadingUint(more); !ok || f.last < first {
			return f, errFrame
		}
	}
	if f.prev, ok = prevOf(line); !ok {
		return f, errFrame
	}
	front := rest[:min(len(rest), frontSize)]
	if !f.members(front) {
		f.time, f.typ = member(front, lineTime[1:]), Type(member(front, lineType[1:]))
	}
	f.id = idIn(front)
	return f, nil
}

// members reads the time and the type from members that follow each other as they are written.
// It reports false if they do not; then they are looked for one by one, which takes longer.
func (f *frame) members(front []byte) bool {
	rest, ok := bytes.CutPrefix(front, []byte(lineTime))
	end := bytes.IndexByte(rest, '"')
	if !ok || end < 0 {
		return false
	}
	at := rest[:end]
	for rest = rest[end+1:]; ; {
		if typ, ok := bytes.CutPrefix(rest, []byte(lineType)); ok {
			if end = bytes.IndexByte(typ, '"'); end < 0 {
				return false
			}
			f.time, f.typ = string(at), Type(typ[:end])
			return true
		}
		if rest, ok = afterMember(rest); !ok {
			return false
		}
	}
}

// afterMember returns what follows a member with a number, or with a string without quotes.
func afterMember(b []byte) (rest []byte, ok bool) {
	b, ok = bytes.CutPrefix(b, []byte(`,"`))
	end := bytes.IndexByte(b, '"')
	if !ok || end < 0 {
		return nil, false
	}
	if b, ok = bytes.CutPrefix(b[end+1:], []byte(":")); !ok {
		return nil, false
	}
	if text, ok := bytes.CutPrefix(b, []byte(`"`)); ok {
		end = bytes.IndexByte(text, '"')
		return text[end+1:], end >= 0
	}
	end = bytes.IndexByte(b, ',')
	return b[max(end, 0):], end >= 0 && !bytes.ContainsAny(b[:end], `"{[`)
}

func prevOf(line []byte) (d Digest, ok bool) {
	tail, ok := bytes.CutPrefix(line[len(line)-tailSize:], []byte(linePrev))
	if !ok || !bytes.HasSuffix(tail, []byte(lineBack)) {
		return d, false
	}
	_, err := hex.Decode(d[:], tail[:2*sha256.Size])
	return d, err == nil
}

// member returns a string member's value. The members at the front hold no escapes.
func member(front []byte, name string) string {
	_, rest, ok := bytes.Cut(front, []byte(name))
	if !ok {
		return ""
	}
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}

func leadingUint(b []byte) (n uint64, rest []byte, ok bool) {
	i := 0
	for ; i < len(b) && i < 19 && b[i] >= '0' && b[i] <= '9'; i++ {
		n = n*10 + uint64(b[i]-'0')
	}
	return n, b[i:], i > 0 && (i == len(b) || b[i] < '0' || b[i] > '9') && (b[0] != '0' || i == 1)
}

// idIn returns the identity that follows the time, if any.
func idIn(front []byte) string {
	rest, ok := bytes.CutPrefix(front, []byte(lineTime))
	if !ok {
		return ""
	}
	_, rest, _ = bytes.Cut(rest, []byte(`"`))
	if !bytes.HasPrefix(rest, []byte(lineID)) {
		return ""
	}
	id := member(rest, lineID[1:])
	if raw, err := hex.DecodeString(id); err != nil || len(raw) != idSize {
		return ""
	}
	return id
}

// idIf returns the identity for a line that begins a segment, and "" for others.
func idIf(first bool, id string) string {
	if first {
		return id
	}
	return ""
}

// appendFront begins a line. The first of a segment has the record's identity.
func appendFront(dst []byte, id string, seq, last uint64, t time.Time) []byte {
	dst = strconv.AppendInt(append(dst, lineFront...), formatVersion, 10)
	dst = append(dst, lineSeq...)
	dst = strconv.AppendUint(dst, seq, 10)
	if last > 0 {
		dst = append(dst, lineLast...)
		dst = strconv.AppendUint(dst, last, 10)
	}
	dst = append(dst, lineTime...)
	dst = t.AppendFormat(dst, time.RFC3339Nano)
	if id != "" {
		dst = append(dst, `"`+lineID...)
		dst = append(dst, id...)
	}
	return append(dst, `",`...)
}

func digestOf(line []byte) Digest { return sha256.Sum256(line) }

// appendBack ends the line that begins at from, and returns its digest.
func appendBack(dst []byte, from int, prev Digest) ([]byte, Digest) {
	dst = append(dst, linePrev...)
	dst = hex.AppendEncode(dst, prev[:])
	dst = append(dst, lineBack...)
	return dst, digestOf(dst[from:])
}
