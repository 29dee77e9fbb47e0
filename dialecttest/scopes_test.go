package dialecttest

import "github.com/sotto-llm/sotto"

// moreScopes are about what the rules say of single kinds of markers: narration (G12),
// wrappers and strays (G9), tools (G11), nesting (G5, G6), leading placement (G3), attributes
// (G1), and the headers of channel grammars (section 4).
func moreScopes() []scope {
	think := sotto.Marker{Role: sotto.RoleReasoning, Tag: "k"}
	also := sotto.Marker{Role: sotto.RoleReasoning, Tag: "j", Family: "k"}
	out := sotto.Marker{Role: sotto.RoleOutput, Tag: "o"}
	narr := sotto.Marker{Role: sotto.RoleNarration, Tag: "n"}
	diary := sotto.Marker{Role: sotto.RoleNarration, Tag: "d"}
	wrapper := sotto.Marker{Role: sotto.RoleWrapper, Tag: "w"}
	tool := sotto.Marker{Role: sotto.RoleTool, Tag: "t"}
	call := sotto.Marker{Role: sotto.RoleTool, Special: true, Open: []string{"<|c|>"}, Close: []string{"<|/c|>\n"}}
	outside := []sotto.Start{sotto.StartOutside}
	inside := []sotto.Start{sotto.StartOutside, sotto.StartInside("k")}
	auto := []sotto.Start{sotto.StartAuto}
	leading := func(d *sotto.Dialect) { d.Placement = sotto.PlacementLeading }
	family := func(d *sotto.Dialect) { d.Close = sotto.CloseFamily }
	resume := func(d *sotto.Dialect) { d.AfterTool = sotto.ChannelReasoning }
	return []scope{
		{"narration", []sotto.Marker{narr, diary, out, think}, nil,
			[]string{"<n>", "</n>", "</d>", "<n/>", "<o>", "</o>", "<k>", "</k>", "\n", "\n\n", "x", "\""}, outside,
			[]string{"<n>x\n \n</n>y", "<n>\n\n</n></n>y</n>", "<o>x<n>y</o>z", "<n>x<k>y\n\n</k>\n\nz</n>"}},
		{"wrappers", []sotto.Marker{wrapper, think, out}, nil,
			[]string{"<w>", "</w>", "<w/>", "<k>", "</k>", "<o>", "</o>", "x", "\n", "`"}, outside,
			[]string{"x<w>y</w>z</w>", "x<w></w> </k>", "<o>x<w>y</o></w>z"}},
		{"calls", []sotto.Marker{think, also, tool, call}, resume,
			[]string{"<k>", "</k>", "<j>", "<t>{", "<t>", "</t>", "<|c|>", "<|/c|>", "x", "\n", "<t/>"}, inside,
			[]string{"<k>x<t>{}</t>y</j>z</k>", "<j><t>{}</t>\n", "<t>{<|c|>x<|/c|>\n\ny", "<j>x<|c|>y<|/c|>\nz<k>y</k>"}},
		{"text calls", []sotto.Marker{think, tool}, nil,
			[]string{"<k>", "</k>", "<t>", "<t>\n", "<function=", "<func", "{", "</t>", "x", "\"", "\""}, inside, nil},
		{"nesting", []sotto.Marker{think, also}, nil,
			[]string{"<k>", "</k>", "<j>", "</j>", "<k/>", "\"", "`", "\n", "x", " "}, inside,
			[]string{"x<k>y<k>z</k>w</k>v", "x<k>y<j>z</j>`</k>`w</k>v", "<k>x\n</j>\ny<k>"}},
		{"family closes", []sotto.Marker{think, also}, family,
			[]string{"<k>", "</k>", "<j>", "</j>", "<k/>", "\"", "\n", "x"}, inside, nil},
		{"literal nesting", []sotto.Marker{{Role: sotto.RoleReasoning, Name: "k", Open: []string{"[k]\n", "[j]"}, Close: []string{"\n[/k]", "[/j]\n"}}}, nil,
			[]string{"[k]", "[/k]", "[j]", "[/j]", "\n", "x", "\""}, inside, nil},
		{"leading", []sotto.Marker{think, out, wrapper, narr, tool}, leading,
			[]string{"<k>", "</k>", "<o>", "</o>", "<w>", "</w>", "<n>", "<t>", "x", "\n", "`"}, append(auto, outside...),
			[]string{"x`</k>`y</k>z", "x\"</k>\"</k>y"}},
		{"values", []sotto.Marker{think, out}, nil,
			[]string{"<k", "</k", "<o", " a=", "b", "\"", "'", ">", "/>", "<k>", "</k>", " "}, outside,
			[]string{"<k a=\"</k>\">x</k>y", "<k a='\"' b=\"'\">x</k>y", "x <k a=\"</k>\" z", "x <k a='</k>'>y", "x <k a='</k>"}},
		{"lines", []sotto.Marker{call}, func(d *sotto.Dialect) {
			d.Header = &sotto.Header{
				Begin: []string{"<|ch>", "<ch|>"}, Body: []string{"\n"}, Close: []string{"<ch|>"}, Name: []string{"<|ch>"}, Lead: []string{"r\n", "r"},
				Channels: map[string]sotto.Channel{"r": sotto.ChannelReasoning, "": sotto.ChannelText}, Between: "text",
			}
		},
			[]string{"<|ch>", "<ch|>", "r", "\n", "x", "<|c|>", "<|/c|>", " "}, append(auto, outside...), nil},
		{"recipients", nil, func(d *sotto.Dialect) {
			d.Header = &sotto.Header{
				Begin: []string{"<|s|>"}, Body: []string{"<|m|>"}, Lead: []string{"to=", "<|m|>"}, End: []string{"<|e|>"},
				Channels:   map[string]sotto.Channel{"": sotto.ChannelText, "self": sotto.ChannelReasoning},
				Recipients: map[string]sotto.Channel{"self": sotto.ChannelReasoning, "user": sotto.ChannelText, "*": sotto.ChannelTool},
			}
		},
			[]string{"<|s|>", "<|m|>", "<|e|>", " to=", "to=self", "to=user", "to=f", "x", "\n"}, append(auto, outside...), nil},
		{"channels", []sotto.Marker{out}, func(d *sotto.Dialect) {
			d.Header = &sotto.Header{
				Begin: []string{"<|o|>", "<|/o|>"}, Body: []string{"<|m|>"}, End: []string{"<|e|>"}, Close: []string{"<|/o|>"}, Name: []string{"<|o|>"}, Tokens: []string{"<|t|>"},
				Channels: map[string]sotto.Channel{"r": sotto.ChannelReasoning, "t": sotto.ChannelText, "n": sotto.ChannelNarration, "c": sotto.ChannelTool},
			}
		},
			[]string{"<|o|>r<|m|>", "<|o|>t<|t|><|m|>", "<|o|>n<|m|>", "<|o|>c<|m|>", "<|/o|>", "<|m|>", "<|e|>", "<o>", "x"}, outside, nil},
	}
}
