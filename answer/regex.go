package answer

import (
	"regexp"
	"sync/atomic"
)

// Regex is the task whose Gold is a pattern that must match the whole answer:
// "regex". The pattern is of Go's regexp package, which takes linear time.
var Regex Task = regexTask{}

type regexTask struct{ exactTask }

func (regexTask) Name() string { return "regex" }

func (regexTask) Form() Form {
	return Form{Rules: "regex/3", Markers: plainMarkers().list, markers: plainMarkers(), Sayings: true, Bare: bareLine}
}

// maxMatched is how many bytes of an answer a pattern is tried on.
const maxMatched = 1 << 20

func (regexTask) Validate(candidate string, p Problem) Verdict {
	if candidate == "" {
		return Verdict{Reason: Empty}
	}
	if p.Gold == "" {
		return Verdict{Reason: BadGold, Detail: "the pattern is missing"}
	}
	re, err := wholePattern(p.Gold)
	switch {
	case err != nil:
		return Verdict{Reason: BadGold, Detail: err.Error()}
	case len(candidate) > maxMatched:
		return Verdict{Reason: TooLarge}
	case !re.MatchString(candidate):
		return Verdict{Reason: Different, By: "none"}
	}
	return Verdict{OK: true, Reason: ReasonOK, By: "string"}
}

// A compiled is a pattern, compiled. The last one is kept, because batches use the
// same one again.
type compiled struct {
	pattern string
	re      *regexp.Regexp
}

var lastPattern atomic.Pointer[compiled]

func wholePattern(pattern string) (*regexp.Regexp, error) {
	if c := lastPattern.Load(); c != nil && c.pattern == pattern {
		return c.re, nil
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return nil, err // compiled alone, so that ")(" is refused
	}
	re, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
	if err != nil {
		return nil, err
	}
	lastPattern.Store(&compiled{pattern, re})
	return re, nil
}
