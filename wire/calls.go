package wire

import "strings"

// Bounds of the call ids that are kept: more than any client needs.
const (
	maxCalls     = 1024
	maxCallBytes = 64 << 10
)

// CallIDs are the ids of the tools that a reply called, or their names, in order.
// The zero value is empty. The memory that an upstream can make it use is bounded.
// Looking an id up takes constant time.
type CallIDs struct {
	list  []string
	seen  map[string]struct{}
	bytes int
}

// List returns the ids.
func (c *CallIDs) List() []string { return c.list }

// Has reports whether an id is kept.
func (c *CallIDs) Has(id string) bool {
	_, ok := c.seen[id]
	return ok
}

func (c *CallIDs) full() bool { return len(c.list) == maxCalls || c.bytes >= maxCallBytes }

func (c *CallIDs) add(id string) {
	if id == "" || c.full() || c.bytes+len(id) > maxCallBytes {
		return
	}
	id = strings.Clone(id)
	if c.seen == nil {
		c.seen = map[string]struct{}{}
	}
	c.seen[id] = struct{}{}
	c.list = append(c.list, id)
	c.bytes += len(id)
}
