package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
)

// hashPrefix is what a hash of a token begins with: the name of the function.
const hashPrefix = "sha256:"

// HashOf returns the hash of a token, which a server can have in place of the token: it
// recognizes the token by it, and nobody can compute the token from it. That holds of
// tokens that cannot be guessed, such as those of [NewSecret].
func HashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// sum returns the digest by which a token is recognized.
func (t Token) sum() (sum [sha256.Size]byte, err error) {
	if t.Hash == "" {
		return sha256.Sum256([]byte(t.Secret)), nil
	}
	digits, ok := strings.CutPrefix(t.Hash, hashPrefix)
	if raw, err := hex.DecodeString(digits); ok && err == nil && len(raw) == len(sum) {
		return [sha256.Size]byte(raw), nil
	}
	return sum, errors.New("its hash is not sha256: and 64 hexadecimal digits")
}

func (t Token) expired() bool { return !t.Expires.IsZero() && !time.Now().Before(t.Expires) }

// A keyring has the tokens of a server. It never changes: a [Control] replaces it.
type keyring struct {
	closed bool    // callers need a token, also if there is none
	tokens []Token // without their secrets
	sums   [][sha256.Size]byte
}

func newKeyring(tokens []Token, closed bool) *keyring {
	k := &keyring{closed: closed || len(tokens) > 0}
	for _, t := range tokens {
		sum, err := t.sum()
		if err != nil { // Check reports it; a server whose tokens are all wrong must not be open
			_, _ = rand.Read(sum[:]) // which never fails
		}
		t.Secret, t.Hash = "", ""
		k.tokens, k.sums = append(k.tokens, t), append(k.sums, sum)
	}
	return k
}

// find returns the token with a secret. All tokens are compared, each in constant time,
// so that neither their lengths nor their order show.
func (k *keyring) find(secret string) (t Token, ok bool) {
	sum := sha256.Sum256([]byte(secret))
	for i := range k.sums {
		if subtle.ConstantTimeCompare(sum[:], k.sums[i][:]) == 1 {
			t, ok = k.tokens[i], true
		}
	}
	return t, ok
}

// SetTokens replaces the tokens. Requests that were admitted go on; later ones need one
// of the new tokens. Check these before, with [Check]. A server that needed a token goes on
// to need one, also if there are no tokens: a file that lost its last token must not let
// everybody in.
func (c *Control) SetTokens(tokens []Token) {
	c.ring.Store(newKeyring(tokens, c.ring.Load().closed))
}

// Guarded reports whether callers need a token.
func (c *Control) Guarded() bool { return c.ring.Load().closed }

// Shut reports whether nobody can come in: callers need a token, and none is valid now.
func (c *Control) Shut() bool { ring := c.ring.Load(); return ring.closed && !AnyValid(ring.tokens) }

// AnyValid reports whether one of some tokens has not expired.
func AnyValid(tokens []Token) bool {
	return slices.ContainsFunc(tokens, func(t Token) bool { return !t.expired() })
}

// Holds reports whether a request would still be admitted, as far as its token and its
// client certificate decide. A token can expire, or be replaced, while a connection is open.
func (c *Control) Holds(r *http.Request) bool {
	ring := c.ring.Load()
	switch {
	case IsInside(r.Context()):
		return true
	case !Trusted(r):
		return false
	case !ring.closed:
		return true
	}
	t, ok := ring.find(c.Key(r))
	return ok && !t.expired()
}

// HasToken reports whether a value of a header or parameter is one of the server's
// tokens, with or without a scheme before it.
func (c *Control) HasToken(value string) bool {
	ring := c.ring.Load()
	words := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" ,;=\"", r) })
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(ring.sums, sha256.Sum256([]byte(word))) })
}

// Opens reports whether a secret is a valid token with all of some scopes. name is the
// token's, also if it does not have them; it is empty if the secret is not a valid token.
func (c *Control) Opens(secret string, scopes ...Scope) (name string, ok bool) {
	t, known := c.ring.Load().find(secret)
	if !known || t.expired() {
		return "", false
	}
	return t.Name, t.openAll(scopes)
}

func (t Token) openAll(scopes []Scope) bool {
	return !slices.ContainsFunc(scopes, func(s Scope) bool { return !t.opens(s) })
}

// A Mark tells a token from others without showing it.
type Mark [sha256.Size]byte

// MarkOf returns the mark of a secret.
func MarkOf(secret string) Mark { return sha256.Sum256([]byte(secret)) }

// OpensBy is [Control.Opens] for the token whose mark fits, if there still is one. It is
// for sessions, which last as long as the token that began them.
func (c *Control) OpensBy(fits func(Mark) bool, scopes ...Scope) (name string, ok bool) {
	ring := c.ring.Load()
	i := slices.IndexFunc(ring.sums, func(sum [sha256.Size]byte) bool { return fits(sum) })
	if i < 0 || ring.tokens[i].expired() {
		return "", false
	}
	return ring.tokens[i].Name, ring.tokens[i].openAll(scopes)
}
