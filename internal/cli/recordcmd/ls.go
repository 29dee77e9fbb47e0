package recordcmd

import (
	"bufio"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

type lsCommand struct {
	source
	filter
	byFacts
	JSON bool `name:"json" help:"Print a JSON object for each event."`
	lookedFlag
}

// Help explains where the list comes from.
func (lsCommand) Help() string {
	return `The list comes from the indexes, and is fast for millions of events. In an encrypted record, a line stands for a batch of events.

--where and --sort use the facts that the sidecars have (see sotto record index); what has no sidecar is read as a whole, with the same result. The list then has a column for each fact that the flags name, and at its end the totals of all events that fulfil the conditions, also of those that are not listed: how many they are, and the sums of their numbers. The facts are:

    ` + strings.Join(sidecar.FactNames(), ", ") + `

Numbers and words are compared with =, !=, <, <=, > and >=; codes and tools are lists, which equal each word that they have. session and trace are compared with an identifier as it is recorded. --sort needs a time and memory that grow with --limit, 1000 if it is not given.

    sotto record ls DIR --where outcome=failed --where 'ms>10000' --sort=-ms --limit 20
    sotto record ls DIR --type EXCHANGE --where caller=team-a --where tools=search --json

The object: {"v":1,"seq","last","time","run","cycle","type","model","diagnostics":[…],"size"}; size is the length of the line in bytes. last is the last event of an encrypted batch; for all other lines it equals seq. If the folder holds several records, "record" names that of the event; the list has its name before the number. With --where or --sort: {"v":1,"seq","time","type","run","model","facts":{…}}, and the last object is {"v":1,"total":{"events","sums":{…}}}.`
}

// Run lists events.
func (l *lsCommand) Run(sh *shell.Shell) error {
	q, err := l.query()
	if err != nil {
		return err
	}
	set, err := l.records()
	if err != nil {
		return err
	}
	if l.asked() {
		defer l.say(sh, set)
		return l.list(sh, set, q, l.JSON)
	}
	out := bufio.NewWriterSize(sh.Results(l.JSON), 64<<10)
	defer out.Flush()
	layout := lsLayout(set)
	if !l.JSON {
		_ = layout.Print(out, "SEQ", "TIME", "TYPE", "RUN", "CYCLE", "SIZE", "MODEL", "DIAGNOSTICS")
	}
	bad := badLines{sh: sh}
	for e, err := range set.Entries(q) {
		if err != nil {
			if err = bad.skip(err); err != nil {
				return err
			}
			continue
		}
		if l.JSON {
			err = lsJSON(out, recordName(set, e.Source), e.Entry)
		} else {
			err = lsLine(out, layout, eventName(set, e.Source, e.Seq), e.Entry)
		}
		if err != nil {
			return err
		}
	}
	l.say(sh, set)
	return cmp.Or(out.Flush(), bad.err())
}

// lsLayout returns the widths of the columns.
func lsLayout(set *recordset.Set) texttable.Layout {
	seq := 10
	if set.Several() {
		for _, x := range set.Sources() {
			seq = max(seq, min(utf8.RuneCountInString(x.Name), 30)+8)
		}
	}
	return texttable.Layout{Widths: []int{seq, -20, -14, -30, 5, 9, -24, 0}}
}

func lsLine(out *bufio.Writer, layout texttable.Layout, name string, e record.Entry) error {
	seq, cycle := visible.Word(name), strconv.Itoa(e.Cycle)
	if e.Last > e.Seq {
		seq += "-" + strconv.FormatUint(e.Last, 10)
	}
	if e.Run == "" {
		cycle = "-"
	}
	return layout.Print(out, seq, e.Time.Format(time.RFC3339), visible.Word(string(e.Type)), visible.Word(e.Run), cycle,
		strconv.Itoa(e.Size), visible.Word(e.Model), visible.Word(strings.Join(e.Diagnostics, ",")))
}

func lsJSON(out *bufio.Writer, name string, e record.Entry) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return enc.Encode(struct {
		V      int    `json:"v"`
		Record string `json:"record,omitempty"`
		record.Entry
	}{1, name, e})
}
