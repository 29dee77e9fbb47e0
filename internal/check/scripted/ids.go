package scripted

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// seed is the source of an exchange's ids: the request and the time.
func seed(body []byte, now time.Time) []byte {
	h := sha256.New()
	h.Write(body)
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(now.UnixNano())))
	return h.Sum(nil)
}

// id returns an identifier of n characters after the prefix. The same input gives
// the same identifier.
func (x *exchange) id(prefix, thing string, n int) string {
	sum := sha256.Sum256(append(x.seed[:len(x.seed):len(x.seed)], thing...))
	return prefix + hex.EncodeToString(sum[:])[:n]
}

// sign returns the signature of a thought, which is opaque to everybody except the
// model that wrote it.
func sign(model, thought string) string {
	h := hmac.New(sha512.New, []byte("scripted "+model))
	h.Write([]byte(thought))
	return base64.StdEncoding.EncodeToString(h.Sum([]byte{0x12, 0x40}))
}
