package answer

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/spelling"
	"github.com/sotto-llm/sotto/internal/yamlfile"
)

// A TaskFileError says what is wrong with a file of a task, and where.
type TaskFileError struct {
	Line int    // from 1; 0 where the fault has no place
	Key  string // "normalise[2]", or ""
	Err  error
}

func (e *TaskFileError) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	return b.String() + e.Err.Error()
}

func (e *TaskFileError) Unwrap() error { return e.Err }

// maxTaskFile is far above what a task needs.
const maxTaskFile = 64 << 10

// ReadTask reads a task of one's own from a file of JSON or YAML:
//
//	name: iso-date
//	markers: [Date, "The date is "]  # if missing, those of the validator
//	extent: first_line               # or block, all
//	boxed: false
//	stops: ["Question:"]
//	scan: '^\d{4}-\d\d-\d\d$'        # a line that could be an answer; none: no scan
//	normalise: [trim, {replace: '\.$', with: ''}]
//	validator: regex                 # or exact, number, choice: any task's name
//	pattern: '\d{4}-\d\d-\d\d'       # of regex; if missing, Gold is the pattern
//
// The steps of normalise are trim, lower, upper, spaces (each run becomes one
// space), marks (emphasis and code marks around the whole), punctuation (at the
// end), and {replace: PATTERN, with: TEXT}; the validator's own come after them.
// An error is a [*TaskFileError].
func ReadTask(data []byte) (Task, error) {
	body, err := yamlfile.Limits{Size: maxTaskFile, Nodes: maxTaskFile}.Read(data)
	if err != nil {
		return nil, syntaxError(err)
	}
	if body == nil {
		return nil, &TaskFileError{Err: errors.New("want one task: a mapping with name and validator")}
	}
	r := taskReader{task: fileTask{form: Form{Extent: FirstLine}}}
	r.read(body)
	r.finish(data)
	if r.err != nil {
		return nil, r.err
	}
	return &r.task, nil
}

func syntaxError(err error) error {
	if at, ok := errors.AsType[*yamlfile.Error](err); ok {
		return &TaskFileError{Line: at.Line, Err: at.Err}
	}
	return &TaskFileError{Err: err}
}

// A fileTask is a task as a file has it.
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

func (t *fileTask) Precheck(line string, _ Problem) bool {
	return t.scan != nil && t.scan.MatchString(line)
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

// A taskReader fills a task from its file and keeps the first fault.
type taskReader struct {
	task fileTask
	set  []string // keys seen
	err  error
}

var taskKeys = []string{"name", "markers", "extent", "boxed", "stops", "scan", "normalise", "validator", "pattern"}

func (r *taskReader) fail(n *yamlfile.Node, key, format string, args ...any) {
	if r.err != nil {
		return
	}
	line := 0
	if n != nil {
		line = n.Line
	}
	r.err = &TaskFileError{Line: line, Key: key, Err: fmt.Errorf(format, args...)}
}

func (r *taskReader) read(body *yamlfile.Node) {
	if body.Kind != yamlfile.Mapping {
		r.fail(body, "", "want a mapping with name and validator")
		return
	}
	for _, e := range body.Members {
		key := e.Key.Text
		switch {
		case !slices.Contains(taskKeys, key):
			if near := spelling.Nearest(key, taskKeys); near != "" {
				r.fail(e.Key, key, "unknown key: did you mean %q?", near)
			}
			r.fail(e.Key, key, "unknown key: there are %s", strings.Join(taskKeys, ", "))
		case slices.Contains(r.set, key):
			r.fail(e.Key, key, "stands twice")
		}
		r.set = append(r.set, key)
		r.member(key, e.Value)
	}
}

func (r *taskReader) member(key string, n *yamlfile.Node) {
	t := &r.task
	switch key {
	case "name":
		if t.name = r.text(key, n); strings.Trim(t.name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			r.fail(n, key, "%q: want lower-case letters, digits, - and _", t.name)
		}
	case "markers":
		t.form.Markers = r.texts(key, n)
	case "stops":
		t.form.Stops = r.texts(key, n)
	case "extent":
		i := slices.Index([]string{"first_line", "block", "all"}, r.text(key, n))
		if i < 0 {
			r.fail(n, key, "want first_line, block or all")
		}
		t.form.Extent = Extent(max(0, i))
	case "boxed":
		if n.Kind != yamlfile.Bool {
			r.fail(n, key, "want true or false")
			return
		}
		t.form.Boxed = strings.EqualFold(n.Text, "true")
	case "scan":
		t.scan, t.form.Scan = r.pattern(key, n), true
	case "normalise":
		r.steps(n)
	case "validator":
		base, err := TaskNamed(r.text(key, n))
		if err != nil {
			r.fail(n, key, "%w", err)
		}
		t.base = base
	case "pattern":
		if r.pattern(key, n) != nil {
			t.gold = r.text(key, n)
		}
	}
}

// text reads a string that says something.
func (r *taskReader) text(key string, n *yamlfile.Node) string {
	if n.Kind != yamlfile.Text {
		r.fail(n, key, "want a string")
	}
	if blank(n.Text) {
		r.fail(n, key, "is empty")
	}
	return n.Text
}

func (r *taskReader) texts(key string, n *yamlfile.Node) []string {
	if n.Kind != yamlfile.List {
		r.fail(n, key, "want a list of strings")
		return nil
	}
	var out []string
	for i, v := range n.Items {
		out = append(out, r.text(fmt.Sprintf("%s[%d]", key, i), v))
	}
	return out
}

func (r *taskReader) pattern(key string, n *yamlfile.Node) *regexp.Regexp {
	s := r.text(key, n)
	re, err := regexp.Compile(s)
	if err != nil {
		r.fail(n, key, "%w", err)
	}
	return re
}

// normaliseSteps are the steps that have a name.
var normaliseSteps = map[string]func(string) string{
	"trim":        func(s string) string { return strings.Trim(s, white) },
	"lower":       strings.ToLower,
	"upper":       strings.ToUpper,
	"spaces":      func(s string) string { return strings.Join(strings.Fields(s), " ") },
	"marks":       withoutMarks,
	"punctuation": func(s string) string { return strings.TrimRight(s, white+".,;:!?") },
}

func (r *taskReader) steps(n *yamlfile.Node) {
	if n.Kind != yamlfile.List {
		r.fail(n, "normalise", "want a list of steps")
		return
	}
	for i, v := range n.Items {
		key := fmt.Sprintf("normalise[%d]", i)
		if v.Kind == yamlfile.Mapping {
			r.replacement(key, v)
			continue
		}
		name := r.text(key, v)
		step, ok := normaliseSteps[name]
		if !ok {
			r.fail(v, key, "unknown step %q: there are trim, lower, upper, spaces, marks, punctuation and {replace: PATTERN, with: TEXT}", name)
		}
		r.task.steps = append(r.task.steps, step)
	}
}

func (r *taskReader) replacement(key string, at *yamlfile.Node) {
	var re *regexp.Regexp
	with := ""
	for _, m := range at.Members {
		switch name := m.Key.Text; name {
		case "replace":
			re = r.pattern(key+".replace", m.Value)
		case "with":
			if m.Value.Kind != yamlfile.Text {
				r.fail(m.Value, key+".with", "want a string")
				return
			}
			with = m.Value.Text
		default:
			r.fail(m.Key, key, "unknown key %s: there are replace and with", name)
		}
	}
	if re == nil {
		r.fail(at, key, "has no replace")
		return
	}
	r.task.steps = append(r.task.steps, func(s string) string { return re.ReplaceAllString(s, with) })
}

// finish checks what the keys must have together, and fills in the rest.
func (r *taskReader) finish(data []byte) {
	t := &r.task
	switch {
	case t.name == "":
		r.fail(nil, "name", "is missing")
	case t.base == nil:
		r.fail(nil, "validator", "is missing: the name of a task, such as exact or number")
	case t.gold != "" && t.base != Regex:
		r.fail(nil, "pattern", "is of validator regex only")
	case slices.Contains(taskNames(), t.name):
		r.fail(nil, "name", "%q is a task that comes with Sotto", t.name)
	}
	if r.err != nil {
		return
	}
	if t.form.Markers == nil {
		t.form.Markers = t.base.Form().Markers
	}
	t.form.Rules = fmt.Sprintf("%s/%x", t.name, sha256.Sum256(data))[:len(t.name)+1+12]
}
