package symbolic

import (
	"iter"
	"slices"
)

// Trees returns every expression tree over the given number of slots, each as a
// template. It joins slots and subtrees two by two in every way, in both orders,
// with + - * and /; for + and *, both orders count as one. Four slots have 3,240
// trees. It returns none for more than 6 slots, which would have hundreds of
// millions.
func Trees(slots int) iter.Seq[Template] {
	return func(yield func(Template) bool) {
		if slots < 1 || slots > 6 {
			return
		}
		trees(1<<slots-1, func(e *expr) bool { return yield(newTemplate(e, slots)) })
	}
}

// trees calls visit for every tree over a set of slots until visit returns false.
func trees(set int, visit func(*expr) bool) bool {
	if set&(set-1) == 0 {
		slot := 0
		for set>>slot != 1 {
			slot++
		}
		return visit(&expr{op: 's', slot: slot})
	}
	lowest := set & -set // always on the left, so that no pair comes twice
	for left := (set - 1) & set; left > 0; left = (left - 1) & set {
		if left&lowest == 0 {
			continue
		}
		more := trees(left, func(l *expr) bool {
			return trees(set&^left, func(r *expr) bool {
				for _, x := range []*expr{{'+', 0, l, r}, {'*', 0, l, r}, {'-', 0, l, r}, {'-', 0, r, l}, {'/', 0, l, r}, {'/', 0, r, l}} {
					if !visit(x) {
						return false
					}
				}
				return true
			})
		})
		if !more {
			return false
		}
	}
	return true
}

// Functions returns the distinct functions among the [Trees] over the given number
// of slots, by their keys.
func Functions(slots int) []Template {
	seen := map[string]Template{}
	for t := range Trees(slots) {
		if _, ok := seen[t.key]; !ok {
			seen[t.key] = t
		}
	}
	list := make([]Template, 0, len(seen))
	for _, t := range seen {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b Template) int {
		if a.key < b.key {
			return -1
		}
		return 1
	})
	return list
}

// Games returns the games of n numbers from lo to hi that can make the target. Each
// has its numbers in order, and the games are in lexical order. The Game of 24 is
// Games(4, 1, 13, 24), which has 1,362 games.
func Games(n int, lo, hi, target int64) [][]int64 {
	var games [][]int64
	game := make([]int64, n)
	var fill func(at int, from int64)
	fill = func(at int, from int64) {
		if at == n {
			if _, ok := Solve(game, target); ok {
				games = append(games, slices.Clone(game))
			}
			return
		}
		for x := from; x <= hi; x++ {
			game[at] = x
			fill(at+1, x)
		}
	}
	fill(0, lo)
	return games
}
