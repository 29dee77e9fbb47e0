package dialecttest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/testhook"
)

// A stream is what a splitter gave for a reply fed in some cuts.
type stream struct {
	segments    []sotto.Segment
	bytes       string // of the pieces, joined
	visible     string
	shownBy     []shownBy // segments, and what became visible with them
	diagnostics []sotto.Diagnostic
}

// shownBy says how much of what is visible a segment's pieces brought.
type shownBy struct{ segment, bytes int }

// feed reads a trial cut at the given offsets.
func (s *suite) feed(t testing.TB, tr trial, cuts []int) stream {
	t.Helper()
	sp, err := s.g.NewSplitter(sotto.Options{Start: tr.start, MaxHold: tr.maxHold})
	if err != nil {
		t.Fatal(err)
	}
	var out stream
	at := 0
	for _, cut := range append(slices.Clone(cuts), len(tr.raw)) {
		delta := []byte(tr.raw[at:cut])
		out.take(t, tr, sp.Feed(delta))
		for i := range delta { // the splitter must not keep the delta
			delta[i] = '#'
		}
		at = cut
	}
	out.take(t, tr, sp.Close(tr.end))
	out.diagnostics = sp.Diagnostics()
	return out
}

func (o *stream) take(t testing.TB, tr trial, pieces []sotto.Piece) {
	t.Helper()
	for _, p := range pieces {
		o.visible += string(p.Visible)
		if k := len(o.shownBy); k > 0 && o.shownBy[k-1].segment == p.Segment {
			o.shownBy[k-1].bytes += len(p.Visible)
		} else if len(p.Visible) > 0 {
			o.shownBy = append(o.shownBy, shownBy{p.Segment, len(p.Visible)})
		}
		if p.Offset != len(o.bytes) {
			t.Fatalf("%v: a piece at %d, want %d", tr, p.Offset, len(o.bytes))
		}
		o.bytes += string(p.Bytes)
		if k := len(o.segments); p.Segment == k-1 {
			o.segments[k-1].End = len(o.bytes)
		} else if p.Segment != k {
			t.Fatalf("%v: segment %d after %d", tr, p.Segment, k-1)
		} else {
			o.segments = append(o.segments, sotto.Segment{Channel: p.Channel, Block: p.Block, Output: p.Output, Start: p.Offset, End: len(o.bytes)})
		}
	}
}

// conservation: the segments' bytes, joined, are the reply.
func (s *suite) conservation(t testing.TB, tr trial) {
	t.Helper()
	if got := s.feed(t, tr, nil); got.bytes != tr.raw {
		t.Errorf("%v: the segments hold %q", tr, got.bytes)
	}
}

func everyByte(n int) []int {
	cuts := make([]int, 0, n)
	for i := 1; i < n; i++ {
		cuts = append(cuts, i)
	}
	return cuts
}

// splitInvariance: cuts mean nothing, and do not change the order of what is shown.
func (s *suite) splitInvariance(t testing.TB, tr trial) {
	t.Helper()
	whole := s.feed(t, tr, nil)
	check := func(cuts []int) {
		t.Helper()
		if t.Failed() {
			return
		}
		if got := s.feed(t, tr, cuts); !equal(got, whole) {
			t.Errorf("%v\n cut at %v: %v\n whole:  %v", tr, cuts, got, whole)
		}
	}
	check(everyByte(len(tr.raw)))
	for i := 1; i < len(tr.raw); i++ {
		check([]int{i})
	}
	rnd := rand.New(rand.NewPCG(uint64(len(tr.raw)), 3))
	for range 4 {
		var cuts []int
		for i := 1; i < len(tr.raw); i++ {
			if rnd.IntN(4) == 0 {
				cuts = append(cuts, i)
			}
		}
		check(cuts)
	}
}

func equal(a, b stream) bool {
	return a.bytes == b.bytes && a.visible == b.visible && slices.Equal(a.shownBy, b.shownBy) && slices.Equal(a.segments, b.segments) && slices.Equal(a.diagnostics, b.diagnostics)
}

// slowReader: the machine reads as the slow reader of the whole text does.
func (s *suite) slowReader(t testing.TB, tr trial) {
	t.Helper()
	want, err := s.slow.read(tr.raw, tr.start, tr.end, tr.maxHold)
	if err != nil {
		t.Fatal(err)
	}
	got := s.feed(t, tr, nil)
	// The slow reader numbers no blocks, and says of an output block's markers
	// that they are its own.
	for i := range got.segments {
		got.segments[i].Block = 0
	}
	for i := range want.segments {
		want.segments[i].Output = want.segments[i].Output && want.segments[i].Channel == sotto.ChannelText
	}
	if !slices.Equal(got.segments, want.segments) || got.visible != want.visible {
		t.Errorf("%v\n machine: %v %q\n slow:    %v %q", tr, show(tr.raw, got.segments), got.visible, show(tr.raw, want.segments), want.visible)
		return
	}
	if !slices.Equal(got.diagnostics, want.diagnostics) {
		t.Errorf("%v\n %v\n machine: %v\n slow:    %v", tr, show(tr.raw, got.segments), got.diagnostics, want.diagnostics)
	}
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

// boundedHold: beyond unfinished markers, no more is held than MaxHold.
func (s *suite) boundedHold(t testing.TB, tr trial) {
	t.Helper()
	tr.maxHold = s.d.MaxHold
	sp, err := s.g.NewSplitter(sotto.Options{Start: tr.start, MaxHold: tr.maxHold})
	if err != nil {
		t.Fatal(err)
	}
	bound := tr.maxHold + s.d.MaxMarker + 1
	if h := s.d.Header; h != nil {
		bound += h.MaxHeader
	}
	for i := range len(tr.raw) {
		sp.FeedString(tr.raw[i : i+1])
		if held := sp.Held(); held > bound {
			t.Errorf("%v: %d bytes held after byte %d", tr, held, i)
			return
		}
	}
}

// idempotence: reading the visible text again gives it back.
func (s *suite) idempotence(t testing.TB, tr trial) {
	t.Helper()
	first := s.feed(t, tr, nil)
	for _, d := range first.diagnostics {
		switch d.Code {
		case sotto.CodeLiteralMarker, sotto.CodeOrphanClose, sotto.CodeSplicedMarker, sotto.CodeHoldExpired:
			return
		}
	}
	if strings.HasPrefix(string(s.d.Placement), "leading") || tr.maxHold > 0 || keptTag(s, first, tr) {
		return
	}
	again := s.feed(t, trial{first.visible, sotto.StartOutside, sotto.EndUnknown, -1}, nil)
	if again.visible != first.visible {
		t.Errorf("%v\n shows %q, and that read again %q", tr, first.visible, again.visible)
	}
}

// keptTag reports whether a literal marker was kept as text.
func keptTag(s *suite, st stream, tr trial) bool {
	for _, sg := range st.segments {
		if sg.Channel == sotto.ChannelText && s.slow.hasMarker(tr.raw[sg.Start:sg.End]) {
			return true
		}
	}
	return false
}

// monotony: visible deltas, joined, are the visible text of the finished reply.
func (s *suite) monotony(t testing.TB, tr trial) {
	t.Helper()
	tr.maxHold = -1
	r, err := s.g.Parse(tr.raw, tr.start, tr.end)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.feed(t, tr, everyByte(len(tr.raw))); got.visible != r.Visible() {
		t.Errorf("%v: deltas %q, whole %q", tr, got.visible, r.Visible())
	}
}

// ordinary: an ordinary reply is given out without any hold beyond an
// unfinished marker.
func (s *suite) ordinary(t *testing.T) {
	for _, raw := range s.ordinaryReplies() {
		sp, err := s.g.NewSplitter(sotto.Options{Start: sotto.StartOutside})
		if err != nil {
			t.Fatal(err)
		}
		for i := range len(raw) {
			sp.FeedString(raw[i : i+1])
			if held := sp.Held(); held > s.d.MaxMarker {
				t.Errorf("%q: %d bytes held after byte %d", raw, held, i)
			} else if held > 0 && !s.slow.underWay(raw[:i+1], i+1-held) {
				t.Errorf("%q: %q held, which begins no marker", raw, raw[i+1-held:i+1])
			}
		}
	}
}

func (s *suite) ordinaryReplies() []string {
	prose := "The answer is 42.\n\nIt follows from `a < b` and the table:\n\n| x | y |\n- one\n* two, \"quoted\"\n"
	var replies []string
	if s.d.Output != "anywhere" {
		replies = append(replies, prose)
	}
	for _, m := range s.d.Markers {
		open, close := "<"+m.Tag+">", "</"+m.Tag+">"
		if m.Tag == "" && len(m.Open) > 0 && len(m.Close) > 0 {
			open, close = m.Open[0], m.Close[0]
		}
		switch m.Role {
		case sotto.RoleReasoning:
			if s.d.Output == "anywhere" {
				replies = append(replies, open+"I think so."+close)
				continue
			}
			replies = append(replies, open+"I think so.\n\nOr not: `x`."+close+"\n\n"+prose)
		case sotto.RoleOutput:
			replies = append(replies, open+prose)
		}
	}
	return replies
}

// linear: the bytes looked at grow with the reply, not faster.
func (s *suite) linear(t *testing.T, size int) {
	for name, unit := range s.hostile() {
		for _, step := range []int{size, 1} {
			small := s.work(t, strings.Repeat(unit, max(size/16/len(unit), 1)), step)
			large := s.work(t, strings.Repeat(unit, max(size/len(unit), 1)), step)
			if large > 4.5 || large > 2*small+1 {
				t.Errorf("%s %q in deltas of %d: %.2f looks a byte at %d bytes, %.2f at a sixteenth", name, unit, step, large, size, small)
			}
		}
	}
}

// work returns how often a byte was looked at, the worst of the ways to read it.
func (s *suite) work(t testing.TB, raw string, step int) float64 {
	worst := 0.0
	for _, start := range s.starts() {
		for _, end := range Ends[:3] {
			sp, err := s.g.NewSplitter(sotto.Options{Start: start, MaxHold: -1})
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(raw); i += step {
				sp.FeedString(raw[i:min(i+step, len(raw))])
			}
			sp.Close(end)
			worst = max(worst, float64(testhook.Looks(sp))/float64(len(raw)))
		}
	}
	return worst
}

// hostile returns what is repeated to make replies that cost.
func (s *suite) hostile() map[string]string {
	m := map[string]string{
		"spaces": " ", "newlines": "\n", "less": "<", "ticks": "`", "tick lines": "`\n", "tilde lines": "~~~\n",
		"runs": "` `` ``` ", "quotes": `"`, "invalid": "\xff",
	}
	for i, a := range s.tokens {
		if i >= 24 {
			break
		}
		m[fmt.Sprint("token ", i)] = a
		m[fmt.Sprint("mid-line ", i)] = "x " + a + " "
		m[fmt.Sprint("ticked ", i)] = "` " + a
		m[fmt.Sprint("fenced ", i)] = "```a\n" + a
		for j, b := range s.tokens[:min(len(s.tokens), 8)] {
			m[fmt.Sprint("pair ", i, " ", j)] = a + "x" + b
			m[fmt.Sprint("lines ", i, " ", j)] = a + "\n" + b + " y "
		}
	}
	return m
}
