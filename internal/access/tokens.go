package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/spelling"
)

// A Scope is a part of a server that a token opens.
type Scope string

const (
	Models  Scope = "models"  // the models: every request that is passed to the upstream
	Record  Scope = "record"  // reading the record
	Console Scope = "console" // the operator's view: the metrics
	Agent   Scope = "agent"   // the agents: the A2A server
)

// Scopes lists all scopes.
func Scopes() []Scope { return []Scope{Models, Record, Console, Agent} }

// A Token is what one caller sends as its API key or bearer token.
type Token struct {
	// Name names the caller in logs and records, where the Secret never appears. It
	// has letters, digits, dots, hyphens and underscores.
	Name   string
	Secret string
	// Scopes are what the token opens. If empty, all that the server has.
	Scopes []Scope
}

func (t Token) opens(s Scope) bool { return len(t.Scopes) == 0 || slices.Contains(t.Scopes, s) }

// Single is the name of a token that has no name of its own.
const Single = "token"

// A TokenError says which token is wrong, and why. It never contains the secret.
type TokenError struct {
	Name string
	Err  error
}

func (e *TokenError) Error() string { return fmt.Sprintf("token %q: %v", e.Name, e.Err) }
func (e *TokenError) Unwrap() error { return e.Err }

// Check reports the faults of tokens.
func Check(tokens []Token) []*TokenError {
	var all []*TokenError
	for i, t := range tokens {
		if err := t.check(tokens[:i]); err != nil {
			all = append(all, &TokenError{t.Name, err})
		}
	}
	return all
}

func (t Token) check(before []Token) error {
	other := func(r rune) bool {
		return r != '-' && r != '.' && r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}
	switch {
	case t.Name == "" || len(t.Name) > maxName || strings.ContainsFunc(t.Name, other):
		return fmt.Errorf("its name must have 1 to %d letters, digits, dots, hyphens or underscores", maxName)
	case t.Secret == "":
		return errors.New("it has no value")
	}
	for _, b := range before {
		switch {
		case b.Name == t.Name:
			return errors.New("two tokens have this name")
		case b.Secret == t.Secret:
			return fmt.Errorf("it has the same value as the token %q: give each caller its own", b.Name)
		}
	}
	for _, s := range t.Scopes {
		if err := CheckScope(string(s)); err != nil {
			return err
		}
	}
	return nil
}

// maxName bounds the name of a token, in bytes.
const maxName = 64

// CheckScope reports a word that is not a scope.
func CheckScope(word string) error {
	var all []string
	for _, s := range Scopes() {
		if string(s) == word {
			return nil
		}
		all = append(all, string(s))
	}
	if near := spelling.Nearest(word, all); near != "" {
		return fmt.Errorf("unknown scope %q: did you mean %q?", word, near)
	}
	return fmt.Errorf("unknown scope %q: want %s", word, strings.Join(all, ", "))
}

// A known token is one that is looked for in requests.
type known struct {
	Token
	sum [sha256.Size]byte
}

func digests(tokens []Token) []known {
	list := make([]known, len(tokens))
	for i, t := range tokens {
		list[i] = known{t, sha256.Sum256([]byte(t.Secret))}
	}
	return list
}

// Guarded reports whether callers need a token.
func (c *Control) Guarded() bool { return len(c.tokens) > 0 }

// Authorize reports whether the caller of a request may use a scope. If not, it
// answers the request: with 401 if the token is missing or wrong, and with 403 if
// the token does not have the scope. The request that it returns knows its [Caller].
func (c *Control) Authorize(w http.ResponseWriter, r *http.Request, s Scope) (*http.Request, bool) {
	if IsInside(r.Context()) || !c.Guarded() {
		return r, true
	}
	t, ok := c.token(r)
	switch {
	case !ok:
		w.Header().Set("WWW-Authenticate", `Bearer realm="sotto"`)
		c.refuse(w, r, http.StatusUnauthorized, "this "+c.rules.Name+" needs its token as the API key")
		return r, false
	case !t.opens(s):
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="sotto", error="insufficient_scope", scope="%s"`, s))
		c.refuse(w, r, http.StatusForbidden, fmt.Sprintf("the token %q does not have the scope %q", t.Name, s))
		return r, false
	}
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, t.Name)), true
}

// token returns the token that a request has. All tokens are compared, each in
// constant time, so that neither their lengths nor their order show.
func (c *Control) token(r *http.Request) (t Token, ok bool) { return c.tokenOf(Key(r)) }

func (c *Control) tokenOf(secret string) (t Token, ok bool) {
	sum := sha256.Sum256([]byte(secret))
	for _, k := range c.tokens {
		if subtle.ConstantTimeCompare(sum[:], k.sum[:]) == 1 {
			t, ok = k.Token, true
		}
	}
	return t, ok
}

type (
	callerKey struct{}
	insideKey struct{}
)

// Inside returns a request that another server of this process makes for somebody whom
// it has admitted itself. It needs no token. The caller is the name by which logs and
// records know it.
func Inside(r *http.Request, caller string) *http.Request {
	return r.WithContext(context.WithValue(context.WithValue(r.Context(), insideKey{}, true), callerKey{}, caller))
}

// Caller returns the name of the token that a request was admitted by. It is empty
// if the server has no tokens.
func Caller(ctx context.Context) string {
	name, _ := ctx.Value(callerKey{}).(string)
	return name
}

// IsInside reports whether a request is one of [Inside].
func IsInside(ctx context.Context) bool {
	inside, _ := ctx.Value(insideKey{}).(bool)
	return inside
}

// HasToken reports whether a value of a header or parameter is one of the server's
// tokens, with or without a scheme before it.
func (c *Control) HasToken(value string) bool {
	words := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" ,;=\"", r) })
	return slices.ContainsFunc(c.tokens, func(k known) bool { return slices.Contains(words, k.Secret) })
}

// Opens reports whether a secret is a token with a scope. name is the token's, also
// if it does not have the scope; it is empty if the secret is not a token.
func (c *Control) Opens(secret string, s Scope) (name string, ok bool) {
	t, known := c.tokenOf(secret)
	return t.Name, known && t.opens(s)
}
