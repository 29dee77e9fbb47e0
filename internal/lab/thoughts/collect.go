package thoughts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

const (
	// maxRuns bounds the runs whose group is remembered, and maxOpen those of which the
	// last thoughts are held.
	maxRuns = 100_000
	maxOpen = 256
	// maxSettings bounds the names of settings that are listed.
	maxSettings = 100
	// maxGroups bounds the groups, because clients choose the names of models.
	maxGroups = 200
	// maxLabel bounds the name of a group, in bytes.
	maxLabel = 200
)

// Names of groups that are not values.
const (
	otherGroup = "(other)" // the groups beyond maxGroups
	noGroup    = "(none)"  // replies without a value
)

// A collector reads events, and holds what the figures need of them.
type collector struct {
	o        Options
	src      Source
	replies  sample
	texts    sample
	at       map[place]*reply
	labels   map[string]string // of runs, if groups are by a setting
	open     map[string]*openRun
	clock    int
	tools    map[toolOf]*toolCount
	names    map[string]string
	settings map[string]bool
	// lost says that a bound was reached.
	lostRuns, lostTools bool
}

func newCollector(o Options) *collector {
	c := &collector{
		o: o, at: map[place]*reply{}, labels: map[string]string{}, open: map[string]*openRun{},
		tools: map[toolOf]*toolCount{}, names: map[string]string{}, settings: map[string]bool{},
	}
	c.replies = sample{room: o.Replies, dropped: func(r *reply) { delete(c.at, r.place.key()) }}
	c.texts = sample{room: o.Texts, dropped: func(r *reply) { r.text = "" }}
	return c
}

// event reads one event. The source is nil if there is only one record.
func (c *collector) event(e *record.Event, from *recordset.Source) {
	if c.o.Filter.Run != "" && e.Run != c.o.Filter.Run {
		return
	}
	run, of, name := e.Run, e.Run, ""
	if from != nil {
		name = from.Name
		of = name + "/" + e.Run
	}
	if run != "" {
		run = of
	}
	c.src.Events++
	c.clock++
	switch x := e.Payload.(type) {
	case record.RunStart:
		c.runStart(run, &x)
	case record.Invocation:
		q := asked{model: x.Model, purpose: x.Purpose, run: run, of: of, record: name, own: e.Run, tools: x.Tools, usage: x.Usage}
		c.asked(e, &q, x.Replies)
	case record.Exchange:
		q := asked{model: x.Model, purpose: x.API, run: run, of: of, record: name, own: e.Run, tools: x.Tools, usage: x.Usage}
		if q.run == "" {
			if name, id := x.Session(); id != "" {
				q.run = name + "=" + id
			}
		}
		c.asked(e, &q, x.Replies)
	case record.ToolCall:
		if open := c.open[run]; open != nil && x.Phase != "end" {
			open.called(e.Cycle, x.Name)
		}
	case record.Extraction:
		c.extraction(of, &x)
	case record.RunEnd:
		c.close(run)
	case record.Unknown:
		c.src.Unread++
	}
}

// runStart notes the group of a run. A run that is resumed keeps it.
func (c *collector) runStart(run string, x *record.RunStart) {
	for _, name := range slices.Sorted(maps.Keys(x.Config)) {
		if len(c.settings) < maxSettings {
			c.settings[c.name(name)] = true
		}
	}
	switch c.o.By {
	case ByModel, ByRun, ByPurpose, ByVerdict:
		return
	}
	label := x.Config[c.o.By]
	if label == "" {
		return
	}
	if _, known := c.labels[run]; !known && len(c.labels) >= maxRuns {
		c.lostRuns = true
		return
	}
	c.labels[run] = c.name(label)
}

// name returns a text of which there is only one copy.
func (c *collector) name(text string) string {
	text = shorttext.Cut(text, maxLabel)
	if one, ok := c.names[text]; ok {
		return one
	}
	if len(c.names) < maxRuns {
		c.names[text] = text
	}
	return text
}

// An asked is what a model was asked, whoever asked it.
type asked struct {
	model, purpose string
	of, run        string // the event's run; and that, or the conversation
	record, own    string // the record, and the run as it is called there
	tools          []record.Tool
	usage          *record.Usage
	alone          bool // each reply is a turn of its own
}

func (c *collector) label(q *asked) string {
	label := ""
	switch c.o.By {
	case ByModel:
		label = q.model
	case ByRun:
		label = q.run
	case ByPurpose:
		label = q.purpose
	case ByVerdict:
	default:
		if c.o.Label != nil {
			label = c.o.Label(q.record, q.own)
		} else {
			label = c.labels[q.run]
		}
	}
	switch label {
	case "":
		label = noGroup
	case allGroup, otherGroup, noGroup: // a client chose the name
		label += " (a name)"
	}
	return c.name(label)
}

// selects reports whether the replies of an event count.
func (f *Filter) selects(e *record.Event, model string, replies []record.Reply) bool {
	if f.Cycle != nil && e.Cycle != *f.Cycle || f.Model != "" && model != f.Model || e.Seq <= f.After ||
		!f.From.IsZero() && e.Time.Before(f.From) || !f.To.IsZero() && !e.Time.Before(f.To) {
		return false
	}
	return f.Diagnostic == "" || slices.ContainsFunc(replies, func(r record.Reply) bool {
		return slices.ContainsFunc(r.Diagnostics, func(d sotto.Diagnostic) bool { return string(d.Code) == f.Diagnostic })
	})
}

// asked reads the replies of an event.
func (c *collector) asked(e *record.Event, q *asked, replies []record.Reply) {
	if !c.o.Filter.selects(e, q.model, replies) {
		return
	}
	q.alone = e.Run == ""
	for i := range replies {
		r, t := c.reply(e, q, &replies[i], len(replies))
		c.announce(q, r, t, &replies[i])
		c.repeats(r, t)
		c.hold(r, t)
	}
}

// reply measures a reply.
func (c *collector) reply(e *record.Event, q *asked, of *record.Reply, choices int) (*reply, *thinking) {
	t, all := thinkingOf(of)
	r := &reply{
		place: place{c.name(q.of), e.Seq, of.Choice, of.Digest}, model: c.name(q.model), label: c.label(q), series: c.name(q.run), cycle: e.Cycle,
		thought: t.bytes, all: all, withheld: t.withheld, sealed: t.sealed, end: of.End, hasText: t.text != "" && t.withheld == 0 && t.sealed == 0,
	}
	r.rank = rankOf(&r.place, r.cycle, t.text)
	if q.usage != nil && choices == 1 && q.usage.Reasoning > 0 {
		r.tokens = q.usage.Reasoning
	}
	for _, d := range of.Diagnostics {
		if !slices.Contains(r.codes, d.Code) {
			r.codes = append(r.codes, sotto.Code(c.name(string(d.Code))))
		}
	}
	slices.Sort(r.codes)
	c.src.Replies++
	c.src.ThoughtBytes += int64(t.bytes)
	c.src.ReplyBytes += int64(all)
	c.src.Withheld += int64(t.withheld)
	c.src.Sealed += int64(t.sealed)
	if t.bytes > 0 {
		c.src.Thinking++
	}
	if t.text != "" {
		c.src.WithText++
	}
	return r, &t
}

// hold keeps a reply, and its text, if they are in the samples.
func (c *collector) hold(r *reply, t *thinking) {
	if !c.replies.draws(r) {
		return
	}
	c.at[r.place.key()] = r
	if t.text == "" {
		return
	}
	r.text = strings.Clone(shorttext.Cut(t.text, maxKept))
	r.cut = t.more || len(t.text) > maxGiven
	if !c.texts.draws(r) {
		r.text = ""
	}
}

// extraction notes a verdict about a reply. A later one replaces an earlier one.
func (c *collector) extraction(run string, x *record.Extraction) {
	if x.Verdict != nil {
		c.src.Verdicts++
	}
	r := c.at[place{run: run, seq: x.Of.Seq, choice: x.Of.Choice}]
	if r == nil || !x.Of.Digest.IsZero() && x.Of.Digest != r.place.digest {
		return
	}
	r.inReasoning = x.FromReasoning || strings.HasSuffix(x.Method, "_in_reasoning")
	if x.Verdict != nil {
		r.verdict = wrong
		if x.Verdict.OK {
			r.verdict = right
		}
	}
}

// finish ends what is open.
func (c *collector) finish() {
	for run := range c.open {
		c.close(run)
	}
}

func (c *collector) source() Source {
	s := c.src
	s.Settings = slices.AppendSeq([]string{}, maps.Keys(c.settings))
	slices.Sort(s.Settings)
	s.Held, s.Texts = len(c.replies.heap), len(c.texts.heap)
	for _, r := range c.replies.heap {
		if r.verdict != unjudged {
			s.Judged++
		}
	}
	var list []string
	if s.Held < s.Replies {
		list = append(list, fmt.Sprintf("%d of %d replies", s.Held, s.Replies))
	}
	if s.Texts < s.WithText {
		list = append(list, fmt.Sprintf("%d of %d texts", s.Texts, s.WithText))
	}
	if len(list) > 0 {
		s.Sample = strings.Join(list, " and ") + ": those of the lowest SHA-256 of run, cycle, choice, reply and thought"
	}
	if c.lostRuns {
		s.Sample = strings.TrimPrefix(s.Sample+fmt.Sprintf("; only the first %d runs have a group", maxRuns), "; ")
	}
	return s
}

// A group is the replies that a row is about.
type group struct {
	name    string
	replies []*reply // by rank
}

// groups returns the groups, largest first, and all replies as the last one.
func (c *collector) groups() []group {
	all := c.replies.list()
	of := map[string][]*reply{}
	for _, r := range all {
		label := r.label
		if c.o.By == ByVerdict {
			label = verdictNames[r.verdict]
		}
		of[label] = append(of[label], r)
	}
	list := make([]group, 0, len(of)+1)
	for name, replies := range of {
		list = append(list, group{name, replies})
	}
	slices.SortFunc(list, func(a, b group) int {
		return cmp.Or(cmp.Compare(len(b.replies), len(a.replies)), strings.Compare(a.name, b.name))
	})
	if len(list) > maxGroups {
		rest := group{name: otherGroup}
		for _, g := range list[maxGroups-1:] {
			rest.replies = append(rest.replies, g.replies...)
		}
		slices.SortFunc(rest.replies, func(a, b *reply) int { return a.rank.compare(b.rank) })
		list = append(list[:maxGroups-1], rest)
	}
	return append(list, group{allGroup, all})
}

// allGroup is the group of all replies.
const allGroup = "all"
