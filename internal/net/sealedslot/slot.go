// Package sealedslot seals what a provider needs back into the opaque slots that its API has:
// the signature of a thinking block, or the encrypted content of a reasoning item. A client
// sends such a slot back as it came. So whoever has the key gets the block back, after a
// restart and at another replica, and the client cannot read it.
//
// A copy is text:
//
//	sottoSealed1 BASE64( id of the key, 4 bytes | nonce, 12 bytes | sealed block, AES-256-GCM )
//
// The whole text, prefix included, is standard base64, so that it is valid where an API wants
// base64. The seal is bound to a [Name]: a copy of one caller, upstream, model or API does not
// open for another. What does not open costs no more than its length, and nothing at all if its
// key is not known.
//
// A block is not compressed: how long a compressed thought is would tell a client that chooses
// the prompt what the thought repeats of it.
package sealedslot

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/sealing"
)

// Prefix begins every copy. Its last character is the version of the form.
const Prefix = "sottoSealed1"

// Most is how many bytes a block may have of which there is a copy.
const Most = 256 << 10

const (
	idSize   = 4
	overhead = 12 + 16 // nonce and tag
	purpose  = "copies in slots"
)

// longest is the length of the longest copy.
var longest = len(Prefix) + base64.StdEncoding.EncodedLen(idSize+overhead+Most)

// Is reports whether a text claims to be a copy.
func Is(text string) bool { return strings.HasPrefix(text, Prefix) }

// A Name says where a copy belongs.
type Name struct{ Caller, Upstream, Model, API string }

// bytes tells all names apart.
func (n Name) bytes() (b []byte) {
	for _, s := range []string{n.Caller, n.Upstream, n.Model, n.API} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

// Keys are the keys of a gateway. The first one seals, and all of them open.
type Keys struct{ all []keyed }

type keyed struct {
	id  []byte
	box *sealing.Box
}

// New returns the keys that come from secrets, of which there must be one.
func New(secrets ...[]byte) (*Keys, error) {
	k := &Keys{}
	for _, secret := range secrets {
		box, err := sealing.New(secret, purpose)
		if err != nil {
			return nil, err
		}
		id := box.Name([]byte("id"))
		k.all = append(k.all, keyed{id[:idSize], box})
	}
	return k, nil
}

// Seal returns a copy of a block. It is empty if the block is too large.
func (k *Keys) Seal(n Name, block string) string {
	if len(block) > Most {
		return ""
	}
	first := &k.all[0]
	sealed := append(bytes.Clone(first.id), first.box.Seal(n.bytes(), []byte(block))...)
	return Prefix + base64.StdEncoding.EncodeToString(sealed)
}

// Open returns the block of a copy, if these keys have sealed it under this name.
func (k *Keys) Open(n Name, text string) (block string, ok bool) {
	if !Is(text) || len(text) > longest || strings.ContainsAny(text, "\r\n") { // which the decoder skips
		return "", false
	}
	sealed, err := encoding.DecodeString(text[len(Prefix):])
	if err != nil || len(sealed) < idSize {
		return "", false
	}
	for i := range k.all {
		if of := &k.all[i]; bytes.Equal(of.id, sealed[:idSize]) {
			if open, ok := of.box.Open(n.bytes(), sealed[idSize:]); ok {
				return string(open), true
			}
		}
	}
	return "", false
}

// encoding has one text for each value: no bit counts for nothing.
var encoding = base64.StdEncoding.Strict()
