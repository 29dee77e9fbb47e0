package gateway

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// loopbackHost reports whether a Host names this machine.
func loopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// origin keeps out web pages that were not allowed: a page of another site must
// not spend the key. It answers their preflights.
func (a *access) origin(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
			a.refuse(w, r, http.StatusForbidden, "a page of another site may not use this gateway: see --allow-origin")
			return false
		}
		return true
	}
	if sameOrigin(origin, r) {
		return true
	}
	if !slices.Contains(a.origins, origin) && !slices.Contains(a.origins, "*") {
		a.refuse(w, r, http.StatusForbidden, "the origin "+quoteShort(origin)+" may not use this gateway: see --allow-origin")
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "Sotto-Diagnostics, Sotto-History")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return true
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
	if ask := r.Header.Get("Access-Control-Request-Headers"); ask != "" {
		h.Set("Access-Control-Allow-Headers", ask)
	}
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return false
}

// sameOrigin reports whether a page of the gateway's own asks.
func sameOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}
