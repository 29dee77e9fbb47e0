package access

import (
	"net/http"
	"strings"
)

// Key returns the API key of a request, by the first of the ways in which clients
// send one. It is empty if there is none.
func Key(r *http.Request) string {
	if all := Keys(r); len(all) > 0 {
		return all[0]
	}
	return ""
}

// Keys returns all keys that a request has, wherever APIs look for one. Which of them
// admits the request is what [Control.Key] says.
func Keys(r *http.Request) []string {
	var all []string
	add := func(s string) {
		if s != "" {
			all = append(all, s)
		}
	}
	auth := r.Header.Get("Authorization")
	if kind, key, ok := strings.Cut(auth, " "); ok && strings.EqualFold(kind, "Bearer") {
		auth = strings.TrimSpace(key)
	}
	add(auth)
	for _, h := range keyHeaders {
		add(r.Header.Get(h))
	}
	add(r.URL.Query().Get("key"))
	for _, p := range Protocols(r.Header) {
		if key, ok := strings.CutPrefix(p, KeyProtocol); ok {
			add(key)
		}
	}
	return all
}

// keyHeaders are the headers beside Authorization that hold API keys.
var keyHeaders = []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"}

// KeyProtocol is the prefix of a key among the protocols of a WebSocket: pages
// cannot send a key in any other header of one.
const KeyProtocol = "openai-insecure-api-key."

// Protocols returns the protocols that a WebSocket may speak.
func Protocols(h http.Header) []string {
	var list []string
	for _, v := range h["Sec-Websocket-Protocol"] {
		for p := range strings.SplitSeq(v, ",") {
			list = append(list, strings.TrimSpace(p))
		}
	}
	return list
}
