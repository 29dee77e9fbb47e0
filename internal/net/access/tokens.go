package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/base/spelling"
)

// A Scope is a part of a server that a token opens.
type Scope string

const (
	Models   Scope = "models"   // the models, and what the caller made at the upstream
	Operator Scope = "operator" // administering the upstream, and what every caller made there
	Record   Scope = "record"   // reading the record
	Console  Scope = "console"  // looking at this process: the metrics, the debug server and, with Record, the console
	Agent    Scope = "agent"    // the agents: the A2A server
	Metrics  Scope = "metrics"  // the metrics alone
	Debug    Scope = "debug"    // the debug server alone
	Consent  Scope = "consent"  // agreeing to calls of agents that need a person's consent
)

// Scopes lists all scopes.
func Scopes() []Scope {
	return []Scope{Models, Operator, Record, Console, Agent, Metrics, Debug, Consent}
}

// Implied lists the scopes of a token that lists none: all except those that must be given
// by name. Consent is a person's, and most tokens are of programs.
func Implied() []Scope {
	return slices.DeleteFunc(Scopes(), func(s Scope) bool { return s == Consent })
}

// wider are the scopes that open what another scope opens, and more.
var wider = map[Scope]Scope{Metrics: Console, Debug: Console}

// A Token is what one caller sends as its API key or bearer token.
type Token struct {
	// Name names the caller in logs and records, where the Secret never appears. It
	// has letters, digits, dots, hyphens and underscores. Several tokens may have one
	// name, for example while a new one replaces an old one: they are of one caller, and
	// must have the same Scopes and Limits.
	Name   string
	Secret string
	// Hash, in place of the Secret, is what [HashOf] returns for it.
	Hash string
	// Scopes are what the token opens. If empty, those of [Implied].
	Scopes []Scope
	// Expires, if set, is when the token stops being valid.
	Expires time.Time
	// Limits bound what the caller may do with all tokens of this name together.
	Limits Limits
}

func (t Token) opens(s Scope) bool {
	if len(t.Scopes) == 0 {
		return slices.Contains(Implied(), s)
	}
	return slices.Contains(t.Scopes, s) || slices.Contains(t.Scopes, wider[s])
}

// Single is the name of a token that has no name of its own.
const Single = "token"

// A TokenError says which token is wrong, and why. It never contains the secret.
type TokenError struct {
	Name string
	Err  error
}

func (e *TokenError) Error() string { return fmt.Sprintf("token %q: %v", e.Name, e.Err) }
func (e *TokenError) Unwrap() error { return e.Err }

// SameValue reports whether two tokens have the same value.
func (t Token) SameValue(other Token) bool {
	a, err1 := t.sum()
	b, err2 := other.sum()
	return err1 == nil && err2 == nil && a == b
}

// Ambiguous reports that another caller has the value of a token too.
func Ambiguous(t Token, all []Token) error {
	for _, other := range all {
		if other.Name != t.Name && t.SameValue(other) {
			return fmt.Errorf("it has the same value as the token %q: give each caller its own", other.Name)
		}
	}
	return nil
}

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
	case t.Secret == "" && t.Hash == "":
		return errors.New("it has no value")
	case t.Secret != "" && t.Hash != "":
		return errors.New("it has a secret and a hash: keep one of them")
	}
	sum, err := t.sum()
	if err != nil {
		return err
	}
	for _, b := range before {
		other, err := b.sum()
		switch same := err == nil && other == sum; {
		case same && b.Name == t.Name:
			return errors.New("one of its values is there twice")
		case same:
			return fmt.Errorf("it has the same value as the token %q: give each caller its own", b.Name)
		case b.Name == t.Name && !b.sameRights(t):
			return errors.New("two tokens have this name, and differ in more than their values")
		}
	}
	if m := t.Limits; min(m.Requests, m.Tokens, m.Exchanges) < 0 {
		return errors.New("a limit is negative: want 0 (no limit) or more")
	}
	for _, s := range t.Scopes {
		if err := CheckScope(string(s)); err != nil {
			return err
		}
	}
	return nil
}

// sameRights reports whether two tokens open the same.
func (t Token) sameRights(other Token) bool {
	return t.Limits == other.Limits && slices.Equal(slices.Sorted(slices.Values(t.Scopes)), slices.Sorted(slices.Values(other.Scopes)))
}

// maxName bounds the name of a token, in bytes.
const maxName = 64

// Names returns scopes as words.
func Names(scopes []Scope) (all []string) {
	for _, s := range scopes {
		all = append(all, string(s))
	}
	return all
}

// CheckScope reports a word that is not a scope.
func CheckScope(word string) error {
	all := Names(Scopes())
	if slices.Contains(all, word) {
		return nil
	}
	if near := spelling.Nearest(word, all); near != "" {
		return fmt.Errorf("unknown scope %q: did you mean %q?", word, near)
	}
	return fmt.Errorf("unknown scope %q: want %s", word, strings.Join(all, ", "))
}

// Authorize reports whether the caller of a request may use a scope. If not, it
// answers the request: with 401 if the token is missing, wrong or expired, and with 403
// if the token does not have the scope. The request that it returns knows its [Caller].
func (c *Control) Authorize(w http.ResponseWriter, r *http.Request, s Scope) (*http.Request, bool) {
	ring := c.ring.Load()
	if IsInside(r.Context()) || !ring.closed {
		return r, true
	}
	key := c.Key(r)
	t, ok := ring.find(key)
	switch {
	case !ok && key != "" && !c.Guessed(w, r):
		return r, false
	case !ok:
		w.Header().Set("WWW-Authenticate", `Bearer realm="sotto"`)
		c.refuse(w, r, faultname.TokenMissing, http.StatusUnauthorized, "this "+c.rules.Name+" needs its token as the API key"+hintOf(r))
		return r, false
	case t.expired():
		w.Header().Set("WWW-Authenticate", `Bearer realm="sotto", error="invalid_token"`)
		c.refuse(w, r, faultname.TokenExpired, http.StatusUnauthorized, fmt.Sprintf("this token of %q has expired: ask for a new one", t.Name))
		return r, false
	case !t.opens(s):
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="sotto", error="insufficient_scope", scope="%s"`, s))
		c.refuse(w, r, faultname.ScopeMissing, http.StatusForbidden, fmt.Sprintf("the token %q does not have the scope %q", t.Name, s))
		return r, false
	}
	ctx := context.WithValue(r.Context(), tokenKey{}, &t)
	return r.WithContext(context.WithValue(ctx, callerKey{}, t.Name)), true
}

type (
	callerKey struct{}
	tokenKey  struct{}
	insideKey struct{}
)

// Inside returns a request that another server of this process makes for somebody whom
// it has admitted itself. It needs no token. The caller is the name by which logs and
// records know it, and token the name of the token that admitted it, if there was one: its
// limits apply.
func Inside(r *http.Request, caller, token string) *http.Request {
	ctx := context.WithValue(r.Context(), insideKey{}, &token)
	return r.WithContext(context.WithValue(ctx, callerKey{}, caller))
}

// Account returns the name of the token whose limits a request counts against.
func Account(ctx context.Context) string {
	if token, ok := ctx.Value(insideKey{}).(*string); ok {
		return *token
	}
	return Caller(ctx)
}

// Caller returns the name of the token that a request was admitted by. It is empty
// if the server has no tokens.
func Caller(ctx context.Context) string {
	name, _ := ctx.Value(callerKey{}).(string)
	return name
}

// May reports whether the token that a request was admitted by has a scope. Nobody has one
// where there are no tokens, and neither has a request of [Inside].
func May(ctx context.Context, s Scope) bool {
	t, ok := ctx.Value(tokenKey{}).(*Token)
	return ok && !IsInside(ctx) && t.opens(s)
}

// IsInside reports whether a request is one of [Inside].
func IsInside(ctx context.Context) bool {
	_, inside := ctx.Value(insideKey{}).(*string)
	return inside
}
