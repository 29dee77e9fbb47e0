package explore

import (
	"math"
	"math/bits"

	"github.com/sotto-llm/sotto/internal/base/stats"
)

// A counted name has a cell for each bucket.
type counted struct {
	name   string
	others bool
	cells  []cell
}

// A cell counts the events of a bucket: how many, and of a share those that it is of; of a
// quantity, how many have each size.
type cell struct {
	n, count int
	sizes    []uint32
}

func (c *cell) add(amount int64, share bool) {
	c.n++
	if share {
		c.count += int(amount)
		return
	}
	i := sizeOf(amount)
	if i >= len(c.sizes) {
		c.sizes = append(c.sizes, make([]uint32, i+1-len(c.sizes))...)
	}
	c.sizes[i]++
}

// finest is up to which quantity each has a size of its own. From there on, a power of two is
// divided into half as many sizes, so that a size says the quantity to within 1 %.
const finest = 128

// sizeOf is the size of a quantity.
func sizeOf(n int64) int {
	if n < finest {
		return int(max(0, n))
	}
	shift := bits.Len64(uint64(n)) - bits.Len64(finest) + 1
	return shift*finest/2 + int(n>>shift)
}

// amountOf is the quantity in the middle of a size.
func amountOf(size int) float64 {
	if size < finest {
		return float64(size)
	}
	shift := (size - finest/2) / (finest / 2)
	low := int64(size-shift*finest/2) << shift
	return float64(low) + float64(int64(1)<<shift-1)/2
}

// join adds other cells to a cell.
func (c *cell) join(list []cell) {
	for i := range list {
		c.n += list[i].n
		c.count += list[i].count
		if d := len(list[i].sizes) - len(c.sizes); d > 0 {
			c.sizes = append(c.sizes, make([]uint32, d)...)
		}
		for size, n := range list[i].sizes {
			c.sizes[size] += n
		}
	}
}

// ranked is the size of a rank, from 0 to n - 1.
func (c *cell) ranked(rank int) int {
	for size, n := range c.sizes {
		if rank -= int(n); rank < 0 {
			return size
		}
	}
	return max(0, len(c.sizes)-1)
}

// value is the share with Wilson's interval; or the median, between the ranks that Wilson's
// interval of one half gives, which needs no assumption about the quantity.
func (c *cell) value(share bool) Value {
	if share || c.n == 0 {
		r := stats.NewRate("", c.count, c.n)
		return Value{N: c.n, Count: c.count, Value: r.Rate, Low: r.Low, High: r.High}
	}
	half := stats.NewRate("", c.n/2, c.n)
	at := func(share float64) float64 {
		return amountOf(c.ranked(min(c.n-1, int(math.Floor(share*float64(c.n))))))
	}
	return Value{N: c.n, Value: at(0.5), Low: at(half.Low), High: at(half.High)}
}

// above is how many are larger than a size.
func (c *cell) above(size int) (n int) {
	for i := size + 1; i < len(c.sizes); i++ {
		n += int(c.sizes[i])
	}
	return n
}

// series computes what is shown of a name. A share changes where its rate does. A quantity
// changes where the share of those above its median does.
func (l *counted) series(a *Answer) Series {
	share := a.Query.Of.Share()
	var all cell
	all.join(l.cells)
	s := Series{Name: l.name, Others: l.others, Total: all.value(share)}
	trials := make([]stats.Trial, len(l.cells))
	middle := 0
	if !share {
		middle = all.ranked(all.n / 2)
	}
	for i := range l.cells {
		c := &l.cells[i]
		s.Points = append(s.Points, c.value(share))
		trials[i] = stats.Trial{Count: c.count, Of: c.n}
		if !share {
			trials[i].Count = c.above(middle)
		}
	}
	from := 0
	for _, to := range append(stats.Changes(trials), len(trials)) {
		var part cell
		part.join(l.cells[from:to])
		s.Stretches = append(s.Stretches, Stretch{a.At(from), a.At(to), part.value(share)})
		from = to
	}
	return s
}
