// Package access decides who may use a server of this module: by the Host and the
// origin of a request, by its token, and by how much the caller has under way.
package access

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/base/lograte"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// Rules say who may use a server.
type Rules struct {
	// Name is what messages call the server, such as "gateway".
	Name string
	// Public says that other machines can reach the server.
	Public bool
	// Tokens are what callers send. Without any, everybody who can reach the server
	// may use all of it, unless it is Closed.
	Tokens []Token
	// Closed says that callers need a token also if there are no Tokens: then nobody is
	// admitted until [Control.SetTokens] gives some.
	Closed bool
	// AllowHosts are names that requests may use for the server, in addition to IP
	// addresses and the names of this machine; "*" allows any. With Tokens or over
	// TLS, and with no listed names, any name is allowed.
	AllowHosts []string
	// AllowOrigins are the origins of web pages that may use the server, in
	// addition to its own; "*" allows any, and "null" those without an origin, such
	// as files and frames in a sandbox. Any page can have the origin "null", so it
	// counts only with Tokens.
	AllowOrigins []string
	// Methods are what allowed pages may use on every route, and Expose are the headers
	// of a response that they may read.
	Methods, Expose []string
	// MoreMethods, if set, returns what allowed pages may use in addition on the route of a
	// preflight. Its path is one that [CheckPath] accepts.
	MoreMethods func(preflight *http.Request) []string
	// MaxHeader bounds a request's header with its target, in bytes. Zero means no
	// bound except the server's own.
	MaxHeader int
	// URLKeys reports for which requests a key in the URL counts. If it is nil, requests
	// with one are refused.
	URLKeys func(*http.Request) bool
	// Log, if set, says which flag would let in a page that is refused.
	Log *slog.Logger
	// Refuse answers a request that is not admitted, in the form of the server's
	// API. The reason is printable and short.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, why string)
}

// A Control applies rules. It is safe for concurrent use.
type Control struct {
	rules  Rules
	hosts  []string // the names that the server is served under, except those of loopback
	ring   atomic.Pointer[keyring]
	logged lograte.Limit

	guesses guesses
}

// New returns a control. Check the tokens before, with [Check].
func New(r Rules) *Control {
	c := &Control{
		rules: r, hosts: ownHosts(r.Public, r.AllowHosts),
		logged: lograte.Limit{Every: time.Minute, Most: mostLogged},
	}
	c.ring.Store(newKeyring(r.Tokens, r.Closed))
	return c
}

// Enter reports whether a request may come in, whoever makes it: it checks the
// size of the header, the method, the path, headers that are there twice, the Host, the
// origin, and keys in the URL. If not, it
// answers the request. It also answers the preflights of allowed pages: these never
// have a token.
func (c *Control) Enter(w http.ResponseWriter, r *http.Request) bool {
	if limit := c.rules.MaxHeader; limit > 0 && HeaderSize(r.Header)+len(r.RequestURI) > limit {
		c.refuse(w, r, faultname.HeaderTooLarge, http.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf("the header of the request is larger than %d bytes", limit))
		return false
	}
	if !slices.Contains(methods, r.Method) {
		w.Header().Set("Allow", strings.Join(methods, ", "))
		c.refuse(w, r, faultname.MethodNotServed, http.StatusMethodNotAllowed, "the method "+shorttext.Quote(r.Method)+" is not served")
		return false
	}
	if err := CheckPath(r.URL); err != nil {
		c.refuse(w, r, faultname.PathMalformed, http.StatusBadRequest, err.Error())
		return false
	}
	if !Trusted(r) {
		w.Header().Set("Connection", "close")
		c.refuse(w, r, faultname.CertificateUntrusted, http.StatusUnauthorized, "the certificate of this client is no longer trusted")
		return false
	}
	return c.single(w, r) && c.host(w, r) && c.origin(w, r) && !c.refusesURL(w, r)
}

// HeaderSize returns approximately how many bytes a header has as it is sent.
func HeaderSize(h http.Header) (n int) {
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	return n
}

// methods are the methods that pass. TRACE would echo the request with its keys, and
// CONNECT asks for a tunnel.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// say logs that a page is refused, and the flag that would let it in: once a minute
// for each page, because a page can ask at any rate. A value that is not an origin or
// a host could not be allowed, and is not logged.
func (c *Control) say(who, value, flag string) {
	if len(value) > maxLogged || strings.ContainsFunc(value, isOdd) {
		value, flag = "malformed", "none"
	}
	if c.rules.Log != nil && c.logged.Now(who+value) {
		c.rules.Log.Warn("a page is refused", who, value, "to_allow", flag)
	}
}

// maxLogged is longer than an origin, whose host has at most 253 bytes, and mostLogged
// is how many pages are kept apart in the log.
const (
	maxLogged  = 300
	mostLogged = 64
)

// isOdd reports whether origins and hosts do not have a character.
func isOdd(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-._:/[]", r))
}

func (c *Control) refuse(w http.ResponseWriter, r *http.Request, name faultname.Name, status int, why string) {
	faultname.Set(w.Header(), name)
	c.rules.Refuse(w, r, status, shorttext.Escape(why, maxReason))
}

// maxReason bounds the reason of a refusal, in bytes.
const maxReason = 1 << 10
