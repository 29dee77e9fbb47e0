package gateway

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/wire"
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

// sealedItems are the items with encrypted reasoning at the beginning of a reply.
type sealedItems struct {
	list  []string
	index []int // of each, in the reply
	bytes int
	many  bool // there were too many: none is kept
}

// Bounds of what is kept of a reply's encrypted items.
const (
	maxSealedItems = 16
	maxSealedBytes = 256 << 10
)

// keepSealed keeps an item that comes before everything that the reply says. An item may
// come twice: as it begins, and whole.
func (r *reading) keepSealed(f wire.Event) {
	s := &r.sealed
	at := slices.Index(s.index, f.Index)
	if _, said := r.given(); !r.remembers || s.many || at < 0 && (said > 0 || len(r.calls.list) > 0) {
		return
	}
	grown := len(f.Raw)
	if at >= 0 {
		grown -= len(s.list[at])
	}
	if s.bytes+grown > maxSealedBytes || at < 0 && len(s.list) == maxSealedItems {
		r.weight -= s.bytes
		*s = sealedItems{many: true}
		return
	}
	if at < 0 {
		at = len(s.list)
		s.list, s.index = append(s.list, ""), append(s.index, f.Index)
	}
	s.list[at] = strings.Clone(f.Raw)
	s.bytes += grown
	r.weight += grown
}
