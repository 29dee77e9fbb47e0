package answer

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

// A TaskFileError says what is wrong with a task file, and where.
type TaskFileError struct {
	File         string
	Line, Column int    // from 1; 0 means the file as a whole
	Key          string // its path, such as "normalise[2]", or ""
	Err          error
}

// Error returns "FILE:LINE:COLUMN: KEY: what is wrong".
func (e *TaskFileError) Error() string {
	return yamlfile.Fault{Place: yamlfile.Place{File: e.File, Line: e.Line, Column: e.Column}, Key: e.Key, Err: e.Err}.Error()
}

func (e *TaskFileError) Unwrap() error { return e.Err }

// maxTaskFile is far more than a task needs.
const maxTaskFile = 64 << 10

// ReadTask reads your own task from a JSON or YAML file:
//
//	name: iso-date
//	markers: [Date, "The date is "]  # if missing, those of the validator
//	extent: first_line               # or block, all
//	boxed: false                     # whether \boxed{} counts
//	stops: ["Next date:"]            # in addition to those of every task
//	scan: '^\d{4}-\d\d-\d\d$'        # a line that could be an answer; off: no scan
//	normalise: [trim, {replace: '\.$', with: ''}]
//	validator: regex                 # or exact, number, choice: any task's name
//	pattern: '\d{4}-\d\d-\d\d'       # of regex; if missing, Gold is the pattern
//	key: date                        # of the answer in JSON; if missing, the usual ones
//
// The steps of normalise are trim, lower, upper, spaces (each run becomes one
// space), marks (emphasis and code marks around the whole), punctuation (at the
// end), and {replace: PATTERN, with: TEXT}. The validator's own steps come after
// them. What the file does not say is as in the validator's task, with all of its
// tiers: a file of a name and a validator is that task under another name. The error
// joins a [*TaskFileError] for each fault. name is the name of the file.
func ReadTask(name string, data []byte) (Task, error) {
	r := taskReader{
		doc:  yamlfile.Document{Name: name, Limits: yamlfile.Limits{Size: maxTaskFile, Nodes: maxTaskFile}},
		task: fileTask{form: Form{Extent: FirstLine}},
	}
	if body := r.doc.Read(data); body != nil {
		r.doc.Decode(body, "", &r.rows)
		r.fill()
	} else if len(r.doc.Faults) == 0 {
		r.doc.FaultAt("", "want one task: a mapping with at least the keys name and validator")
	}
	if len(r.doc.Faults) > 0 {
		return nil, r.err()
	}
	t := &r.task
	t.form = r.inherited(t.base.Form())
	t.form.Rules = fmt.Sprintf("%s/%x", t.name, sha256.Sum256(data))[:len(t.name)+1+12]
	return t, nil
}

// inherited returns the form of a task: that of its validator, with what the file
// says instead.
func (r *taskReader) inherited(form Form) Form {
	rows := &r.rows
	if rows.Markers != nil {
		form.Markers, form.markers = rows.Markers, newMarkers(rows.Markers)
	}
	if rows.Extent != nil {
		form.Extent = r.task.form.Extent
	}
	if rows.Boxed != nil {
		form.Boxed = *rows.Boxed
	}
	if rows.Scan != nil {
		form.Scan = *rows.Scan != "off"
	}
	form.Stops = slices.Concat(form.Stops, rows.Stops)
	if rows.Key != nil {
		form.Key = *rows.Key
	}
	return form
}

// A fileTask is a task read from a file.
type fileTask struct {
	name  string
	form  Form
	scan  *regexp.Regexp
	steps []func(string) string
	base  Task
	gold  string // of regex
}

func (t *fileTask) Name() string { return t.name }
func (t *fileTask) Form() Form   { return t.form }

func (t *fileTask) Normalise(candidate string) string {
	for _, step := range t.steps {
		candidate = step(candidate)
	}
	return t.base.Normalise(candidate)
}

// methodOf names the method as the validator's task does.
func (t *fileTask) methodOf(method, written, candidate string) string {
	if base, ok := t.base.(methodNamer); ok {
		return base.methodOf(method, written, candidate)
	}
	return method
}

func (t *fileTask) Precheck(line string, p Problem) bool {
	if t.scan == nil {
		return t.base.Precheck(line, p)
	}
	return t.scan.MatchString(line)
}

func (t *fileTask) Validate(candidate string, p Problem) Verdict {
	switch {
	case t.gold != "":
		p.Gold = t.gold
	case t.base != Regex:
		for _, step := range t.steps {
			p.Gold = step(p.Gold)
		}
	}
	return t.base.Validate(candidate, p)
}

func (t *fileTask) Distil(p Problem, solution string) (query, trace string) {
	return t.base.Distil(p, solution)
}

// A taskReader makes a task from its file.
type taskReader struct {
	doc  yamlfile.Document
	rows taskRows
	task fileTask
}

// taskRows are the keys of the file.
type taskRows struct {
	Name      *string          `yaml:"name"`
	Markers   []string         `yaml:"markers"`
	Extent    *string          `yaml:"extent"`
	Boxed     *bool            `yaml:"boxed"`
	Stops     []string         `yaml:"stops"`
	Scan      *string          `yaml:"scan"`
	Normalise []*yamlfile.Node `yaml:"normalise"`
	Validator *string          `yaml:"validator"`
	Pattern   *string          `yaml:"pattern"`
	Key       *string          `yaml:"key"`
}

func (r *taskReader) err() error {
	var list []error
	for _, f := range r.doc.Faults {
		list = append(list, &TaskFileError{f.File, f.Line, f.Column, f.Key, f.Err})
	}
	return errors.Join(list...)
}

// fill checks the rows, one by one and together, and fills in the task.
func (r *taskReader) fill() {
	rows, t := &r.rows, &r.task
	switch before := len(r.doc.Faults); {
	case rows.Name != nil:
		t.name = *rows.Name
		switch {
		case !r.says("name", t.name):
		case strings.Trim(t.name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "":
			r.doc.FaultAt("name", "%q: want lower-case letters, digits, - and _", shorttext.Ellipsis(t.name, maxDetail))
		case slices.Contains(taskNames(), t.name):
			r.doc.FaultAt("name", "%q is the name of a built-in task: choose another", t.name)
		}
	case before == 0:
		r.doc.FaultAt("name", "is missing")
	}
	r.allSay("markers", rows.Markers)
	r.allSay("stops", rows.Stops)
	if rows.Key != nil {
		r.says("key", *rows.Key)
	}
	if rows.Extent != nil && r.says("extent", *rows.Extent) {
		extent := slices.Index([]string{"first_line", "block", "all"}, *rows.Extent)
		if extent < 0 {
			r.doc.FaultAt("extent", "want first_line, block or all")
		}
		t.form.Extent = Extent(max(0, extent))
	}
	if rows.Scan != nil && *rows.Scan != "off" {
		t.scan = r.pattern("scan", *rows.Scan)
	}
	for i, n := range rows.Normalise {
		if n != nil {
			r.step(n, fmt.Sprintf("normalise[%d]", i))
		}
	}
	r.validator()
}

// validator reads the keys of the validator.
func (r *taskReader) validator() {
	rows, t := &r.rows, &r.task
	if rows.Validator == nil {
		if len(r.doc.Faults) == 0 {
			r.doc.FaultAt("validator", "is missing: want the name of a task, such as exact or number")
		}
		return
	}
	if !r.says("validator", *rows.Validator) {
		return
	}
	base, err := TaskNamed(*rows.Validator)
	if err != nil {
		r.doc.FaultAt("validator", "%w", err)
		return
	}
	t.base = base
	if rows.Pattern == nil {
		return
	}
	if base != Regex {
		r.doc.FaultAt("pattern", "only validator regex has a pattern")
		return
	}
	if r.pattern("pattern", *rows.Pattern) != nil {
		t.gold = *rows.Pattern
	}
}

// says reports whether a text could be read and is not blank.
func (r *taskReader) says(path, text string) bool {
	if slices.ContainsFunc(r.doc.Faults, func(f yamlfile.Fault) bool { return f.Key == path }) {
		return false
	}
	if blank(text) {
		r.doc.FaultAt(path, "is empty")
		return false
	}
	return true
}

func (r *taskReader) allSay(path string, texts []string) {
	for i, text := range texts {
		r.says(fmt.Sprintf("%s[%d]", path, i), text)
	}
}

func (r *taskReader) pattern(path, text string) *regexp.Regexp {
	if !r.says(path, text) {
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		r.doc.FaultAt(path, "%w", err)
		return nil
	}
	return re
}

// normaliseSteps are the steps that have a name.
var normaliseSteps = map[string]func(string) string{
	"trim":        func(s string) string { return strings.Trim(s, white) },
	"lower":       strings.ToLower,
	"upper":       strings.ToUpper,
	"spaces":      func(s string) string { return shorttext.OneLine(s) },
	"marks":       withoutMarks,
	"punctuation": func(s string) string { return strings.TrimRight(s, white+".,;:!?") },
}

// step reads one step of normalise.
func (r *taskReader) step(n *yamlfile.Node, path string) {
	if n.Kind == yamlfile.Mapping {
		r.replacement(n, path)
		return
	}
	step, ok := normaliseSteps[n.Text]
	if !ok {
		r.doc.Fault(n, path, "unknown step %s: want trim, lower, upper, spaces, marks, punctuation or {replace: PATTERN, with: TEXT}", yamlfile.Describe(n))
		return
	}
	r.task.steps = append(r.task.steps, step)
}

func (r *taskReader) replacement(n *yamlfile.Node, path string) {
	var row struct {
		Replace *string `yaml:"replace"`
		With    string  `yaml:"with"`
	}
	before := len(r.doc.Faults)
	r.doc.Decode(n, path, &row)
	switch {
	case len(r.doc.Faults) > before:
	case row.Replace == nil:
		r.doc.Fault(n, path, "has no replace")
	default:
		if re := r.pattern(path+".replace", *row.Replace); re != nil {
			r.task.steps = append(r.task.steps, func(s string) string { return re.ReplaceAllString(s, row.With) })
		}
	}
}
