package answer

import "strings"

// Exact is the task of answers that are right only as they are written: "exact".
// White space at the ends, and emphasis or code marks around the whole, are not
// part of the answer.
var Exact Task = exactTask{}

type exactTask struct{}

// plainMarkers precede answers of any kind.
var plainMarkers = said("Output", "A", "#### ")

func (exactTask) Name() string { return "exact" }

func (exactTask) Form() Form {
	return Form{Rules: "exact/3", Markers: plainMarkers().list, markers: plainMarkers(), Sayings: true, Bare: bareLine}
}

func (exactTask) Normalise(candidate string) string { return withoutMarks(candidate) }

func (exactTask) Precheck(string, Problem) bool { return false }

func (exactTask) Validate(candidate string, p Problem) Verdict {
	gold := withoutMarks(p.Gold)
	switch candidate {
	case "":
		return Verdict{Reason: Empty}
	case gold:
		return Verdict{OK: true, Reason: ReasonOK, By: "string"}
	}
	if gold == "" {
		return Verdict{Reason: BadGold, Detail: "there is none"}
	}
	return Verdict{Reason: Different, By: "none"}
}

func (exactTask) Distil(Problem, string) (query, trace string) { return "", "" }

// withoutMarks removes white space, and emphasis or code marks that stand at both
// ends.
func withoutMarks(s string) string {
	for {
		s = strings.Trim(s, white)
		n := len(s)
		for _, mark := range []string{"**", "__", "`", "*", "_"} {
			if len(s) > 2*len(mark) && strings.HasPrefix(s, mark) && strings.HasSuffix(s, mark) &&
				!strings.Contains(s[len(mark):len(s)-len(mark)], mark) {
				s = s[len(mark) : len(s)-len(mark)]
				break
			}
		}
		if len(s) == n {
			return s
		}
	}
}
