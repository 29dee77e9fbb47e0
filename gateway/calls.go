package gateway

import (
	"cmp"
	"strings"
)

// Bounds of the call ids that are kept: more than any client needs.
const (
	maxCalls          = 1024
	maxCallBytes      = 64 << 10
	maxSignatureBytes = 256 << 10 // of all of a reply's signatures
)

// callIDs are the ids of the tools that a reply called, or their names, in order.
// The zero value is empty. The memory that an upstream can make it use is bounded.
// Looking an id up takes constant time.
type callIDs struct {
	list  []string
	tools []string // their names, one for each in list
	seen  map[string]struct{}
	names bool // a call has no id
	bytes int
	// signatures are the provider's, by the index of their call.
	signatures map[int]string
	signed     int // bytes of them
}

// sign notes the signature of the call that was found last.
func (c *callIDs) sign(signature string) {
	at := len(c.list) - 1
	if signature == "" || at < 0 || c.signatures[at] != "" || c.signed+len(signature) > maxSignatureBytes {
		return
	}
	if c.signatures == nil {
		c.signatures = map[int]string{}
	}
	c.signatures[at] = strings.Clone(signature)
	c.signed += len(signature)
}

// found notes the id of a call, or else its name. The later pieces of a call have
// neither, or the id again.
func (c *callIDs) found(id, name string) {
	if _, ok := c.seen[id]; ok {
		return
	}
	if id == "" && name != "" {
		c.names = true
	}
	if id = cmp.Or(id, name); id == "" || len(c.list) == maxCalls || c.bytes+len(id)+len(name) > maxCallBytes {
		return
	}
	id = strings.Clone(id)
	if c.seen == nil {
		c.seen = map[string]struct{}{}
	}
	c.seen[id] = struct{}{}
	c.list, c.tools = append(c.list, id), append(c.tools, strings.Clone(name))
	c.bytes += len(id) + len(name)
}
