package dialecttest

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
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
	s := mustSuite(t, dialect.Dialect{Name: "bytes", Markers: []dialect.Marker{
		{Role: dialect.RoleReasoning, Tag: "k"}, {Role: dialect.RoleReasoning, Tag: "z"}, {Role: dialect.RoleReasoning, Tag: "a"},
		{Role: dialect.RoleOutput, Tag: "o"}, {Role: dialect.RoleNarration, Tag: "n"},
		{Role: dialect.RoleTool, Special: true, Open: []string{"[T]\n"}, Close: []string{"\n[/T]"}},
	}}, false)
	for _, form := range byteForms {
		for _, c := range everyEdge() {
			raw := strings.ReplaceAll(form, "%", string([]byte{c}))
			tr := trial{raw: raw, start: sotto.BeginOutside, end: sotto.EndStopped, maxHold: -1}
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
func literalForms() map[*dialect.Dialect][]string {
	on := true
	newlines := strings.Repeat("\n", 300)
	return map[*dialect.Dialect][]string{
		// Of two bytes, with a space or a line's end inside, and with a tag's beginning.
		{Markers: []dialect.Marker{
			{Role: dialect.RoleReasoning, Tag: "kl"}, {Role: dialect.RoleReasoning, Family: "kl", Open: []string{"{x"}, Close: []string{`<kl b="c`}},
			{Role: dialect.RoleWrapper, Open: []string{"[y z]"}, Close: []string{"@\n@"}}, {Role: dialect.RoleWrapper, Open: []string{"(x"}},
		}}: {
			"a(xb[y z]c", "a( x[y  z]", "a\n```@\n@```\n<kl>b</kl>\n```\nc", "x< k<kl></kl>l>y", `x <kl>a <kl b="c">d`, `x <kl>a <kl b="c">de`, `x <kl>a <kl b="c">def`, `x {xa<kl b="cd`,
		},
		{Markers: []dialect.Marker{{Role: dialect.RoleReasoning, Tag: "k"}, {Role: dialect.RoleTool, Open: []string{"[C]"}}}}: {"x[C]y"},
		// Only of bytes that may also stand before a tag's name.
		{Code: &on, Markers: []dialect.Marker{
			{Role: dialect.RoleReasoning, Open: []string{"["}, Close: []string{"]"}}, {Role: dialect.RoleWrapper, Open: []string{"[/"}},
		}}: {"[x", "a[\tb[  c]d", "a[/b[ /c]d", "a [ ", "`/a `[b]"},
		// Only of newlines.
		{Header: &dialect.Header{Begin: []string{"\n\n"}, Body: []string{":"}, End: []string{"\n>"}, Channels: map[string]dialect.Role{
			"a": dialect.RoleReasoning, "": dialect.RoleText,
		}}}: {"\n\na:b\n\n:c\n\n\n:d\n>e", "a\n\n:\n\n\na:b"},
		{Header: &dialect.Header{Begin: []string{"<c>"}, Body: []string{":"}, End: []string{"\n\n"}, Channels: map[string]dialect.Role{
			"a": dialect.RoleReasoning, "": dialect.RoleText,
		}}}: {"<c>a:b\n\nc\n\n\nd", "<c>:b\n\n\n\nc<c>a:\n"},
		// With many newlines that may be missing.
		{MaxMarker: 512, Markers: []dialect.Marker{{Role: dialect.RoleReasoning, Open: []string{"[K]" + newlines}, Close: []string{newlines + "[/K]"}}}}: {
			"[K]\na\n[/K]b", "[K]" + newlines + "a" + newlines + "[/K]b", "[K]\n" + newlines + "\na\n" + newlines + "[/K]\nb",
		},
	}
}
