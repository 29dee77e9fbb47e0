package agent

import (
	"encoding/json"
	"regexp"
	"strings"
)

// A Reflection is a reflection of three parts, as the template asks for it. Its
// thought is treated as any thought: the policy decides what happens to it. The
// other two parts are what later cycles read.
type Reflection struct {
	Thought  string `json:"thought"`
	Progress string `json:"reflection_on_progress"`
	Plan     string `json:"plan_for_next_cycle"`
}

const templateLesson = `Write your reflection as one JSON object with three texts, and nothing else:

{"thought": "what you think of it all", "reflection_on_progress": "what you did and found", "plan_for_next_cycle": "what you will do next"}

Of these only reflection_on_progress and plan_for_next_cycle are sure to be shown to you again.`

// thoughtMember finds the thought in a reflection of three parts that is malformed.
var thoughtMember = regexp.MustCompile(`(?im)(["'“”‘’]thoughts?["'“”‘’]|^[\s{,*]*thoughts?\**)\s*[:=]`)

// ReadReflection reads a reflection of three parts: one JSON object, which may
// stand in a code fence. ok is false for any other text.
func ReadReflection(text string) (r Reflection, ok bool) {
	text = strings.TrimSpace(text)
	if body, fenced := oneFence(text); fenced {
		text = body
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(&r) != nil || d.InputOffset() != int64(len(text)) {
		return Reflection{}, false
	}
	return r, strings.TrimSpace(r.Progress+r.Plan) != ""
}

// String returns what later cycles read of it.
func (r Reflection) String() string {
	var parts []string
	if s := strings.TrimSpace(r.Progress); s != "" {
		parts = append(parts, "Progress: "+s)
	}
	if s := strings.TrimSpace(r.Plan); s != "" {
		parts = append(parts, "Plan: "+s)
	}
	return strings.Join(parts, "\n")
}
