package gateway

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxPath bounds the path that a client asks for, and maxSegments the number of its
// segments.
const (
	maxPath     = 1 << 10
	maxSegments = 32
)

// checkPath refuses a path that a server could read as a different path: by
// decoding it again, by removing dots, parameters or empty segments, or by treating
// a backslash as a slash. The paths that remain mean the same to every server.
func checkPath(u *url.URL) error {
	p := u.Path
	switch {
	case !strings.HasPrefix(p, "/"):
		return errors.New("the path does not begin with a slash")
	case len(p) > maxPath || strings.Count(p, "/") > maxSegments:
		return errors.New("the path is too long")
	}
	for i := range len(p) {
		if c := p[i]; c <= ' ' || c > '~' || strings.IndexByte(`\;%?#`, c) >= 0 {
			return errors.New("the path holds " + quote(p[i:i+1]) + ", or a byte so encoded, which servers read in different ways")
		}
	}
	if p == "/" {
		return nil
	}
	for segment := range strings.SplitSeq(strings.TrimSuffix(p[1:], "/"), "/") {
		switch {
		case segment == "":
			return errors.New("the path has an empty segment: write one slash, not two")
		case strings.HasSuffix(segment, "."):
			return errors.New("a segment of the path ends in a dot")
		}
	}
	return nil
}

// encodedSlash reports whether a path has a slash that is written as %2F.
func encodedSlash(u *url.URL) bool {
	return strings.Contains(strings.ToLower(u.EscapedPath()), "%2f")
}

// find returns the endpoint that a path leads to, among those that are allowed.
// Some servers treat encoded slashes as slashes. So if the path has any, both
// readings must lead to the same endpoint. The path must be one that checkPath
// accepts.
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
	if err := checkPath(r.URL); err != nil {
		return found{}, err
	}
	if _, err := find(r.URL, func(*endpoint) bool { return true }); err != nil {
		return found{}, err
	}
	return find(r.URL, func(e *endpoint) bool { return e.takes(r.Method) })
}

// requestMethods are the methods that pass. TRACE would echo the request with its
// keys, and CONNECT asks for a tunnel.
var requestMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

func methodPasses(method string) bool { return slices.Contains(requestMethods, method) }
