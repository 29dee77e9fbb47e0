package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Text is a string that comes back byte for byte, even if it is not UTF-8. In
// JSON it is a string: the text itself, or "base64:" and its base64 if the text is
// not UTF-8 or itself begins with "base64:".
type Text string

const base64Mark = "base64:"

// MarshalText returns the text as it is written in JSON.
func (t Text) MarshalText() ([]byte, error) {
	if t.plain() {
		return []byte(t), nil
	}
	return base64.StdEncoding.AppendEncode([]byte(base64Mark), []byte(t)), nil
}

// plain reports whether the text is written in JSON unchanged.
func (t Text) plain() bool {
	return utf8.ValidString(string(t)) && !strings.HasPrefix(string(t), base64Mark)
}

// UnmarshalText reads what MarshalText wrote.
func (t *Text) UnmarshalText(b []byte) error {
	coded, ok := bytes.CutPrefix(b, []byte(base64Mark))
	if !ok {
		*t = Text(b)
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(string(coded))
	if err != nil {
		return fmt.Errorf("text in base64: %w", err)
	}
	*t = Text(raw)
	return nil
}

// A Digest is a SHA-256 digest, in JSON in hexadecimal.
type Digest [sha256.Size]byte

// DigestOf returns the digest of a text.
func DigestOf(text string) (d Digest) {
	h := hashers.Get().(*hasher)
	defer hashers.Put(h)
	h.hash.Reset()
	for len(text) > 0 {
		n := copy(h.buf[:], text)
		h.hash.Write(h.buf[:n])
		text = text[n:]
	}
	h.hash.Sum(h.sum[:0])
	return h.sum
}

// A hasher avoids a copy of the text for every digest.
type hasher struct {
	hash hash.Hash
	buf  [4 << 10]byte
	sum  Digest
}

var hashers = sync.Pool{New: func() any { return &hasher{hash: sha256.New()} }}

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// IsZero reports whether the digest is zero.
func (d Digest) IsZero() bool { return d == Digest{} }

// MarshalText returns the digest in hexadecimal.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText reads a digest in hexadecimal; the empty text is the zero digest.
func (d *Digest) UnmarshalText(b []byte) error {
	*d = Digest{}
	if len(b) == 0 {
		return nil
	}
	if len(b) != 2*len(d) {
		return fmt.Errorf("a digest of %d digits, want %d", len(b), 2*len(d))
	}
	_, err := hex.Decode(d[:], b)
	return err
}

// A Content is text of a model or a user, with what was cut out of it. The writer
// makes the cuts. The caller makes only those that say [CutByLimit]; others are dropped.
type Content struct {
	Text Text  `json:"text"`
	Cuts []Cut `json:"cuts,omitempty"`
}

// Say returns the content of a text.
func Say(text string) Content { return Content{Text: Text(text)} }

// A Cut is a part of a text that was not recorded.
type Cut struct {
	// Start and End are byte offsets into the original text, End exclusive.
	Start int `json:"start"`
	End   int `json:"end"`
	// Now is how many bytes replace the cut: those of a word in brackets, or none.
	Now int `json:"now"`
	// Why is reasoning or answer (a level), pattern, secret, or [CutByLimit].
	Why string `json:"why"`
	// HMAC is the keyed SHA-256 of the cut bytes, at level digest.
	HMAC string `json:"hmac,omitempty"`
}

// CutByLimit is the reason of a cut whose bytes the caller left out, because the text is
// longer than what it keeps.
const CutByLimit = "limit"

// omissions returns the cuts that a caller made, if they can be: each is [CutByLimit], in
// order, and inside the text.
func omissions(c Content) []Cut {
	at, in := 0, 0 // places in the original text, and in the given text
	for _, k := range c.Cuts {
		if k.Why != CutByLimit || k.Now != 0 || k.HMAC != "" || k.Start < at || k.End <= k.Start || k.Start-at > len(c.Text)-in {
			return nil
		}
		in += k.Start - at
		at = k.End
	}
	return c.Cuts
}

// Whole reports whether nothing was cut.
func (c Content) Whole() bool { return len(c.Cuts) == 0 }

// Span returns the bytes from start to end of the original text; ok is false if any
// of them were cut, or if the text is shorter.
func (c Content) Span(start, end int) (text string, ok bool) {
	if start < 0 || end < start {
		return "", false
	}
	shift := 0
	for _, k := range c.Cuts {
		if k.Start >= end {
			break
		}
		if k.End > start {
			return "", false
		}
		shift += k.End - k.Start - k.Now
	}
	start, end = start-shift, end-shift
	if start < 0 || end > len(c.Text) {
		return "", false
	}
	return string(c.Text[start:end]), true
}

// A Part is a run of bytes of the original text: recorded, or cut.
type Part struct {
	// Start and End are byte offsets into the original text, End exclusive.
	Start, End int
	// Text is what was recorded: the bytes, or their replacement.
	Text string
	// Why is empty, or the reason of the cut.
	Why string
}

// Parts returns the original text, in order, with what was cut out of it. Cuts that
// do not fit the text end it early; no writer makes such cuts.
func (c Content) Parts() []Part {
	var parts []Part
	at, in := 0, 0 // places in the original text, and in the recorded text
	for _, k := range c.Cuts {
		whole := k.Start - at
		if whole < 0 || k.End < k.Start || k.Now < 0 || whole > len(c.Text)-in || k.Now > len(c.Text)-in-whole {
			break
		}
		if whole > 0 {
			parts = append(parts, Part{Start: at, End: k.Start, Text: string(c.Text[in : in+whole])})
		}
		in += whole
		parts = append(parts, Part{Start: k.Start, End: k.End, Text: string(c.Text[in : in+k.Now]), Why: k.Why})
		at, in = k.End, in+k.Now
	}
	if in < len(c.Text) {
		parts = append(parts, Part{Start: at, End: at + len(c.Text) - in, Text: string(c.Text[in:])})
	}
	return parts
}

// Len returns the length of the original text.
func (c Content) Len() int {
	n := len(c.Text)
	for _, k := range c.Cuts {
		n += k.End - k.Start - k.Now
	}
	return n
}
