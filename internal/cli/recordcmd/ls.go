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
	"github.com/sotto-llm/sotto/record"
)

type lsCommand struct {
	source
	filter
	JSON bool `name:"json" help:"Print a JSON object for each event."`
}

// Help explains where the list comes from.
func (lsCommand) Help() string {
	return `The list comes from the indexes, and is fast for millions of events. In an encrypted record, a line stands for a batch of events.

The object: {"v":1,"seq","last","time","run","cycle","type","model","diagnostics":[…],"size"}; size is the length of the line in bytes. last is the last event of an encrypted batch; for all other lines it equals seq. If the folder holds several records, "record" names that of the event; the list has its name before the number.`
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
