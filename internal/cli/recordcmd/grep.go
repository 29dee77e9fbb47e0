package recordcmd

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/recorded/recordsearch"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/internal/reply/painter"
	"github.com/sotto-llm/sotto/record"
)

type grepCommand struct {
	source
	Pattern string `arg:"" name:"pattern" help:"A regular expression (RE2); (?i) before it ignores case."`
	filter
	In   string `default:"any" enum:"any,reasoning,answer" placeholder:"WHERE" help:"Where to look: any, reasoning (what models think), answer (everything else)."`
	JSON bool   `name:"json" help:"Print a JSON object for each match."`
	lookedFlag
}

// Help explains what is searched.
func (grepCommand) Help() string {
	return `Searches replies, prompts, reasoning, tool calls and results, goals, summaries, candidates and errors; --limit counts events. Filters and words use the sidecars that sotto record index makes; what has none is read as a whole. --looked says how much that was.

The object: {"v":1,"seq","time","run","cycle","type","path","channel","start","end","match","line"}; path is the place of the text in the payload. start and end are byte offsets into the text as it was before anything was cut out. If the folder holds several records, "record" names that of the event.`
}

// Run searches.
func (g *grepCommand) Run(sh *shell.Shell) error {
	re, err := regexp.Compile(g.Pattern)
	if err != nil {
		return errorhint.Usage(err, "")
	}
	q, err := g.query()
	if err != nil {
		return err
	}
	limit := q.Limit
	q.Limit, q.NoCheckpoints = 0, true
	set, err := g.records()
	if err != nil {
		return err
	}
	p := &matchPrinter{set: set, json: g.JSON, out: bufio.NewWriterSize(sh.Results(g.JSON), 64<<10)}
	defer p.out.Flush()
	s := &recordsearch.Search{Pattern: re, In: recordsearch.Scope(g.In), Found: p.print}
	events := 0 // with a match
	bad := badLines{sh: sh}
	for e, err := range set.Search(sidecar.Query{Query: q, Pattern: re}) {
		if err == nil && e.Type == record.TypeSealed {
			err = e.Source.Err(record.ErrSealed)
		}
		if err != nil {
			if err = bad.skip(err); err != nil {
				return err
			}
			continue
		}
		p.from = e.Source
		if s.Event(&e.Event) {
			events++
		}
		if p.err != nil {
			return p.err
		}
		if limit > 0 && events == limit {
			break
		}
	}
	g.say(sh, set)
	return cmp.Or(p.out.Flush(), bad.err())
}

// A matchPrinter prints matches until a write fails.
type matchPrinter struct {
	set  *recordset.Set
	from *recordset.Source // of the event that is searched
	json bool
	out  *bufio.Writer
	err  error
}

func (p *matchPrinter) print(m recordsearch.Match) {
	if p.err != nil {
		return
	}
	if p.json {
		enc := json.NewEncoder(p.out)
		enc.SetEscapeHTML(false)
		p.err = enc.Encode(struct {
			recordsearch.Match
			Record string `json:"record,omitempty"`
		}{m, recordName(p.set, p.from)})
		return
	}
	prefix := painter.Word(m.Channel)
	if prefix == "" {
		prefix = "mark │ "
	}
	_, p.err = fmt.Fprintf(p.out, "%s %s %s@%d %s%s\n", visible.Word(eventName(p.set, p.from, m.Seq)), visible.Line(string(m.Type)), visible.Line(m.Path), m.Start, prefix, visible.Line(string(m.Line)))
}
