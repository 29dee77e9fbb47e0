// Package modelname compares the names of models as providers and registries
// spell them.
package modelname

import "strings"

// Match says how well patterns fit a model's name, in any spelling: the number
// of bytes beside its stars of the longest that fits, or -1. A pattern is in
// lower case, and * stands in it for any run of bytes.
func Match(patterns []string, model string) int {
	name, most := Normal(model), -1
	for _, p := range patterns {
		if n := len(p) - strings.Count(p, "*"); n > most && fits(p, name) {
			most = n
		}
	}
	return most
}

// Normal brings a model's name to the form that patterns match: lower case,
// without its registry path. A tag is joined on with a hyphen, since it may tell
// one model from another (qwen3:30b-thinking).
func Normal(model string) string {
	name := strings.ToLower(strings.TrimSpace(model))
	name = strings.TrimRight(name, "/")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	if i := strings.LastIndex(name, "--"); i >= 0 && strings.HasPrefix(name, "models--") {
		name = name[i+2:] // a folder of the Hugging Face cache
	}
	return hyphens.Replace(name)
}

var hyphens = strings.NewReplacer(":", "-", "@", "-", " ", "-")

// fits reports whether a pattern is the whole of a name.
func fits(pattern, name string) bool {
	part, rest, star := strings.Cut(pattern, "*")
	if !star {
		return part == name
	}
	if !strings.HasPrefix(name, part) {
		return false
	}
	for name = name[len(part):]; ; {
		if part, rest, star = strings.Cut(rest, "*"); !star {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
}
