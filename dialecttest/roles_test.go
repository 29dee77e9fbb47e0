package dialecttest

import (
	"slices"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	work "github.com/sotto-llm/sotto/internal/base/effort"
)

// Several markers of one role, in one family and in several, as tags and as
// literals, keep the laws, including linear time.
func TestSeveralMarkersOfARole(t *testing.T) {
	on := true
	tag := func(role dialect.Role, name, family string) dialect.Marker {
		return dialect.Marker{Role: role, Tag: name, Family: family}
	}
	literal := func(role dialect.Role, name, family string) dialect.Marker {
		return dialect.Marker{Role: role, Name: name, Family: family, Open: []string{"[" + name + "]"}, Close: []string{"[/" + name + "]"}}
	}
	tags := append(slices.Clone(sotto.Default().Dialect().Markers),
		tag(dialect.RoleWrapper, "w1", ""), tag(dialect.RoleWrapper, "w2", "w1"), tag(dialect.RoleWrapper, "w3", ""),
		tag(dialect.RoleTool, "t1", ""), tag(dialect.RoleTool, "t2", "t1"), tag(dialect.RoleTool, "t3", ""),
		tag(dialect.RoleOutput, "o2", ""), tag(dialect.RoleOutput, "o3", "o2"),
		tag(dialect.RoleNarration, "n2", ""), tag(dialect.RoleNarration, "n3", "n2"))
	literals := []dialect.Marker{
		literal(dialect.RoleReasoning, "A", "f"), literal(dialect.RoleReasoning, "B", "f"),
		literal(dialect.RoleOutput, "O", ""), literal(dialect.RoleNarration, "N", ""),
	}
	for _, d := range []dialect.Dialect{
		{Name: "tags", Markers: tags},
		{Name: "anywhere", Markers: tags, Output: dialect.PlacementAnywhere, OnDoubt: dialect.DoubtDeliver, AfterTool: dialect.RoleReasoning},
		{Name: "literals", Markers: literals},
		{Name: "literals_in_code", Markers: literals, Code: &on, Stray: &on},
	} {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			run(t, d, effort{replies: 60, units: 16, search: 150 << 10}.times(work.Times()), nil)
		})
	}
}
