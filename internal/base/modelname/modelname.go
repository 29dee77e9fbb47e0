// Package modelname compares the names of models as providers and registries
// spell them.
package modelname

import "strings"

// Members are the members of a record that name the model of its reply, as paths with
// dots. The first that a record has counts. It is the one list for every command.
var Members = []string{
	"model", "model_name", "model_id", "generator", "request.model", "request.body.model", "response.model", "response.body.model", "output.model",
}

// Most bounds the name of a model that a client sends, in bytes.
const Most = 200

// Bounded returns a name that a client sent: its first bytes, in UTF-8.
func Bounded(name string) string { return strings.ToValidUTF8(name[:min(len(name), Most)], "?") }

// Match says how well patterns fit a model's name, in any spelling. It returns the
// length of the longest matching pattern, without its stars, in bytes, or -1 if
// none matches. A pattern is in lower case, and each * in it matches any run of
// bytes.
func Match(patterns []string, model string) int { return MatchNormal(patterns, Normal(model)) }

// MatchNormal is [Match] for a name that [Normal] returned, to try many rows of a table.
func MatchNormal(patterns []string, name string) int {
	most := -1
	for _, p := range patterns {
		if len(p) > most && fits(p, name) {
			most = max(most, len(p)-strings.Count(p, "*"))
		}
	}
	return most
}

// Normal converts a model's name to the form that patterns match: lower case,
// without its registry path. A tag is attached with a hyphen, because it may
// distinguish two models (qwen3:30b-thinking).
func Normal(model string) string {
	name := strings.ToLower(strings.TrimSpace(model))
	name = strings.TrimRight(name, "/")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	if i := strings.LastIndex(name, "--"); i >= 0 && strings.HasPrefix(name, "models--") {
		name = name[i+2:] // a folder of the Hugging Face cache
	}
	return strings.Map(hyphen, name)
}

// hyphen returns what a pattern has for a character of a name.
func hyphen(r rune) rune {
	switch r {
	case ':', '@', ' ':
		return '-'
	}
	return r
}

// fits reports whether a pattern matches the whole of a name.
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
