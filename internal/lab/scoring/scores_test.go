package scoring

import (
	"testing"
)

func TestMajority(t *testing.T) {
	for _, test := range []struct {
		votes map[digest]share
		want  float64
	}{
		{nil, 0},
		{map[digest]share{{1}: {3, 3}, {2}: {2, 0}}, 1},
		{map[digest]share{{1}: {3, 0}, {2}: {2, 2}}, 0},
		{map[digest]share{{1}: {2, 0}, {2}: {2, 2}}, 0.5},
		{map[digest]share{{1}: {1, 0}, {2}: {1, 1}, {3}: {1, 0}}, 1.0 / 3},
	} {
		if got := (&samples{votes: test.votes}).majority(); got != test.want {
			t.Errorf("%v: %v, want %v", test.votes, got, test.want)
		}
	}
}
