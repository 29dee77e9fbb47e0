package reading

import (
	"slices"
	"unsafe"
)

// Bounds are the limits of one reply, as the gateway's configuration has them.
type Bounds struct {
	Frame, Choices, Hold, Recorded int
}

// Undecided reports whether a splitter holds text.
func (r *Reading) Undecided() bool {
	return slices.ContainsFunc(r.Choices, func(c *Choice) bool { return c != nil && c.split != nil && c.split.Held() > 0 })
}

// weigh notes how much memory a choice holds now.
func (r *Reading) weigh(c *Choice) {
	n := c.size()
	r.Weight += n - c.weight
	c.weight = n
}

// size is the memory that a choice holds. What is recorded of it is counted by the room for
// the record.
func (c *Choice) size() int {
	n := int(unsafe.Sizeof(*c)) + slotSize + cap(c.trim.wait) + cap(c.echo.said) + cap(c.echo.withheld) + cap(c.json.text) + cap(c.json.fence.held)
	n += cap(c.Kept.Visible) + cap(c.Kept.Raw) + cap(c.Kept.Native) + cap(c.Kept.Inline)
	n += c.calls.size() + c.inThought.Held() + c.details.size()
	n += c.trace.size()
	if c.split != nil {
		n += c.split.Size()
	}
	if c.loop != nil {
		n += int(unsafe.Sizeof(*c.loop)) + cap(c.loop.window)
	}
	if c.script != nil {
		n += int(unsafe.Sizeof(*c.script))
	}
	return n
}

// slotSize is what a choice takes in the list of choices, which grows ahead of them.
const slotSize = 2 * int(unsafe.Sizeof((*Choice)(nil)))
