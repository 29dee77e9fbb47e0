package checks

import (
	"fmt"
	"io"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/base/visible"
)

// A Report is what a probe for leaks found.
type Report struct {
	V     int    `json:"v"` // 1
	URL   string `json:"url"`
	Agent string `json:"agent,omitempty"`
	Model string `json:"model,omitempty"`
	// Answers are the answers that were read for leaks. Without one, nothing is
	// known about leaks.
	Answers int `json:"answers"`
	List
}

// Question is what a probe asks if the caller has no message: most models think about it.
const Question = "Think step by step, then answer in one sentence: how many prime numbers lie between 20 and 40?"

// Delivered adds a check of what was delivered as an answer: leak is the reasoning in it, or
// "". If nothing was delivered, the check is skipped, for the reason why.
func (r *Report) Delivered(of, name string, came bool, leak, why string) {
	c := Check{Interface: of, Name: name, Status: OK}
	switch {
	case leak != "":
		c.Status, c.Detail = Finding, leak
	case !came:
		c.Status, c.Detail = Skipped, why
	}
	if c.Status != Skipped {
		r.Answers++
	}
	r.Add(c)
}

// Made returns the checks.
func (r *Report) Made() *List { return &r.List }

// Print writes the report for a reader: the findings, or all checks, and the counts.
func (r *Report) Print(w io.Writer, all bool) error {
	count := map[Status]int{}
	var shown []Check
	for _, c := range r.Checks {
		count[c.Status]++
		if all || c.Status == Finding {
			shown = append(shown, c)
		}
	}
	if err := Print(w, shown); err != nil {
		return err
	}
	unknown := ""
	if r.Answers == 0 {
		unknown = "; no answer came, so nothing is known about leaks"
	}
	_, err := fmt.Fprintf(w, "%s: %d passed, %d skipped, %s%s\n", visible.OneLine(r.Agent+r.Model+" "+r.URL), count[OK], count[Skipped], shorttext.Count(r.Findings, "finding"), unknown)
	return err
}

// Print writes checks in columns, each with what to do about it below. There is a column
// for interfaces if a check has one.
func Print(w io.Writer, list []Check) error {
	interfaces := false
	for _, c := range list {
		interfaces = interfaces || c.Interface != ""
	}
	var rows [][]string
	put := func(status, of, name, text string) {
		row := []string{status, of, name, text}
		if !interfaces {
			row = []string{status, name, text}
		}
		rows = append(rows, row)
	}
	for _, c := range list {
		of := "-"
		if c.Interface != "" {
			of = visible.OneLine(c.Interface)
		}
		text := visible.OneLine(c.Detail)
		if c.Explain != "" {
			text += " [" + string(c.Explain) + "]"
		}
		put(string(c.Status), of, c.Name, text)
		if c.Do != "" {
			put("", "", "", "→ "+visible.OneLine(c.Do))
		}
	}
	return texttable.Print(w, rows)
}
