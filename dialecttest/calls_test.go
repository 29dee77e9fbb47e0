package dialecttest

import (
	"fmt"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	work "github.com/sotto-llm/sotto/internal/base/effort"
)

// Where the request declares its tools, all short replies with calls are read as the slow
// reader reads them, whole and byte by byte (G11).
func TestDeclaredCalls(t *testing.T) {
	think := dialect.Marker{Role: dialect.RoleReasoning, Tag: "k"}
	tag := dialect.Marker{Role: dialect.RoleTool, Tag: "t"}
	open := dialect.Marker{Role: dialect.RoleTool, Name: "c", Special: true, Open: []string{"<|c|>"}}
	starts := []sotto.Beginning{sotto.BeginOutside, sotto.BeginInside("k")}
	deliver := func(d *dialect.Dialect) { d.OnDoubt = dialect.DoubtDeliver }
	resume := func(d *dialect.Dialect) { d.AfterTool = dialect.RoleReasoning }
	most := 3
	if work.Brief() {
		most = 2
	}
	for _, c := range []scope{
		{"closed", []dialect.Marker{think, tag}, nil,
			[]string{"<k>", "</k>", "<t>", "</t>", "<t/>", "f", "\"", "functions.", "x", "\n"}, starts,
			[]string{"<k>x<t>f</t>y", "<k>\"<t>f</t>\"y</k>", "<t>{\"name\": \"f\"}</t>z", "x<k>y<t>f</t>z", "<k>x<k>y</k><t>f</t>z"}},
		{"open", []dialect.Marker{think, open}, resume,
			[]string{"<k>", "</k>", "<|c|>", "f", "fx", "name=\"", "{", "x", " "}, starts,
			[]string{"<|c|>function=f", "<|c|>x\"name\":\"f"}},
		{"open, deliver", []dialect.Marker{think, open}, deliver,
			[]string{"<k>", "</k>", "<|c|>", "f", "-", "[", "x"}, starts, nil},
		{"both", []dialect.Marker{think, tag, open}, nil,
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
