package dialecttest

import (
	"fmt"
	"testing"

	"github.com/sotto-llm/sotto"
	work "github.com/sotto-llm/sotto/internal/base/effort"
)

// Where the request declares its tools, all short replies with calls are read as the slow
// reader reads them, whole and byte by byte (G11).
func TestDeclaredCalls(t *testing.T) {
	think := sotto.Marker{Role: sotto.RoleReasoning, Tag: "k"}
	tag := sotto.Marker{Role: sotto.RoleTool, Tag: "t"}
	open := sotto.Marker{Role: sotto.RoleTool, Name: "c", Special: true, Open: []string{"<|c|>"}}
	starts := []sotto.Start{sotto.StartOutside, sotto.StartInside("k")}
	deliver := func(d *sotto.Dialect) { d.OnDoubt = sotto.OnDoubtDeliver }
	resume := func(d *sotto.Dialect) { d.AfterTool = sotto.ChannelReasoning }
	most := 3
	if work.Brief() {
		most = 2
	}
	for _, c := range []scope{
		{"closed", []sotto.Marker{think, tag}, nil,
			[]string{"<k>", "</k>", "<t>", "</t>", "<t/>", "f", "\"", "functions.", "x", "\n"}, starts,
			[]string{"<k>x<t>f</t>y", "<k>\"<t>f</t>\"y</k>", "<t>{\"name\": \"f\"}</t>z", "x<k>y<t>f</t>z", "<k>x<k>y</k><t>f</t>z"}},
		{"open", []sotto.Marker{think, open}, resume,
			[]string{"<k>", "</k>", "<|c|>", "f", "fx", "name=\"", "{", "x", " "}, starts,
			[]string{"<|c|>function=f", "<|c|>x\"name\":\"f"}},
		{"open, deliver", []sotto.Marker{think, open}, deliver,
			[]string{"<k>", "</k>", "<|c|>", "f", "-", "[", "x"}, starts, nil},
		{"both", []sotto.Marker{think, tag, open}, nil,
			[]string{"<k>", "</k>", "<t>", "</t>", "<|c|>", "f", "x"}, starts, nil},
	} {
		for _, tools := range [][]string{{"f"}, {"", "g", "f"}, {}} {
			t.Run(fmt.Sprintf("%s/%q", c.name, tools), func(t *testing.T) {
				s := c.suite(t)
				s.slow.tools = tools
				for n := 1; n <= most; n++ {
					c.readAll(t, s, n, n == most)
				}
			})
		}
	}
}
