package endpoints

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// HasEncodedSlash reports whether a path has a slash that is written as %2F.
func HasEncodedSlash(u *url.URL) bool {
	return strings.Contains(strings.ToLower(u.EscapedPath()), "%2f")
}

// Find returns the endpoint that a path leads to, among those that are allowed.
// Some servers treat encoded slashes as slashes. So if the path has any, both
// readings must lead to the same endpoint. The path must be one that
// [access.CheckPath] accepts.
func Find(u *url.URL, may func(*Endpoint) bool) (Found, error) {
	f := Look(Segments(u.Path), may)
	if HasEncodedSlash(u) {
		parts := Segments(u.EscapedPath())
		for i, part := range parts {
			parts[i], _ = url.PathUnescape(part) // it was decoded before, so this cannot fail
		}
		if g := Look(parts, may); g.Path != f.Path || g.At != f.At {
			return Found{}, errors.New("the path has an encoded slash, which servers read in different ways")
		}
	}
	if f.Kind != Unknown && !f.exact {
		return Found{}, errors.New("the path is not spelled as " + f.Path)
	}
	return f, nil
}

// For returns the endpoint of a request. Its path must lead to one place,
// whichever methods a server has there.
func For(r *http.Request) (Found, error) {
	if _, err := Find(r.URL, func(*Endpoint) bool { return true }); err != nil {
		return Found{}, err
	}
	return Find(r.URL, func(e *Endpoint) bool { return e.Takes(r.Method) })
}

// Thing returns the id that a path has of an endpoint's things; one is false if the path is
// that of all of them.
func (e *Endpoint) Thing(u *url.URL) (id string, one bool) {
	parts := Segments(e.Path)
	at := slices.Index(parts, e.Of) + 1
	if at == 0 || at == len(parts) || !strings.HasPrefix(parts[at], "{") {
		return "", false
	}
	segments := Segments(u.Path)
	for from := range segments {
		if ok, _ := pattern(parts).fits(segments[from:]); !ok {
			continue
		}
		// Patterns with several segments before the id would need more than this.
		id = segments[from+at]
		if strings.HasPrefix(parts[at], "{}:") {
			id = id[:strings.LastIndexByte(id, ':')]
		}
		return id, true
	}
	return "", true
}
