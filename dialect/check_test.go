package dialect

import (
	"errors"
	"strings"
	"testing"
)

func TestDialectCheck(t *testing.T) {
	lit := func(m Marker) Dialect {
		return Dialect{Name: "x", Markers: []Marker{{Role: RoleReasoning, Tag: "think"}, m}}
	}
	header := func(change func(*Header)) Dialect {
		h := Header{Begin: []string{"<|c|>"}, Body: []string{"<|m|>"}, Channels: map[string]Role{"a": RoleReasoning}}
		change(&h)
		return Dialect{Name: "x", Header: &h}
	}
	with := func(change func(*Dialect)) Dialect {
		d := Dialect{Name: "x", Markers: []Marker{{Role: RoleReasoning, Tag: "think"}}}
		change(&d)
		return d
	}
	for _, tc := range []struct {
		d    Dialect
		path string // the path of the named field, "" if the dialect is valid
	}{
		{with(func(d *Dialect) {}), ""},
		{with(func(d *Dialect) { d.Name = "" }), ""},
		{with(func(d *Dialect) { d.Start = "inside:THINK" }), ""},
		{with(func(d *Dialect) { d.Start = "inside" }), ""},
		{with(func(d *Dialect) { d.MaxHold = -1 }), ""},
		{header(func(h *Header) {}), ""},
		{lit(Marker{Role: RoleTool, Open: []string{"[CALL]"}}), ""},
		{lit(Marker{Role: RoleWrapper, Open: []string{"<answer>\n"}, Close: []string{"\n</answer>"}}), ""},
		{lit(Marker{Role: RoleReasoning, Tag: "ifm|think_fast", Family: "think"}), ""},

		{with(func(d *Dialect) { d.Name = "a b" }), "name"},
		{with(func(d *Dialect) { d.Name = "a/b" }), "name"},
		{with(func(d *Dialect) { d.Markers = nil }), "markers"},
		{with(func(d *Dialect) { d.Placement = "somewhere" }), "placement"},
		{with(func(d *Dialect) { d.Output = "always" }), "output"},
		{with(func(d *Dialect) { d.Close = "any" }), "close"},
		{with(func(d *Dialect) { d.OnDoubt = "drop" }), "on_doubt"},
		{with(func(d *Dialect) { d.AfterTool = RoleText }), ""},
		{with(func(d *Dialect) { d.AfterTool = RoleTool }), "after_tool"},
		{with(func(d *Dialect) { d.PreOpens = "maybe" }), "pre_opens"},
		{with(func(d *Dialect) { d.PreOpens, d.PreOpensSince = "yes", "2025-02-09: a template" }), ""},
		{with(func(d *Dialect) { d.PreOpensSince = "2025-02-09: a template" }), "pre_opens_since"},
		{with(func(d *Dialect) { d.MaxMarker = -1 }), "max_marker"},
		{with(func(d *Dialect) { d.MaxMarker = 7 }), "max_marker"},
		{with(func(d *Dialect) { d.Start = "within" }), "start"},
		{with(func(d *Dialect) { d.Start = "inside:plan" }), "start"},
		{with(func(d *Dialect) { d.Models = []string{"ok*", "*"} }), "models[1]"},
		{with(func(d *Dialect) { d.Models = []string{"Qwen*"} }), "models[0]"},
		{with(func(d *Dialect) { d.Models = []string{"qwen/qwen3"} }), "models[0]"},

		{lit(Marker{Tag: "plan"}), "markers[1].role"},
		{lit(Marker{Role: RoleText, Tag: "plan"}), "markers[1].role"},
		{lit(Marker{Role: "think", Tag: "plan"}), "markers[1].role"},
		{lit(Marker{Role: RoleReasoning}), "markers[1]"},
		{lit(Marker{Role: RoleReasoning, Tag: "plan", Open: []string{"x"}}), "markers[1].tag"},
		{lit(Marker{Role: RoleReasoning, Tag: "plan", Name: "other"}), "markers[1].name"},
		{lit(Marker{Role: RoleReasoning, Tag: "Think"}), "markers[1]"},
		{lit(Marker{Role: RoleReasoning, Tag: "<plan>"}), "markers[1].tag"},
		{lit(Marker{Role: RoleReasoning, Tag: "a b"}), "markers[1].tag"},
		{lit(Marker{Role: RoleReasoning, Tag: "a\u00a0b"}), "markers[1].tag"},
		{lit(Marker{Role: RoleReasoning, Tag: "a=b"}), "markers[1].tag"},
		{lit(Marker{Role: RoleReasoning, Tag: `a"b`}), "markers[1].tag"},
		{lit(Marker{Role: RoleReasoning, Tag: "a/b"}), "markers[1].tag"},
		{lit(Marker{Role: RoleReasoning, Tag: strings.Repeat("a", 126)}), "markers[1].tag"},
		{lit(Marker{Role: RoleReasoning, Open: []string{"[P]"}}), "markers[1].close"},
		{lit(Marker{Role: RoleReasoning, Open: []string{"[P]"}, Close: []string{"\n"}}), "markers[1].close[0]"},
		{lit(Marker{Role: RoleReasoning, Open: []string{"[P]", ""}, Close: []string{"[/P]"}}), "markers[1].open[1]"},
		{lit(Marker{Role: RoleReasoning, Open: []string{"[P]", "[P]"}, Close: []string{"[/P]"}}), "markers[1].open[1]"},
		{lit(Marker{Role: RoleReasoning, Open: []string{"[P]"}, Close: []string{"[P]"}}), "markers[1].close[0]"},
		{lit(Marker{Role: RoleReasoning, Open: []string{strings.Repeat("a", 129)}, Close: []string{"[P]"}}), "markers[1].open[0]"},
		{lit(Marker{Role: RoleReasoning, Tag: "plan", Special: true}), "markers[1].special"},
		{lit(Marker{Role: RoleReasoning, Tag: "plan", Phrase: true}), "markers[1].phrase"},
		{lit(Marker{Role: RoleOutput, Tag: "plan", Rescue: true}), "markers[1].rescue"},
		{lit(Marker{Role: RoleTool, Tag: "plan", Family: "think"}), ""},
		{lit(Marker{Role: RoleReasoning, Open: []string{"Plan:"}, Close: []string{"Answer:"}, Phrase: true, Family: "think"}), "markers[1].family"},
		{Dialect{Name: "x", Markers: []Marker{
			{Role: RoleReasoning, Name: "a", Open: []string{"[P]"}, Close: []string{"[/P]"}},
			{Role: RoleWrapper, Name: "b", Open: []string{"[P]"}},
		}}, "markers[1].open[0]"},

		{header(func(h *Header) { h.Begin = nil }), "header.begin"},
		{header(func(h *Header) { h.Body = nil }), "header.body"},
		{header(func(h *Header) { h.End = []string{""} }), "header.end[0]"},
		{header(func(h *Header) { h.Lead = []string{""} }), "header.lead[0]"},
		{header(func(h *Header) { h.Close = []string{"<|x|>"} }), "header.close[0]"},
		{header(func(h *Header) { h.Channels = nil }), "header.channels"},
		{header(func(h *Header) { h.Channels["a"] = "markup" }), "header.channels.a"},
		{header(func(h *Header) { h.Recipients = map[string]Role{"*": RoleOutput} }), "header.recipients.*"},
		{header(func(h *Header) { h.Channels["a"] = "" }), "header.channels.a"},
		{header(func(h *Header) { h.Channels["b"] = RoleWrapper }), "header.channels.b"},
		{header(func(h *Header) { h.Between = RoleTool }), "header.between"},
		{header(func(h *Header) { h.MaxHeader = -1 }), "header.max_header"},
		{header(func(h *Header) { h.Between = "markup" }), "header.between"},
	} {
		err := tc.d.Check()
		var field *FieldError
		switch {
		case tc.path == "" && err != nil:
			t.Errorf("%+v: %v", tc.d, err)
		case tc.path != "" && (!errors.As(err, &field) || field.Path != tc.path):
			t.Errorf("%+v: %v; want a fault of %s", tc.d, err, tc.path)
		}
	}
}
