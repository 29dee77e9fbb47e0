package recordcmd

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/recorded/recordstats"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

type statsCommand struct {
	source
	filter
	By   []string `help:"Sum up by these: caller (the name of a token), day, model, upstream. One row has what is equal in all of them." enum:"caller,day,model,upstream" placeholder:"MEMBER,..."`
	JSON bool     `name:"json" help:"Print JSON."`
	lookedFlag
}

// Help explains the figures.
func (statsCommand) Help() string {
	return `Sums up the EXCHANGE and LLM_INVOCATION events that the flags select, by model and upstream, or by what --by says: the replies and their bytes (reasoning in separate fields included), how many of these bytes were reasoning, how many replies leaked (their text held reasoning), and which diagnostics they had. Bytes that a level withheld are counted too.

"Saved" is what prompts did not have to carry. For exchanges, it is the earlier reasoning that was removed from requests. For runs, it is what the omitted thoughts would have added to the prompts. Tokens are estimated: four bytes each.

With --by, the table shows usage: the tokens of the prompts, those of them that came from the provider's cache, and the tokens of the replies, as providers counted them.

Examples:

    sotto record stats DIR
    sotto record stats DIR --by caller,model --from 2026-11-01
    sotto record stats DIR --by day --json`
}

// Run computes the totals.
func (s *statsCommand) Run(sh *shell.Shell) error {
	q, err := s.query()
	if err != nil {
		return err
	}
	if len(q.Types) == 0 {
		q.Types = []record.Type{record.TypeExchange, record.TypeInvocation, record.TypeCycleEnd}
	}
	set, err := s.records()
	if err != nil {
		return err
	}
	by := make([]recordstats.Member, len(s.By))
	for i, name := range s.By {
		by[i] = recordstats.Member(name)
	}
	sum := recordstats.New(by...)
	bad := badLines{sh: sh}
	for f, err := range set.Facts(q, sidecar.CountWant()) {
		if err != nil {
			if err = bad.skip(err); err != nil {
				return err
			}
			continue
		}
		c := f.Count()
		sum.AddCount(&c)
	}
	s.say(sh, set)
	sum.Finish()
	switch {
	case s.JSON:
		err = shell.PrintJSON(sh.Out, sum)
	case len(by) > 0:
		err = printUsage(sh.Text, sum, by)
	default:
		err = printFigures(sh.Text, sum)
	}
	return cmp.Or(err, bad.err())
}

// printFigures prints the table.
func printFigures(w io.Writer, s *recordstats.Sum) error {
	rows := [][]string{{"MODEL", "UPSTREAM", "REPLIES", "BYTES", "REASONING", "%", "LEAKS", "SAVED", "TOKENS"}}
	for _, f := range s.By {
		rows = append(rows, figuresRow(f, visible.Word(f.Model), visible.Word(f.Upstream)))
	}
	rows = append(rows, figuresRow(&s.Total, "all", ""))
	if err := texttable.Print(w, rows); err != nil {
		return err
	}
	var b strings.Builder
	if len(s.Total.Diagnostics) > 0 {
		b.WriteString("\ndiagnostics:")
		for _, code := range slices.Sorted(maps.Keys(s.Total.Diagnostics)) {
			fmt.Fprintf(&b, " %s %d", visible.Word(code), s.Total.Diagnostics[code])
		}
		b.WriteString("\n")
	}
	if r := s.Runs; r.Cycles > 0 {
		fmt.Fprintf(&b, "\nruns: %d cycles; their prompts had %d bytes, and all thoughts would have added %d bytes (about %d tokens)\n", r.Cycles, r.PromptBytes, r.SavedBytes, r.SavedTokens)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printUsage prints what the events of each row used.
func printUsage(w io.Writer, s *recordstats.Sum, by []recordstats.Member) error {
	head := []string{}
	for _, m := range by {
		head = append(head, strings.ToUpper(string(m)))
	}
	rows := [][]string{append(head, "EVENTS", "REPLIES", "INPUT", "CACHED", "OUTPUT", "REASONING", "%")}
	for _, f := range append(s.By, &s.Total) {
		var row []string
		for _, m := range by {
			row = append(row, visible.Word(f.Value(m)))
		}
		if f == &s.Total {
			row[0] = "all"
		}
		rows = append(rows, append(row,
			strconv.Itoa(f.Events), strconv.Itoa(f.Replies), strconv.FormatInt(f.InputTokens, 10), strconv.FormatInt(f.CachedTokens, 10),
			strconv.FormatInt(f.OutputTokens, 10), strconv.Itoa(f.ReasoningBytes), strconv.FormatFloat(100*f.ReasoningShare, 'f', 1, 64)))
	}
	return texttable.Print(w, rows)
}

func figuresRow(f *recordstats.Figures, model, upstream string) []string {
	return []string{
		model, upstream, strconv.Itoa(f.Replies), strconv.Itoa(f.Bytes), strconv.Itoa(f.ReasoningBytes),
		strconv.FormatFloat(100*f.ReasoningShare, 'f', 1, 64), strconv.Itoa(f.Leaks), strconv.Itoa(f.SavedBytes), strconv.Itoa(f.SavedTokens),
	}
}
