package dialecttest

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	work "github.com/sotto-llm/sotto/internal/base/effort"
)

func tagMarker(role dialect.Role, family string, names ...string) []dialect.Marker {
	var out []dialect.Marker
	for _, n := range names {
		out = append(out, dialect.Marker{Role: role, Tag: n, Family: family})
	}
	return out
}

// slowDefault is the default dialect of G2.
func slowDefault() dialect.Dialect {
	var d dialect.Dialect
	d.Markers = append(d.Markers, tagMarker(dialect.RoleReasoning, "think", "think", "thinking", "thought", "thoughts")...)
	pads := tagMarker(dialect.RoleReasoning, "scratch_pad", "scratch_pad", "scratchpad")
	for i := range pads {
		pads[i].Rescue = true
	}
	d.Markers = append(d.Markers, pads...)
	d.Markers = append(d.Markers, tagMarker(dialect.RoleReasoning, "", "reasoning", "reflection")...)
	d.Markers = append(d.Markers, tagMarker(dialect.RoleNarration, "", "narrate")...)
	d.Markers = append(d.Markers, tagMarker(dialect.RoleOutput, "", "output")...)
	return d
}

// slowShape writes a reading's segments as t:…|r:…; O is the text of an output block.
func slowShape(raw string, res slowResult) string {
	var parts []string
	for _, s := range res.segments {
		c := s.Channel.String()[:1]
		if s.Channel == sotto.ChannelTool {
			c = "T"
		}
		if s.Output && s.Channel == sotto.ChannelText {
			c = "O"
		}
		parts = append(parts, c+":"+raw[s.Start:s.End])
	}
	return strings.Join(parts, "|")
}

func slowCodes(res slowResult) string {
	var parts []string
	for _, d := range res.diagnostics {
		s := fmt.Sprintf("%s@%d", d.Code, d.Offset)
		if d.Reason != "" {
			s += "/" + string(d.Reason)
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

type slowCase struct {
	name    string
	raw     string
	shape   string // "" is not compared
	visible string
	codes   string
	end     sotto.Ending
	start   sotto.Beginning
	hold    int
	change  func(*dialect.Dialect)
}

func anywhere(d *dialect.Dialect) { d.Output = "anywhere" }
func preOpens(d *dialect.Dialect) { d.PreOpens = dialect.PreOpensYes }
func deliver(d *dialect.Dialect)  { d.OnDoubt = "deliver" }
func both(d *dialect.Dialect)     { anywhere(d); deliver(d) }
func withTools(d *dialect.Dialect) {
	d.Markers = append(d.Markers, tagMarker(dialect.RoleTool, "", "tool_call")...)
}
func wrapped(d *dialect.Dialect) {
	d.Markers = append(d.Markers, tagMarker(dialect.RoleWrapper, "", "answer")...)
}

func literalThink(d *dialect.Dialect) {
	*d = dialect.Dialect{Markers: []dialect.Marker{{Role: dialect.RoleReasoning, Open: []string{"[THINK]\n"}, Close: []string{"\n[/THINK]\n\n"}}}}
}

func phrases(d *dialect.Dialect) {
	*d = dialect.Dialect{Placement: "leading", Markers: []dialect.Marker{{Role: dialect.RoleReasoning, Phrase: true,
		Open: []string{"Thinking..."}, Close: []string{"...done thinking."}}}}
}

func harmony(d *dialect.Dialect) {
	*d = dialect.Dialect{Header: &dialect.Header{
		Begin: []string{"<|start|>", "<|channel|>"}, Body: []string{"<|message|>"},
		End: []string{"<|end|>", "<|return|>", "<|call|>"}, Name: []string{"<|channel|>"}, Tokens: []string{"<|constrain|>"},
		Channels: map[string]dialect.Role{"analysis": dialect.RoleReasoning, "commentary": dialect.RoleNarration, "final": dialect.RoleText},
	}}
}

const (
	pad  = "<scratch_pad>"
	padX = "</scratch_pad>"
	out  = "<output>"
	outX = "</output>"
)

var slowCases = []slowCase{
	{name: "plain", raw: "hi", shape: "t:hi", visible: "hi"},
	{name: "empty", codes: "no_visible_answer@0"},
	{name: "think", raw: "<think>r</think>a", shape: "m:<think>|r:r|m:</think>|t:a", visible: "a"},

	// G1
	{name: "G1 not names", raw: "<think-tank> <thead> <t h i n k> <reasoning goes here>", visible: "<think-tank> <thead> <t h i n k> <reasoning goes here>"},
	{name: "G1 generic", raw: "List<Thought> x", visible: "List<Thought> x"},
	{name: "G1 upper", raw: "a <THINK>r</Think>b", visible: "a b"},
	{name: "G1 spaces", raw: "< think >r< / think >b", visible: "b"},
	{name: "G1 attributes", raw: `<think a="<>" b=c/>x`, shape: `m:<think a="<>" b=c/>|t:x`, visible: "x"},
	{name: "G1 attributes of output", raw: `<output a=b>x`, visible: "<output a=b>x"},
	{name: "G1 empty", raw: "<think/>a", shape: "m:<think/>|t:a", visible: "a"},
	{name: "G1 empty closes", raw: "<think>r<think/>a", shape: "m:<think>|r:r|m:<think/>|t:a", visible: "a"},
	{name: "G1 after a prefix", raw: "<<think>r</tho</thought>\na", end: sotto.EndStopped, shape: "t:<|m:<think>|r:r</tho|m:</thought>|t:\na", visible: "<\na", codes: "mismatched_close@14"},
	{name: "G1 unfinished", raw: "a<thin", visible: "a<thin"},
	{name: "G1 too long", raw: "<think a=" + strings.Repeat("x", 130) + ">", visible: "<think a=" + strings.Repeat("x", 130) + ">"},

	// G4
	{name: "G4a", raw: "the `<think>` tag", visible: "the `<think>` tag", codes: "literal_marker@5/quoted"},
	{name: "G4b", raw: "use `a <think> b` here", visible: "use `a <think> b` here", codes: "literal_marker@7/inline_code"},
	{name: "G4b unpaired", raw: "a ` b <think>r</think>\nc", visible: "a ` b \nc"},
	{name: "G4c", raw: "```\n<think>x</think>\n```\nb", visible: "```\n<think>x</think>\n```\nb", codes: "literal_marker@4/fence literal_marker@12/fence"},
	{name: "G4c never closes", raw: "```\n<think>x</think>\nb", end: sotto.EndStopped, visible: "```\nb"},
	{name: "G4c cut", raw: "```\n<think>x</think>\nb", end: sotto.EndCut, visible: "```\n<think>x</think>\nb", codes: "literal_marker@4/fence literal_marker@12/fence"},
	{name: "G4c closed by a marker", raw: out + "```\nc\n```" + outX, visible: "```\nc\n```"},
	{name: "G4c expires", raw: "```\n<think>xxxxxxxxxxxxxxxxxx", hold: 16, visible: "```\n<think>xxxxxxxxxxxxxxxxxx", codes: "literal_marker@4/fence hold_expired@4"},

	// G5
	{name: "G5 family", raw: "<think>r</thinking>a", shape: "m:<think>|r:r|m:</thinking>|t:a", visible: "a", codes: "mismatched_close@8"},
	{name: "G5 own after", raw: "<think>r</thought>s</think>a", shape: "m:<think>|r:r</thought>s|m:</think>|t:a", visible: "a"},
	{name: "G5 two", raw: "<thinking>r</think>a<thinking>s</thinking>b", visible: "ab", codes: "mismatched_close@11"},
	{name: "G5 quoted", raw: "<think>it ends with `</think>` then</think>a", visible: "a"},
	{name: "G5 quoted only", raw: "<think>x \"</think>\" y", visible: "\" y"},
	{name: "G5 cut", raw: "<think>r</thinking>a", end: sotto.EndCut, codes: "truncated@0 no_visible_answer@20"},
	{name: "G5 alone", raw: "<think>r\n</thinking>\na</think>b", visible: "a</think>b", codes: "mismatched_close@9"},
	{name: "G5 expires", raw: "<think>r</thinking>aaaaaaaaaaaaaaaaaaaa", hold: 16, codes: "truncated@0 hold_expired@8 no_visible_answer@39"},
	{name: "G5 expires deliver", raw: "<think>r</thinking>aaaaaaaaaaaaaaaaaaaa", hold: 16, change: deliver, visible: "aaaaaaaaaaaaaaaaaaaa", codes: "mismatched_close@8 hold_expired@8"},

	// G6
	{name: "G6 leaks nothing", raw: "<think>a<think>b</think>c</think>d", visible: "d", codes: "nested@8"},
	{name: "G6 loses nothing", raw: "<think>a<think>b</think>d", visible: "d", codes: "nested@8"},
	{name: "G6 next opener", raw: "<think>a<think>b</think>d<think>e</think>f", visible: "df", codes: "nested@8"},
	{name: "G6 duplicate of a literal", raw: "[THINK]\n [THINK]\n[THINK]\nb[THINK]\n[/THINK]c", shape: "m:[THINK]\n|r: |m:[THINK]\n|m:[THINK]\n|r:b[THINK]|m:\n[/THINK]|t:c", visible: "c", change: literalThink},
	{name: "G6 no duplicate of a phrase", raw: "Thinking...\nThinking...\nr\n...done thinking.\n\na", shape: "m:Thinking...\n|r:Thinking...\nr\n|m:...done thinking.\n\n|t:a", visible: "a", change: phrases},
	{name: "G6 duplicate", raw: "<think>\n<think>b</think>d", shape: "m:<think>|r:\n|m:<think>|r:b|m:</think>|t:d", visible: "d"},

	// G7
	{name: "G7 truncated", raw: "<think>abc", codes: "truncated@0 no_visible_answer@10"},
	{name: "G7a unclosed", raw: pad + "p" + out + "q" + outX, shape: "m:" + pad + "|r:p|m:" + out + "|O:q|m:" + outX, visible: "q", codes: "rescued@14"},
	{name: "G7a last", raw: pad + "p" + out + "q" + out + "r", visible: "r", codes: "rescued@23 unclosed_output@23"},
	{name: "G7a cut", raw: pad + "p" + out + "q" + outX + out + "r", end: sotto.EndCut, visible: "q", codes: "truncated@0 rescued@14"},
	{name: "G7a cut, no close", raw: pad + "p" + out + "q", end: sotto.EndCut, codes: "truncated@0 no_visible_answer@23"},
	{name: "G7a closed", raw: pad + "p" + out + "q" + outX + "s" + padX, shape: "m:" + pad + "|r:p|m:" + out + "|O:q|m:" + outX + "|r:s|m:" + padX, visible: "q", codes: "rescued@14"},
	{name: "G7a closed, shows more", raw: pad + "p" + out + "q" + outX + "s" + padX + "t", visible: "t"},
	{name: "G7a expires", raw: pad + out + strings.Repeat("q", 20), hold: 16, codes: "truncated@0 hold_expired@13 no_visible_answer@41"},
	{name: "G7a expires deliver", raw: pad + out + strings.Repeat("q", 20), hold: 16, change: deliver, visible: strings.Repeat("q", 20), codes: "rescued@13 unclosed_output@13 hold_expired@13"},
	{name: "G7b", raw: "use the <think> tag", end: sotto.EndStopped, visible: "use the <think> tag", codes: "literal_marker@8/doubt"},
	{name: "G7b unknown end", raw: "use the <think> tag", visible: "use the ", codes: "truncated@8"},
	{name: "G7b not in an aside", raw: "a <output>b</output> c <think> d", end: sotto.EndStopped, change: anywhere, visible: "b", codes: "truncated@23"},
	{name: "G7b deliver", raw: "use the <think> tag", end: sotto.EndCut, change: deliver, visible: "use the <think> tag", codes: "literal_marker@8/doubt"},

	// G8
	{name: "G8 inside", raw: "r</think>a", start: sotto.BeginInside("think"), shape: "r:r|m:</think>|t:a", visible: "a"},
	{name: "G8 inside duplicate", raw: "\n<think>r</think>a", start: sotto.BeginInsideFirst, shape: "r:\n|m:<think>|r:r|m:</think>|t:a", visible: "a"},
	{name: "G8 inside unclosed", raw: "abc", start: sotto.BeginInsideFirst, codes: "assumed_unclosed@0 no_visible_answer@3", shape: "r:abc"},
	{name: "G8 auto", raw: "r</think>a", start: sotto.BeginAuto, shape: "r:r|m:</think>|t:a", visible: "a", codes: "orphan_close@1"},
	{name: "G8 auto literal", raw: "r `</think>` a", start: sotto.BeginAuto, visible: "r `</think>` a", codes: "literal_marker@3/quoted"},
	{name: "G8 auto outside", raw: "a <think>r</think>b</think>c", start: sotto.BeginAuto, visible: "a b</think>c"},
	{name: "G8 auto fence", raw: "```\n<think>x</think>\n```\nb</think>a", start: sotto.BeginAuto, visible: "a", codes: "orphan_close@26"},
	{name: "G8 auto expires", raw: "aaaaaaaaaaaaaaaaaaaaaa</think>b", start: sotto.BeginAuto, hold: 16, visible: "b", codes: "hold_expired@0"},
	{name: "G8 auto cut", raw: "r", start: sotto.BeginAuto, end: sotto.EndCut, change: preOpens, shape: "r:r", codes: "assumed_unclosed@0 no_visible_answer@1"},
	{name: "G8 auto aborted at a quoted close", raw: "r `</think>` q", start: sotto.BeginAuto, end: sotto.EndAborted, change: preOpens, visible: "", codes: "assumed_unclosed@0 no_visible_answer@14"},
	{name: "G8 auto stopped", raw: "a", start: sotto.BeginAuto, change: preOpens, visible: "a"},
	{name: "G8 auto cut, of a family that opens no block", raw: "a", start: sotto.BeginAuto, end: sotto.EndCut, visible: "a"},
	{name: "G8 auto cut deliver", raw: "a", start: sotto.BeginAuto, end: sotto.EndCut, change: func(d *dialect.Dialect) { preOpens(d); deliver(d) }, visible: "a"},
	{name: "G8 auto expires deliver", raw: "aaaaaaaaaaaaaaaaaaaaaa</think>b", start: sotto.BeginAuto, hold: 16, change: deliver, visible: "aaaaaaaaaaaaaaaaaaaaaa</think>b", codes: "hold_expired@0 orphan_close@22"},

	// G9
	{name: "G9 first", raw: "</think>a", visible: "a", codes: "stray_close@0"},
	{name: "G9 after a marker", raw: "a<think>r</think> </think>b", visible: "a b", codes: "stray_close@18"},
	{name: "G9 at the end", raw: "<think>r</think>a</think> \n", visible: "a \n", codes: "stray_close@17"},
	{name: "G9 literal", raw: "a</think>b", visible: "a</think>b", codes: "orphan_close@1"},
	{name: "G9 output", raw: "a</output>\n", visible: "a\n", codes: "stray_close@1"},

	// G10
	{name: "G10 leading", raw: "<think>r</think><output>x</output>y", shape: "m:<think>|r:r|m:</think>|m:<output>|O:x|m:</output>|a:y", visible: "x"},
	{name: "G10 late", raw: "a<output>x</output>", visible: "a<output>x</output>", codes: "literal_marker@1/late_output"},
	{name: "G10 late after a pad", raw: "a " + pad + "s" + padX + "b" + out + "x" + outX + "y", visible: "a b\n\nx", shape: "t:a |m:" + pad + "|r:s|m:" + padX + "|t:b|m:" + out + "|O:x|m:" + outX + "|a:y"},
	{name: "G10 late after an orphan close of a pad", raw: "s" + padX + "b" + out + "x", start: sotto.BeginAuto, visible: "b\n\nx", codes: "orphan_close@1 unclosed_output@16"},
	{name: "G10 late in an open pad", raw: "a " + pad + "s" + out + "x", end: sotto.EndCut, visible: "a ", codes: "truncated@2"},
	{name: "G10 late after a pad in a narration", raw: "a<narrate>" + pad + "s" + padX + "</narrate>" + out + "x", visible: "a" + out + "x", codes: "literal_marker@48/late_output"},
	{name: "G10 late and quoted", raw: "a" + pad + padX + "the \"" + out + "\" x", visible: "athe \"" + out + "\" x", codes: "literal_marker@33/quoted"},
	{name: "G10 late and blank", raw: "a" + pad + padX + out + " " + outX + "b", visible: "ab"},
	{name: "G10 further", raw: "<output>x</output>y<output>z</output>", visible: "x\n\nz"},
	{name: "G10 re-open", raw: "<output>x<output>z", shape: "m:<output>|O:x|m:<output>|O:z", visible: "x\n\nz", codes: "unclosed_output@9"},
	{name: "G10 anywhere", raw: " ab <output>x</output>", shape: "t: |a:ab |m:<output>|O:x|m:</output>", visible: "x", change: anywhere},
	{name: "G10 anywhere, none", raw: " ab <output> </output>c", visible: " ab c", change: anywhere},
	{name: "G10 anywhere expires", raw: "abcdefghijklmnopqrst<output>x</output>", hold: 16, visible: "x", codes: "hold_expired@0", change: anywhere},
	{name: "G10 anywhere expires deliver", raw: "abcdefghijklmnopqrst<output>x</output>", hold: 16, visible: "abcdefghijklmnopqrst<output>x</output>", codes: "hold_expired@0 literal_marker@20/late_output", change: both},
	{name: "G10 anywhere rescue", raw: "hm " + pad + "p" + out + "q", visible: "q", codes: "rescued@17 unclosed_output@17", change: anywhere},

	// G11
	{name: "G11", raw: "<think>a<output>b</output><narrate>c</think>d", shape: "m:<think>|r:a<output>b</output><narrate>c|m:</think>|t:d", visible: "d"},
	{name: "G11 tool", raw: "<think>a<tool_call>{}</tool_call>b", shape: "m:<think>|r:a|T:<tool_call>{}</tool_call>|t:b", visible: "b", change: withTools},
	{name: "G11 no tool", raw: "<think>a<tool_call> b</think>c", visible: "c", change: withTools},
	{name: "G11 after tool", raw: "<tool_call>{}</tool_call>b</think>c", shape: "T:<tool_call>{}</tool_call>|r:b|m:</think>|t:c", visible: "c", change: func(d *dialect.Dialect) { withTools(d); d.AfterTool = dialect.RoleReasoning }},

	// G12
	{name: "G12", raw: "<narrate>n</narrate>a", shape: "m:<narrate>|n:n|m:</narrate>|t:a", visible: "a"},
	{name: "G12 blank line", raw: "<narrate>n\n \nb</narrate>c", shape: "m:<narrate>|n:n|t:\n \nb|m:</narrate>|t:c", visible: "bc", codes: "unclosed_narration@0 stray_close@14"},
	{name: "G12 output", raw: "<narrate>n<output>x</output>", shape: "m:<narrate>|n:n|m:<output>|O:x|m:</output>", visible: "x", codes: "unclosed_narration@0"},
	{name: "G12 reasoning", raw: "<narrate>n<think>r</think>m</narrate>a", shape: "m:<narrate>|n:n|m:<think>|r:r|m:</think>|n:m|m:</narrate>|t:a", visible: "a"},

	// G13, law 6
	{name: "G13 spaces", raw: " \n<think>r</think>\n\na\n<think>s</think>\n b ", visible: "a\nb "},
	{name: "spliced", raw: "<th<think></think>ink>", visible: "<think>", codes: "spliced_marker@0"},

	// section 4
	{name: "wrapper", raw: "a<answer>b</answer>c", shape: "t:a|m:<answer>|t:b|m:</answer>|t:c", visible: "abc", change: wrapped},
	{name: "literal", raw: "[THINK]\nr\n[/THINK]\n\n\na", shape: "m:[THINK]\n|r:r|m:\n[/THINK]\n\n|t:\na", visible: "a", change: literalThink},
	{name: "phrase", raw: "Thinking...\nr\n...done thinking.\n\na Thinking...", shape: "m:Thinking...\n|r:r\n|m:...done thinking.\n\n|t:a Thinking...", visible: "a Thinking...", change: phrases},
	{name: "harmony", raw: "<|channel|>analysis<|message|>r<|end|><|start|>assistant<|channel|>final<|message|>a<|return|>",
		shape: "m:<|channel|>analysis<|message|>|r:r|m:<|end|>|m:<|start|>assistant<|channel|>final<|message|>|t:a|m:<|return|>", visible: "a", change: harmony},
	{name: "harmony tool", raw: "<|channel|>commentary to=f <|constrain|>json<|message|>{}<|call|>x",
		shape: "T:<|channel|>commentary to=f <|constrain|>json<|message|>{}<|call|>|a:x", change: harmony},
	{name: "harmony unfinished", raw: "a<|channel|>ana", shape: "t:a|m:<|channel|>ana", visible: "a", change: harmony},
}

func TestSlowExamples(t *testing.T) {
	for _, c := range slowCases {
		t.Run(c.name, func(t *testing.T) {
			d := slowDefault()
			if c.change != nil {
				c.change(&d)
			}
			res, err := slowRead(d, c.raw, c.start, c.end, c.hold)
			if err != nil {
				t.Fatal(err)
			}
			if got := slowShape(c.raw, res); c.shape != "" && got != c.shape {
				t.Errorf("%q\n got %q\nwant %q", c.raw, got, c.shape)
			}
			if res.visible != c.visible {
				t.Errorf("%q: visible %q, want %q", c.raw, res.visible, c.visible)
			}
			if got := slowCodes(res); c.codes != "" && got != c.codes {
				t.Errorf("%q: diagnostics %q, want %q", c.raw, got, c.codes)
			}
		})
	}
}

var slowTokens = []string{"<think>", "</think>", "</thinking>", "<thought>", "<think/>", "<p>", "</p>", "<o>", "</o>", "<o/>",
	"<n>", "</n>", "<t>", "</t>", "{", "<thi", "<", "`", "``", "```", "~~~", `"`, "\n", "\n```", "\n", " ", "a", "B"}

func slowVariant(rng *rand.Rand) dialect.Dialect {
	d := dialect.Dialect{MaxMarker: 16}
	d.Markers = append(d.Markers, tagMarker(dialect.RoleReasoning, "think", "think", "thinking", "thought")...)
	d.Markers = append(d.Markers, dialect.Marker{Role: dialect.RoleReasoning, Tag: "p", Rescue: true})
	d.Markers = append(d.Markers, tagMarker(dialect.RoleOutput, "", "o")...)
	d.Markers = append(d.Markers, tagMarker(dialect.RoleNarration, "", "n")...)
	if rng.Intn(3) == 0 {
		d.Markers = append(d.Markers, tagMarker(dialect.RoleTool, "", "t")...)
	}
	for _, set := range []func(){
		func() { d.Output = "anywhere" }, func() { d.OnDoubt = "deliver" }, func() { d.Placement = "leading" },
		func() { d.Close = "family" }, func() { d.AfterTool = dialect.RoleReasoning },
	} {
		if rng.Intn(4) == 0 {
			set()
		}
	}
	return d
}

// With a hold of h bytes a splitter may keep back only the last h bytes. Before
// them, the reading of a reply and of any longer reply are the same (law 4).
func TestSlowLooksNoFurtherThanTheHold(t *testing.T) {
	const hold = 16
	rng := rand.New(rand.NewSource(1))
	word := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(slowTokens[rng.Intn(len(slowTokens))])
		}
		return b.String()
	}
	for n := range 10000 * work.Times() {
		d := slowVariant(rng)
		g, err := slowCompile(d)
		if err != nil {
			t.Fatal(err)
		}
		start := []sotto.Beginning{sotto.BeginOutside, sotto.BeginAuto, sotto.BeginInsideFirst, sotto.BeginInside("p")}[rng.Intn(4)]
		s := word(4 + rng.Intn(14))
		long := s + word(1+rng.Intn(8))
		e1, e2 := sotto.Ending(rng.Intn(4)), sotto.Ending(rng.Intn(4))
		whole, _ := g.read(s, start, e1, 0)
		far, _ := g.read(s, start, e1, len(s))
		if fmt.Sprint(whole) != fmt.Sprint(far) {
			t.Fatalf("%d: %q %+v: a bound that is never reached changes the reading", n, s, d)
		}
		a, _ := g.read(s, start, e1, hold)
		b, _ := g.read(long, start, e2, hold)
		for _, r := range []struct {
			raw string
			slowResult
		}{{s, whole}, {s, a}, {long, b}} {
			at := 0
			for _, seg := range r.segments {
				if seg.Start != at || seg.End <= at {
					t.Fatalf("%q: segments %v", r.raw, r.segments)
				}
				at = seg.End
			}
			if at != len(r.raw) {
				t.Fatalf("%q: segments %v", r.raw, r.segments)
			}
		}
		settled := len(s) - hold - 1
		if strings.TrimRight(s, " \n") != s {
			continue // waiting white space is not a doubt
		}
		for i := 0; i <= settled; i++ {
			if ca, cb := slowAt(a, i), slowAt(b, i); ca != cb {
				t.Fatalf("%d: byte %d is %v or %v, settled\n%q %v %v\n%q %v %v\nstart %q %+v",
					n, i, ca, cb, s, e1, slowShape(s, a), long, e2, slowShape(long, b), start, d)
			}
		}
	}
}

func slowAt(r slowResult, i int) sotto.Channel {
	for _, s := range r.segments {
		if i < s.End {
			return s.Channel
		}
	}
	return sotto.ChannelMarkup
}

func BenchmarkSlow(b *testing.B) {
	g, err := slowCompile(slowDefault())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		g.read("a `<think> b</thought> c</think>\n<output>x</output> y", sotto.BeginAuto, sotto.EndStopped, 16)
	}
}
