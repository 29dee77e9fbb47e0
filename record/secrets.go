package record

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Secrets is a set of credentials that must not be recorded: wherever one stands
// in an event, also inside other text, "[secret]" is recorded in its place. It is
// safe for concurrent use. A nil set is empty.
type Secrets struct {
	mu     sync.RWMutex
	values map[string]bool
	sorted *needles // nil when values changed
}

// shortest is the length below which a value is not taken for a credential:
// cutting it out of every text would destroy the texts. guessedShortest is of
// those in headers and cookies of which nothing says that they are one.
const (
	shortest        = 4
	guessedShortest = 8
)

// NewSecrets returns a set of the values; those of less than 4 bytes are left out.
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

// Add adds values, and the forms that they take in URLs, in JSON and in base64.
// Values of less than 4 bytes are left out.
func (s *Secrets) Add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[string]bool{}
	}
	for _, v := range values {
		if v = strings.TrimSpace(v); len(v) < shortest {
			continue
		}
		for _, form := range formsOf(v) {
			s.values[form] = true
		}
	}
	s.sorted = nil
}

// formsOf lists what a value may look like in a text.
func formsOf(v string) []string {
	forms := []string{
		v, url.QueryEscape(v), url.PathEscape(v),
		base64.StdEncoding.EncodeToString([]byte(v)), base64.RawURLEncoding.EncodeToString([]byte(v)),
		string([]rune(v)), // as a string of JSON has what is no UTF-8
	}
	quoted := appendString(nil, v)
	inJSON := string(quoted[1 : len(quoted)-1])
	// In JSON within a text, such as the arguments of a call; some escape the slash too.
	return append(forms, inJSON, strings.ReplaceAll(inJSON, "/", `\/`))
}

// credentialName fits the names of headers, members and parameters whose values
// are credentials.
var credentialName = regexp.MustCompile(`(?i)auth|token|secret|key|passw|credential|cookie|session|signature|^sig$|^code$`)

// AddHeader adds the credentials of a header: what authorizes, keys and tokens,
// and the values of cookies.
func (s *Secrets) AddHeader(h http.Header) {
	for name, values := range h {
		if !credentialName.MatchString(name) {
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
			if _, v, ok := strings.Cut(part, "="); ok && len(v) >= guessedShortest {
				s.Add(v, strings.Trim(v, `"`))
				if plain, err := url.QueryUnescape(v); err == nil {
					s.Add(plain)
				}
			}
		}
		return
	}
	if scheme, rest, ok := strings.Cut(value, " "); ok {
		if strings.EqualFold(scheme, "Basic") {
			plain, _ := base64.StdEncoding.DecodeString(rest)
			_, password, _ := strings.Cut(string(plain), ":")
			s.Add(password)
		}
		s.Add(rest)
	}
	if len(value) >= guessedShortest || strings.EqualFold(name, "Authorization") {
		s.Add(value)
	}
}

// AddURL adds a URL's password and the parameters that are credentials by their
// name.
func (s *Secrets) AddURL(u *url.URL) {
	if u == nil {
		return
	}
	if u.User != nil {
		password, _ := u.User.Password()
		s.Add(password)
	}
	// As the value stands in the line, and what it means: the first is what an
	// upstream quotes, and of all spellings that mean the same only it is known.
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		name, raw, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if !credentialName.MatchString(name) {
			continue
		}
		s.Add(raw)
		if plain, err := url.QueryUnescape(raw); err == nil {
			s.Add(plain)
		}
	}
}

// needles returns the set as it is looked for; nil if it is empty.
func (s *Secrets) needles() *needles {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	n := s.sorted
	empty := len(s.values) == 0
	s.mu.RUnlock()
	if n != nil || empty {
		return n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sorted = newNeedles(s.values)
	return s.sorted
}

// needles are strings to look for, the longest first, and the same as they stand
// in a JSON string.
type needles struct{ plain, inJSON []string }

func newNeedles(values map[string]bool) *needles {
	n := &needles{}
	for v := range values {
		n.plain = append(n.plain, v)
	}
	slices.SortFunc(n.plain, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	for _, v := range n.plain {
		quoted := appendString(nil, v)
		n.inJSON = append(n.inJSON, string(quoted[1:len(quoted)-1]))
	}
	return n
}

// and returns the union of two sets.
func (n *needles) and(more *needles) *needles {
	if n == nil {
		return more
	}
	all := map[string]bool{}
	for _, v := range n.plain {
		all[v] = true
	}
	for _, v := range more.plain {
		all[v] = true
	}
	return newNeedles(all)
}

// find returns where secrets stand in a text; the spans may overlap.
func (n *needles) find(text string) [][]int {
	if n == nil {
		return nil
	}
	var spans [][]int
	for _, v := range n.plain {
		for at := 0; ; {
			i := strings.Index(text[at:], v)
			if i < 0 {
				break
			}
			spans = append(spans, []int{at + i, at + i + len(v)})
			at += i + 1
		}
	}
	return spans
}

// scrub returns a text with every secret replaced.
func (n *needles) scrub(text string) string {
	if spans := n.find(text); len(spans) > 0 {
		return string(render(text, add(nil, spans, "secret")).Text)
	}
	return text
}

// plainPath is a path without its query.
func plainPath(path string) string {
	path, _, _ = strings.Cut(path, "?")
	path, _, _ = strings.Cut(path, "#")
	return path
}

// plainURL is a URL without its user, its password and its query.
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

// What in the message of an error looks like a credential. Errors of HTTP clients
// quote URLs whole.
var credentialForms = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`://[^/@\s"']+@`), "://[secret]@"},
	{regexp.MustCompile(`(?i)([?&;][a-z0-9_.-]*(?:auth|token|secret|key|passw|credential|session|signature|sig|code)[a-z0-9_.-]*=)[^&\s"']+`), "${1}[secret]"},
	{regexp.MustCompile(`(?i)\b(bearer|basic)(\s+)[a-z0-9._~+/=-]{4,}`), "${1}${2}[secret]"},
	{regexp.MustCompile(`(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|(?:x-)?(?:goog-)?api[-_]?key)("?\s*[:=]\s*"?)[^\s"',\[]+`), "${1}${2}[secret]"},
}

// plainError is the message of an error without what looks like a credential.
func plainError(s string) string {
	if s == "" {
		return ""
	}
	for _, f := range credentialForms {
		s = f.re.ReplaceAllString(s, f.to)
	}
	return s
}

// plainConfig is a configuration without the values of what is named like a
// credential.
func plainConfig(c map[string]string, n *needles) map[string]string {
	if c == nil {
		return nil
	}
	out := make(map[string]string, len(c))
	for k, v := range c {
		switch {
		case v != "" && credentialName.MatchString(k):
			v = "[secret]"
		case strings.Contains(v, "://"):
			v = plainError(n.scrub(v))
		}
		out[k] = v
	}
	return out
}
