package runview

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/internal/lab/report"
	"github.com/sotto-llm/sotto/record"
)

const (
	// maxLanes is how many rows a timeline has. maxBars and maxTicks bound the
	// invocations and the calls that it draws one by one.
	maxLanes = 50
	maxBars  = 400
	maxTicks = 800
	// maxEnds bounds how many ends of cycles are read to sum up groups of cycles.
	maxEnds = 2000
	// parts is how many parts the axis has at most.
	axisParts = 6
	// thinnest is the least width of a bar, in percent of the axis.
	thinnest = 0.2
)

// A Window selects cycles of a run, and a place in its steps.
type Window struct {
	From int `json:"from"`
	To   int `json:"to"`
	// At is an event whose steps are wanted, and Before a cursor: only steps of earlier
	// events. Both are 0 for the newest steps.
	At     uint64 `json:"at,omitempty"`
	Before uint64 `json:"before,omitempty"`
	// set says that the reader chose the cycles.
	set bool
}

// ParseWindow reads a window from the query of a URL.
func ParseWindow(q url.Values) (w Window, err error) {
	w = Window{From: math.MinInt, To: math.MaxInt}
	for name, into := range map[string]*int{"from": &w.From, "to": &w.To} {
		if text := q.Get(name); text != "" {
			if *into, err = strconv.Atoi(text); err != nil {
				return w, fmt.Errorf("%s: %s: want the number of a cycle", name, shorttext.Quote(text))
			}
			w.set = true
		}
	}
	if w.From > w.To {
		return w, fmt.Errorf("from %d to %d: want the lower number first", w.From, w.To)
	}
	for name, into := range map[string]*uint64{"at": &w.At, "before": &w.Before} {
		if text := q.Get(name); text != "" {
			if *into, err = strconv.ParseUint(text, 10, 64); err != nil || *into == 0 {
				return w, fmt.Errorf("%s: %s: want the number of an event", name, shorttext.Quote(text))
			}
		}
	}
	return w, nil
}

// Set reports whether the window was chosen.
func (w *Window) Set() bool { return w.set }

// A Timeline is a run, or a part of it, in time.
type Timeline struct {
	V      int `json:"v"`
	Run    Run `json:"run"`
	Window `json:"window"`
	Began  time.Time `json:"began"` // its first start
	// First and Last are the cycles that the run has, and Invocations and Events count
	// all of it.
	First       int `json:"first"`
	Last        int `json:"last"`
	Invocations int `json:"invocations"`
	Events      int `json:"events"`
	// Grouped says that a lane sums up its cycles, because there are too many to draw
	// each invocation.
	Grouped bool   `json:"grouped,omitempty"`
	Lanes   []Lane `json:"lanes"`
	// Millis is the length of the axis, and Ticks its round times.
	Millis int64  `json:"ms"`
	Ticks  []Tick `json:"-"`
	// Partial says that the window had more to read than a page reads. Unreadable
	// counts lines that cannot be read.
	Partial    bool   `json:"partial,omitempty"`
	Unreadable int    `json:"unreadable,omitempty"`
	Head       uint64 `json:"head"`
}

// A Tick is a place on the axis, in percent of its length.
type Tick struct {
	At    float64
	Label string
	Last  bool
}

// A Lane is a row of a timeline: a cycle, or several. Its times begin with the cycle.
type Lane struct {
	From        int         `json:"from"`
	To          int         `json:"to"`
	Millis      int64       `json:"ms"` // how long it took; of several cycles, the sum
	Invocations int         `json:"invocations"`
	Calls       int         `json:"calls"`
	Status      string      `json:"status,omitempty"`
	Summary     record.Text `json:"summary,omitempty"` // the beginning of the reflection or answer
	// Thought and Visible are bytes. Counted says that they are known.
	Thought int  `json:"thought_bytes"`
	Visible int  `json:"visible_bytes"`
	Counted bool `json:"counted"`

	Bars  []Bar  `json:"bars,omitempty"`
	Marks []Mark `json:"marks,omitempty"`
}

// Several reports whether the lane sums up more than one cycle.
func (l *Lane) Several() bool { return l.From != l.To }

// A Bar is an invocation on the axis, or the sum of a lane. Places are in percent of
// the axis.
type Bar struct {
	Event uint64  `json:"event,omitempty"`
	From  float64 `json:"from"`
	Wide  float64 `json:"wide"`
	// Thought is the part of Wide that is drawn as reasoning: its share of the bytes.
	Thought float64 `json:"thought"`
	Failed  bool    `json:"failed,omitempty"`
	Step    *Step   `json:"-"`
	// Known says that the share is.
	Known bool `json:"known"`
}

// Rest is where the visible part begins, and its width.
func (b *Bar) Rest() [2]float64 {
	return [2]float64{round(b.From + b.Thought), round(b.Wide - b.Thought)}
}

// A Mark is a call of a tool on the axis, or a place where the run was resumed.
type Mark struct {
	Event  uint64  `json:"event"`
	At     float64 `json:"at"`
	Wide   float64 `json:"wide"`
	Name   string  `json:"name"`
	Millis int64   `json:"ms"`
	Failed bool    `json:"failed,omitempty"`
	Run    string  `json:"run,omitempty"` // of the agent that the tool is
	Pause  bool    `json:"pause,omitempty"`
	Open   bool    `json:"open,omitempty"` // it has no end
}

// A Step is an invocation in a list.
type Step struct {
	view.Row
	Cycle   int    `json:"cycle"`
	Purpose string `json:"purpose,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Offset  int64  `json:"offset_ms"` // when it began, from the beginning of its cycle
}

// Timeline returns a run, or the part of it in a window.
func (s *Source) Timeline(ctx context.Context, name string, w Window) (*Timeline, error) {
	first, newest, _, err := s.one(ctx, name)
	if err != nil {
		return nil, err
	}
	c, err := s.count(ctx, name, w.From, w.To)
	if err != nil {
		return nil, err
	}
	t := &Timeline{
		V: 2, Run: *newest, Window: w, Began: first.Time, First: c.first, Last: c.last, Invocations: c.invocations, Events: c.events, Lanes: []Lane{},
	}
	if last, err := s.store.Last(); err == nil {
		t.Head = last
	}
	t.From, t.To = max(w.From, c.first), min(w.To, c.last)
	if t.From > t.To { // nothing is in the window
		t.From, t.To = c.first, c.last
		if t.set {
			return t, nil
		}
	}
	rows := c.window.rows(maxLanes)
	bars, tools, ends := 0, 0, 0
	for _, b := range rows {
		bars, tools, ends = bars+b.invocations, tools+b.tools/2, ends+b.ends
		if b.invocations+b.tools+b.ends == 0 && len(rows) > 1 && b.first == 0 {
			continue // what comes before the cycles
		}
		t.Lanes = append(t.Lanes, Lane{From: b.first, To: b.last, Invocations: b.invocations, Calls: (b.tools + 1) / 2, Millis: max(0, b.endTime.Sub(b.firstTime).Milliseconds())})
	}
	t.Grouped = c.window.width > 1 || bars > maxBars || tools > maxTicks
	if len(rows) == 0 {
		return t, nil
	}
	q := record.Query{Run: name, After: rows[0].firstSeq - 1, Before: rows[0].lastSeq + 1}
	for _, b := range rows {
		q.After, q.Before = min(q.After, b.firstSeq-1), max(q.Before, b.lastSeq+1)
	}
	if t.Grouped {
		return t, s.sumUp(ctx, t, q, ends)
	}
	return t, s.detail(ctx, t, q)
}

// lane finds the lane of a cycle.
func (t *Timeline) lane(cycle int) *Lane {
	i, _ := slices.BinarySearchFunc(t.Lanes, cycle, func(l Lane, cycle int) int {
		if l.To < cycle {
			return -1
		}
		return 1
	})
	if i < len(t.Lanes) && t.Lanes[i].From <= cycle {
		return &t.Lanes[i]
	}
	return nil
}

// sumUp draws each lane as one bar, from the ends of its cycles.
func (s *Source) sumUp(ctx context.Context, t *Timeline, q record.Query, ends int) error {
	if ends <= maxEnds {
		var read reading
		q.Types = []record.Type{record.TypeCycleEnd}
		sums := map[*Lane]int64{}
		_, err := s.back(ctx, q, &read, func(g *record.Glimpse) bool {
			x, ok := g.Event.Payload.(record.CycleEnd)
			l := t.lane(g.Event.Cycle)
			if !ok || l == nil {
				return true
			}
			sums[l] = plus(sums[l], x.Millis)
			if !l.Several() {
				l.Status, l.Summary = shorttext.Cut(x.Status, maxName), glance(x.Summary)
			}
			if x.Metrics != nil {
				l.Counted = true
				l.Thought, l.Visible = l.Thought+max(0, x.Metrics.ThoughtBytes), l.Visible+max(0, x.Metrics.VisibleBytes)
			}
			return true
		})
		if err != nil {
			return err
		}
		t.Unreadable = read.unreadable
		for l, n := range sums {
			if l.Several() || n > 0 {
				l.Millis = n
			}
		}
	}
	t.axis()
	for i := range t.Lanes {
		l := &t.Lanes[i]
		b := Bar{Wide: t.place(l.Millis), Known: l.Counted}
		b.cut(l.Thought, l.Visible)
		l.Bars = []Bar{b}
	}
	return nil
}

// plus adds times that a record says, which may be anything.
func plus(a, b int64) int64 {
	if b = max(0, b); a > math.MaxInt64/2-b {
		return math.MaxInt64 / 2
	}
	return a + b
}

// cut divides a bar by the bytes of its thoughts and of its visible text.
func (b *Bar) cut(thought, visible int) {
	b.Wide = max(b.Wide, thinnest)
	if all := float64(max(0, thought)) + float64(max(0, visible)); all > 0 {
		b.Thought = min(b.Wide, round(b.Wide*float64(max(0, thought))/all))
	}
}

// place is where a time is on the axis, in percent.
func (t *Timeline) place(ms int64) float64 {
	return round(100 * float64(min(max(0, ms), t.Millis)) / float64(max(1, t.Millis)))
}

func round(v float64) float64 { return math.Round(v*100) / 100 }

// axis chooses the length of the axis, and its ticks.
func (t *Timeline) axis() {
	t.Millis = 1
	for i := range t.Lanes {
		t.Millis = max(t.Millis, t.Lanes[i].Millis)
	}
	t.Millis = min(t.Millis, math.MaxInt64/int64(4*time.Millisecond)) // a Duration holds it
	for _, tick := range report.TimeTicks(time.Duration(t.Millis)*time.Millisecond, axisParts) {
		at := round(100 * tick.Value / float64(t.Millis))
		t.Ticks = append(t.Ticks, Tick{at, tick.Label, at > 92})
	}
}

// A drawn event has its place in milliseconds from the beginning of its cycle.
type drawn struct {
	lane   *Lane
	at, ms int64
	step   *Step
	mark   *Mark
}

// detail draws each invocation and each call.
func (s *Source) detail(ctx context.Context, t *Timeline, q record.Query) error {
	q.Types = []record.Type{
		record.TypeRunStart, record.TypeCycleStart, record.TypeInvocation, record.TypeToolCall, record.TypeCycleEnd, record.TypeRunEnd,
	}
	var read reading
	var events []record.Glimpse
	cut, err := s.back(ctx, q, &read, func(g *record.Glimpse) bool {
		if t.lane(g.Event.Cycle) != nil || g.Type == record.TypeRunStart {
			slim(g)
			events = append(events, *g)
		}
		return len(events) < 4*(maxBars+maxTicks)
	})
	if err != nil {
		return err
	}
	slices.Reverse(events)
	t.Partial, t.Unreadable = cut || len(events) == 4*(maxBars+maxTicks), read.unreadable
	d := drawing{t: t, open: map[int]*drawn{}, clocks: map[*Lane]*clock{}}
	for i := range events {
		d.event(&events[i])
	}
	d.finish()
	return nil
}

// slim forgets what a timeline does not need of an event, so that many fit into memory.
func slim(g *record.Glimpse) {
	if x, ok := g.Event.Payload.(record.Invocation); ok {
		row := view.RowOf(g)
		g.Event = record.Event{Seq: g.Event.Seq, Time: g.Time, Run: g.Run, Cycle: g.Event.Cycle, Type: g.Type, Payload: record.Invocation{
			Model: x.Model, Purpose: x.Purpose, Attempt: x.Attempt, Millis: x.Millis,
		}}
		g.Event.Payload = slimmed{g.Event.Payload, row}
		return
	}
	p := g.Event.Payload
	switch x := p.(type) {
	case record.ToolCall:
		x.Arguments, x.Result = record.Content{}, record.Content{}
		p = x
	case record.CycleStart:
		p = record.CycleStart{}
	case record.CycleEnd:
		x.Summary = record.Say(string(glance(x.Summary)))
		p = x
	case record.RunStart:
		p = record.RunStart{Resumed: x.Resumed || x.Extended}
	}
	g.Event = record.Event{Seq: g.Event.Seq, Time: g.Time, Run: g.Run, Cycle: g.Event.Cycle, Type: g.Type, Payload: p}
}

// slimmed is an invocation of which only the row is kept.
type slimmed struct {
	record.Payload
	row view.Row
}

// A clock gives times in a cycle without the pauses in which the run did not run.
type clock struct {
	began  time.Time
	paused time.Duration
}

// drawing collects what a timeline draws.
type drawing struct {
	t      *Timeline
	all    []*drawn
	open   map[int]*drawn // calls without an end, by number
	clocks map[*Lane]*clock
	last   time.Time // of the event before
	now    *Lane
}

func (d *drawing) event(g *record.Glimpse) {
	e := &g.Event
	l := d.t.lane(e.Cycle)
	if start, ok := e.Payload.(record.RunStart); ok {
		if k := d.clocks[d.now]; start.Resumed && k != nil && e.Time.After(d.last) {
			d.all = append(d.all, &drawn{lane: d.now, at: d.offset(k, e.Time), mark: &Mark{Event: e.Seq, Pause: true, Millis: e.Time.Sub(d.last).Milliseconds()}})
			k.paused += e.Time.Sub(d.last)
		}
		d.last = e.Time
		return
	}
	if l == nil {
		return
	}
	k := d.clocks[l]
	if k == nil {
		k = &clock{began: e.Time}
		if x, ok := e.Payload.(slimmed); ok { // a run without starts of cycles
			k.began = e.Time.Add(-time.Duration(min(max(0, x.row.Millis), math.MaxInt64/int64(2*time.Millisecond))) * time.Millisecond)
		}
		d.clocks[l] = k
	}
	d.last, d.now = e.Time, l
	at := d.offset(k, e.Time)
	switch x := e.Payload.(type) {
	case slimmed:
		inv := x.Payload.(record.Invocation)
		ms := min(max(0, inv.Millis), at)
		step := &Step{Row: x.row, Cycle: e.Cycle, Purpose: shorttext.Cut(inv.Purpose, maxName), Attempt: inv.Attempt, Offset: at - ms}
		d.all = append(d.all, &drawn{lane: l, at: at - ms, ms: ms, step: step})
	case record.ToolCall:
		d.call(l, e, &x, at)
	case record.CycleEnd:
		l.Status, l.Summary = shorttext.Cut(x.Status, maxName), glance(x.Summary)
	}
	l.Millis = max(at, 0)
}

// offset is a time in a cycle.
func (d *drawing) offset(k *clock, at time.Time) int64 {
	return max(0, (at.Sub(k.began) - k.paused).Milliseconds())
}

func (d *drawing) call(l *Lane, e *record.Event, x *record.ToolCall, at int64) {
	m := &Mark{Event: e.Seq, Name: shorttext.Cut(x.Name, maxName), Millis: max(0, x.Millis), Failed: x.Error != ""}
	if x.Phase == "start" {
		m.Open = true
		one := &drawn{lane: l, at: at, mark: m}
		d.all, d.open[x.Number] = append(d.all, one), one
		return
	}
	if x.Child != nil && len(x.Child.Run) <= maxName {
		m.Run = x.Child.Run
	}
	ms := min(m.Millis, at)
	if one := d.open[x.Number]; one != nil && one.lane == l {
		delete(d.open, x.Number)
		one.mark, one.ms = m, at-one.at
		return
	}
	d.all = append(d.all, &drawn{lane: l, at: at - ms, ms: ms, mark: m})
}

// finish places everything on the axis, whose length is known now.
func (d *drawing) finish() {
	t := d.t
	for i := range t.Lanes {
		t.Lanes[i].Invocations, t.Lanes[i].Calls, t.Lanes[i].Counted = 0, 0, true
		if d.clocks[&t.Lanes[i]] == nil {
			t.Lanes[i].Millis = 0
		}
	}
	t.axis()
	for _, x := range d.all {
		l := x.lane
		if x.step == nil {
			x.mark.At, x.mark.Wide = t.place(x.at), max(t.place(x.ms), thinnest)
			l.Marks = append(l.Marks, *x.mark)
			if !x.mark.Pause {
				l.Calls++
			}
			continue
		}
		b := Bar{Event: x.step.Event, From: t.place(x.at), Wide: t.place(x.ms), Failed: x.step.Failed, Step: x.step, Known: !x.step.Partial}
		b.From = min(b.From, 100-thinnest)
		b.cut(x.step.Reasoning, x.step.Visible)
		l.Bars = append(l.Bars, b)
		l.Invocations++
		l.Thought, l.Visible = l.Thought+x.step.Reasoning, l.Visible+x.step.Visible
	}
}
