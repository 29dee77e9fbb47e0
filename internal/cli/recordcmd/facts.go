package recordcmd

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// byFacts holds the flags that select and sort events by their facts.
type byFacts struct {
	Where []string `sep:"none" placeholder:"FACT=VALUE" help:"Only events with this fact, such as outcome=failed or 'ms>1000'; repeatable: all must hold."`
	Sort  string   `placeholder:"FACT" help:"Sort by this fact; --sort=-FACT puts the largest first."`

	conditions []sidecar.Condition
	sort       sidecar.Fact
	falling    bool
	shown      []sidecar.Fact // a column for each
}

// mostSorted is how many events a sorted list has without --limit.
const mostSorted = 1000

// always are the facts that every line has.
var always = []string{"seq", "type", "run", "model"}

func (b *byFacts) asked() bool { return len(b.Where) > 0 || b.Sort != "" }

// parse reads the flags.
func (b *byFacts) parse() error {
	show := func(f sidecar.Fact) {
		if !slices.Contains(b.shown, f) && !slices.Contains(always, f.Name) {
			b.shown = append(b.shown, f)
		}
	}
	for _, text := range b.Where {
		c, err := sidecar.ParseCondition(text)
		if err != nil {
			return errorhint.Usage(fmt.Errorf("--where: %w", err), "")
		}
		b.conditions = append(b.conditions, c)
		show(c.Fact)
	}
	if b.Sort == "" {
		return nil
	}
	name, falling := strings.CutPrefix(b.Sort, "-")
	f, err := sidecar.FactNamed(name)
	if err == nil && f.Digest() {
		err = fmt.Errorf("%s is a digest, which has no order", name)
	}
	if err != nil {
		return errorhint.Usage(fmt.Errorf("--sort: %w", err), "")
	}
	b.sort, b.falling = f, falling
	show(f)
	return nil
}

func (b *byFacts) holds(f *sidecar.Facts) bool {
	for i := range b.conditions {
		if !b.conditions[i].Holds(f) {
			return false
		}
	}
	return true
}

// want returns the facts that the list needs.
func (b *byFacts) want() sidecar.Want {
	w := sidecar.Want{Numbers: []sidecar.Number{sidecar.Time}, Words: []sidecar.Word{sidecar.Type, sidecar.Run, sidecar.Model}}
	for _, f := range b.shown {
		w.Add(f)
	}
	return w
}

// list prints the events, and their totals.
func (b *byFacts) list(sh *shell.Shell, set *recordset.Set, q record.Query, asJSON bool) error {
	if err := b.parse(); err != nil {
		return err
	}
	limit := q.Limit
	q.Limit = 0
	if b.Sort != "" && limit == 0 {
		limit = mostSorted
	}
	p := &factPrinter{by: b, set: set, json: asJSON, out: bufio.NewWriterSize(sh.Results(asJSON), 64<<10), sums: make([]int64, len(b.shown))}
	defer p.out.Flush()
	p.head()
	top := sorted{by: b, most: limit}
	bad := badLines{sh: sh}
	for f, err := range set.Facts(q, b.want()) {
		if err == nil && f.Word[sidecar.Type] == string(record.TypeSealed) {
			err = f.Source.Err(record.ErrSealed)
		}
		if err != nil {
			if err = bad.skip(err); err != nil {
				return err
			}
			continue
		}
		if !b.holds(f.Facts) {
			continue
		}
		p.add(f.Facts)
		switch {
		case b.Sort != "":
			top.add(f)
		case limit == 0 || p.events <= limit:
			p.print(f)
		}
	}
	top.settle()
	for _, f := range top.list {
		p.print(f)
	}
	p.total()
	return cmp.Or(p.err, p.out.Flush(), bad.err())
}

// sorted keeps the first events of an order.
type sorted struct {
	by   *byFacts
	most int
	list []recordset.Facts
}

// add notes an event. Twice as many as are wanted are kept before they are sorted.
func (s *sorted) add(f recordset.Facts) {
	kept := *f.Facts // it is only valid until the next
	s.list = append(s.list, recordset.Facts{Facts: &kept, Source: f.Source})
	if len(s.list) >= 2*s.most {
		s.settle()
	}
}

// settle sorts, and drops what is not among the first. Equal ones stay in the order of the
// record.
func (s *sorted) settle() {
	slices.SortStableFunc(s.list, func(a, b recordset.Facts) int {
		if s.by.falling {
			a, b = b, a
		}
		return s.by.sort.Compare(a.Facts, b.Facts)
	})
	s.list = slices.Clip(s.list[:min(len(s.list), s.most)])
}

// A factPrinter prints events with facts until a write fails.
type factPrinter struct {
	by     *byFacts
	set    *recordset.Set
	json   bool
	out    *bufio.Writer
	layout texttable.Layout
	events int
	sums   []int64
	err    error
}

func (p *factPrinter) head() {
	if p.json {
		return
	}
	cells := []string{"SEQ", "TIME", "TYPE", "RUN", "MODEL"}
	p.layout = texttable.Layout{Widths: []int{lsLayout(p.set).Widths[0], -20, -14, -30, -24}}
	for _, f := range p.by.shown {
		width := max(len(f.Name), 8)
		if f.IsWord || f.Digest() {
			width = -max(len(f.Name), 16)
		}
		p.layout.Widths = append(p.layout.Widths, width)
		cells = append(cells, strings.ToUpper(f.Name))
	}
	p.err = p.layout.Print(p.out, cells...)
}

// add adds an event to the totals.
func (p *factPrinter) add(f *sidecar.Facts) {
	p.events++
	for i, fact := range p.by.shown {
		if fact.Adds() {
			p.sums[i] += f.Number[fact.Number]
		}
	}
}

func (p *factPrinter) print(f recordset.Facts) {
	switch {
	case p.err != nil:
	case p.json:
		p.err = p.encode(struct {
			V      int            `json:"v"`
			Record string         `json:"record,omitempty"`
			Seq    uint64         `json:"seq"`
			Time   time.Time      `json:"time"`
			Type   string         `json:"type"`
			Run    string         `json:"run,omitempty"`
			Model  string         `json:"model,omitempty"`
			Facts  map[string]any `json:"facts"`
		}{1, recordName(p.set, f.Source), uint64(f.Number[sidecar.Seq]), f.At(), f.Word[sidecar.Type], f.Word[sidecar.Run], f.Word[sidecar.Model], p.facts(f.Facts)})
	default:
		cells := []string{
			visible.Word(eventName(p.set, f.Source, uint64(f.Number[sidecar.Seq]))), f.At().Format(time.RFC3339),
			visible.Word(f.Word[sidecar.Type]), visible.Word(f.Word[sidecar.Run]), visible.Word(f.Word[sidecar.Model]),
		}
		for _, fact := range p.by.shown {
			cells = append(cells, visible.Word(fact.Text(f.Facts)))
		}
		p.err = p.layout.Print(p.out, cells...)
	}
}

func (p *factPrinter) facts(f *sidecar.Facts) map[string]any {
	out := map[string]any{}
	for _, fact := range p.by.shown {
		if fact.IsWord || fact.Digest() {
			out[fact.Name] = fact.Text(f)
		} else {
			out[fact.Name] = f.Number[fact.Number]
		}
	}
	return out
}

func (p *factPrinter) total() {
	if p.err != nil {
		return
	}
	sums, text := map[string]int64{}, shorttext.Plural(p.events, "total: 1 event", "total: %d events")
	for i, fact := range p.by.shown {
		if fact.Adds() {
			sums[fact.Name] = p.sums[i]
			text += ", " + fact.Name + " " + strconv.FormatInt(p.sums[i], 10)
		}
	}
	if !p.json {
		_, p.err = fmt.Fprintln(p.out, text)
		return
	}
	type total struct {
		Events int              `json:"events"`
		Sums   map[string]int64 `json:"sums"`
	}
	p.err = p.encode(struct {
		V     int   `json:"v"`
		Total total `json:"total"`
	}{1, total{p.events, sums}})
}

func (p *factPrinter) encode(v any) error {
	enc := json.NewEncoder(p.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
