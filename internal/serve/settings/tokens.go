package settings

import (
	"errors"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/net/sealedslot"
)

// A namedToken has the tokens of one caller.
type namedToken struct {
	name     string
	secret   secret
	variable string // of the environment, that holds the secret
	scopes   []string
	limits   access.Limits
}

// A secret is read from a file or from the environment.
type secret struct {
	file string
	Text string
	// If ofCaller is set, the text is that of a token file, which may have several tokens, or
	// their hashes: tokens.
	ofCaller bool
	// If several is set, the text may have several secrets, one a line: the first is in use, and
	// the others were before.
	several bool
	tokens  []access.Token
	once    bool // the file is a pipe, or another one that cannot be read again
}

// check reads the text.
func (t *secret) check() (err error) {
	switch {
	case t.several:
		_, err = sealedslot.Lines(t.Text)
		return err
	case !t.ofCaller:
		return files.CheckSecret(t.Text)
	}
	t.tokens, err = access.ReadTokens(t.Text)
	return err
}

// given reports whether a setting names the secret, even if nothing is in it.
func (t *secret) given() bool { return t.file != "" || t.Text != "" }

// shows reports whether who reads the text can use it.
func (t *secret) shows() bool {
	for _, one := range t.tokens {
		if one.Secret != "" {
			return true
		}
	}
	return !t.ofCaller
}

// readTokens reads the tokens of named callers, each from its file or its variable.
func (s *Setup) readTokens(getenv func(string) string) {
	for i := range s.tokens {
		t := &s.tokens[i]
		t.secret.ofCaller = true
		path := yamlfile.Join("tokens", t.name)
		if _, given := s.places[path+".scopes"]; given && len(t.scopes) == 0 {
			s.fault(path+".scopes", errors.New("the list is empty: name a scope, or leave scopes out to open everything"))
		}
		switch {
		case t.variable != "" && t.secret.file != "":
			s.fault(path+".token-env", errors.New("token-file is set too: keep one of them"))
		case t.variable != "":
			if t.secret.Text = strings.TrimSpace(getenv(t.variable)); t.secret.Text == "" {
				s.fault(path+".token-env", errors.New("the environment has no variable with this name"))
			} else if err := t.secret.check(); err != nil {
				s.fault(path+".token-env", err)
			}
		case t.secret.file != "":
			s.readSecretFile(&t.secret, path+".token-file")
		default:
			s.fault(path, errors.New("it has no value: give it with token-file or token-env"))
		}
	}
}

// allTokens returns the tokens of all callers, without those that cannot be read, which
// were reported.
func (s *Settings) allTokens() (all []gateway.Token) {
	s.token.name = access.Single
	for _, t := range append([]namedToken{s.token}, s.tokens...) {
		for _, one := range t.secret.tokens {
			one.Name, one.Limits = t.name, t.limits
			for _, scope := range t.scopes {
				one.Scopes = append(one.Scopes, gateway.Scope(scope))
			}
			all = append(all, one)
		}
	}
	return all
}

// checkTokens warns of tokens that may be guessed, and of those that are no longer valid.
func (s *Setup) checkTokens() {
	for _, t := range s.Tokens() {
		name := "the token " + t.Name
		if t.Name == access.Single {
			name = "the token"
		}
		if t.Secret != "" {
			if why := access.Weakness(t.Secret); why != "" {
				s.warn("%s %s, and may be guessed: sotto token new makes a better one", name, why)
			}
		}
		if left := time.Until(t.Expires); !t.Expires.IsZero() && left <= 0 {
			s.warn("%s expired on %s", name, t.Expires.Format(time.DateOnly))
		} else if !t.Expires.IsZero() && left < soon {
			s.warn("%s expires on %s", name, t.Expires.Format(time.DateOnly))
		}
	}
}

// pathOfToken returns the key that a fault of the gateway's belongs to, if it is about the
// token that has no name of its own.
func (s *Setup) pathOfToken(path string) string {
	if _, named := s.places[path]; path == yamlfile.Join("tokens", access.Single) && !named {
		return "token-file"
	}
	return path
}

// soon is when a token that expires is worth a warning.
const soon = 7 * 24 * time.Hour
