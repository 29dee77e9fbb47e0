package headers

import (
	"net/http"
	"slices"
	"strings"
)

// A Law says which headers of an upstream a client gets.
type Law struct {
	Hides   bool // reasoning is hidden, so that values must have a known form
	Cookies bool // there is one upstream, so that the client sends its cookies only there
	All     bool // whatever the upstream sends, except what the gateway says of itself
}

// values returns what passes of a header's values.
func (l Law) values(name string, values []string) []string {
	switch {
	case l.All && !l.Hides:
		if strings.HasPrefix(spelled(name), "sotto-") {
			return nil
		}
		return values
	case strings.EqualFold(name, "Set-Cookie"):
		if l.Cookies && !l.Hides {
			return values
		}
		return nil
	}
	g := groupOf(name)
	switch {
	case g == nil:
		return nil
	case !l.Hides:
		return values
	case g.Hidden.of == nil || len(name) > longestName || len(values) > mostValues:
		return nil
	}
	var shown []string
	for _, v := range values {
		if v, ok := g.Hidden.of(strings.TrimSpace(v)); ok {
			shown = append(shown, v)
		}
	}
	return shown
}

// apply leaves in a header what passes, and returns the names of what does not.
func (l Law) apply(h http.Header) (dropped []string) {
	for name, values := range h {
		shown := l.values(name, values)
		if len(shown) < len(values) {
			dropped = append(dropped, name)
		}
		if h[name] = shown; len(shown) == 0 {
			delete(h, name)
		}
	}
	return dropped
}

// Pass leaves in a response what passes of its headers and trailers. It returns the names of the headers that do not.
func (l Law) Pass(resp *http.Response) (dropped []string) {
	dropped = l.apply(resp.Header)
	resp.Trailer = nil
	if t, ok := resp.Body.(*trailedBody); ok && !l.Hides {
		t.law = &l
		resp.Trailer = l.announced(t.from.Trailer)
	}
	slices.Sort(dropped)
	return dropped
}

// announced returns the trailers that pass of those that an upstream announces.
func (l Law) announced(trailer http.Header) http.Header {
	var shown http.Header
	for name := range trailer {
		if l.values(name, []string{""}) != nil {
			if shown == nil {
				shown = http.Header{}
			}
			shown[name] = nil
		}
	}
	return shown
}
