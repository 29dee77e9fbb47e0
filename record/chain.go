package record

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Head is where a record ends: its last event and the digest of that line.
// Kept elsewhere, it shows that the record was cut or rewritten since.
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

// The form of a line, of every version: what Verify reads of it. Newer versions
// may add members between, none before seq and none behind prev.
const (
	lineFront = `{"v":`
	lineSeq   = `,"seq":`
	lineLast  = `,"last":`
	linePrev  = `,"prev":"`
	lineBack  = "\"}\n"
	tailSize  = len(linePrev) + 2*sha256.Size + len(lineBack)
	frontSize = 512 // v, seq, last, time, run, cycle and type stand within it
)

// A frame is what the chain needs of a line.
type frame struct {
	v           int
	first, last uint64 // the events in it
	prev        Digest
	typ         Type
	time        string
}

var errFrame = errors.New("not a line of a record")

// parseFrame reads a line, its newline included, no more of it than it must.
func parseFrame(line []byte) (f frame, err error) {
	rest, ok := bytes.CutPrefix(line, []byte(lineFront))
	if !ok || len(line) < tailSize {
		return f, errFrame
	}
	v, rest, ok1 := leadingUint(rest)
	rest, ok2 := bytes.CutPrefix(rest, []byte(lineSeq))
	first, rest, ok3 := leadingUint(rest)
	if !ok1 || !ok2 || !ok3 || v == 0 || first == 0 {
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
	f.time, f.typ = member(front, `"time":"`), Type(member(front, `"type":"`))
	return f, nil
}

func prevOf(line []byte) (d Digest, ok bool) {
	tail, ok := bytes.CutPrefix(line[len(line)-tailSize:], []byte(linePrev))
	if !ok || !bytes.HasSuffix(tail, []byte(lineBack)) {
		return d, false
	}
	_, err := hex.Decode(d[:], tail[:2*sha256.Size])
	return d, err == nil
}

// member returns a string member's value; those in front hold no escapes.
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
	return n, b[i:], i > 0 && (b[0] != '0' || i == 1)
}

// appendFront begins a line.
func appendFront(dst []byte, seq, last uint64, t time.Time) []byte {
	dst = append(dst, `{"v":1,"seq":`...)
	dst = strconv.AppendUint(dst, seq, 10)
	if last > 0 {
		dst = append(dst, lineLast...)
		dst = strconv.AppendUint(dst, last, 10)
	}
	dst = append(dst, `,"time":"`...)
	dst = t.AppendFormat(dst, time.RFC3339Nano)
	return append(dst, `",`...)
}

// appendBack ends the line that begins at from, and returns its digest.
func appendBack(dst []byte, from int, prev Digest) ([]byte, Digest) {
	dst = append(dst, linePrev...)
	dst = hex.AppendEncode(dst, prev[:])
	dst = append(dst, lineBack...)
	return dst, sha256.Sum256(dst[from:])
}

// A Checkpoint is a signature under its place, the line before it and the time.
type Checkpoint struct {
	Key string `json:"key"` // the public key, in hexadecimal
	Sig string `json:"sig"` // Ed25519, in base64
}

// Type returns [TypeCheckpoint].
func (Checkpoint) Type() Type               { return TypeCheckpoint }
func (Checkpoint) facts() facts             { return facts{} }
func (c Checkpoint) guarded(*guard) Payload { return c }

func checkpointMessage(seq uint64, prev Digest, at string) []byte {
	return fmt.Appendf(nil, "sotto record checkpoint\n%d\n%s\n%s\n", seq, prev, at)
}

// appendCheckpoint appends a signed line, numbered seq.
func appendCheckpoint(dst []byte, key ed25519.PrivateKey, seq uint64, prev Digest, t time.Time) ([]byte, Digest) {
	from := len(dst)
	sig := ed25519.Sign(key, checkpointMessage(seq, prev, t.Format(time.RFC3339Nano)))
	dst = appendFront(dst, seq, 0, t)
	dst = append(dst, `"run":"","cycle":0,"type":"CHECKPOINT","payload":{"key":"`...)
	dst = hex.AppendEncode(dst, key.Public().(ed25519.PublicKey))
	dst = append(dst, `","sig":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, sig)
	dst = append(dst, `"}`...)
	return appendBack(dst, from, prev)
}

// signedBy reports whether one of the keys signed a checkpoint's line.
func signedBy(keys []ed25519.PublicKey, f frame, line []byte) bool {
	var n struct{ Payload Checkpoint }
	if json.Unmarshal(line, &n) != nil {
		return false
	}
	return verifyAny(keys, checkpointMessage(f.first, f.prev, f.time), n.Payload.Key, n.Payload.Sig)
}

// verifyAny reports whether the key named is one of keys and signed the message.
func verifyAny(keys []ed25519.PublicKey, message []byte, named, sig string) bool {
	raw, err := base64.StdEncoding.DecodeString(sig)
	if err != nil {
		return false
	}
	for _, k := range keys {
		if len(k) == ed25519.PublicKeySize && hex.EncodeToString(k) == named && ed25519.Verify(k, message, raw) {
			return true
		}
	}
	return false
}
