package dialecttest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// A stream is the output of a splitter for a reply fed in some cuts.
type stream struct {
	segments    []sotto.Segment
	bytes       string // the bytes of the pieces, joined
	visible     string
	shownBy     []shownBy // segments, and what became visible with them
	diagnostics []sotto.Diagnostic
	broken      string // how the pieces fail to follow one another
}

// shownBy says how much visible text came with a segment's pieces.
type shownBy struct{ segment, bytes int }

// feed reads a trial cut at the given offsets.
func (s *suite) feed(tr trial, cuts []int) stream {
	sp := s.splitter(tr)
	var out stream
	at := 0
	for _, cut := range append(slices.Clone(cuts), len(tr.raw)) {
		delta := []byte(tr.raw[at:cut])
		out.append(sp.Feed(delta))
		for i := range delta { // the splitter must not keep the delta
			delta[i] = '#'
		}
		at = cut
	}
	out.append(sp.Close(tr.end))
	out.diagnostics = sp.Diagnostics()
	return out
}

// splitter returns a splitter for a trial. The dialect has the trial's start.
func (s *suite) splitter(tr trial) *sotto.Splitter {
	sp, err := s.g.NewSplitter(sotto.Options{Start: tr.start, MaxHold: tr.maxHold, Tools: s.slow.tools})
	if err != nil {
		panic(err)
	}
	return sp
}

func (o *stream) append(pieces []sotto.Piece) {
	for _, p := range pieces {
		o.visible += string(p.Visible)
		if k := len(o.shownBy); k > 0 && o.shownBy[k-1].segment == p.Segment {
			o.shownBy[k-1].bytes += len(p.Visible)
		} else if len(p.Visible) > 0 {
			o.shownBy = append(o.shownBy, shownBy{p.Segment, len(p.Visible)})
		}
		if p.Offset != len(o.bytes) {
			o.broken = fmt.Sprintf("a piece at %d, want %d", p.Offset, len(o.bytes))
		}
		o.bytes += string(p.Bytes)
		if k := len(o.segments); p.Segment == k-1 {
			o.segments[k-1].End = len(o.bytes)
		} else if p.Segment != k {
			o.broken = fmt.Sprintf("segment %d after %d", p.Segment, k-1)
		} else {
			o.segments = append(o.segments, sotto.Segment{Channel: p.Channel, Block: p.Block, Output: p.Output, Start: p.Offset, End: len(o.bytes)})
		}
	}
}

func (o *stream) equal(b *stream) bool {
	return o.bytes == b.bytes && o.visible == b.visible && slices.Equal(o.shownBy, b.shownBy) &&
		slices.Equal(o.segments, b.segments) && slices.Equal(o.diagnostics, b.diagnostics)
}

// conservation is law 1: the segments' bytes, joined, are the reply.
func (s *suite) conservation(tr trial) *fault {
	switch got := s.feed(tr, tr.cuts); {
	case got.broken != "":
		return tr.fault("%s", got.broken)
	case got.bytes != tr.raw:
		return tr.fault("the segments hold %q", got.bytes)
	}
	return nil
}

func everyByte(n int) []int {
	cuts := make([]int, 0, n)
	for i := 1; i < n; i++ {
		cuts = append(cuts, i)
	}
	return cuts
}

// splitInvariance is law 2: cuts mean nothing, and do not change the order in
// which text is shown. The reply is cut at every byte, at each place alone, and at
// random places.
func (s *suite) splitInvariance(tr trial) *fault {
	whole := s.feed(tr, nil)
	check := func(cuts []int) *fault {
		got := s.feed(tr, cuts)
		if got.equal(&whole) {
			return nil
		}
		f := tr.fault("cut:   %v %q %v\nwhole: %v %q %v", show(tr.raw, got.segments), got.visible, got.diagnostics,
			show(tr.raw, whole.segments), whole.visible, whole.diagnostics)
		f.cuts = cuts
		return f
	}
	if tr.cuts != nil {
		return check(tr.cuts)
	}
	if f := check(everyByte(len(tr.raw))); f != nil {
		return f
	}
	for i := 1; i < len(tr.raw); i++ {
		if f := check([]int{i}); f != nil {
			return f
		}
	}
	rnd := rand.New(rand.NewPCG(uint64(len(tr.raw)), 3))
	for range 4 {
		var cuts []int
		for i := 1; i < len(tr.raw); i++ {
			if rnd.IntN(4) == 0 {
				cuts = append(cuts, i)
			}
		}
		if f := check(cuts); f != nil {
			return f
		}
	}
	return nil
}

// slowReader checks that the machine reads as the slow reader of the whole text does.
func (s *suite) slowReader(tr trial) *fault {
	want, err := s.slow.read(tr.raw, tr.start, tr.end, tr.maxHold)
	if err != nil {
		panic(err)
	}
	got := s.feed(tr, tr.cuts)
	// The slow reader does not number blocks, and counts an output block's markers
	// as part of the output block.
	for i := range got.segments {
		got.segments[i].Block = 0
	}
	for i := range want.segments {
		want.segments[i].Output = want.segments[i].Output && want.segments[i].Channel == sotto.ChannelText
	}
	var f *fault
	switch {
	case !slices.Equal(got.segments, want.segments):
		f = tr.fault("machine: %v %q\nslow:    %v %q", show(tr.raw, got.segments), got.visible, show(tr.raw, want.segments), want.visible)
		f.rule = want.ruleAt(firstDifference(got.segments, want.segments))
	case got.visible != want.visible:
		f = tr.fault("%v\nmachine: %q\nslow:    %q", show(tr.raw, got.segments), got.visible, want.visible)
		f.rule = "G13"
	case !slices.Equal(got.diagnostics, want.diagnostics):
		f = tr.fault("%v\nmachine: %v\nslow:    %v", show(tr.raw, got.segments), got.diagnostics, want.diagnostics)
		f.rule = want.ruleAt(firstDiagnostic(got.diagnostics, want.diagnostics)) + " (diagnostics)"
	}
	return f
}

// firstDifference returns the first byte that two readings put in different
// segments.
func firstDifference(a, b []sotto.Segment) int {
	for i := range min(len(a), len(b)) {
		switch x, y := a[i], b[i]; {
		case x.Start != y.Start || x.Channel != y.Channel || x.Output != y.Output:
			return min(x.Start, y.Start)
		case x.End != y.End:
			return min(x.End, y.End)
		}
	}
	return 0
}

func firstDiagnostic(a, b []sotto.Diagnostic) int {
	at := -1
	for _, lists := range [][2][]sotto.Diagnostic{{a, b}, {b, a}} {
		for _, d := range lists[0] {
			if !slices.Contains(lists[1], d) && (at < 0 || d.Offset < at) {
				at = d.Offset
			}
		}
	}
	return max(at, 0)
}

func show(raw string, segments []sotto.Segment) string {
	var b strings.Builder
	for _, sg := range segments {
		name := sg.Channel.String()
		if sg.Output {
			name = "output"
		}
		fmt.Fprintf(&b, " %s:%q", name, raw[sg.Start:sg.End])
	}
	return b.String()
}

// boundedHold is law 4: apart from unfinished markers, no more than MaxHold is held.
func (s *suite) boundedHold(tr trial) *fault {
	tr.maxHold = s.d.MaxHold
	sp := s.splitter(tr)
	bound := tr.maxHold + s.d.MaxMarker + 1
	if h := s.d.Header; h != nil {
		bound += h.MaxHeader
	}
	for i := range len(tr.raw) {
		sp.FeedString(tr.raw[i : i+1])
		if held := sp.Held(); held > bound {
			return tr.fault("%d bytes held after byte %d, more than %d", held, i, bound)
		}
	}
	return nil
}

// idempotence is law 6: reading the visible text again gives it back, and Strip
// gives back its own result.
func (s *suite) idempotence(tr trial) *fault {
	once, err := s.g.Strip(tr.raw, tr.start)
	if err != nil {
		panic(err)
	}
	twice, err := s.g.Strip(once, sotto.BeginOutside)
	if err != nil {
		panic(err)
	}
	if once != twice {
		return tr.fault("Strip gives %q, and of that %q", once, twice)
	}
	first := s.feed(tr, tr.cuts)
	for _, d := range first.diagnostics {
		switch d.Code {
		case sotto.CodeLiteralMarker, sotto.CodeOrphanClose, sotto.CodeSplicedMarker, sotto.CodeHoldExpired:
			return nil
		}
	}
	if s.d.Placement == dialect.PlacementLeading || tr.maxHold > 0 || s.keepsTag(first, tr) {
		return nil
	}
	again := s.feed(trial{raw: first.visible, start: sotto.BeginOutside, end: sotto.EndUnknown, maxHold: -1}, nil)
	if again.visible != first.visible {
		return tr.fault("shows %q, and that read again %q", first.visible, again.visible)
	}
	return nil
}

// keepsTag reports whether a literal marker was kept as text.
func (s *suite) keepsTag(st stream, tr trial) bool {
	for _, sg := range st.segments {
		if sg.Channel == sotto.ChannelText && s.slow.hasMarker(tr.raw[sg.Start:sg.End]) {
			return true
		}
	}
	return false
}

// monotony is law 7: visible deltas, joined, are the visible text of the
// finished reply.
func (s *suite) monotony(tr trial) *fault {
	tr.maxHold = -1
	r, err := s.g.Parse(tr.raw, tr.start, tr.end)
	if err != nil {
		panic(err)
	}
	cuts := tr.cuts
	if cuts == nil {
		cuts = everyByte(len(tr.raw))
	}
	if got := s.feed(tr, cuts); got.visible != r.Visible() {
		return tr.fault("deltas %q, whole %q", got.visible, r.Visible())
	}
	return nil
}

// ordinary checks that an ordinary reply is given out without any hold beyond an
// unfinished marker.
func (s *suite) ordinary(tr trial) *fault {
	sp := s.splitter(tr)
	for i := range len(tr.raw) {
		sp.FeedString(tr.raw[i : i+1])
		held := sp.Held()
		switch {
		case held > s.d.MaxMarker:
			return tr.fault("%d bytes held after byte %d", held, i)
		case held > 0 && !s.slow.underWay(tr.raw[:i+1], i+1-held):
			return tr.fault("%q held, which begins no marker", tr.raw[i+1-held:i+1])
		}
	}
	return nil
}

// ordinaryTrials returns plain text and one block of each kind with text after it.
func (s *suite) ordinaryTrials() []trial {
	prose := "The answer is 42.\n\nIt follows from `a < b` and the table:\n\n| x | y |\n- one\n* two, \"quoted\"\n"
	var trials []trial
	add := func(raw string) {
		trials = append(trials, trial{raw: raw, start: sotto.BeginOutside})
	}
	anywhere := s.d.Output == dialect.PlacementAnywhere
	if !anywhere {
		add(prose)
	}
	for _, m := range s.d.Markers {
		open, close := "<"+m.Tag+">", "</"+m.Tag+">"
		if m.Tag == "" && len(m.Open) > 0 && len(m.Close) > 0 {
			open, close = m.Open[0], m.Close[0]
		}
		switch {
		case m.Role == dialect.RoleReasoning && anywhere:
			add(open + "I think so." + close)
		case m.Role == dialect.RoleReasoning:
			add(open + "I think so.\n\nOr not: `x`." + close + "\n\n" + prose)
		case m.Role == dialect.RoleOutput:
			add(open + prose)
		}
	}
	return trials
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
