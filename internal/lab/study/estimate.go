package study

import (
	"slices"
	"strings"
	"time"
)

// Remaining estimates how long the cells that are left will take with this many
// workers: for each the median time of the finished cells with the same model, or of
// all finished cells if there is none. It returns false if no cell is finished.
func (s *Study) Remaining(workers int) (time.Duration, bool) {
	took := map[string][]int64{}
	left := map[string]int64{}
	for i := range s.Cells {
		c := &s.Cells[i]
		state := s.State(c)
		switch group := s.group(c); state.Status {
		case Done, Bounded:
			took[group] = append(took[group], state.Millis)
			took[""] = append(took[""], state.Millis)
		case Waiting, Running:
			left[group]++
		}
	}
	if len(took[""]) == 0 {
		return 0, false
	}
	var all int64
	for group, n := range left {
		times := took[group]
		if len(times) == 0 {
			times = took[""]
		}
		slices.Sort(times)
		all += n * times[len(times)/2]
	}
	return time.Duration(all/int64(max(workers, 1))) * time.Millisecond, true
}

// group returns the values of the keys that belong to the model.
func (s *Study) group(c *Cell) string {
	group := "m"
	for _, v := range c.Values {
		if isModel(s.Kind, v.Key) || strings.Contains(v.Key, "model") {
			group += " " + v.Label
		}
	}
	return group
}
