package record

import (
	"cmp"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// Secrets is a set of credentials that must not be recorded. Wherever one appears
// in an event, also inside other text, "[secret]" is recorded in its place. Its
// size is bounded: see [Secrets.Unsearched]. It is safe for concurrent use. A nil
// set is empty.
type Secrets struct {
	mu      sync.RWMutex
	values  map[string]bool // whether the caller named it, or a request carried it
	dropped int             // values that did not fit
	built   *needles        // nil when values changed
}

// The bounds of what one set searches for: its values, and the bytes of all their
// spellings. An automaton needs 13 times as many bytes.
const (
	maxSecrets     = 4096
	maxSecretBytes = 512 << 10
)

// shortest is the length below which a value is not taken for a credential:
// removing it from every text would destroy the texts. guessedShortest is that
// length for values in headers and cookies that nothing marks as credentials.
const (
	shortest        = 4
	guessedShortest = 8
)

// NewSecrets returns a set of the values. Values of less than 4 bytes are left out.
func NewSecrets(values ...string) *Secrets {
	s := &Secrets{}
	s.Add(values...)
	return s
}

// RequestSecrets returns the credentials that a request carries, in its line, its
// headers and its cookies.
func RequestSecrets(r *http.Request) *Secrets {
	s := &Secrets{}
	s.AddHeader(r.Header)
	s.AddURL(r.URL)
	return s
}

// Add adds values. They are also searched for as they are spelled in URLs, in JSON
// and in base64. Values of less than 4 bytes are left out.
func (s *Secrets) Add(values ...string) { s.add(true, values...) }

func (s *Secrets) add(named bool, values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[string]bool{}
	}
	for _, v := range values {
		if v = strings.TrimSpace(v); len(v) >= shortest {
			s.values[v] = s.values[v] || named
		}
	}
	s.built = nil
	if len(s.values) <= 2*maxSecrets {
		return
	}
	list := s.ranked()
	for _, v := range list[maxSecrets:] {
		delete(s.values, v)
	}
	s.dropped += len(list) - maxSecrets
}

// ranked lists the values; those that take precedence come first.
func (s *Secrets) ranked() []string {
	rank := func(v string) int {
		if s.values[v] {
			return 0
		}
		return 1
	}
	return slices.SortedFunc(maps.Keys(s.values), func(a, b string) int {
		return cmp.Or(rank(a)-rank(b), len(b)-len(a), strings.Compare(a, b))
	})
}

// spellings lists the forms that a value may have in a text.
func spellings(v string) []string {
	list := []string{
		v, url.QueryEscape(v), url.PathEscape(v),
		base64.StdEncoding.EncodeToString([]byte(v)), base64.RawURLEncoding.EncodeToString([]byte(v)),
		string([]rune(v)), // the form of bytes that are not UTF-8 in a JSON string
	}
	// In JSON within a text, such as the arguments of a call. Some encoders also
	// escape the slash, or characters with a meaning in HTML.
	list = append(list, inJSON(v), strings.ReplaceAll(inJSON(v), "/", `\/`), forHTML.Replace(inJSON(v)))
	for _, form := range list { // and each as the line of an event has it
		list = append(list, inJSON(form))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

var forHTML = strings.NewReplacer("&", `\u0026`, "<", `\u003c`, ">", `\u003e`)

// inJSON returns a text as it is written in a JSON string.
func inJSON(text string) string {
	quoted := jsontext.AppendString(nil, text)
	return string(quoted[1 : len(quoted)-1])
}

// credentialWords are the words in the names of headers, members and parameters whose
// values are credentials, in lower case.
var credentialWords = []string{"auth", "token", "secret", "key", "passw", "credential", "cookie", "session", "signature"}

// namesCredential reports whether the value of a header, member or parameter of this
// name is a credential. It is asked for each header of each request, which is too often
// for a regular expression.
func namesCredential(name string) bool {
	name = strings.ToLower(strings.ToUpper(name)) // so that a long s is an s
	return name == "sig" || name == "code" ||
		slices.ContainsFunc(credentialWords, func(word string) bool { return strings.Contains(name, word) })
}

// AddHeader adds the credentials of a header: values that authorize, keys and
// tokens, and the values of cookies.
func (s *Secrets) AddHeader(h http.Header) {
	for name, values := range h {
		if !namesCredential(name) {
			continue
		}
		for _, v := range values {
			s.addHeaderValue(name, v)
		}
	}
}

func (s *Secrets) addHeaderValue(name, value string) {
	if strings.Contains(strings.ToLower(name), "cookie") {
		for part := range strings.SplitSeq(value, ";") {
			_, v, _ := strings.Cut(part, "=")
			if len(v) < guessedShortest {
				continue
			}
			plain, err := url.QueryUnescape(v)
			if err != nil {
				plain = v
			}
			s.add(false, v, strings.Trim(v, `"`), plain)
		}
		return
	}
	if scheme, rest, ok := strings.Cut(value, " "); ok {
		if strings.EqualFold(scheme, "Basic") {
			plain, _ := base64.StdEncoding.DecodeString(rest)
			_, password, _ := strings.Cut(string(plain), ":")
			s.add(false, password)
		}
		s.add(false, rest)
	}
	if len(value) >= guessedShortest || strings.EqualFold(name, "Authorization") {
		s.add(false, value)
	}
}

// AddURL adds a URL's password and the parameters whose names say that they are
// credentials.
func (s *Secrets) AddURL(u *url.URL) {
	if u == nil {
		return
	}
	if u.User != nil {
		password, _ := u.User.Password()
		s.add(false, password)
	}
	// Both as the value is written in the line, and decoded. The first is what an
	// upstream quotes. Of all spellings that decode to the same, only that one is
	// known.
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		name, raw, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if !namesCredential(name) {
			continue
		}
		s.add(false, raw)
		if plain, err := url.QueryUnescape(raw); err == nil {
			s.add(false, plain)
		}
	}
}

// needles returns the set in searchable form; nil if it is empty.
func (s *Secrets) needles() *needles {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	n := s.built
	empty := len(s.values) == 0
	s.mu.RUnlock()
	if n != nil || empty {
		return n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.built = newNeedles(s.ranked())
	s.built.unsearched += s.dropped
	return s.built
}

// Redact returns a text with every secret replaced by [secret]. A nil set changes
// nothing.
func (s *Secrets) Redact(text string) string { return s.needles().scrub(text) }

// Unsearched returns how many of the values are not searched for, because the set
// is too large: it searches for 4,096 values at most, whose spellings have 512 KiB
// together. Values given to [Secrets.Add] take precedence over what a request
// carries. Within each group, longer values take precedence. An event that was
// recorded with such a set says so in [Event.Unsearched].
func (s *Secrets) Unsearched() int {
	if n := s.needles(); n != nil {
		return n.unsearched
	}
	return 0
}

// plainPath returns a path without its query.
func plainPath(path string) string {
	path, _, _ = strings.Cut(path, "?")
	path, _, _ = strings.Cut(path, "#")
	return path
}

// plainURL returns a URL without its user, its password and its query.
func plainURL(s string) string {
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil {
		return "[not a URL]"
	}
	u.User, u.RawQuery, u.Fragment, u.ForceQuery = nil, "", "", false
	return u.String()
}

// Patterns for what looks like a credential in the message of an error. Errors of
// HTTP clients quote complete URLs.
var credentialForms = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`://[^/@\s"']+@`), "://[secret]@"},
	{regexp.MustCompile(`(?i)([?&;][a-z0-9_.-]*(?:auth|token|secret|key|passw|credential|session|signature|sig|code)[a-z0-9_.-]*=)[^&\s"']+`), "${1}[secret]"},
	{regexp.MustCompile(`(?i)\b(bearer|basic)(\s+)[a-z0-9._~+/=-]{4,}`), "${1}${2}[secret]"},
	{regexp.MustCompile(`(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|(?:x-)?(?:goog-)?api[-_]?key)("?\s*[:=]\s*"?)[^\s"',\[]+`), "${1}${2}[secret]"},
}

// plainError returns the message of an error without what looks like a credential.
func plainError(s string) string {
	if s == "" {
		return ""
	}
	for _, f := range credentialForms {
		s = f.re.ReplaceAllString(s, f.to)
	}
	return s
}

// plainConfig returns a configuration without values whose names suggest a
// credential.
func plainConfig(c map[string]string, n *needles) map[string]string {
	if c == nil {
		return nil
	}
	out := make(map[string]string, len(c))
	for k, v := range c {
		switch {
		case v != "" && namesCredential(k):
			v = "[secret]"
		case strings.Contains(v, "://"):
			v = plainError(n.scrub(v))
		}
		out[k] = v
	}
	return out
}
