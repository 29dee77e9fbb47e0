// Package results has the figures of a run of the benchmarks: what was measured where, and
// whether it meets its target.
package results

import (
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
	Rounds  float64    `json:"rounds"`  // as a part of those of a full run
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
	Ratio   float64 `json:"ratio"` // the median of the pairs' ratios
	Low     float64 `json:"low"`   // the middle half of them
	High    float64 `json:"high"`
	Pairs   int     `json:"pairs"`
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
	target, verdict := "", ""
	if t, ok := TargetOf(r.ID); ok {
		target, verdict = t.String(), t.Verdict(r.Ratio)
	}
	middle := Number(r.Low) + " … " + Number(r.High)
	if r.Low == r.High {
		middle = ""
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s |\n",
		r.What, r.Against, amount(r.Base, r.Unit), amount(r.Value, r.Unit), Number(r.Ratio), middle, target, verdict)
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
	data, err := json.MarshalIndent(rows, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// Read reads a file of Write.
func Read(path string) (rows []Row, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return rows, json.Unmarshal(data, &rows)
}
