package solvecmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/sealing"
	gamefigures "github.com/sotto-llm/sotto/internal/lab/memoryfigures"
	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/internal/lab/solvereport"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
)

// reportCommand sums up outputs.
type reportCommand struct {
	CSV      string   `name:"csv" placeholder:"FILE" help:"Write the table as CSV."`
	HTML     string   `name:"html" placeholder:"FILE" help:"Write a page with the tables and plots."`
	JSON     bool     `name:"json" help:"Print the summaries as JSON, an object a line."`
	Identity []string `short:"i" sep:"none" placeholder:"FILE" setting:"SOTTO_RECORD_IDENTITY" help:"Decrypt sealed outputs with the age identities in FILE; repeatable."`
	Files    []string `arg:"" name:"file" placeholder:"FILE" help:"The output of sotto solve. Several files are compared side by side."`
}

// Help shows examples.
func (reportCommand) Help() string {
	return `Examples:

    sotto solve --mode cot -n 300 -o cot.jsonl
    sotto solve --mode template --memory fresh.db -n 300 -o template.jsonl
    sotto solve report cot.jsonl template.jsonl --html report.html`
}

// Run prints and writes the summaries.
func (x *reportCommand) Run(sh *shell.Shell) error {
	ids, err := recording.ReadIdentities(x.Identity)
	if err != nil {
		return fmt.Errorf("--identity: %w", err)
	}
	var list []solvereport.Stream
	for _, name := range x.Files {
		in, err := sh.Open(name)
		if err != nil {
			return err
		}
		head, results, err := solvereport.ReadResults(sealing.NewReader(in, ids))
		in.Close()
		switch {
		case err != nil:
			return sealing.Hint(fmt.Errorf("%s: %w", name, err))
		case head == nil || len(results) == 0:
			return fmt.Errorf("%s: it has no results", name)
		}
		s := solvereport.Stream{Summary: solve.Summarise(results), Results: results}
		s.Name = filepath.Base(name)
		list = append(list, s)
	}
	if x.JSON {
		for _, s := range list {
			text, err := json.Marshal(s.Summary)
			if err != nil {
				return fmt.Errorf("summary: %w", err)
			}
			fmt.Fprintf(sh.Out, "%s\n", text)
		}
	} else {
		if err := solvereport.Print(sh.Text, list); err != nil {
			return err
		}
	}
	return writeReports(sh, list, x.CSV, x.HTML)
}

// writeReports writes the files that are named.
func writeReports(sh *shell.Shell, list []solvereport.Stream, csv, html string) error {
	if csv != "" {
		var sums []solve.Summary
		for _, s := range list {
			sums = append(sums, s.Summary)
		}
		table := solve.Table(sums)
		data, err := table.CSV()
		if err != nil {
			return err
		}
		if err := sh.WriteFile(csv, data); err != nil {
			return err
		}
	}
	if html == "" {
		return nil
	}
	if len(list[0].Results) == 0 {
		return errors.New("--html: there are no results to show")
	}
	page, err := solvereport.Page(list)
	if err != nil {
		return err
	}
	return sh.WriteFile(html, page)
}

// figuresCommand computes the figures of docs/memory.md.
type figuresCommand struct {
	Log  string `placeholder:"FILE" help:"Also run the chain-of-thought replies of this log through the loop ({\"id\",\"gold\",\"raw\",\"arm\"} on each line)."`
	Arm  string `default:"CoT" placeholder:"NAME" help:"The arm of the log to use (${default})."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run prints the figures.
func (x *figuresCommand) Run(sh *shell.Shell) error {
	f := gamefigures.Compute()
	var l *gamefigures.Log
	if x.Log != "" {
		in, err := sh.Open(x.Log)
		if err != nil {
			return err
		}
		defer in.Close()
		got, err := gamefigures.ComputeLog(context.Background(), in, x.Arm)
		if err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
		l = &got
	}
	if x.JSON {
		text, err := json.Marshal(struct {
			gamefigures.Figures
			Log *gamefigures.Log `json:"log,omitempty"`
		}{f, l})
		if err != nil {
			return fmt.Errorf("figures: %w", err)
		}
		fmt.Fprintf(sh.Out, "%s\n", text)
		return nil
	}
	var b strings.Builder
	if err := f.Print(&b); err != nil {
		return err
	}
	if l != nil {
		if err := l.Print(&b); err != nil {
			return err
		}
	}
	_, err := io.WriteString(sh.Text, b.String())
	return err
}
