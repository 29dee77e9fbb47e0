package record

import (
	"slices"
	"testing"
)

// A file that a writer makes while its folder is read may be missing from one
// reading, although a later one is there. The list has no such gap.
func TestListBesideWriter(t *testing.T) {
	for _, c := range []struct{ first, second, want []uint64 }{
		{[]uint64{1, 15, 8}, []uint64{22, 1, 8, 15}, []uint64{1, 8, 15}},
		{[]uint64{15, 1}, []uint64{1, 8, 15}, []uint64{1, 8, 15}},
		{[]uint64{1, 8, 15}, []uint64{15}, []uint64{15}}, // pruned meanwhile
		{nil, []uint64{1}, nil},
	} {
		readings := [][]uint64{c.first, c.second}
		got, err := settled(func() ([]uint64, error) {
			list := slices.Clone(readings[0])
			readings = readings[1:]
			return list, nil
		})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v, then %v: %v, want %v", c.first, c.second, got, c.want)
		}
	}
}
