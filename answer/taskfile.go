package answer

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
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
	if len(data) > maxTaskFile {
		return nil, &TaskFileError{Err: fmt.Errorf("larger than %d KiB", maxTaskFile>>10)}
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, syntaxError(err)
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, &TaskFileError{Err: errors.New("want one task: a mapping with name and validator")}
	}
	r := taskReader{task: fileTask{form: Form{Extent: FirstLine}}}
	r.read(file.Docs[0].Body)
	r.finish(data)
	if r.err != nil {
		return nil, r.err
	}
	return &r.task, nil
}

func syntaxError(err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		return &TaskFileError{Line: at.GetToken().Position.Line, Err: errors.New(at.GetMessage())}
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

func (r *taskReader) fail(n ast.Node, key, format string, args ...any) {
	if r.err != nil {
		return
	}
	line := 0
	if n != nil && n.GetToken() != nil {
		line = n.GetToken().Position.Line
	}
	r.err = &TaskFileError{Line: line, Key: key, Err: fmt.Errorf(format, args...)}
}

// entries returns the members of a mapping; ok is false if n is none.
func entries(n ast.Node) (list []*ast.MappingValueNode, ok bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

func (r *taskReader) read(body ast.Node) {
	list, ok := entries(body)
	if !ok {
		r.fail(body, "", "want a mapping with name and validator")
		return
	}
	for _, e := range list {
		key := e.Key.String()
		if k, ok := e.Key.(*ast.StringNode); ok {
			key = k.Value
		}
		switch {
		case !slices.Contains(taskKeys, key):
			if near := nearest(key, taskKeys); near != "" {
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

func (r *taskReader) member(key string, n ast.Node) {
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
		b, ok := n.(*ast.BoolNode)
		if !ok {
			r.fail(n, key, "want true or false")
			return
		}
		t.form.Boxed = b.Value
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
func (r *taskReader) text(key string, n ast.Node) string {
	s := ""
	switch n := n.(type) {
	case *ast.StringNode:
		s = n.Value
	case *ast.LiteralNode:
		s = n.Value.Value
	default:
		r.fail(n, key, "want a string")
	}
	if blank(s) {
		r.fail(n, key, "is empty")
	}
	return s
}

func (r *taskReader) texts(key string, n ast.Node) []string {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		r.fail(n, key, "want a list of strings")
		return nil
	}
	var out []string
	for i, v := range list.Values {
		out = append(out, r.text(fmt.Sprintf("%s[%d]", key, i), v))
	}
	return out
}

func (r *taskReader) pattern(key string, n ast.Node) *regexp.Regexp {
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

func (r *taskReader) steps(n ast.Node) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		r.fail(n, "normalise", "want a list of steps")
		return
	}
	for i, v := range list.Values {
		key := fmt.Sprintf("normalise[%d]", i)
		if members, ok := entries(v); ok {
			r.replacement(key, v, members)
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

func (r *taskReader) replacement(key string, at ast.Node, members []*ast.MappingValueNode) {
	var re *regexp.Regexp
	with := ""
	for _, m := range members {
		switch name := m.Key.String(); name {
		case "replace", `"replace"`, "'replace'":
			re = r.pattern(key+".replace", m.Value)
		case "with", `"with"`, "'with'":
			s, ok := m.Value.(*ast.StringNode)
			if !ok {
				r.fail(m.Value, key+".with", "want a string")
				return
			}
			with = s.Value
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
