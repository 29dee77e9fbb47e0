package sotto_test

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// Events with a start that the dialect does not have give the error, and nothing else.
func TestEventsOfAnUnknownStart(t *testing.T) {
	n := 0
	for ev, err := range sotto.Default().Events(func(func(string, error) bool) {}, sotto.StreamOptions{Options: sotto.Options{Start: "inside:nothing"}}) {
		if n++; ev != nil || err == nil || !strings.Contains(err.Error(), "inside:nothing") {
			t.Errorf("event %v, error %v", ev, err)
		}
	}
	if n != 1 {
		t.Errorf("%d events, want the error alone", n)
	}
}

// The longest tag that fits MaxMarker, with its slash and brackets, is a marker; a longer
// one is refused.
func TestTagsAsLongAsMaxMarker(t *testing.T) {
	dialect := func(tag string) dialect.Dialect {
		return dialect.Dialect{Name: "long", MaxMarker: 16, Markers: []dialect.Marker{{Role: dialect.RoleReasoning, Tag: tag}}}
	}
	tag := strings.Repeat("k", 13)
	g, err := sotto.Compile(dialect(tag))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := g.Strip("<"+tag+">a</"+tag+">b", sotto.BeginOutside); err != nil || got != "b" {
		t.Errorf("visible %q, error %v", got, err)
	}
	if _, err := sotto.Compile(dialect(tag + "k")); err == nil || !strings.Contains(err.Error(), "longer than max_marker") {
		t.Errorf("a longer tag: %v", err)
	}
}

// Only the tail of a prompt is read: a marker before it says nothing.
func TestBeginningOfReadsTheTail(t *testing.T) {
	const tail = 64 << 10
	for before, want := range map[int]bool{tail: true, tail + 1: false} {
		prompt := "<think>" + strings.Repeat("\n", before-len("<think>"))
		if start, ok := sotto.Default().BeginningOf(prompt); ok != want || ok && start != sotto.BeginInside("think") {
			t.Errorf("%d bytes: %q %v", before, start, ok)
		}
	}
}

// A reply may end directly after the name of a call.
func TestCallThatEndsWithItsName(t *testing.T) {
	g := sotto.MustCompile(dialect.Dialect{Name: "names", Markers: []dialect.Marker{
		{Role: dialect.RoleReasoning, Tag: "think"}, {Role: dialect.RoleTool, Name: "tool", Open: []string{"[CALL]"}, Special: true},
	}})
	for tool, want := range map[string]int{"look": 1, "loo": 0, "ok": 0} {
		r, err := g.ParseWith("<think>a[CALL]look", sotto.Options{Start: sotto.BeginOutside, Tools: []string{tool}}, sotto.EndStopped)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(r.RawOf(sotto.ChannelTool), "[CALL]look"); got != want {
			t.Errorf("tool %q: %d calls, want %d, in %v", tool, got, want, r.Segments)
		}
	}
}

// Strip reads a text four times at most. What a fourth reading has not cleaned is withheld.
func TestStripReadsFourTimes(t *testing.T) {
	block := "<think>a</think>"
	for levels := 1; levels < 8; levels++ {
		want := "xy"
		if levels > 4 {
			want = ""
		}
		if got, err := sotto.Default().Strip("x"+block+"y", sotto.BeginOutside); err != nil || got != want {
			t.Errorf("%d levels: %q, %v", levels, got, err)
		}
		block = "<th" + block + "ink>a</think>" // a block in the middle of a tag
	}
}

// Strip of the package finds a thought that the prompt opened.
func TestStripOfAnyReply(t *testing.T) {
	for raw, want := range map[string]string{"SECRET</think>Yes.": "Yes.", "Yes.": "Yes.", "": ""} {
		if got := sotto.Strip(raw); got != want {
			t.Errorf("%q: %q", raw, got)
		}
	}
}

// Channels and ends that do not exist are written as numbers; an empty end is unknown.
func TestNamesOfChannelsAndEnds(t *testing.T) {
	if got := sotto.Channel(6).String() + " " + sotto.Ending(4).String() + " " + sotto.ChannelMarkup.String() + " " + sotto.EndAborted.String(); got != "channel(6) end(4) markup aborted" {
		t.Error(got)
	}
	end := sotto.EndCut
	if err := end.UnmarshalText([]byte("x")); err == nil || end != sotto.EndCut {
		t.Errorf("x is read as %s, %v", end, err)
	}
	if err := end.UnmarshalText(nil); err != nil || end != sotto.EndUnknown {
		t.Errorf("nothing is read as %s, %v", end, err)
	}
}

// The splitter of a short reply reads the next one too. That of a long reply is not kept.
func TestParseReusesSplitters(t *testing.T) {
	g := sotto.MustCompile(sotto.Default().Dialect()) // of which no splitter waits yet
	allocs := func(raw string) float64 {
		return testing.AllocsPerRun(1, func() {
			if _, err := g.Parse(raw, sotto.BeginAuto, sotto.EndStopped); err != nil {
				t.Fatal(err)
			}
		})
	}
	const reply = "<think>a</think>b"
	long := allocs(reply + strings.Repeat(" ", 1<<16))
	short := long
	for range 20 { // a pool may lose what it holds
		short = min(short, allocs(reply))
	}
	if short >= long {
		t.Errorf("%v allocations for a short reply, %v for a long one", short, long)
	}
}
