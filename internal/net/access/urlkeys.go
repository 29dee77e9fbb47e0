package access

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/faultname"
)

// keyNames are the parameters of a URL in which clients send keys, as [paramName] returns
// them. A URL stays in logs, histories and the links that people pass on.
var keyNames = []string{"key", "token", "access_token", "api_key", "apikey"}

// paramName returns the name of a parameter in one spelling.
func paramName(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	return strings.ReplaceAll(strings.ToLower(name), "-", "_")
}

// isKey reports whether a pair of a query is a key.
func isKey(pair string) bool { return slices.Contains(keyNames, paramName(pair)) }

// apart are what servers take for the end of a parameter.
func apart(r rune) bool { return r == '&' || r == ';' }

// InURL reports whether the URL of a request has a parameter for a key.
func InURL(r *http.Request) bool {
	return slices.ContainsFunc(strings.FieldsFunc(r.URL.RawQuery, apart), isKey)
}

// WithoutKeys returns a query without the parameters for keys.
func WithoutKeys(query string) string {
	return strings.Join(slices.DeleteFunc(strings.FieldsFunc(query, apart), isKey), "&")
}

// refusesURL answers a request that has a key in its URL, if the server has no place for
// one.
func (c *Control) refusesURL(w http.ResponseWriter, r *http.Request) bool {
	if c.rules.URLKeys != nil || !InURL(r) {
		return false
	}
	c.refuse(w, r, faultname.KeyInURL, http.StatusBadRequest, ReasonURL)
	return true
}

// ReasonURL says why a key in a URL is refused.
const ReasonURL = "the URL has a key or token, and so it may be in logs and histories: send it in the header Authorization, as Bearer and the token"

// Key returns the key of a request that counts for this server. It is empty if there is
// none.
func (c *Control) Key(r *http.Request) string {
	if c.rules.URLKeys == nil || !InURL(r) || !c.rules.URLKeys(r) {
		r = &http.Request{Header: r.Header, URL: new(url.URL)}
	}
	return Key(r)
}

// hintOf says why a key in the URL was no key.
func hintOf(r *http.Request) string {
	if Key(r) != "" && InURL(r) {
		return "; a key in the URL does not count here: send it in the header Authorization"
	}
	return ""
}
