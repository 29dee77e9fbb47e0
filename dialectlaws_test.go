package sotto_test

import (
	"math"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/base/testhook"
)

func literalMarker(role dialect.Role, name, family string) dialect.Marker {
	return dialect.Marker{Role: role, Name: name, Family: family, Open: []string{"[" + name + "]"}, Close: []string{"[/" + name + "]"}}
}

// Replies whose closes look far ahead cost at most four looks a byte (law 5),
// however long they are, also in dialects where openers do not nest.
func TestFarCloses(t *testing.T) {
	effort.OneGoroutine(t)
	families := sotto.MustCompile(dialect.Dialect{Name: "families", Markers: []dialect.Marker{
		literalMarker(dialect.RoleReasoning, "A", "f"), literalMarker(dialect.RoleReasoning, "B", "f"),
	}})
	tools := sotto.MustCompile(dialect.Dialect{Name: "tools", AfterTool: dialect.RoleReasoning, Markers: []dialect.Marker{
		literalMarker(dialect.RoleReasoning, "A", "f"), literalMarker(dialect.RoleReasoning, "B", "f"), literalMarker(dialect.RoleReasoning, "C", "g"), {Role: dialect.RoleTool, Tag: "t"},
	}})
	apriel, err := sotto.Named("apriel")
	if err != nil {
		t.Fatal(err)
	}
	hunyuan, err := sotto.Named("hunyuan")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		g    *sotto.Grammar
		unit string
	}{
		{sotto.Default(), "<think>x</thinking>"},
		{sotto.Default(), "<thought>\n</think> y "},
		{sotto.Default(), "<think a=\"</think>x<think>y</think>\n"},
		{sotto.Default(), "<think a=\"</think>x\n"},
		{sotto.Default(), "<think>x"},
		{families, "[B]x[/A]"},
		{families, "[B]\n[/A] y "},
		{families, "[A]x[/B][B]x[/A]"},
		{tools, "<t>x</t>y[/B]z[C]w[/C]"}, // each block that a call resumes looks for its own close
		{hunyuan, "<think>\"</think>\" "},
		{apriel, "[BEGIN FINAL RESPONSE]\"[END FINAL RESPONSE]\" "},
	} {
		for _, n := range []int{200, 3200} {
			raw := strings.Repeat(tc.unit, n)
			for _, step := range []int{64, len(raw)} {
				for _, end := range []sotto.Ending{sotto.EndStopped, sotto.EndCut} {
					s, err := tc.g.NewSplitter(sotto.Options{})
					if err != nil {
						t.Fatal(err)
					}
					for i := 0; i < len(raw); i += step {
						s.FeedString(raw[i:min(i+step, len(raw))])
					}
					s.Close(end)
					if looks := testhook.Looks(s); looks > 4*len(raw) {
						t.Errorf("%s: %q %d times in deltas of %d, %v: %.1f looks a byte", tc.g.Dialect().Name, tc.unit, n, step, end, float64(looks)/float64(len(raw)))
					}
				}
			}
		}
	}
}

// A marker that waits for the rest of its line costs few looks, however small the deltas are.
func TestWaitingMarkers(t *testing.T) {
	for _, raw := range []string{
		"a `<think> " + strings.Repeat("x", 2000), "a `<think> " + strings.Repeat("`` ", 700), "```\n<think>" + strings.Repeat("x\n", 1000),
	} {
		s, err := sotto.Default().NewSplitter(sotto.Options{Start: sotto.BeginOutside, MaxHold: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		for i := range len(raw) {
			s.FeedString(raw[i : i+1])
		}
		s.Close(sotto.EndStopped)
		if looks := testhook.Looks(s); looks > 6*len(raw) {
			t.Errorf("%.20q: %.1f looks a byte", raw, float64(looks)/float64(len(raw)))
		}
	}
}

// A dialect whose markers are ambiguous, or that could not be read in
// linear time, does not compile. The error names the key and says what to write.
func TestRefusedLiterals(t *testing.T) {
	on, off := true, false
	reasoning := func(open, close string) dialect.Marker {
		return dialect.Marker{Role: dialect.RoleReasoning, Open: []string{open}, Close: []string{close}}
	}
	channels := map[string]dialect.Role{"": dialect.RoleReasoning}
	for _, tc := range []struct {
		d    dialect.Dialect
		says string // "" if the dialect compiles
	}{
		{dialect.Dialect{Markers: []dialect.Marker{reasoning("[A]", "[E]"), reasoning("[B]", "[E]")}}, "markers[1].close[0]: \"[E]\" equals markers[0].close[0]: write the two as one marker with both openers"},
		{dialect.Dialect{Markers: []dialect.Marker{reasoning("[A]", "[/A]"), {Role: dialect.RoleTool, Name: "t", Open: []string{"\n[A]"}}}}, "markers[1].open[0]: \"\\n[A]\" equals markers[0].open[0]: remove one, an opener begins one kind of block"},
		{dialect.Dialect{Markers: []dialect.Marker{{Role: dialect.RoleReasoning, Open: []string{"[A]", "[A]\n"}, Close: []string{"[/A]"}}}}, "markers[0].open[1]: \"[A]\\n\" equals markers[0].open[0], except for newlines at the ends: write it once"},
		{dialect.Dialect{Markers: []dialect.Marker{reasoning("[A]", "[E]"), {Role: dialect.RoleOutput, Open: []string{"[O]"}, Close: []string{"[E]"}}}}, "markers[1].close[0]: \"[E]\" equals markers[0].close[0]: give one of the two another close"},
		{dialect.Dialect{Markers: []dialect.Marker{reasoning("[A]", "[E]"), reasoning("[E]", "[F]")}}, "markers[1].open[0]: \"[E]\" equals markers[0].close[0]: remove one, an opener cannot also end a block"},
		{dialect.Dialect{Markers: []dialect.Marker{reasoning("[A]", "[E]"), {Role: dialect.RoleWrapper, Open: []string{"[W]"}, Close: []string{"[E]\n"}}}}, "markers[1].close[0]: \"[E]\\n\" equals markers[0].close[0]: give"},
		{dialect.Dialect{Markers: []dialect.Marker{ // the open block tells them apart
			reasoning("[A]", "[E]"), {Role: dialect.RoleWrapper, Open: []string{"[W]"}, Close: []string{"[E]"}}, {Role: dialect.RoleTool, Open: []string{"[T]"}, Close: []string{"[E]"}}}}, ""},
		{dialect.Dialect{Markers: []dialect.Marker{ // no two of one role, whatever comes between
			reasoning("[A]", "[E]"), {Role: dialect.RoleWrapper, Open: []string{"[W]"}, Close: []string{"[E]"}}, reasoning("[B]", "[E]")}}, "markers[2].close[0]: \"[E]\" equals markers[0].close[0]: write"},
		{dialect.Dialect{Markers: []dialect.Marker{reasoning("[A]", "[E]"), {Role: dialect.RoleWrapper, Open: []string{"[E]"}}}}, ""},
		{dialect.Dialect{Markers: []dialect.Marker{{Role: dialect.RoleReasoning, Tag: "think"}, reasoning("<THINK >", "[E]")}}, "markers[1].open[0]: \"<THINK >\" is a form of the tag \"think\": leave it out"},
		{dialect.Dialect{Markers: []dialect.Marker{{Role: dialect.RoleReasoning, Tag: "think"}, reasoning("<THINK\n<a", "[E]")}}, ""},
		{dialect.Dialect{Code: &on, Markers: []dialect.Marker{reasoning("```thinking\n", "\n```")}}, "markers[0].open[0]: \"```thinking\\n\" holds a back-tick"},
		{dialect.Dialect{Code: &on, Markers: []dialect.Marker{reasoning("[A]", "~~~")}}, "markers[0].close[0]: \"~~~\" begins like a code fence"},
		{dialect.Dialect{Code: &off, Markers: []dialect.Marker{reasoning("```thinking\n", "\n```")}}, ""},
		{dialect.Dialect{Markers: []dialect.Marker{reasoning("[A]", "[E]")}, Header: &dialect.Header{Begin: []string{"[A]"}, Body: []string{"|"}, Channels: channels}}, "header.begin[0]: \"[A]\" equals markers[0].open[0]: remove one"},
		{dialect.Dialect{Header: &dialect.Header{Begin: []string{"[A]"}, End: []string{"[A]"}, Body: []string{"|"}, Channels: channels}}, "header.end[0]: \"[A]\" opens the block too: an opener and a close must differ"},
		{dialect.Dialect{Header: &dialect.Header{Begin: []string{"[A]"}, Body: []string{"|"}, Channels: channels, MaxHeader: math.MaxInt}}, "header.max_header: 9223372036854775807: write 16 to 65536 bytes"},
		{dialect.Dialect{MaxMarker: 15, Markers: []dialect.Marker{reasoning("[A]", "[E]")}}, "max_marker: 15: write 16 to 4096 bytes"},
		{dialect.Dialect{MaxMarker: 4097, Markers: []dialect.Marker{reasoning("[A]", "[E]")}}, "max_marker: 4097: write 16 to 4096 bytes"},
		{dialect.Dialect{Placement: dialect.PlacementLeading, Output: dialect.PlacementAnywhere, Markers: []dialect.Marker{reasoning("[A]", "[E]")}}, "output: \"anywhere\" contradicts placement \"leading\""},
	} {
		_, err := sotto.Compile(tc.d)
		if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%+v: %v\n want %q", tc.d, err, tc.says)
		}
	}
}

// Only ASCII letters of a tag's name fold case; other characters match byte for byte.
func TestTagNamesFoldASCII(t *testing.T) {
	g := sotto.MustCompile(dialect.Dialect{Name: "fr", Markers: []dialect.Marker{{Role: dialect.RoleReasoning, Tag: "RÉFLEXION"}}})
	for raw, want := range map[string]string{
		"<RÉFLEXION>r</RÉFLEXION>a": "a",
		"<rÉflexion>r</RÉflexion>a": "a",
		"<RÉFLEXION>r</réflexion>a": "",
		"<réflexion>r</réflexion>a": "<réflexion>r</réflexion>a",
	} {
		r, err := g.Parse(raw, sotto.BeginOutside, sotto.EndStopped)
		if err != nil {
			t.Fatal(err)
		}
		if r.Visible() != want {
			t.Errorf("%q shows %q, want %q", raw, r.Visible(), want)
		}
	}
	if _, err := g.Parse("r</RÉFLEXION>a", sotto.BeginInside("rÉflexion"), sotto.EndStopped); err != nil {
		t.Error(err)
	}
}

// Markers of one role close each other only within a family.
func TestFamiliesOfOneRole(t *testing.T) {
	tag := func(role dialect.Role, name, family string) dialect.Marker {
		return dialect.Marker{Role: role, Tag: name, Family: family}
	}
	g := sotto.MustCompile(dialect.Dialect{Name: "two", Markers: []dialect.Marker{
		{Role: dialect.RoleReasoning, Tag: "pad", Rescue: true},
		tag(dialect.RoleNarration, "n", ""), tag(dialect.RoleNarration, "m", ""), tag(dialect.RoleNarration, "m2", "m"),
		tag(dialect.RoleOutput, "o", ""), tag(dialect.RoleOutput, "p", ""), tag(dialect.RoleOutput, "p2", "p"),
		tag(dialect.RoleWrapper, "w", ""), tag(dialect.RoleWrapper, "v", "w"), tag(dialect.RoleWrapper, "u", ""),
		tag(dialect.RoleTool, "t", ""), tag(dialect.RoleTool, "s", "t"), tag(dialect.RoleTool, "r", ""),
	}})
	for _, tc := range []struct {
		raw, visible, narration, tool string
		end                           sotto.Ending
	}{
		{"<n>a<m>b</m>c</n>d", "d", "a<m>b</m>c", "", sotto.EndStopped},
		{"<m>a</n>b</m2>c", "c", "a</n>b", "", sotto.EndStopped},
		{"<o>a<p>b</p2>c", "a\n\nb", "", "", sotto.EndStopped},
		{"<o>a</p>b</o>c", "a</p>b", "", "", sotto.EndStopped},
		{"<o>a<p/>b</o>c", "ab", "", "", sotto.EndStopped},
		{"<o>a<n>b</p>c</o>d", "a", "b</p>c", "", sotto.EndStopped},
		{"x<w>a</u>b</v>c", "xa</u>bc", "", "", sotto.EndStopped},
		{"x<t>1</r>2</s>y", "xy", "", "<t>1</r>2</s>", sotto.EndStopped},
		{"<pad>a<o>b<p>c</p>d", "c", "", "", sotto.EndStopped},
		{"<pad>a<o>b</p>c</o>d<p>e", "b</p>c", "", "", sotto.EndCut},
		{"<pad>a<o>b</p2>c<p>d", "d", "", "", sotto.EndStopped},
		{"<pad>a<o>b</p>c", "", "", "", sotto.EndCut},
	} {
		r, err := g.Parse(tc.raw, sotto.BeginOutside, tc.end)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Visible(); got != tc.visible || strings.Join(r.Narration(), "|") != tc.narration || r.RawOf(sotto.ChannelTool) != tc.tool {
			t.Errorf("%q %v shows %q, narrates %q, calls %q", tc.raw, tc.end, got, r.Narration(), r.RawOf(sotto.ChannelTool))
		}
	}
}

// A bound that no reply reaches means unlimited.
func TestHugeHold(t *testing.T) {
	const raw = "<think>plan</think>\n`<think>` and <think>more</think> done"
	want, err := sotto.Default().Parse(raw, sotto.BeginAuto, sotto.EndStopped)
	if err != nil {
		t.Fatal(err)
	}
	d := sotto.Default().Dialect()
	d.MaxHold = math.MaxInt
	for _, g := range []*sotto.Grammar{sotto.Default(), sotto.MustCompile(d)} {
		for _, hold := range []int{0, math.MaxInt, math.MaxInt - 1, math.MaxInt/2 + 1, math.MinInt} {
			s, err := g.NewSplitter(sotto.Options{Start: sotto.BeginAuto, MaxHold: hold})
			if err != nil {
				t.Fatal(err)
			}
			var visible string
			for i := range raw {
				for _, p := range s.FeedString(raw[i : i+1]) {
					visible += string(p.Visible)
				}
			}
			for _, p := range s.Close(sotto.EndStopped) {
				visible += string(p.Visible)
			}
			if visible != want.Visible() || s.Counts()[sotto.CodeHoldExpired] > 0 {
				t.Errorf("MaxHold %d: %q, %v", hold, visible, s.Diagnostics())
			}
		}
	}
}

// Reasoning never becomes visible, whatever a caller asks for.
func TestInlineTakesNoReasoning(t *testing.T) {
	for _, c := range []sotto.Channel{sotto.ChannelText, sotto.ChannelReasoning, sotto.ChannelAside, sotto.ChannelMarkup, 200} {
		o := sotto.Options{Inline: []sotto.Channel{sotto.ChannelNarration, c}}
		if _, err := sotto.Default().NewSplitter(o); err == nil || !strings.Contains(err.Error(), "want narration or tool") {
			t.Errorf("%v: %v", c, err)
		}
		if _, err := sotto.Default().NewFilter(o); err == nil {
			t.Errorf("a filter with %v inline", c)
		}
		r := sotto.Parse("<think>secret</think>a<narrate>n</narrate>", sotto.EndStopped)
		if got := r.VisibleWith(c, sotto.ChannelNarration); got != "an" {
			t.Errorf("VisibleWith(%v) gives %q", c, got)
		}
	}
}

// The zero values read in the default dialect, and a reply is described by its
// exported fields alone.
func TestZeroValues(t *testing.T) {
	var s sotto.Splitter
	s.Reset()
	if s.Held() != 0 || len(s.Diagnostics()) != 0 || len(s.Counts()) != 0 {
		t.Errorf("a zero splitter holds %d", s.Held())
	}
	var visible string
	for _, delta := range []string{"", "<thi", "nk>r</think>", "a"} {
		for _, p := range s.FeedString(delta) {
			visible += string(p.Visible)
		}
	}
	for _, p := range s.Close(sotto.EndStopped) {
		visible += string(p.Visible)
	}
	if visible != "a" {
		t.Errorf("a zero splitter shows %q", visible)
	}
	var closed sotto.Splitter
	if p := closed.Close(sotto.EndStopped); len(p) != 0 || closed.Counts()[sotto.CodeNoVisibleAnswer] != 1 {
		t.Errorf("a zero splitter closes with %v", p)
	}
	var f sotto.Filter
	text := ""
	f.OnText = func(b string) { text += b }
	f.Feed("<think>r</think>a")
	f.Close(sotto.EndStopped)
	if text != "a" {
		t.Errorf("a zero filter gives %q", text)
	}
	var zero sotto.Reply
	if zero.Visible() != "" || zero.Reasoning() != nil || zero.VisibleSpans(nil) != nil {
		t.Errorf("a zero reply shows %q", zero.Visible())
	}
	for _, raw := range []string{"<output>a</output>x<output>b</output>", "<think>r</think>\n\na\n"} {
		r := sotto.Parse(raw, sotto.EndStopped)
		again := sotto.Reply{Raw: r.Raw, Segments: r.Segments}
		if again.Visible() != r.Visible() {
			t.Errorf("%q shows %q, and rebuilt %q", raw, r.Visible(), again.Visible())
		}
	}
}
