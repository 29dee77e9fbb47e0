// Package results has the figures of a run of the benchmarks: what was measured where, and
// whether it meets its target.
package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// A Run is everything that docs/performance.md says of one commit.
type Run struct {
	Commit  string     `json:"commit"` // the last one that changed what is measured
	Date    string     `json:"date"`
	Go      string     `json:"go"`
	Machine string     `json:"machine"`
	Load    [2]float64 `json:"load"`    // average of a minute, before the run and after it
	Minutes float64    `json:"minutes"` // that the run took
	Part    float64    `json:"part"`    // of the rounds of a full run
	Rows    []Row      `json:"rows"`
}

// A Row compares two programs that ran in turn.
type Row struct {
	ID      string  `json:"id"`   // the same in every run
	What    string  `json:"what"` // was measured
	Against string  `json:"against,omitempty"`
	Unit    string  `json:"unit,omitempty"` // of the next two
	Base    float64 `json:"base,omitempty"`
	Value   float64 `json:"value,omitempty"`
	Ratio   float64 `json:"ratio,omitempty"` // the median of the pairs' ratios
	Low     float64 `json:"low,omitempty"`   // the middle half of them
	High    float64 `json:"high,omitempty"`
	Pairs   int     `json:"pairs,omitempty"`
	// Absolute says that the target is one of Value, not of Ratio.
	Absolute bool `json:"absolute,omitempty"`
}

// Target returns the target of the row, if it has one, and whether it is met.
func (r Row) Target() (t Target, met, ok bool) {
	t, ok = targetOf(r.ID)
	v := r.Ratio
	if r.Absolute {
		v = r.Value
	}
	return t, t.met(v), ok
}

// Of makes a row from pairs: a figure of the other program, and one of Sotto.
func Of(id, what, against, unit string, base, value []float64) Row {
	ratios := make([]float64, len(base))
	for i := range base {
		ratios[i] = value[i] / base[i]
	}
	r := Ratios(id, what, against, ratios)
	r.Unit, r.Base, r.Value = unit, Round(Median(base)), Round(Median(value))
	return r
}

// Ratios makes a row from the ratios of pairs.
func Ratios(id, what, against string, ratios []float64) Row {
	s := slices.Sorted(slices.Values(ratios))
	n := len(s)
	return Row{ID: id, What: what, Against: against, Ratio: Round(Median(s)), Low: Round(s[n/4]), High: Round(s[(n-1)-n/4]), Pairs: n}
}

// Median is the middle value, or the mean of both.
func Median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// Round keeps the digits that mean something.
func Round(v float64) float64 {
	var r float64
	_, _ = fmt.Sscanf(fmt.Sprintf("%.3g", v), "%g", &r)
	return r
}

// Head begins a table of rows in Markdown.
const Head = "| what | against | theirs | Sotto | ratio | middle half | target | |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n"

// String is the row of the table.
func (r Row) String() string {
	target, verdict, ratio, middle := "", "", "", ""
	if t, met, ok := r.Target(); ok {
		target, verdict = t.String(), "**missed**"
		if met {
			verdict = "met"
		}
	}
	if r.Ratio != 0 {
		ratio = Number(r.Ratio)
	}
	if r.Low != r.High {
		middle = Number(r.Low) + " … " + Number(r.High)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s |\n",
		r.What, r.Against, amount(r.Base, r.Unit), amount(r.Value, r.Unit), ratio, middle, target, verdict)
}

func amount(v float64, unit string) string {
	if v == 0 && unit == "" {
		return ""
	}
	return strings.TrimSpace(Number(v) + " " + unit)
}

// Number writes a figure of three digits, with commas in the thousands.
func Number(v float64) string {
	if v < 1000 {
		return fmt.Sprintf("%g", Round(v))
	}
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Write writes rows to a file.
func Write(path string, rows []Row) error {
	data, err := listed(rows)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// Save writes the results of a run to a file, a row on a line.
func (r Run) Save(path string) error {
	rows := r.Rows
	r.Rows = nil
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	lines, err := listed(rows)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(bytes.Replace(data, []byte("null"), lines, 1), '\n'), 0o644)
}

// listed is a JSON array with a row on a line.
func listed(rows []Row) ([]byte, error) {
	var b bytes.Buffer
	for i, r := range rows {
		line, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		b.WriteString([]string{"[\n", ",\n"}[min(i, 1)])
		b.Write(line)
	}
	b.WriteString("\n]")
	return b.Bytes(), nil
}

// Read reads a file of Write.
func Read(path string) (rows []Row, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return rows, json.Unmarshal(data, &rows)
}

// File is where the results of docs/performance.md are, in the repository.
const File = "_benchmark/performance/results.json"

// Load reads the results of a run.
func Load(path string) (r Run, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	if r.Commit == "" {
		return r, fmt.Errorf("%s names no commit", path)
	}
	return r, nil
}
