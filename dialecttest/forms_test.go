package dialecttest

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
)

// byteForms are replies with a place, %, for any byte: before a tag, in its name, around
// its attributes and in their values, and in text where white space matters.
var byteForms = []string{
	"%<k>a</k>b", "x%<K>a</k>b", "x%</K>b<k>a%</K>c", "x%<k>a</k>b",
	"<%>a</%>b", "<%k>a</k>b", "<k>a</%k>b</k>c", "<k%>a</k>b", "<k>a</k%>b</k>c", "x<k/%>b", "<k/>a</k>%b",
	"<k %>a</k>b", "<k %=c>a</k>b", "<k d%=c>a</k>b", "<k d%>a</k>b", "<k d=%>a</k>b", "<k d=%/>a</k>b", "<k d=c%>a</k>b", "<k d=c%/>a</k>b",
	"<k d=c/%>a</k>b", "<k d=/%>a</k>b", `<k d="%">a</k>b`, "<k d='%'>a</k>b", `<k d="c"%>a</k>b`, `<k d="c"%e=f>a</k>b`, "<k>a</k %>b</k>c",
	"<o %>a</o>b", "<k>a</k>x\n%</k>%\ny", "<n>a\n%\nb</n>c", "x\n%```\n<k>a</k>\n%```\nb", "x `%<k>a</k>%` b", "[T%]a[/T]%b",
}

// everyEdge returns a byte of every kind: all that are no letters and digits, and the first
// and the last of the letters and digits, with their neighbours.
func everyEdge() []byte {
	edges := []byte("019ABYZabyzkoT")
	for c := range 256 {
		switch c := byte(c); {
		case c > 0x80 && c < 0xff, isWord(c) && c != '_', c < '\t', c > '\r' && c < ' ':
		default:
			edges = append(edges, c)
		}
	}
	return append(edges, 0, '\b', 0x0e, 0x1f)
}

// everyByteInForms: a byte means what the rules say of it, wherever it stands in a tag or beside
// a marker, and whether or not a delta begins with it.
func everyByteInForms(t *testing.T) {
	s := mustSuite(t, sotto.Dialect{Name: "bytes", Markers: []sotto.Marker{
		{Role: sotto.RoleReasoning, Tag: "k"}, {Role: sotto.RoleReasoning, Tag: "z"}, {Role: sotto.RoleReasoning, Tag: "a"},
		{Role: sotto.RoleOutput, Tag: "o"}, {Role: sotto.RoleNarration, Tag: "n"},
		{Role: sotto.RoleTool, Special: true, Open: []string{"[T]\n"}, Close: []string{"\n[/T]"}},
	}}, false)
	for _, form := range byteForms {
		for _, c := range everyEdge() {
			raw := strings.ReplaceAll(form, "%", string([]byte{c}))
			tr := trial{raw: raw, start: sotto.StartOutside, end: sotto.EndStopped, maxHold: -1}
			f := s.slowReader(tr)
			if f == nil {
				tr.cuts = everyByte(len(raw))
				f = s.splitInvariance(tr)
			}
			if f != nil {
				t.Errorf("%v: %s", f.trial, f.says)
			}
		}
	}
}

// literalForms are literals of every form, in dialects of their own, with replies.
func literalForms() map[*sotto.Dialect][]string {
	on := true
	newlines := strings.Repeat("\n", 300)
	return map[*sotto.Dialect][]string{
		// Of two bytes, with a space or a line's end inside, and with a tag's beginning.
		{Markers: []sotto.Marker{
			{Role: sotto.RoleReasoning, Tag: "kl"}, {Role: sotto.RoleReasoning, Family: "kl", Open: []string{"{x"}, Close: []string{`<kl b="c`}},
			{Role: sotto.RoleWrapper, Open: []string{"[y z]"}, Close: []string{"@\n@"}}, {Role: sotto.RoleWrapper, Open: []string{"(x"}},
		}}: {
			"a(xb[y z]c", "a( x[y  z]", "a\n```@\n@```\n<kl>b</kl>\n```\nc", "x< k<kl></kl>l>y", `x <kl>a <kl b="c">d`, `x <kl>a <kl b="c">de`, `x <kl>a <kl b="c">def`, `x {xa<kl b="cd`,
		},
		{Markers: []sotto.Marker{{Role: sotto.RoleReasoning, Tag: "k"}, {Role: sotto.RoleTool, Open: []string{"[C]"}}}}: {"x[C]y"},
		// Only of bytes that may also stand before a tag's name.
		{Code: &on, Markers: []sotto.Marker{
			{Role: sotto.RoleReasoning, Open: []string{"["}, Close: []string{"]"}}, {Role: sotto.RoleWrapper, Open: []string{"[/"}},
		}}: {"[x", "a[\tb[  c]d", "a[/b[ /c]d", "a [ ", "`/a `[b]"},
		// Only of newlines.
		{Header: &sotto.Header{Begin: []string{"\n\n"}, Body: []string{":"}, End: []string{"\n>"}, Channels: map[string]sotto.Channel{
			"a": sotto.ChannelReasoning, "": sotto.ChannelText,
		}}}: {"\n\na:b\n\n:c\n\n\n:d\n>e", "a\n\n:\n\n\na:b"},
		{Header: &sotto.Header{Begin: []string{"<c>"}, Body: []string{":"}, End: []string{"\n\n"}, Channels: map[string]sotto.Channel{
			"a": sotto.ChannelReasoning, "": sotto.ChannelText,
		}}}: {"<c>a:b\n\nc\n\n\nd", "<c>:b\n\n\n\nc<c>a:\n"},
		// With many newlines that may be missing.
		{MaxMarker: 512, Markers: []sotto.Marker{{Role: sotto.RoleReasoning, Open: []string{"[K]" + newlines}, Close: []string{newlines + "[/K]"}}}}: {
			"[K]\na\n[/K]b", "[K]" + newlines + "a" + newlines + "[/K]b", "[K]\n" + newlines + "\na\n" + newlines + "[/K]\nb",
		},
	}
}
