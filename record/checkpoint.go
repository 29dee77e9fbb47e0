package record

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// A Checkpoint is a signature of everything before it, and of all of its own line.
// One of version 1 signs only its number, the line before it and the time.
type Checkpoint struct {
	Record string `json:"record,omitempty"` // the record's identity; version 1 has none
	// Index is the digest of the segment's index up to here. Only the checkpoint
	// that ends a segment has it.
	Index Digest `json:"index,omitzero"`
	Key   string `json:"key"` // the public key, in hexadecimal
	Sig   string `json:"sig"` // Ed25519, in base64
}

// Type returns [TypeCheckpoint].
func (Checkpoint) Type() Type               { return TypeCheckpoint }
func (Checkpoint) facts() facts             { return facts{} }
func (c Checkpoint) guarded(*guard) Payload { return c }

// A checkpoint's line ends with its signature and prev. Everything except the
// signature is signed, byte for byte.
const (
	sigFront = `"sig":"`
	sigBack  = `"}`
	sigSize  = (ed25519.SignatureSize + 2) / 3 * 4 // in base64
)

// checkpointParts cuts a checkpoint's line around its signature.
func checkpointParts(line []byte) (front, sig, back []byte, ok bool) {
	at := len(line) - tailSize - len(sigBack) - sigSize
	if at < len(sigFront) {
		return nil, nil, nil, false
	}
	front, sig, back = line[:at], line[at:at+sigSize], line[at+sigSize:]
	return front, sig, back, bytes.HasSuffix(front, []byte(sigFront)) && bytes.HasPrefix(back, []byte(sigBack))
}

func checkpointMessage(front, back []byte) []byte {
	return slices.Concat([]byte("sotto record checkpoint 2\n"), front, back)
}

// checkpointMessageV1 returns what version 1 signed.
func checkpointMessageV1(f frame) []byte {
	return fmt.Appendf(nil, "sotto record checkpoint\n%d\n%s\n%s\n", f.first, f.prev, f.time)
}

// appendCheckpoint appends a signed line, numbered seq. index is zero, or the
// digest of the index of the segment that ends with it.
func appendCheckpoint(dst []byte, key ed25519.PrivateKey, id string, index Digest, first bool, seq uint64, prev Digest, t time.Time) ([]byte, Digest) {
	from := len(dst)
	dst = appendFront(dst, idIf(first, id), seq, 0, t)
	dst = append(dst, `"run":"","cycle":0,"type":"CHECKPOINT","payload":{"record":"`...)
	dst = append(dst, id...)
	if !index.IsZero() {
		dst = append(dst, `","index":"`...)
		dst = hex.AppendEncode(dst, index[:])
	}
	dst = append(dst, `","key":"`...)
	dst = hex.AppendEncode(dst, key.Public().(ed25519.PublicKey))
	dst = append(dst, `",`...)
	dst = append(dst, sigFront...)
	at := len(dst)
	dst = append(dst, make([]byte, sigSize)...)
	dst = append(dst, sigBack...)
	dst, _ = appendBack(dst, from, prev)
	sig := ed25519.Sign(key, checkpointMessage(dst[from:at], dst[at+sigSize:]))
	base64.StdEncoding.Encode(dst[at:], sig)
	return dst, digestOf(dst[from:])
}

// checkpointIn reads the checkpoint of a line.
func checkpointIn(line []byte) (c Checkpoint, ok bool) {
	var n struct{ Payload Checkpoint }
	err := json.Unmarshal(line, &n)
	return n.Payload, err == nil
}

// closing returns the checkpoint that a segment ends with, if its last line is
// one.
func closing(line []byte) (c Checkpoint, ok bool) {
	f, err := parseFrame(line)
	if err != nil || f.typ != TypeCheckpoint {
		return c, false
	}
	if c, ok = checkpointIn(line); !ok || c.Index.IsZero() {
		return Checkpoint{}, false
	}
	return c, true
}

// signedBy reports whether one of the keys signed a checkpoint's line.
func signedBy(keys []ed25519.PublicKey, f frame, line []byte, c Checkpoint) bool {
	if f.v == 1 {
		return verifyAny(keys, checkpointMessageV1(f), c.Key, c.Sig)
	}
	front, sig, back, ok := checkpointParts(line)
	return ok && verifyAny(keys, checkpointMessage(front, back), c.Key, string(sig))
}

// verifyAny reports whether the named key is one of keys and signed the message.
func verifyAny(keys []ed25519.PublicKey, message []byte, named, sig string) bool {
	raw, err := base64.StdEncoding.Strict().DecodeString(sig)
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
