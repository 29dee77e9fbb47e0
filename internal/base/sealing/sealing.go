// Package sealing seals values that processes with a common secret keep where others
// can read: a store that replicas share. It also makes the names that such values have
// there, so that the names tell nothing either.
package sealing

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
)

// MinSecret is the fewest bytes that a secret may have.
const MinSecret = 16

// A Box has the keys that come from a secret for one purpose.
type Box struct {
	// Names is the key of the names.
	Names  [32]byte
	values cipher.AEAD
}

// New returns the box of a secret and a purpose. Boxes of other purposes have other
// keys.
func New(secret []byte, purpose string) (*Box, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("the secret has %d bytes: want %d or more", len(secret), MinSecret)
	}
	b := &Box{}
	names, err := hkdf.Key(sha256.New, secret, nil, "sotto: names: "+purpose, len(b.Names))
	if err != nil {
		return nil, err
	}
	values, err := hkdf.Key(sha256.New, secret, nil, "sotto: values: "+purpose, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(values)
	if err != nil {
		return nil, err
	}
	b.Names = [32]byte(names)
	b.values, err = cipher.NewGCMWithRandomNonce(block)
	return b, err
}

// Name returns the name that a text has outside.
func (b *Box) Name(text []byte) (name [sha256.Size]byte) {
	mac := hmac.New(sha256.New, b.Names[:])
	mac.Write(text)
	mac.Sum(name[:0])
	return name
}

// Seal seals a value. Only Open with the same name opens it.
func (b *Box) Seal(name, value []byte) []byte { return b.values.Seal(nil, nil, value, name) }

// Open returns what was sealed, and false if this is not a value that a box of the same
// secret and purpose sealed under this name.
func (b *Box) Open(name, sealed []byte) ([]byte, bool) {
	value, err := b.values.Open(nil, nil, sealed, name)
	return value, err == nil
}
