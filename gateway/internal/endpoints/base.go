package endpoints

import (
	"net/url"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/wire"
)

// Below returns where a client's request goes below the upstream's base URL.
// Providers publish base URLs with the version of their API (https://host/v1) and
// without it, and clients ask for paths with it and without it, so what both have
// is sent once:
//
//   - The segments with which the base ends and the client's path begins:
//     https://host/api/v1 and /v1/models make /api/v1/models.
//   - If the base holds another version, or an Azure deployment, it takes the place
//     of the client's /v1: https://host/api/v3 and /v1/models make /api/v3/models.
//     Clients of some APIs add /v1 to every base URL, and theirs stays.
//   - If the base ends in a version, and the route is one that servers have beside
//     it, the version is left out: http://host:11434/v1 and /api/chat make /api/chat.
//
// Otherwise the path follows the base as it is.
func Below(base, client *url.URL) *url.URL {
	u := *client
	u.Scheme, u.Host = base.Scheme, base.Host
	switch {
	case base.RawQuery == "":
	case u.RawQuery == "":
		u.RawQuery = base.RawQuery
	default:
		u.RawQuery = base.RawQuery + "&" + u.RawQuery
	}
	root, asked := Segments(base.EscapedPath()), Segments(client.EscapedPath())
	if len(root) == 0 {
		return &u
	}
	path := "/" + strings.Join(joined(root, asked, client.Path), "/")
	if strings.HasSuffix(client.Path, "/") && !strings.HasSuffix(path, "/") {
		path += "/"
	}
	u.Path, _ = url.PathUnescape(path) // both were paths of URLs, so this cannot fail
	u.RawPath = path
	return &u
}

// joined joins the segments of a base and of a client's path.
func joined(root, asked []string, path string) []string {
	if n := overlap(root, asked); n > 0 {
		return slices.Concat(root, asked[n:])
	}
	f := Look(Segments(path), func(*Endpoint) bool { return true })
	switch {
	case len(asked) > 0 && asked[0] == "v1":
		if hasVersion(root) && !addsVersion(f.Codec) {
			asked = asked[1:]
		}
	case f.Kind != Unknown && !isVersioned(f.Path) && isVersion(root[len(root)-1]):
		root = root[:len(root)-1]
		return slices.Concat(root, asked[overlap(root, asked):])
	}
	return slices.Concat(root, asked)
}

// overlap returns with how many segments root ends and asked begins.
func overlap(root, asked []string) int {
	for n := min(len(root), len(asked)); n > 0; n-- {
		if slices.Equal(root[len(root)-n:], asked[:n]) {
			return n
		}
	}
	return 0
}

// hasVersion reports whether a base says which version of an API it is of. A
// deployment of Azure's stands in the place of a version.
func hasVersion(root []string) bool {
	return slices.ContainsFunc(root, isVersion) || slices.Contains(root, "deployments")
}

// isVersion reports whether a segment names a version: v1, v4, v1beta.
func isVersion(s string) bool {
	return len(s) > 1 && len(s) <= len("v1alpha1") && s[0] == 'v' && '0' <= s[1] && s[1] <= '9'
}

// isVersioned reports whether servers have a route of the table below the version
// of their API. The table has such routes with /v1 and without.
func isVersioned(path string) bool {
	return strings.HasPrefix(path, "/v1/") || slices.ContainsFunc(All, func(e Endpoint) bool { return e.Path == "/v1"+path })
}

// addsVersion reports whether clients of a codec's API add /v1 to any base URL.
func addsVersion(c wire.Codec) bool {
	p := Provider(c)
	return p != nil && p.AddsVersion
}
