package sotto_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// readingGrammars are small dialects that together have every role, literals with optional
// newlines, and headers beside markers.
func readingGrammars() map[string]*sotto.Grammar {
	markers := []dialect.Marker{
		{Role: dialect.RoleReasoning, Tag: "k"}, {Role: dialect.RoleReasoning, Tag: "j", Family: "k"}, {Role: dialect.RoleReasoning, Tag: "i", Family: "k"},
		{Role: dialect.RoleReasoning, Open: []string{"[K]\n"}, Close: []string{"\n[/K]\n"}},
		{Role: dialect.RoleNarration, Tag: "n"}, {Role: dialect.RoleOutput, Tag: "o"}, {Role: dialect.RoleWrapper, Tag: "w"},
		{Role: dialect.RoleTool, Tag: "t"}, {Role: dialect.RoleTool, Special: true, Open: []string{"[T]\n"}, Close: []string{"[/T]\n"}},
		{Role: dialect.RoleReasoning, Tag: "p", Rescue: true}, {Role: dialect.RoleReasoning, Open: []string{"q\nq :"}, Close: []string{"[/q]"}},
		{Role: dialect.RoleTool, Open: []string{"\n[U]"}, Close: []string{"[/U]"}},
	}
	plain := dialect.Dialect{Name: "plain", Markers: markers}
	resumed := plain
	resumed.Name, resumed.AfterTool = "resumed", dialect.RoleReasoning
	anywhere := plain
	anywhere.Name, anywhere.Output = "anywhere", dialect.PlacementAnywhere
	deliver := plain
	deliver.Name, deliver.OnDoubt = "deliver", dialect.DoubtDeliver
	no := false
	unstray := plain
	unstray.Name, unstray.Stray = "unstray", &no
	header := dialect.Dialect{Name: "header", Markers: markers, Header: &dialect.Header{
		Begin: []string{"<|c|>", "<|r|>"}, Body: []string{"<|m|>", "<|m|>+"}, End: []string{"<|e|>"}, Close: []string{"<|r|>"},
		Lead: []string{"c|>", "<|m|>"}, Name: []string{"<|c|>", "c|>"},
		Channels: map[string]dialect.Role{"a": dialect.RoleReasoning, "f": dialect.RoleText, "n": dialect.RoleNarration},
	}}
	between := header
	h := *header.Header
	h.Between = dialect.RoleText
	between.Name, between.Header = "between", &h
	leading := header
	leading.Name, leading.Placement, leading.Start = "leading", dialect.PlacementLeading, "auto"
	shared := dialect.Dialect{Name: "shared", Markers: []dialect.Marker{
		{Role: dialect.RoleReasoning, Open: []string{"[A]"}, Close: []string{"[B]"}}, {Role: dialect.RoleWrapper, Open: []string{"[C]"}, Close: []string{"[B]"}},
	}}
	literals := dialect.Dialect{Name: "literals", AfterTool: dialect.RoleReasoning, Markers: []dialect.Marker{
		{Role: dialect.RoleReasoning, Name: "k", Open: []string{"[k]"}, Close: []string{"[/k]\n"}},
		{Role: dialect.RoleReasoning, Name: "j", Family: "k", Open: []string{"[j]\n\n"}, Close: []string{"[/j]"}},
		{Role: dialect.RoleNarration, Open: []string{"[n]\n"}, Close: []string{"[/n]\n\n"}}, {Role: dialect.RoleOutput, Open: []string{"[o]\n"}, Close: []string{"[/o]\n"}},
		{Role: dialect.RoleTool, Open: []string{"[t]\n"}, Close: []string{"[/t]\n\n"}},
	}}
	three := dialect.Dialect{Name: "three", AfterTool: dialect.RoleReasoning, Markers: []dialect.Marker{
		{Role: dialect.RoleOutput, Tag: "o"}, {Role: dialect.RoleReasoning, Tag: "k", Rescue: true}, {Role: dialect.RoleReasoning, Tag: "j", Family: "k"},
		{Role: dialect.RoleReasoning, Tag: "i", Family: "k"}, {Role: dialect.RoleTool, Tag: "t"},
	}}
	tool := dialect.Dialect{Name: "tool", Markers: []dialect.Marker{{Role: dialect.RoleTool, Tag: "t"}, {Role: dialect.RoleReasoning, Tag: "k"}}}
	prefixes := dialect.Dialect{Name: "prefixes", Markers: []dialect.Marker{
		{Role: dialect.RoleReasoning, Name: "k", Open: []string{"[k]"}, Close: []string{"[a]"}},
		{Role: dialect.RoleReasoning, Name: "j", Family: "k", Open: []string{"[j]"}, Close: []string{"[a]b"}},
	}}
	newlines := between
	lines := h
	lines.End, lines.Body = []string{"<|e|>\n", "\n<|f|>"}, []string{"<|m|>", "|>+"}
	lines.MaxHeader = 40
	newlines.Name, newlines.Header = "newlines", &lines
	after := dialect.Dialect{Name: "after", Markers: []dialect.Marker{shared.Markers[1], shared.Markers[0]}}
	yes := true
	longer := dialect.Dialect{Name: "longer", Code: &yes, Markers: []dialect.Marker{
		{Role: dialect.RoleReasoning, Open: []string{"[A]"}, Close: []string{"[B]"}},
		{Role: dialect.RoleTool, Open: []string{"[C]"}, Close: []string{"[A]b]", "[B]\"b]", "[D[A]d]"}},
	}}
	grammars := map[string]*sotto.Grammar{}
	for _, d := range []dialect.Dialect{plain, resumed, anywhere, deliver, unstray, header, between, leading, shared, after, longer, literals, three, tool, prefixes, newlines} {
		grammars[d.Name] = sotto.MustCompile(d)
	}
	return grammars
}

// cutReplies are replies in one dialect that are read with the same options.
type cutReplies struct {
	dialect string
	options sotto.Options
	end     sotto.Ending
	raws    []string
}

var readings = []cutReplies{
	// Blocks in narration, and what ends it.
	{"plain", sotto.Options{}, sotto.EndStopped, []string{
		"<n>a<k>b</k>c</n>d", "<n>a[K]\n\nb\n[/K]\n\nc</n>d", "<n>a<n/>b</n>c", "<n>a<o>b</o>c</n>", "<n>a<o/>b</n>c",
		"<o>a<n>b<o>c</o>d", "<o>a<n>b</o>c</n>", "<o>a<n>b<o/>c</o>d", "x<n>a<o>b</o>c</n>d", "x<n>a<o/>b</n>c",
		"<n>a \"<o>\" b</n>c", "<n>a \"<o>", "<n>a\n\nb</n>c", "<n>a\n\nb x</n>c", "<n>a\n \n\nb", "<n>a\nb\n", "<n>a\n", "<n>a</k>b</n>", "<n>\n\n[U][U]",
		"<n>a \"<o>\" b</n>c", "<n>a \"<o>", "<n>a\n\nb</n>c", "<n>a\n\nb x</n>c", "<n>a\n \n\nb", "<n>a\nb\n", "<n>a\n", "<n>a</k>b</n>",
		"<n>`<o>`", "<n>`<o/>a", "<o><n>`</o>a", "<o>a<n>b<o>c</o>d<o/>",
	}},
	// Bodies, what follows them, and closes that stand alone.
	{"plain", sotto.Options{}, sotto.EndStopped, []string{
		"<o>a</o>b</o>c", "<o>a</o> `<o>` c\n</o>", "<o> <o>a</o>", "<o>a<<k></k></o>k>b</k>", "x<<k></k><o>k>y", "<o></o><o>a</o></o>",
		"x</k> y", "x\n</k>\ny", "<k>a</k>x\n</k>\ny", "<k>a</k>x </k> y", "<k>a</k>x</k>y", "a\n</w>", "<w>a</w>b</w>\nc", "<w/>a</w>b",
		"x</o> y", "x \"<o>\" </o> y", "<o/>x", "<k/>x</k>\n", "<n/>x</n>\ny", "x<k/>\n\ny", "<j>a</k>b</j>c", "<k>a<k>b</k>c</k>d",
		"<k>a<k>b</k> \"<k>\" c</k>d",
	}},
	// Code, quotes and lines.
	{"plain", sotto.Options{}, sotto.EndStopped, []string{
		"a `<k>` b", "a ``<k>` b``", "a `b\n<k>c</k>` d", "```\n<k>a</k>\n```\nb", "```\n<k>a</k>\nb", "~~~\n<k>a</k>\n~~~\n<k>b</k>c",
		"````\n```\n</k>\n````\nx", "```\n~~~\n</k>\n~~~\n```\nx", "a \"<k>\" b", "a '<k>' <k>b</k>c", "a `</k> `b", "```\n</k> `a\nb` c</k>\n",
		"a\n``` `\n</k> ` x", "a `b [K]\n x` <k>c</k>` d", "x ~~~\n<k>a</k>b\n~~~", " ```\n</k>\n ``` \n</k>x", "x\n```\na</k>\n~~~\n</k>`` </k>",
		"a ``` <k>` b ``` c</k>d", "a <k>\n```\nb</k>", "a `[K]\n`<k>b</k>c", "x `1 ``2 </k> ``3 `4 </k>", "```a\n\"</k>\"\n",
		"a\nx```\n<k>b</k>\n```\nc", "a\n~~~\n<k>b</k>\n~~~\nc", "x `b\nc <k>d</k>` e", "```\nx</k>\n<w>```<w>y", "```\nx</k>\n```<w>y",
	}},
	// Code in long pieces of text, of which whole lines are skipped.
	{"plain", sotto.Options{}, sotto.EndStopped, []string{
		strings.Repeat("x` ", 11) + "<k>`", "~~~\n</k>" + strings.Repeat("x", 32) + "\n~~~\nx`",
		"```\n</o>```\n```\n" + strings.Repeat(" ~~~x\n", 4), "  ~~~" + strings.Repeat("a", 40) + "\n<k>a</k>\n~~~\nb", "~~~\n</w>~~~\n~~~\n\nx\n" + strings.Repeat("```x\n", 4) + "`",
	}},
	// Runs of several lengths, and runs on the lines of a fence.
	{"plain", sotto.Options{}, sotto.EndStopped, []string{
		"`a``b<k>``c<t>``", "`<w><k a='`'>b</k>", "x ` </k>\ny", "```\n<k>\n```\n```\nx", "```\n<k>\n`````\n````\n```\nx", "~~~\n<k>\n~~~~\n~~~\nx", "~~~\n</k>\n~~~", "```[K]\n[/K]```",
		"```\n\n`\n</k>`", "```\n</k> x` \n`x`", "```\n</k> ` ` ` `", "```\n` </k> ` b", "```\n`</k> \"<k a='`\n'>\" x", "```\nx\n```<k>a</k>\n```\n\n<k>b</k>\n```\nc",
	}},
	// A marker that may be the first bytes of a longer one, which cannot count.
	{"longer", sotto.Options{}, sotto.EndStopped, []string{
		"[A]bc[B]d", "[A]b]c", "x[D[A]c[B]e", "x[D[A]d]e", "x \"[B]\" y", "x \"[B]\"b]", "x \"[B]\"bc", "x `[B]\"b` c", "x [B]\"b]",
	}},
	// Markers that a removed block parted, and those that only seem so.
	{"plain", sotto.Options{}, sotto.EndStopped, []string{
		"x<<k></k>k>y", "x<k<k>a</k>>y", "x<<t></t>k>y", "x<<n></n>k>y", "x<<w>k>y", "x</<k></k>k>y", "x\n<k></k>[/K]", "x\n[/<k></k>K]",
		"x[K<k></k>]\ny", "x<<k></k>b<<k></k>k>", "x<k <k></k><<k></k>j>", "x<<k></k><k>a</k>k>y", "x\n[/<k></k>\n\nK]", "x<K<k></k>>", "<<k></k>k>",
		"xa<<k></k>K>", "x <<k></k>K>", "x[<k></k>K<j></j>]", "x<k a='<k></k>'>", "x[<k></k>`K]",
		"xq\n<k></k>\n q :", "xq\n<k></k>q :", "xq<k></k>\nq :", "x<k a='<k>" + strings.Repeat("c", 300) + "</k>b<<k></k>'>",
		"<k>a<p b=\"c</k>x<n></n>\">y", "<o>a<<k></k><o>k>y", "<o>a<<k></k></o><o>k>y",
	}},
	// Calls in reasoning, which goes on after them in one dialect.
	{"plain", sotto.Options{}, sotto.EndStopped, []string{
		"<k>a<t>{b}</t>c</k>d", "<k>a<t>b</t>c</k>d", "<k>a[T]\nb[/T]\n\nc", "<k>a \"<t>{\" b</k>c", "<k>a<t> <function=b</t>c", "<k>a<t> <func",
		"<t>a<t>b</t>c", "x<t/>y", "<k>a</j>b<t>{}</t>c", "x <k>a<t>{}</t>b", "<n>a<k>b<t>{}</t>c</n>d",
	}},
	{"resumed", sotto.Options{}, sotto.EndStopped, []string{
		"<j>a<t>{b}</t>c</j>d", "<j>a[T]b[/T]\n\nc</j>d<t>e</t>f</k>g", "<t>a</t>b</k>c", "<j>a<t>{}<t>b</t>c</j>d", "x<t>a</t>\nb", "<t>a</t>b</j>c</j>d<t/>e</j>f",
		"<j>a</k><t>{}</t>b</j>c", "<k>a</j>b<t>{}</t>c</j>d</k>e", "<t>a</t><p>b<o>c</o></p>d", "[K]a[T]b[/T]c[/K]d", "[K]a</k>[T]b[/T]c</k>d[/K]e", "<j>a</i>b<t>c</t>d</i>e</k>f<k>g</k>h",
	}},
	{"plain", sotto.Options{Tools: []string{"f"}, MaxHold: 1}, sotto.EndStopped, []string{"<k>a[T]b" + strings.Repeat("c", 300) + "</k>d", "<k>a<t>{b" + strings.Repeat("c", 300) + "</k>d"}},
	// Output anywhere, and doubts at a cut end.
	{"anywhere", sotto.Options{}, sotto.EndStopped, []string{
		"x<o>a</o>y", "x<n>a<o>b</o>c</n>d<o>e", "x<<k></k>k>y<o>z</o>", "x<o> </o>y<o>z</o>", "<p>a<o>b</o>c</p>d<o>e</o>", "<k>a</k>x<o>b<<k></k></o>k>", "x<o></k>y</o>",
	}},
	{"deliver", sotto.Options{}, sotto.EndCut, []string{"x <k>a", "<k>a</j>b", "<k>a<k>b</k>c", "x `</k>", "```\n<k>a", "<k>a\n</j>\nb</k>c"}},
	{"plain", sotto.Options{}, sotto.EndCut, []string{"x <k>a", "<k>a</j>b", "<k>a<k>b</k>c", "x `</k>", "```\n<k>a</k>b", "x\n" + strings.Repeat(" ~~~x\n", 5) + " ~~~x<k>", "~~~\n```</\n~~~\n\n~~~\n<k>", "<k>a\n</j>\nb</k>c", "<k>a</j>b</j>c<k>d", "<k>a</j>", "<n>a\n"}},
	{"plain", sotto.Options{}, sotto.EndCut, []string{"x <k>a", "<k>a</j>b", "<k>a<k>b</k>c", "x `</k>", "```\n<k>a</k>b", "<k>a\n</j>\nb</k>c", "<k>a</j>b</j>c<k>d", "<k>a</j>", "<n>a\n"}},
	// A bound that ends between an opener and the quote after it.
	{"anywhere", sotto.Options{MaxHold: 1}, sotto.EndStopped, []string{
		"x\n<k>" + strings.Repeat("c", 120) + "\"<k>\"d</k>e", "x\n<k>" + strings.Repeat("c", 120) + "\"<k>d</k>e",
	}},
	// An undecided start.
	{"plain", sotto.Options{Start: sotto.BeginAuto}, sotto.EndStopped, []string{
		"a</k>b", "a</k>b</k>c", "a `</k>` b", "a \"</k>\" b</j>c", "```\n<k>a</k>b", "```\n</k>b", "a[/K]\nb", "a<o>b</o>c</k>d", "a<k>b</k>c", "a<t>{}</t>b</k>c", "a<n>b</n>c</k>", "</k>a",
		"a<j>b</k>c</j>d</k>e",
	}},
	{"plain", sotto.Options{Start: sotto.BeginAuto}, sotto.EndStopped, []string{"```\n<k>a</k>\n```\nb", "```\n<k>a</k>\n```\nb</k>c", "```\n\"<k>\" </k>"}},
	{"unstray", sotto.Options{Start: sotto.BeginAuto}, sotto.EndStopped, []string{"```\n\"<k>\" </k>", "```\n<k>a</k>\n```\nb", "a</k>b</k>c", "<k>a</k>\n</k>b", "</o>a"}},
	{"anywhere", sotto.Options{Start: sotto.BeginAuto, Tools: []string{"f"}}, sotto.EndStopped, []string{"\n[U]x<o>a</o>", "\n[U]x</k>y", "a<n>b</n>c</k>d", "a<w>b</k>c", "<k/>a</k>b"}},
	{"plain", sotto.Options{Start: sotto.BeginAuto}, sotto.EndStopped, []string{"```\n<k>a</k>\n```\nb", "```\n<k>a</k>\n```\nb</k>c"}},
	{"unstray", sotto.Options{Start: sotto.BeginAuto}, sotto.EndStopped, []string{"```\n<k>a</k>\n```\nb", "a</k>b</k>c", "<k>a</k>\n</k>b", "</o>a"}},
	{"anywhere", sotto.Options{Start: sotto.BeginAuto, Tools: []string{"f"}}, sotto.EndStopped, []string{"\n[U]x<o>a</o>", "\n[U]x</k>y", "a<n>b</n>c</k>d", "a<w>b</k>c", "<k/>a</k>b", "</w>{<k>"}},
	// Headers.
	{"header", sotto.Options{}, sotto.EndStopped, []string{
		"<|c|>a<|m|>b<|e|><|c|>f<|m|>c<|e|>d", "<|c|>f<|m|>+b<|r|>x<|m|>c", "<|c|>a to=f<|m|>b<|e|>\n\nc<|r|><|m|>d<|e|>", "<|e|>a<|e|>", "a<|e|>b<|c|>f<|m|>c",
		"<|c|>n<|m|>b<|c|>", "<|c|>z<|m|>b", "c|>f<|m|>a", "<|m|>a<|e|>b", "c|>f", "<|c|>f<|m|>`a<|e|>` b", "<|c|>f<|m|>a<<|e|><|c|>f<|m|>k>b", "x<<|e|>k>y",
		"<|c|>f<|m|>x<<|c|>n<|m|>a<|e|>k>y", "<o>a<|c|>f<|m|>b<|e|>c</o>d", "<o>`a<|c|>n<|m|>b<|e|>` </o>d", "<|c|>f<|m|>x</k>y<|e|></k>z", "<|c|>to=f<|m|>a<|c|>a<|m|>b<|r|><|m|>c",
	}},
	{"header", sotto.Options{}, sotto.EndStopped, []string{"x<|r|><|m|>y", "<|c|>a<|m|>b[T]c[/T]d<|e|>e<|c|>f<|m|>g"}},
	{"between", sotto.Options{}, sotto.EndStopped, []string{
		"<|c|>f<|m|>b<|e|>c<|e|>d", "<|c|>n<|m|>b<|e|>c</k>d", "<|e|>x</k>y", "<|c|>f<|m|>x<<|c|>n<|m|>a<|e|>k>y", "<|c|> to=f<|m|>b<|e|>c</k>d<|r|><|m|>e</k>f", "<|c|>f<|m|>a<<|e|>k>b", "x<<|r|><|m|>k>y</k>",
		"<|c|>f", "x<|r|>a</k>b",
	}},
	{"leading", sotto.Options{}, sotto.EndStopped, []string{"a<|c|>f<|m|>b<|e|>c", "a<|c|>f<|m|>b<k>c</k>", "a `<|e|>` b", "a<k>b<|c|>c", "<|c|>a<|m|>b<|e|>c</k>", "a <|c|>", "a \"</k>\" b"}},
	{"header", sotto.Options{Start: sotto.BeginAuto}, sotto.EndStopped, []string{"a<|e|>b", "a<|c|>f<|m|>b", "<|m|>a", "c|>a<|m|>b<|e|>c", "c|>", "c|>" + strings.Repeat("x", 1030)}},
	{"newlines", sotto.Options{}, sotto.EndStopped, []string{
		"<|c|> to=f<|m|>a<|e|>\nb", "x<|c|> to=f<|m|>a<|e|>\n\nb", "x<|c|>f<|m|></k>y", "x<|r|><|m|></k>y", "x<|c|> to=f<|m|><|r|><|m|></k>y", "x<|e|><k>y", "<|c|>f|>+a\n<|f|>b",
		"c|>" + strings.Repeat("x", 50) + "<|c|>f<|m|>y",
	}},
	// Newlines that belong to literal markers, families of three, and markers that begin others.
	{"literals", sotto.Options{}, sotto.EndStopped, []string{
		"[t][/t][j]\n", "[t]\na[/t]\n\n\n[j]\n\nb[/j]c", "[t]a[/t]\n\n", "[n]\na[/n]\n\nb", "[k]a[o]\nb[/k]\nc[o]\nd[/o]\ne", "[k]a[/j]b[/k]\n[t]\nc",
	}},
	{"three", sotto.Options{}, sotto.EndStopped, []string{
		"<j>a</k>x<t>b</t>y</i>z</k>w<k>v</k>", "<j>a</k>x<t>b</t>y</j>z</k>w<k>v</k>", "<k>a<o>b</o>c</k>d", "<k>a<o>b</o>c</k>", "<k><o>b",
	}},
	{"tool", sotto.Options{}, sotto.EndStopped, []string{"x <k>a<t>{}</t>b", "x <k>a", "x <k>a<t>b<t>{}</t>c", "x <k>a<t>b<t>b<t>{}"}},
	{"prefixes", sotto.Options{}, sotto.EndStopped, []string{"[k]x[a]by", "[j]x[a]y[a]bz", "[j]x[a]b", "[j]x[a]y[k]"}},
	{"prefixes", sotto.Options{Start: sotto.BeginInsideFirst}, sotto.EndStopped, []string{"[a]bb", "[a]b[a]", "[a]b[a]b"}},
	// A close in the quoted value of an opener is no close.
	{"plain", sotto.Options{}, sotto.EndStopped, []string{
		"x <k a=\"b\" c='<k d=\"e'>f</k>g", "x <k a='b' c=\"<k d='e\">f</k>g", "<k a='<k b=\"'>c</k>d", "<k a=\"<k b='\">c</k>d",
		"x <k>a <k b=\"</k>\">c", "x <k>a <k b=\"</k> <k>c", "x <k>a <k b=\"</k> <k>c\"d", "x <k>a <k b='</k>' <p>c", "x <p>a <k b='</k>' </p>c", "x <k>a <k b=\"</k>",
	}},
	// A wrapper's marker wins over another with the same bytes.
	{"shared", sotto.Options{}, sotto.EndStopped, []string{"x\nx[A]y", "[A]a[B]b[B]c", "[C]a[B]b[B]c", "x[B]y[C]z"}},
	{"after", sotto.Options{}, sotto.EndStopped, []string{"[A]a[B]b[B]c", "[C]a[B]b[B]c", "x[B]y[C]z"}},
	// The letter before a tag decides whether it is a type parameter.
	{"plain", sotto.Options{}, sotto.EndStopped, []string{
		"xy<z <k>b</k>c", "<k>ab\n<z</j>\nb</k>c", "x `b q\nx <k>c</k>` d", "xy <z",
	}},
	{"plain", sotto.Options{}, sotto.EndStopped, []string{"x a<K>b</K>c", "x <K>b</K>c", "x a<k>b</k>c", "a\n<b <k>c", "a\n< <k>c", "ab < k> <k>c</k>d", "a <     k>b<  /\t  k>c"}},
}

// TestReadings compares how replies are read with testdata/readings.txt, and how much of
// them is held before the end. However a reply is cut, the reading is the same, and no two
// pieces of a call are of one segment.
func TestReadings(t *testing.T) {
	grammars := readingGrammars()
	var b strings.Builder
	for _, r := range readings {
		for _, raw := range r.raws {
			read := func(cuts ...int) string {
				s, err := grammars[r.dialect].NewSplitter(r.options)
				if err != nil {
					t.Fatal(err)
				}
				var pieces []sotto.Piece
				visible := ""
				given := 0
				take := func(list []sotto.Piece) {
					for i, p := range list {
						if len(p.Bytes) == 0 && i < len(list)-1 {
							t.Errorf("%s %q cut at %v: a piece without bytes before another", r.dialect, raw, cuts)
						}
						if i > 0 && list[i-1].Segment == p.Segment {
							t.Errorf("%s %q cut at %v: two pieces of segment %d", r.dialect, raw, cuts, p.Segment)
						}
						if p.Offset != given {
							t.Errorf("%s %q cut at %v: a piece at %d, want %d", r.dialect, raw, cuts, p.Offset, given)
						}
						given += len(p.Bytes)
					}
					pieces = append(pieces, piecesOf(list)...)
					visible += visibleOf(list)
				}
				at := 0
				for _, cut := range append(slices.Clip(cuts), len(raw)) {
					take(s.FeedString(raw[at:cut]))
					at = cut
				}
				held := s.Held()
				take(s.Close(r.end))
				said := readingOf(pieces, s) + fmt.Sprintf(" shows %q", visible)
				if held > 0 {
					said += fmt.Sprintf(", held %d", held)
				}
				if s.HasCall() {
					said += ", called"
				}
				return said
			}
			whole := read()
			fmt.Fprintf(&b, "%s %v %q\n\t%q\n", r.dialect, r.end, raw, whole)
			var bytewise []int
			for i := range min(len(raw), 60) {
				if got := read(bytewise...); got != whole {
					t.Errorf("%s %q in bytes up to %d\n%s\nwhole\n%s", r.dialect, raw, i, got, whole)
				}
				for k := max(0, i-4); k < i; k++ {
					if got := read(k, i); got != whole {
						t.Errorf("%s %q cut at %d and %d\n%s\nwhole\n%s", r.dialect, raw, k, i, got, whole)
					}
				}
				bytewise = append(bytewise, i+1)
			}
		}
	}
	golden(t, "testdata/readings.txt", []byte(b.String()))
}
