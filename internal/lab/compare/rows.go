package compare

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/lab/inputfiles"
)

// Fields say where rows have what is compared: paths that [NewFields] has checked. "" means
// where usual logs have it.
type Fields struct {
	Arm     string // of the arm
	Task    string
	Problem string
	Cluster string
	// Verdicts are the paths of verdicts. NAME=PATH is of an arm of its own.
	Verdicts []string
	// Metric is the metric, or the scorer, of logs that have several.
	Metric string
	// Filter is the filter of lm-eval whose rows count; "" means that of the first row.
	Filter string
}

// A Log is a file of rows.
type Log struct {
	Name string
	// Arm is its arm, if rows do not say it. "" means the name of the file.
	Arm string
	Source
}

// A Source gives rows, each as a line of JSON.
type Source interface {
	io.Reader
	Fault(line []byte) error
}

// maxRow bounds a row of a log.
const maxRow = 64 << 20

// Open returns the rows of a log. in begins with what the reader peeks at.
func Open(in inputfiles.Input, format inputfiles.Format) (*inputfiles.Source, error) {
	head := bufio.NewReaderSize(in.Reader, 64<<10)
	set := inputfiles.Settings{Format: format, Rows: true, MaxLine: maxRow}
	if first, _ := head.Peek(1); len(first) == 1 && first[0] == '{' && !inputfiles.Looks(head) {
		set.From, set.Format = "inspect", inputfiles.Lines // a log of Inspect is one object on many lines
	}
	in.Reader = head
	return inputfiles.Open(in, set)
}

// A rows reads the rows of one log into a set.
type rows struct {
	set    *Set
	fields *Fields
	arm    string // of the log
	task   string // of the log
	filter *string
	number int
	judged bool // a row has a verdict
}

// Read adds the verdicts of a log.
func (s *Set) Read(l Log, f *Fields) error {
	r := &rows{set: s, fields: f, arm: l.Arm}
	var folder string
	r.task, folder = lmEvalTask(l.Name)
	if r.arm == "" {
		r.arm = folder
	}
	if r.arm == "" {
		r.arm = armOf(l.Name)
	}
	lines, n := bufio.NewReaderSize(l.Source, 64<<10), s.n
	for {
		line, err := batch.NextLine(lines, maxRow)
		if errors.Is(err, io.EOF) {
			break
		}
		r.number++
		if err == nil {
			if len(strings.TrimSpace(string(line))) == 0 {
				continue
			}
			err = l.Fault(line)
		}
		if err == nil {
			err = r.row(line)
		}
		if err != nil {
			return fmt.Errorf("%s: row %d: %w", l.Name, r.number, err)
		}
	}
	if !r.judged && len(f.Verdicts) > 0 {
		return fmt.Errorf("%s: no row has a verdict in %s", l.Name, strings.Join(f.Verdicts, ", "))
	}
	if s.n == n {
		return errorhint.Add(fmt.Errorf("%s: no row has a verdict", l.Name), "score the replies with sotto score first, or name the verdict with --verdict-field")
	}
	return nil
}

// lmEvalSamples is the name of the samples of lm-eval, in the folder of the model.
var lmEvalSamples = lazyregexp.New(`^samples_(.+)_\d{4}-\d\d-\d\dT[\d.:-]+$`)

func lmEvalTask(name string) (task, folder string) {
	if m := lmEvalSamples.FindStringSubmatch(armOf(name)); m != nil {
		if folder = filepath.Base(filepath.Dir(name)); folder == "." {
			folder = ""
		}
		return m[1], folder
	}
	return "", ""
}

// armOf is the name of a file without its folder and its ends.
func armOf(name string) string {
	name = filepath.Base(name)
	for _, end := range []string{".gz", ".zst", ".jsonl", ".json", ".csv", ".parquet", ".eval"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}

// row adds the verdicts of a row.
func (r *rows) row(line []byte) error {
	row, err := foreignjson.Parse(line)
	if err != nil {
		return err
	}
	f := r.fields
	if r.skipped(row) {
		return nil
	}
	v := Verdict{Arm: r.arm, Task: r.task}
	if f.Arm != "" {
		if v.Arm = row.Get(f.Arm).String(); v.Arm == "" {
			return fmt.Errorf("field %s is missing or empty", f.Arm)
		}
	}
	if task := first(row, orUsual(f.Task, "task", "task_name")); task != "" {
		v.Task = task
	}
	v.Problem = r.problem(row, v.Arm)
	if f.Cluster != "" {
		v.Cluster = row.Get(f.Cluster).String()
	}
	if len(f.Verdicts) > 0 {
		return r.named(row, v)
	}
	value, failed, err := usual(row, f.Metric)
	if err != nil {
		return err
	}
	return r.add(v, value, failed)
}

// skipped reports whether a row is not about a reply, or repeats one.
func (r *rows) skipped(row gjson.Result) bool {
	if row.Get("type").String() == "run" && row.Get("mode").Exists() { // the head of a stream
		return true
	}
	if row.Get("spec").Exists() || row.Get("final_report").Exists() { // of OpenAI evals
		return true
	}
	if kind := row.Get("type").String(); row.Get("event_id").Exists() && row.Get("run_id").Exists() && kind != "match" {
		return true
	}
	if !row.Get("filter").Exists() || !row.Get("doc_id").Exists() {
		return false
	}
	filter := row.Get("filter").String()
	if r.filter == nil {
		if r.filter = &filter; r.fields.Filter != "" {
			r.filter = &r.fields.Filter
		}
	}
	return filter != *r.filter
}

// problem returns what is the same for all replies to a problem.
func (r *rows) problem(row gjson.Result, arm string) string {
	if r.fields.Problem != "" {
		return row.Get(r.fields.Problem).Raw
	}
	id := first(row, []string{"id", "doc_id", "instance_id", "sample_id", "session_id", "problem", "problem_id", "question_id"})
	if id == "" {
		return "row " + strconv.Itoa(r.number)
	}
	if r.fields.Arm != "" { // ids such as 17-qwen3, of which the arm is a part
		for _, mark := range []string{"-", "_", "/", ":"} {
			id = strings.TrimSuffix(id, mark+arm)
			id = strings.TrimPrefix(id, arm+mark)
		}
	}
	if p := row.Get("perturbation.name"); p.Exists() { // of HELM
		id += " " + p.String()
	}
	return id
}

// named adds the verdicts of the fields that the caller named.
func (r *rows) named(row gjson.Result, v Verdict) error {
	for _, field := range r.fields.Verdicts {
		own := v
		name, path, has := strings.Cut(field, "=")
		if has {
			own.Arm = name
		} else {
			path = field
		}
		value := row.Get(path)
		if err := r.add(own, value, strings.TrimSpace(value.String()) == ""); err != nil {
			return fmt.Errorf("field %s: %w", path, err)
		}
	}
	return nil
}

func (r *rows) add(v Verdict, value gjson.Result, failed bool) error {
	if v.Failed = failed; !failed {
		r.judged = true
		v.Label = value.String()
		var ok bool
		if v.Score, ok = scoreOf(value); !ok {
			v.Score = math.NaN()
			if len(r.fields.Verdicts) == 0 {
				return fmt.Errorf("%.80q is not a verdict", value.String())
			}
		}
	}
	return r.set.Add(v)
}

// scores are texts that are verdicts, in lower case. C, I, P and N are those of Inspect.
var scores = map[string]float64{
	"c": 1, "i": 0, "p": 0.5, "n": 0, "true": 1, "false": 0, "yes": 1, "no": 0, "right": 1, "wrong": 0, "correct": 1, "incorrect": 0,
	"pass": 1, "passed": 1, "fail": 0, "failed": 0, "ok": 1, "1": 1, "0": 0,
}

// scoreOf returns what a verdict is worth.
func scoreOf(v gjson.Result) (score float64, ok bool) {
	switch v.Type {
	case gjson.True:
		return 1, true
	case gjson.False:
		return 0, true
	case gjson.Number:
		return v.Float(), v.Float() >= 0 && v.Float() <= 1
	case gjson.String:
		if score, ok = scores[strings.ToLower(strings.TrimSpace(v.String()))]; ok {
			return score, true
		}
		number, err := strconv.ParseFloat(strings.TrimSpace(v.String()), 64)
		return number, err == nil && number >= 0 && number <= 1
	}
	return 0, false
}

// metrics are the metrics of harnesses that say whether a reply is right, the most usual
// first.
var metrics = []string{"exact_match", "acc", "pass@1", "quasi_exact_match", "prefix_exact_match", "acc_norm", "mc1", "em", "match", "final_number_exact_match"}

// plain are members that hold a verdict in logs of other programs, the clearest first.
var plain = []string{"ok", "solved", "correct", "is_correct", "matched", "passed", "verdict", "logged_verdict", "score"}

// usual returns the verdict of a row of a usual log.
func usual(row gjson.Result, metric string) (value gjson.Result, failed bool, err error) {
	switch {
	case row.Get("error").Exists() && row.Get("error").Type != gjson.Null && !anyOf(row, plain): // of sotto score, of Inspect
		return value, true, nil
	case row.Get("scores").IsObject() && row.Get("epoch").Exists():
		value, err = one(row.Get("scores"), metric, "scorer")
		if scored := value.Get("value"); scored.Exists() {
			value = scored
		}
		return value, value.IsObject() || value.Type == gjson.Null, err
	case row.Get("epoch").Exists() && row.Get("output").Exists(): // an error of Inspect, or not scored
		return value, true, nil
	case row.Get("stats").IsArray(), row.Get("stats").IsObject():
		value, err = helm(row.Get("stats"), metric)
		return value, false, err
	case row.Get("data.correct").Exists() && row.Get("type").String() == "match":
		return row.Get("data.correct"), false, nil
	}
	if metric != "" {
		if value = member(row, metric); !value.Exists() {
			return value, false, fmt.Errorf("there is no metric %s", metric)
		}
		return value, value.Type == gjson.Null, nil
	}
	names := plain
	if row.Get("doc_id").Exists() {
		names = metrics
		row.Get("metrics").ForEach(func(_, name gjson.Result) bool {
			if v := member(row, name.String()); v.Exists() && !value.Exists() {
				value = v
			}
			return true
		})
	}
	for _, name := range names {
		if v := member(row, name); v.Exists() && !value.Exists() {
			value = v
		}
	}
	if !value.Exists() {
		return value, false, errorhint.Add(errors.New("it has no verdict"), "score the replies with sotto score first, or name the verdict with --verdict-field")
	}
	return value, value.Type == gjson.Null, nil
}

// helm returns a statistic of an instance of HELM: of per_instance_stats.json, or of
// display_predictions.json.
func helm(stats gjson.Result, metric string) (value gjson.Result, err error) {
	if stats.IsObject() {
		return one(stats, metric, "metric")
	}
	found := map[string]gjson.Result{}
	var names []string
	stats.ForEach(func(_, stat gjson.Result) bool {
		name := stat.Get("name.name").String()
		if _, twice := found[name]; !twice && stat.Get("mean").Exists() {
			found[name] = stat.Get("mean")
			names = append(names, name)
		}
		return true
	})
	return choose(found, names, metric, "metric")
}

// one returns the member of an object that is asked for, the most usual metric, or its only
// member.
func one(object gjson.Result, metric, what string) (gjson.Result, error) {
	found := map[string]gjson.Result{}
	var names []string
	object.ForEach(func(name, v gjson.Result) bool {
		found[name.String()] = v
		names = append(names, name.String())
		return len(names) < 1000
	})
	return choose(found, names, metric, what)
}

func choose(found map[string]gjson.Result, names []string, metric, what string) (gjson.Result, error) {
	if metric != "" {
		if v, ok := found[metric]; ok {
			return v, nil
		}
		return gjson.Result{}, fmt.Errorf("there is no %s %s: want one of %.300q", what, metric, names)
	}
	for _, name := range metrics {
		if v, ok := found[name]; ok {
			return v, nil
		}
	}
	if len(names) == 1 {
		return found[names[0]], nil
	}
	return gjson.Result{}, errorhint.Add(fmt.Errorf("it has several %ss: %.300q", what, names), "choose one with --metric")
}

// member returns a member whose name may have what a path gives another meaning.
func member(row gjson.Result, name string) (value gjson.Result) {
	return row.Get(gjson.Escape(name))
}

func anyOf(row gjson.Result, names []string) bool {
	for _, name := range names {
		if row.Get(name).Exists() {
			return true
		}
	}
	return false
}

func orUsual(path string, usual ...string) []string {
	if path != "" {
		return []string{path}
	}
	return usual
}

// first returns the first text or number that a row has.
func first(row gjson.Result, paths []string) string {
	for _, path := range paths {
		if v := row.Get(path); v.Type == gjson.String || v.Type == gjson.Number {
			return v.String()
		}
	}
	return ""
}
