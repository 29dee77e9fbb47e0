package access

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// host reports whether a request uses an allowed name for this server, and answers
// it if not. A page can make a name of its own resolve to this machine (DNS
// rebinding), and is then of the server's own origin. A page cannot know a token, and
// over TLS it cannot show a certificate of its own name. So with either any name is
// allowed, unless names are listed.
func (c *Control) host(w http.ResponseWriter, r *http.Request) bool {
	name := hostName(r.Host)
	if loopbackName(name) || slices.Contains(c.hosts, name) || slices.Contains(c.hosts, "*") {
		return true
	}
	if !c.rules.Public {
		c.say("host", r.Host, "--allow-host "+name)
		c.refuse(w, r, faultname.HostNotServed, http.StatusForbidden, "this "+c.rules.Name+" serves only this machine: the request's Host is "+shorttext.Quote(r.Host)+"; see --allow-host")
		return false
	}
	if _, err := netip.ParseAddr(name); err == nil || (c.Guarded() || r.TLS != nil) && len(c.rules.AllowHosts) == 0 {
		return true
	}
	c.say("host", r.Host, "--allow-host "+name)
	c.refuse(w, r, faultname.HostNotServed, http.StatusForbidden, "this "+c.rules.Name+" does not serve the Host "+shorttext.Quote(r.Host)+": see --allow-host")
	return false
}

// hostName returns a Host without its port, in lower case.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	} else if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// loopbackName reports whether a name is one of this machine's on loopback. An
// HTTP/1.0 request has no name.
func loopbackName(name string) bool {
	if name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}

// ownHosts are the names that a server is served under, in addition to those of
// loopback: the listed names, and this machine's names if others reach it.
func ownHosts(public bool, listed []string) []string {
	var names []string
	for _, name := range listed {
		names = append(names, hostName(name))
	}
	if !public {
		return names
	}
	if name, err := os.Hostname(); err == nil && name != "" {
		name = hostName(name)
		short, _, _ := strings.Cut(name, ".")
		names = append(names, name, short, short+".local")
	}
	return names
}

// origin keeps out web pages that are not allowed: a page of another site must not
// spend the key. It also answers preflights.
func (c *Control) origin(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
			c.say("site", site, "none: the page must use fetch with CORS, and then --allow-origin allows it")
			c.refuse(w, r, faultname.OriginNotAllowed, http.StatusForbidden, "a page of another site may not use this "+c.rules.Name+": see --allow-origin")
			return false
		}
		return true
	}
	if sameOrigin(origin, r) {
		return true
	}
	if !c.allows(origin) {
		c.say("origin", origin, c.flagFor(origin))
		c.refuse(w, r, faultname.OriginNotAllowed, http.StatusForbidden, "the origin "+shorttext.Quote(origin)+" may not use this "+c.rules.Name+": see --allow-origin")
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	if len(c.rules.Expose) > 0 {
		h.Set("Access-Control-Expose-Headers", strings.Join(c.rules.Expose, ", "))
	}
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return true
	}
	h.Set("Access-Control-Allow-Methods", strings.Join(c.methodsFor(r), ", "))
	if ask := r.Header.Get("Access-Control-Request-Headers"); ask != "" {
		h.Set("Access-Control-Allow-Headers", ask)
	}
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" { // a public page asks for a machine that is not
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return false
}

// methodsFor returns what an allowed page may use on the route of a preflight.
func (c *Control) methodsFor(preflight *http.Request) []string {
	list := slices.Clone(c.rules.Methods)
	if c.rules.MoreMethods == nil {
		return list
	}
	return append(list, c.rules.MoreMethods(preflight)...)
}

// allows reports whether a page of an origin may use the server.
func (c *Control) allows(origin string) bool {
	if slices.Contains(c.rules.AllowOrigins, "*") {
		return true
	}
	return slices.Contains(c.rules.AllowOrigins, origin) && (origin != nullOrigin || c.Guarded())
}

// nullOrigin is the origin of pages that have none: files, and frames in a sandbox,
// which any page can make.
const nullOrigin = "null"

// flagFor returns the flags that would let in a page of an origin.
func (c *Control) flagFor(origin string) string {
	if origin == nullOrigin && !c.Guarded() {
		return "--allow-origin null --token-file FILE"
	}
	return "--allow-origin " + origin
}

// sameOrigin reports whether the request comes from a page of the server's own
// origin.
func sameOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}
