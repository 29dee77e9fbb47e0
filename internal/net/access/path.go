package access

import (
	"errors"
	"net/url"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// MaxPath bounds the path that a client asks for, and maxSegments the number of its
// segments.
const (
	MaxPath     = 1 << 10
	maxSegments = 32
)

// CheckPath refuses a path that a server could read as a different path: by
// decoding it again, by removing dots, parameters or empty segments, or by treating
// a backslash as a slash. The paths that remain mean the same to every server.
func CheckPath(u *url.URL) error {
	p := u.Path
	switch {
	case !strings.HasPrefix(p, "/"):
		return errors.New("the path does not begin with a slash")
	case len(p) > MaxPath || strings.Count(p, "/") > maxSegments:
		return errors.New("the path is too long")
	}
	for i := range len(p) {
		if c := p[i]; c <= ' ' || c > '~' || strings.IndexByte(`\;%?#`, c) >= 0 {
			return errors.New("the path holds " + shorttext.Quote(p[i:i+1]) + ", or its encoded form, which servers read in different ways")
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
