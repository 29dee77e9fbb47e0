package dialecttest

import (
	"slices"
	"testing"

	"github.com/sotto-llm/sotto"
)

// The default dialect is held to every law in full.
func TestDefault(t *testing.T) { Run(t, sotto.Default().Dialect()) }

// Every shipped dialect is, with fewer replies.
func TestShipped(t *testing.T) {
	for i, d := range sotto.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			for _, s := range []*suite{newSuite(t, d, 0), newSuite(t, tight(d), 1)} {
				var replies []string
				for k := range 60 * effort() {
					replies = append(replies, s.random(uint64(1000*i+k), 12))
				}
				s.quick(t, replies)
				if testing.Short() {
					return
				}
				if s.seed > 0 {
					t.Run("earliest_emission", func(t *testing.T) { s.emission(t, 1, s.alphabets()[:1]) })
				}
			}
		})
	}
}

// The fields that no shipped dialect sets keep the laws too.
func TestFields(t *testing.T) {
	base := sotto.Default().Dialect()
	off := false
	for name, change := range map[string]func(*sotto.Dialect){
		"deliver":   func(d *sotto.Dialect) { d.OnDoubt = "deliver" },
		"close_any": func(d *sotto.Dialect) { d.Close = "family" },
		"leading":   func(d *sotto.Dialect) { d.Placement = "leading" },
		"no_code":   func(d *sotto.Dialect) { d.Code = &off },
		"no_stray":  func(d *sotto.Dialect) { d.Stray = &off },
		"anywhere":  func(d *sotto.Dialect) { d.Output = "anywhere" },
		"short_literals": func(d *sotto.Dialect) {
			d.Markers = append(slices.Clone(d.Markers),
				sotto.Marker{Role: sotto.RoleReasoning, Name: "lead", Open: []string{"< /"}, Close: []string{"<//"}},
				sotto.Marker{Role: sotto.RoleReasoning, Name: "one", Open: []string{"< 1"}, Close: []string{"/1"}})
		},
	} {
		d := base
		d.Name = name
		change(&d)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range []*suite{newSuite(t, d, 0), newSuite(t, tight(d), 1)} {
				var replies []string
				for k := range 400 * effort() {
					replies = append(replies, s.random(uint64(k), 12))
				}
				s.quick(t, replies)
			}
		})
	}
}
