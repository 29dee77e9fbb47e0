package sotto_test

import (
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// hostileUnits are strings that a reply may repeat without end, each with the
// string that comes before. They cover all that the reader waits for, keeps or counts.
var hostileUnits = []struct{ before, unit string }{
	{"", "\n"},
	{"<think>x</think>", " \n"},
	{"<think>x\n</thought>", " "}, // is the close alone on its line?
	{"", "</think>"},
	{"<output>a", "\n"},
	{"", "<output> </output>"},
	{"", "<think></think>"},
	{"a\n```\n", "</think>"},
	{"", " "},
	{"<think>x", " "},
	{"<think>x</think>a\n</think>", "\t"},
	{"<think>x</think>a</think>", " "},
	{"a ", "</think>"},
	{"`a ", "</think>"},
	{"a ``` ", "x`</think>``"},
	{"a\n```\n", "<think>"},
	{"`a ", "<think>"},
	{"<think>", "</thought>"},
	{"<think>", "</thought>\n"},
	{"a<think>", "</thought> "},
	{"a", "<think></think>"},
	{"<think>", "<think>"},
	{"<think>", "<think>x</thought>"},
	{"", `<think a="</think>`},
	{"<think>", `<think a="</think>`},
	{"<think>", `<think a='"</think>x`},
	{"<output>a", "<think> </think> "},
	{"", "<output>a</output>"},
	{"a", "<output>"},
	{"", "<scratch_pad>"},
	{"a", "<scratch_pad>"},
	{"<scratch_pad>", "<output>"},
	{"<scratch_pad>", "<output>a</output>"},
	{"", "<scratch_pad><output>a</output></scratch_pad>"},
	{"", "<narrate>"},
	{"", "<narrate>a\n\n"},
	{"<narrate>a\n", " "},
	{"a", "`"},
	{"a ", "`a"},
	{"a", "~~~\n"},
	{"a\n", "```\n"},
	{"a", `"`},
	{"a", `"<think>"`},
	{"a", "<"},
	{"a", "<th"},
	{"a ", "<think "},
	{"a", "{\"<function="},
	{"\xef\xbb\xbf", "\xff"},
}

// longUnits is how many of the hostile units are repeated for the longest replies.
const longUnits = 8

// markersOf returns strings to repeat, made of a dialect's own markers.
func markersOf(d dialect.Dialect) []string {
	var units []string
	for _, m := range d.Markers {
		if m.Tag != "" {
			units = append(units, "<"+m.Tag+">", "</"+m.Tag+">", "<"+m.Tag+">x</"+m.Tag+"> ")
		}
		units = append(units, m.Open...)
		units = append(units, m.Close...)
	}
	if h := d.Header; h != nil {
		for _, list := range [][]string{h.Begin, h.Body, h.End, h.Name, h.Close, h.Lead} {
			units = append(units, list...)
		}
		units = append(units, h.Begin[0]+"final"+h.Body[0]+" ")
	}
	slices.Sort(units)
	units = slices.Compact(units)
	if len(units) > 12 {
		units = units[:12]
	}
	return units
}

// heldAfter feeds a splitter size bytes of a unit. It returns how many bytes of the
// heap the splitter keeps alive, and how many bytes of the reply it held at most.
func heldAfter(t *testing.T, g *sotto.Grammar, o sotto.Options, before, unit string, size int) (heap, held int) {
	t.Helper()
	s, err := g.NewSplitter(o)
	if err != nil {
		t.Fatal(err)
	}
	delta := []byte(strings.Repeat(unit, max(1, 4096/len(unit))))
	least := heapInUse()
	s.FeedString(before)
	for n := 0; n < size; n += len(delta) {
		s.Feed(delta)
		held = max(held, s.Held())
	}
	heap = heapInUse() - least
	if n := len(s.Diagnostics()); n > sotto.MaxDiagnostics {
		t.Errorf("%q: %d diagnostics", unit, n)
	}
	runtime.KeepAlive(s)
	return heap, held
}

func heapInUse() int {
	runtime.GC()
	runtime.GC() // what a pool held is freed by the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A splitter's memory does not grow with the reply, whatever is repeated in it: it
// stays below a constant multiple of MaxHold. In the long proofs the first units are
// repeated for 64 MB.
func TestMemoryIsBounded(t *testing.T) {
	const maxHold = 4 << 10 // small compared with the reply; tokens and spans of held bytes cost more than the bytes
	const most = 128 * maxHold
	run := func(name string, g *sotto.Grammar, start sotto.Beginning, before, unit string, size int) {
		heap, held := heldAfter(t, g, sotto.Options{Start: start, MaxHold: maxHold}, before, unit, size)
		if heap > most || held > maxHold+2048 {
			t.Errorf("%s start %s %q and then %q: %d bytes held, %d KB of the heap", name, start, before, unit, held, heap>>10)
		}
	}
	for i, u := range hostileUnits {
		if effort.Brief() && (u.before != "" || !strings.Contains(u.unit, "=")) {
			continue // this one alone: closes in quoted values are kept beside the held bytes
		}
		size := 4 * most
		if n := effort.Times(); i < longUnits && n > 1 {
			size = 8 << 20 * n
		}
		run("default", sotto.Default(), sotto.BeginOutside, u.before, u.unit, size)
	}
	if effort.Brief() {
		return
	}
	for _, name := range []string{"output", "harmony", "granite", "seed_oss"} {
		g, err := sotto.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, start := range []sotto.Beginning{sotto.BeginOutside, sotto.BeginAuto} {
			for _, unit := range markersOf(g.Dialect()) {
				run(name, g, start, "a ", unit, 2*most)
			}
		}
	}
}

// A stream and a whole reading with the same bound keep the same first diagnostics
// and count all of them.
func TestDiagnosticsAreBounded(t *testing.T) {
	effort.OneGoroutine(t)
	for _, u := range hostileUnits {
		raw := u.before + strings.Repeat(u.unit, 3000)
		var lists [][]sotto.Diagnostic
		var counts []sotto.Counts
		for _, step := range []int{len(raw), 7} {
			s, err := sotto.Default().NewSplitter(sotto.Options{MaxHold: 512})
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(raw); i += step {
				s.FeedString(raw[i:min(i+step, len(raw))])
			}
			s.Close(sotto.EndStopped)
			lists, counts = append(lists, s.Diagnostics()), append(counts, s.Counts())
		}
		if !slices.Equal(lists[0], lists[1]) || !maps.Equal(counts[0], counts[1]) {
			t.Errorf("%q and then %q: whole %v, in deltas %v", u.before, u.unit, counts[0], counts[1])
		}
		if n := counts[0].Total(); len(lists[0]) != min(n, sotto.MaxDiagnostics) {
			t.Errorf("%q and then %q: %d diagnostics of %d", u.before, u.unit, len(lists[0]), n)
		}
		r, err := sotto.Default().Parse(raw, sotto.BeginOutside, sotto.EndStopped)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Diagnostics) != min(r.Counts.Total(), sotto.MaxDiagnostics) {
			t.Errorf("%q and then %q: a reply of %d diagnostics lists %d", u.before, u.unit, r.Counts.Total(), len(r.Diagnostics))
		}
	}
}

// The kept diagnostics are the first by their offsets, even if the one with the
// lowest offset is found last: here the narration that was never closed.
func TestFirstDiagnostics(t *testing.T) {
	raw := "<narrate>" + strings.Repeat("<think>a<think>b</think></think>", 2*sotto.MaxDiagnostics)
	r, err := sotto.Default().Parse(raw, sotto.BeginOutside, sotto.EndStopped)
	if err != nil {
		t.Fatal(err)
	}
	want := []sotto.Code{sotto.CodeUnclosedNarration, sotto.CodeNested, sotto.CodeNested}
	if got := codesOf(r.Diagnostics[:3]); !slices.Equal(got, want) || r.Diagnostics[0].Offset != 0 {
		t.Errorf("the first are %v at %d, want %v", got, r.Diagnostics[0].Offset, want)
	}
	if n := r.Counts[sotto.CodeNested]; n != 2*sotto.MaxDiagnostics {
		t.Errorf("%d nested openers", n)
	}
}

func codesOf(list []sotto.Diagnostic) []sotto.Code {
	var codes []sotto.Code
	for _, d := range list {
		codes = append(codes, d.Code)
	}
	return codes
}

// Diagnostics are copies: what a caller does to them does not change the splitter's.
func TestDiagnosticsAreCopies(t *testing.T) {
	s, err := sotto.Default().NewSplitter(sotto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.FeedString("</think>a")
	s.Diagnostics()[0].Code = "changed"
	if got := s.Diagnostics(); got[0].Code != sotto.CodeStrayClose {
		t.Errorf("%v", got)
	}
}

// A MaxHold smaller than MaxMarker counts as MaxMarker (law 4): white space that long
// waits, and nothing of it is lost.
func TestSmallMaxHold(t *testing.T) {
	most := sotto.Default().Dialect().MaxMarker
	for n, early := range map[int]int{2: 0, most: 0, most + 1: most + 1} {
		s, err := sotto.Default().NewSplitter(sotto.Options{MaxHold: 1})
		if err != nil {
			t.Fatal(err)
		}
		got := len(visibleOf(s.FeedString(strings.Repeat(" ", n))))
		if late := len(visibleOf(s.Close(sotto.EndStopped))); got != early || got+late != n {
			t.Errorf("%d spaces: %d are visible at once and %d at the end, want %d and %d", n, got, late, early, n-early)
		}
	}
}

// A tag that cannot end within MaxMarker is text as soon as that is certain: its bytes are
// held if the least that it still needs fits, and are not if it does not.
func TestTagsThatCannotEnd(t *testing.T) {
	const most = 16
	g := sotto.MustCompile(dialect.Dialect{Name: "short", MaxMarker: most, Markers: []dialect.Marker{
		{Role: dialect.RoleReasoning, Tag: "k"}, {Role: dialect.RoleReasoning, Tag: "klm", Family: "k"},
	}})
	for _, c := range []struct{ tag, pad, least string }{
		{"<%", " ", "k>"}, {"</%", " ", "k>"}, {"<%/", " ", "k>"}, {"<%k", " ", ">"}, {"<%kl", " ", "m>"}, {"</%kl", " ", "m>"}, {"<%klm", " ", ">"}, {"<k%", " ", ">"},
		{"<k%a", " ", "=b>"}, {"<k%a=", " ", "b>"}, {"<k a%", "a", "=b>"}, {"<k a=b%", "b", ">"}, {"<k%a=b/", " ", ">"}, {"<k%a=/", " ", "b>"},
		{`<k a="%`, "b", `">`}, {"<k a='%", "b", "'>"}, {`<k a=""%`, " ", ">"}, {"<k%/", " ", ">"},
	} {
		for n, fits := range map[int]bool{0: true, 1: false} {
			pad := strings.Repeat(c.pad, most-(len(c.tag)-1)-len(c.least)+n)
			tag := strings.Replace(c.tag, "%", pad, 1)
			s, err := g.NewSplitter(sotto.Options{})
			if err != nil {
				t.Fatal(err)
			}
			s.FeedString("<k>a</k>x") // so that closes count too
			s.FeedString(tag)
			if held := s.Held() > 0; held != fits {
				t.Errorf("%q, which may go on %q: held %v, want %v", tag, c.least, held, fits)
			}
		}
	}
}

// A MaxHold longer than any reply can be counts as unlimited, like a negative one.
func TestLongMaxHold(t *testing.T) {
	for _, most := range []int{-1, math.MinInt, math.MaxInt/2 + 1, math.MaxInt} {
		s, err := sotto.Default().NewSplitter(sotto.Options{MaxHold: most})
		if err != nil {
			t.Fatal(err)
		}
		raw := "a <think>" + strings.Repeat("b", 300<<10) // more than the dialect's bound
		s.FeedString(raw)
		if held := s.Held(); held != len(raw)-2 || len(s.Diagnostics()) > 0 {
			t.Errorf("%d: %d of %d bytes are held, %v", most, held, len(raw), s.Diagnostics())
		}
	}
}

// The bodies that were shown are not kept, nor the blank lines between them.
func TestShownTextIsNotKept(t *testing.T) {
	if heap, held := heldAfter(t, sotto.Default(), sotto.Options{}, "<output>", "a<output>", 1<<20); heap > 192<<10 || held > 16 {
		t.Errorf("%d bytes held, %d KB of the heap", held, heap>>10)
	}
}

// A MaxHold smaller than MaxHeader counts as that one: a header that is not yet over is
// waited for, although it may begin the reply's first doubt.
func TestSmallMaxHoldWithHeaders(t *testing.T) {
	g := mustNamed("harmony")
	if d := g.Dialect(); d.Header.MaxHeader <= 2*d.MaxMarker {
		t.Fatalf("a header has at most %d bytes", d.Header.MaxHeader)
	}
	s, err := g.NewSplitter(sotto.Options{Start: sotto.BeginAuto, MaxHold: 1})
	if err != nil {
		t.Fatal(err)
	}
	raw := "<|start|>" + strings.Repeat("x", 2*g.Dialect().MaxMarker-40) + "<|channel|>final<|message|>Yes."
	if got := visibleOf(s.FeedString(raw)) + visibleOf(s.Close(sotto.EndStopped)); got != "Yes." || len(s.Diagnostics()) > 0 {
		t.Errorf("visible %q, %v", got, s.Diagnostics())
	}
}

// White space that waits is shown once more than MaxHold of it waits, before the
// reply goes on, and however the reply is cut.
func TestWaitingWhiteSpaceIsShown(t *testing.T) {
	white := strings.Repeat("\n", 201)
	for _, c := range []struct{ raw, shown, visible string }{
		{white, white, white},
		{white + "<think>x</think>a", white, white + "a"},
		{white[1:] + "<think>x</think>a", "", "a"},
		{white + "<output>a</output>", white, white + "a"},
		{"<output>a" + white + "</output>", "a" + white, "a" + white},
		{"<output>a" + white[1:] + "</output>", "a", "a"},
	} {
		for _, step := range []int{1, 7, len(c.raw)} {
			s, err := sotto.Default().NewSplitter(sotto.Options{MaxHold: 200})
			if err != nil {
				t.Fatal(err)
			}
			visible, atWhite := "", ""
			end := strings.LastIndexByte(c.raw, '\n') + 1
			for i := 0; i < len(c.raw); {
				n := min(step, len(c.raw)-i)
				if i < end {
					n = min(n, end-i)
				}
				visible += visibleOf(s.FeedString(c.raw[i : i+n]))
				if i += n; i == end {
					atWhite = visible
				}
			}
			visible += visibleOf(s.Close(sotto.EndStopped))
			if visible != c.visible || atWhite != c.shown {
				t.Errorf("%q in deltas of %d: %q, and %q at the end", c.raw, step, atWhite, visible)
			}
		}
	}
}

// visibleOf returns the visible bytes of pieces.
func visibleOf(pieces []sotto.Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		b.Write(p.Visible)
	}
	return b.String()
}
