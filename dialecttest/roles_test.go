package dialecttest

import (
	"slices"
	"testing"

	"github.com/sotto-llm/sotto"
	work "github.com/sotto-llm/sotto/internal/base/effort"
)

// Several markers of one role, in one family and in several, as tags and as
// literals, keep the laws, including linear time.
func TestSeveralMarkersOfARole(t *testing.T) {
	on := true
	tag := func(role sotto.Role, name, family string) sotto.Marker {
		return sotto.Marker{Role: role, Tag: name, Family: family}
	}
	literal := func(role sotto.Role, name, family string) sotto.Marker {
		return sotto.Marker{Role: role, Name: name, Family: family, Open: []string{"[" + name + "]"}, Close: []string{"[/" + name + "]"}}
	}
	tags := append(slices.Clone(sotto.Default().Dialect().Markers),
		tag(sotto.RoleWrapper, "w1", ""), tag(sotto.RoleWrapper, "w2", "w1"), tag(sotto.RoleWrapper, "w3", ""),
		tag(sotto.RoleTool, "t1", ""), tag(sotto.RoleTool, "t2", "t1"), tag(sotto.RoleTool, "t3", ""),
		tag(sotto.RoleOutput, "o2", ""), tag(sotto.RoleOutput, "o3", "o2"),
		tag(sotto.RoleNarration, "n2", ""), tag(sotto.RoleNarration, "n3", "n2"))
	literals := []sotto.Marker{
		literal(sotto.RoleReasoning, "A", "f"), literal(sotto.RoleReasoning, "B", "f"),
		literal(sotto.RoleOutput, "O", ""), literal(sotto.RoleNarration, "N", ""),
	}
	for _, d := range []sotto.Dialect{
		{Name: "tags", Markers: tags},
		{Name: "anywhere", Markers: tags, Output: sotto.OutputAnywhere, OnDoubt: sotto.OnDoubtDeliver, AfterTool: sotto.ChannelReasoning},
		{Name: "literals", Markers: literals},
		{Name: "literals_in_code", Markers: literals, Code: &on, Stray: &on},
	} {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			run(t, d, effort{replies: 60, units: 16, search: 150 << 10}.times(work.Times()), nil)
		})
	}
}
