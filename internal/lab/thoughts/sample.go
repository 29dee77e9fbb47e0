package thoughts

import (
	"container/heap"
	"slices"
)

// A sample holds the replies of the lowest ranks, up to a number of them.
type sample struct {
	room    int
	heap    ranked
	dropped func(*reply)
}

// draws offers a reply, and reports whether it is held.
func (s *sample) draws(r *reply) bool {
	if len(s.heap) < s.room {
		heap.Push(&s.heap, r)
		return true
	}
	if r.rank.compare(s.heap[0].rank) >= 0 {
		return false
	}
	out := s.heap[0]
	s.heap[0] = r
	heap.Fix(&s.heap, 0)
	s.dropped(out)
	return true
}

// list returns the replies that are held, by rank.
func (s *sample) list() []*reply {
	list := slices.Clone([]*reply(s.heap))
	slices.SortFunc(list, func(a, b *reply) int { return a.rank.compare(b.rank) })
	return list
}

// ranked is a heap with the highest rank on top.
type ranked []*reply

func (h ranked) Len() int           { return len(h) }
func (h ranked) Less(i, j int) bool { return h[i].rank.compare(h[j].rank) > 0 }
func (h ranked) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *ranked) Push(x any)        { *h = append(*h, x.(*reply)) }
func (h *ranked) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
