package dialecttest

import (
	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// moreScopes are about what the rules say of single kinds of markers: narration (G12),
// wrappers and strays (G9), tools (G11), nesting (G5, G6), leading placement (G3), attributes
// (G1), and the headers of channel grammars (section 4).
func moreScopes() []scope {
	think := dialect.Marker{Role: dialect.RoleReasoning, Tag: "k"}
	also := dialect.Marker{Role: dialect.RoleReasoning, Tag: "j", Family: "k"}
	out := dialect.Marker{Role: dialect.RoleOutput, Tag: "o"}
	narr := dialect.Marker{Role: dialect.RoleNarration, Tag: "n"}
	diary := dialect.Marker{Role: dialect.RoleNarration, Tag: "d"}
	wrapper := dialect.Marker{Role: dialect.RoleWrapper, Tag: "w"}
	tool := dialect.Marker{Role: dialect.RoleTool, Tag: "t"}
	call := dialect.Marker{Role: dialect.RoleTool, Special: true, Open: []string{"<|c|>"}, Close: []string{"<|/c|>\n"}}
	outside := []sotto.Beginning{sotto.BeginOutside}
	inside := []sotto.Beginning{sotto.BeginOutside, sotto.BeginInside("k")}
	auto := []sotto.Beginning{sotto.BeginAuto}
	leading := func(d *dialect.Dialect) { d.Placement = dialect.PlacementLeading }
	family := func(d *dialect.Dialect) { d.Close = dialect.CloseFamily }
	resume := func(d *dialect.Dialect) { d.AfterTool = dialect.RoleReasoning }
	return []scope{
		{"narration", []dialect.Marker{narr, diary, out, think}, nil,
			[]string{"<n>", "</n>", "</d>", "<n/>", "<o>", "</o>", "<k>", "</k>", "\n", "\n\n", "x", "\""}, outside,
			[]string{"<n>x\n \n</n>y", "<n>\n\n</n></n>y</n>", "<o>x<n>y</o>z", "<n>x<k>y\n\n</k>\n\nz</n>"}},
		{"wrappers", []dialect.Marker{wrapper, think, out}, nil,
			[]string{"<w>", "</w>", "<w/>", "<k>", "</k>", "<o>", "</o>", "x", "\n", "`"}, outside,
			[]string{"x<w>y</w>z</w>", "x<w></w> </k>", "<o>x<w>y</o></w>z"}},
		{"calls", []dialect.Marker{think, also, tool, call}, resume,
			[]string{"<k>", "</k>", "<j>", "<t>{", "<t>", "</t>", "<|c|>", "<|/c|>", "x", "\n", "<t/>"}, inside,
			[]string{"<k>x<t>{}</t>y</j>z</k>", "<j><t>{}</t>\n", "<t>{<|c|>x<|/c|>\n\ny", "<j>x<|c|>y<|/c|>\nz<k>y</k>"}},
		{"text calls", []dialect.Marker{think, tool}, nil,
			[]string{"<k>", "</k>", "<t>", "<t>\n", "<function=", "<func", "{", "</t>", "x", "\"", "\""}, inside, nil},
		{"nesting", []dialect.Marker{think, also}, nil,
			[]string{"<k>", "</k>", "<j>", "</j>", "<k/>", "\"", "`", "\n", "x", " "}, inside,
			[]string{"x<k>y<k>z</k>w</k>v", "x<k>y<j>z</j>`</k>`w</k>v", "<k>x\n</j>\ny<k>"}},
		{"family closes", []dialect.Marker{think, also}, family,
			[]string{"<k>", "</k>", "<j>", "</j>", "<k/>", "\"", "\n", "x"}, inside, nil},
		{"literal nesting", []dialect.Marker{{Role: dialect.RoleReasoning, Name: "k", Open: []string{"[k]\n", "[j]"}, Close: []string{"\n[/k]", "[/j]\n"}}}, nil,
			[]string{"[k]", "[/k]", "[j]", "[/j]", "\n", "x", "\""}, inside, nil},
		{"leading", []dialect.Marker{think, out, wrapper, narr, tool}, leading,
			[]string{"<k>", "</k>", "<o>", "</o>", "<w>", "</w>", "<n>", "<t>", "x", "\n", "`"}, append(auto, outside...),
			[]string{"x`</k>`y</k>z", "x\"</k>\"</k>y"}},
		{"values", []dialect.Marker{think, out}, nil,
			[]string{"<k", "</k", "<o", " a=", "b", "\"", "'", ">", "/>", "<k>", "</k>", " "}, outside,
			[]string{"<k a=\"</k>\">x</k>y", "<k a='\"' b=\"'\">x</k>y", "x <k a=\"</k>\" z", "x <k a='</k>'>y", "x <k a='</k>"}},
		{"lines", []dialect.Marker{call}, func(d *dialect.Dialect) {
			d.Header = &dialect.Header{
				Begin: []string{"<|ch>", "<ch|>"}, Body: []string{"\n"}, Close: []string{"<ch|>"}, Name: []string{"<|ch>"}, Lead: []string{"r\n", "r"},
				Channels: map[string]dialect.Role{"r": dialect.RoleReasoning, "": dialect.RoleText}, Between: "text",
			}
		},
			[]string{"<|ch>", "<ch|>", "r", "\n", "x", "<|c|>", "<|/c|>", " "}, append(auto, outside...), nil},
		{"recipients", nil, func(d *dialect.Dialect) {
			d.Header = &dialect.Header{
				Begin: []string{"<|s|>"}, Body: []string{"<|m|>"}, Lead: []string{"to=", "<|m|>"}, End: []string{"<|e|>"},
				Channels:   map[string]dialect.Role{"": dialect.RoleText, "self": dialect.RoleReasoning},
				Recipients: map[string]dialect.Role{"self": dialect.RoleReasoning, "user": dialect.RoleText, "*": dialect.RoleTool},
			}
		},
			[]string{"<|s|>", "<|m|>", "<|e|>", " to=", "to=self", "to=user", "to=f", "x", "\n"}, append(auto, outside...), nil},
		{"channels", []dialect.Marker{out}, func(d *dialect.Dialect) {
			d.Header = &dialect.Header{
				Begin: []string{"<|o|>", "<|/o|>"}, Body: []string{"<|m|>"}, End: []string{"<|e|>"}, Close: []string{"<|/o|>"}, Name: []string{"<|o|>"}, Tokens: []string{"<|t|>"},
				Channels: map[string]dialect.Role{"r": dialect.RoleReasoning, "t": dialect.RoleText, "n": dialect.RoleNarration, "c": dialect.RoleTool},
			}
		},
			[]string{"<|o|>r<|m|>", "<|o|>t<|t|><|m|>", "<|o|>n<|m|>", "<|o|>c<|m|>", "<|/o|>", "<|m|>", "<|e|>", "<o>", "x"}, outside, nil},
	}
}
