package answer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/answer"
)

const dateTask = `# dates as the task wants them
name: iso-date
markers: [Date, "The date is "]
extent: first_line
boxed: true
stops: ["Question:"]
scan: '^\d{4}-\d\d-\d\d$'
normalise:
  - marks
  - {replace: '/', with: '-'}
validator: regex
pattern: '\d{4}-\d\d-\d\d'
`

func TestReadTask(t *testing.T) {
	task, err := answer.ReadTask("t.yaml", []byte(dateTask))
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string][2]string{
		"**Date:** 2026/11/21":                    {"2026-11-21", "marker:date"},
		"The date is `2026-11-21`":                {"2026-11-21", "marker:the_date_is"},
		"It was:\n2026-11-21\nQuestion:\nDate: 1": {"2026-11-21", "fallback_bottom_scan"},
		`\boxed{2026-11-21}`:                      {"2026-11-21", "boxed"},
		"<answer>2026-11-21</answer>":             {"2026-11-21", "answer_block"},
	} {
		x := answer.Extract(task, raw, answer.Problem{}, answer.Options{})
		if v := task.Validate(x.Candidate, answer.Problem{}); x.Candidate != want[0] || x.Method != want[1] || !v.OK {
			t.Errorf("%q: %+v: %+v", raw, x, v)
		}
		checkExtraction(t, task, raw, answer.Problem{}, answer.Options{})
	}
	if rules := task.Form().Rules; !strings.HasPrefix(rules, "iso-date/") || len(rules) != len("iso-date/")+12 {
		t.Errorf("rules %q", rules)
	}
	if v := task.Validate("soon", answer.Problem{}); v.OK || v.Reason != answer.Different {
		t.Errorf("%+v", v)
	}
}

func TestReadTaskJSON(t *testing.T) {
	task, err := answer.ReadTask("t.yaml", []byte("{\n\t\"name\": \"city\",\n\t\"normalise\": [\"lower\", \"punctuation\", {\"replace\": \"^the \", \"with\": \"\"}],\n\t\"validator\": \"exact\"\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := answer.Problem{Gold: "The Hague"}
	x := answer.Extract(task, "Answer: the HAGUE.", p, answer.Options{})
	if v := task.Validate(x.Candidate, p); !v.OK {
		t.Errorf("%+v: %+v", x, v)
	}
}

func TestReadTaskFaults(t *testing.T) {
	for file, want := range map[string]string{
		"":                                      "t.yaml: want one task: a mapping with at least the keys name and validator",
		"- a":                                   "t.yaml:1:1: want a mapping, not a list",
		"name: x":                               "t.yaml:1:1: validator: is missing: want the name of a task, such as exact or number",
		"validator: exact":                      "t.yaml:1:1: name: is missing",
		"name: x\nvalidator: exct":              `t.yaml:2:12: validator: unknown task "exct": did you mean "exact"?`,
		"name: x\nmarker: [a]":                  `t.yaml:2:1: marker: unknown key: did you mean "markers"?`,
		"name: X Y\nvalidator: exact":           `t.yaml:1:7: name: "X Y": want lower-case letters, digits, - and _`,
		"name: x\nmarkers: a":                   `t.yaml:2:10: markers: want a list, not "a"`,
		"name: x\nmarkers:\n  - a\n  - [b]":     "t.yaml:4:5: markers[1]: want text, not a list",
		"name: x\nmarkers: [' ']":               "t.yaml:2:11: markers[0]: is empty",
		"name: x\nboxed: maybe":                 `t.yaml:2:8: boxed: want true or false, not "maybe"`,
		"name: x\nextent: line":                 "t.yaml:2:9: extent: want first_line, block or all",
		"name: x\nscan: '('":                    "t.yaml:2:7: scan: error parsing regexp: missing closing ): `(`",
		"name: x\nnormalise: [trimm]":           `t.yaml:2:13: normalise[0]: unknown step "trimm": want trim, lower, upper, spaces, marks, punctuation or {replace: PATTERN, with: TEXT}`,
		"name: x\nnormalise:\n- {with: a}":      "t.yaml:3:3: normalise[0]: has no replace",
		"name: x\nnormalise:\n- {replaced: a}":  `t.yaml:3:4: normalise[0].replaced: unknown key: did you mean "replace"?`,
		"name: x\nvalidator: exact\npattern: a": "t.yaml:3:10: pattern: only validator regex has a pattern",
		"name: math\nvalidator: exact":          `t.yaml:1:7: name: "math" is the name of a built-in task: choose another`,
		"name: x\nname: y":                      "t.yaml:2:1: name: appears twice, first in line 1",
		"name: [x":                              "t.yaml:1:7: not valid YAML: did not find expected ',' or ']'",
		"name: &a x\nvalidator: *a":             "t.yaml:1:7: name: anchors, aliases and tags are not supported\nt.yaml:2:12: validator: anchors, aliases and tags are not supported",
		"extent: line\nscan: '('\nstops: 3":     "t.yaml:3:8: stops: want a list, not 3\nt.yaml:1:9: extent: want first_line, block or all\nt.yaml:2:7: scan: error parsing regexp: missing closing ): `(`",
		strings.Repeat("#", 70<<10):             "t.yaml: larger than 64 KiB",
	} {
		_, err := answer.ReadTask("t.yaml", []byte(file))
		var at *answer.TaskFileError
		if !errors.As(err, &at) || err.Error() != want {
			t.Errorf("%.60q: %v, want %s", file, err, want)
		}
	}
}

func TestTaskNamed(t *testing.T) {
	for _, task := range answer.Tasks() {
		if got, err := answer.TaskNamed(task.Name()); err != nil || got != task {
			t.Errorf("%s: %v, %v", task.Name(), got, err)
		}
		if f := task.Form(); !strings.HasPrefix(f.Rules, task.Name()+"/") {
			t.Errorf("%s: rules %q", task.Name(), f.Rules)
		}
	}
	for name, want := range map[string]string{"game-24": "game24", "Math": "math", "gsm8": "gsm8k", "crossword": "crossword5x5", "poetry": ""} {
		_, err := answer.TaskNamed(name)
		var unknown *answer.UnknownTaskError
		if !errors.As(err, &unknown) || unknown.Nearest != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestExact(t *testing.T) {
	for _, c := range []struct {
		raw, gold string
		reason    answer.Reason
	}{
		{"Answer: **Paris**", "Paris", answer.ReasonOK},
		{"Answer: `a_b`", "a_b", answer.ReasonOK},
		{"Answer: _a_ and _b_", "_a_ and _b_", answer.ReasonOK},
		{"Answer: Paris, France", "Paris", answer.Different},
		{"Answer: paris", "Paris", answer.Different},
		{"Paris", "Paris", answer.ReasonOK},
		{"I think that it is\n\nParis", "Paris", answer.Empty},
		{"Answer: Paris", "", answer.BadGold},
	} {
		p := answer.Problem{Gold: c.gold}
		x := answer.Extract(answer.Exact, c.raw, p, answer.Options{})
		if v := answer.Exact.Validate(x.Candidate, p); v.Reason != c.reason || v.OK != (c.reason == answer.ReasonOK) {
			t.Errorf("%q: %+v: %+v", c.raw, x, v)
		}
	}
}

func TestRegex(t *testing.T) {
	for _, c := range []struct {
		candidate, pattern string
		reason             answer.Reason
	}{
		{"2026-11-21", `\d{4}-\d\d-\d\d`, answer.ReasonOK},
		{"on 2026-11-21", `\d{4}-\d\d-\d\d`, answer.Different},
		{"b", `a|b`, answer.ReasonOK},
		{"ab", `a|b`, answer.Different},
		{"a", `a)|(b`, answer.BadGold},
		{"a", "", answer.BadGold},
		{"", "a", answer.Empty},
		{strings.Repeat("a", 2<<20), "(a|a)*", answer.TooLarge},
	} {
		if v := answer.Regex.Validate(c.candidate, answer.Problem{Gold: c.pattern}); v.Reason != c.reason {
			t.Errorf("%.20q of %q: %+v", c.candidate, c.pattern, v)
		}
	}
}

// A file that is nested without end is refused at the depth limit.
func TestHostileTask(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("[", 60_000):                   "t.yaml:1:101: lists and mappings nest deeper than 100 levels",
		"name: x\nstops: " + strings.Repeat("[", 200): "t.yaml:2:108: lists and mappings nest deeper than 100 levels",
		strings.Repeat(" ", 65_537):                   "t.yaml: larger than 64 KiB",
	} {
		if _, err := answer.ReadTask("t.yaml", []byte(text)); err == nil || err.Error() != want {
			t.Errorf("%.30q: %v, want %s", text, err, want)
		}
	}
}

// TestStopsWithinLine: a stop within a line ends the reply once an answer is stated, and
// not in code or before an answer.
func TestStopsWithinLine(t *testing.T) {
	task, err := answer.ReadTask("t.yaml", []byte(`{name: mine, validator: number, stops: ["Next:", "||"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for reply, want := range map[string]string{
		"Answer: 5 Next: 6 Answer: 7":                          "5",
		"The answer is 5. Next: what is 2+5? The answer is 7.": "5",
		"5 || 6":                                    "5",
		"Next: think. Answer: 5":                    "5",
		"So Next: is a label. Answer: 5":            "5",
		"Answer: 5\n```\nx Next: 1\n```\nAnswer: 7": "7",
	} {
		if x := answer.Extract(task, reply, answer.Problem{}, answer.Options{}); x.Candidate != want {
			t.Errorf("%q: %q by %s, want %q", reply, x.Candidate, x.Method, want)
		}
	}
}
