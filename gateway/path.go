package gateway

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// encodedSlash reports whether a path has a slash that is written as %2F.
func encodedSlash(u *url.URL) bool {
	return strings.Contains(strings.ToLower(u.EscapedPath()), "%2f")
}

// find returns the endpoint that a path leads to, among those that are allowed.
// Some servers treat encoded slashes as slashes. So if the path has any, both
// readings must lead to the same endpoint. The path must be one that
// [access.CheckPath] accepts.
func find(u *url.URL, may func(*endpoint) bool) (found, error) {
	f := look(segmentsOf(u.Path), may)
	if encodedSlash(u) {
		parts := segmentsOf(u.EscapedPath())
		for i, part := range parts {
			parts[i], _ = url.PathUnescape(part) // it was decoded before, so this cannot fail
		}
		if g := look(parts, may); g.path != f.path || g.at != f.at {
			return found{}, errors.New("the path has an encoded slash, which servers read in different ways")
		}
	}
	if f.kind != unknown && !f.exact {
		return found{}, errors.New("the path is not spelled as " + f.path)
	}
	return f, nil
}

// findFor returns the endpoint of a request. Its path must lead to one place,
// whichever methods a server has there.
func findFor(r *http.Request) (found, error) {
	if _, err := find(r.URL, func(*endpoint) bool { return true }); err != nil {
		return found{}, err
	}
	return find(r.URL, func(e *endpoint) bool { return e.takes(r.Method) })
}
