package reading

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
	maxArgumentBytes  = 256 << 10 // of all of a reply's arguments
)

// callIDs are the ids of the tools that a reply called, or their names, in order.
// The zero value is empty. The memory that an upstream can make it use is bounded.
// Looking an id up takes constant time.
type callIDs struct {
	List  []string
	Tools []string // their names, one for each in list
	seen  map[string]struct{}
	Names bool // a call has no id
	bytes int
	// Signatures are the provider's, by the index of their call.
	Signatures map[int]string
	signed     int // bytes of them
	arguments  arguments
}

// arguments are those of the calls of a reply. There are none if they are too large, or if not every call has
// a name or an id that is kept.
type arguments struct {
	list  [][]byte
	of    map[int]int // the place in list, by the number of a call in the reply
	bytes int
	cut   bool
}

// Arguments returns the arguments of each call in List, or nil if they are not known.
func (c *callIDs) Arguments() (list []string) {
	if c.arguments.cut || len(c.arguments.list) != len(c.List) {
		return nil
	}
	for i := range c.arguments.list {
		list = append(list, string(c.arguments.list[i]))
	}
	return list
}

// found takes a call, or a piece of one. It returns by how many bytes the arguments that are kept grew.
func (c *callIDs) found(e *wire.Event) (grown int) {
	n, a := len(c.List), &c.arguments
	c.name(e.ID, e.Name)
	if a.cut || e.Again {
		return 0
	}
	at, ok := a.of[e.Index]
	switch {
	case len(c.List) > n:
		if a.of == nil {
			a.of = map[int]int{}
		}
		a.list, at = append(a.list, nil), n
		a.of[e.Index] = n
	case !ok:
		return a.drop() // a call that is not kept
	}
	grown = len(e.Text)
	if e.Whole {
		grown -= len(a.list[at])
	}
	if a.bytes+grown > maxArgumentBytes {
		return a.drop()
	}
	if e.Whole {
		a.list[at] = a.list[at][:0]
	}
	a.list[at] = append(a.list[at], e.Text...)
	a.bytes += grown
	return grown
}

// drop forgets the arguments.
func (a *arguments) drop() (grown int) {
	grown = -a.bytes
	*a = arguments{cut: true}
	return grown
}

// sign notes the signature of the call that was found last.
func (c *callIDs) sign(signature string) {
	at := len(c.List) - 1
	if signature == "" || at < 0 || c.Signatures[at] != "" || c.signed+len(signature) > maxSignatureBytes {
		return
	}
	if c.Signatures == nil {
		c.Signatures = map[int]string{}
	}
	c.Signatures[at] = strings.Clone(signature)
	c.signed += len(signature)
}

// name notes the id of a call, or else its name. The later pieces of a call have
// neither, or the id again.
func (c *callIDs) name(id, name string) {
	if _, ok := c.seen[id]; ok {
		return
	}
	if id == "" && name != "" {
		c.Names = true
	}
	if id = cmp.Or(id, name); id == "" || len(c.List) == maxCalls || c.bytes+len(id)+len(name) > maxCallBytes {
		return
	}
	id = strings.Clone(id)
	if c.seen == nil {
		c.seen = map[string]struct{}{}
	}
	c.seen[id] = struct{}{}
	c.List, c.Tools = append(c.List, id), append(c.Tools, strings.Clone(name))
	c.bytes += len(id) + len(name)
}

// keepCall notes a call of the reply, or a piece of one.
func (r *Reading) keepCall(e *wire.Event) {
	if !r.Remembers {
		r.Calls.name(e.ID, e.Name)
		return
	}
	r.Weight += r.Calls.found(e)
}

// sealedItems are the items with encrypted reasoning at the beginning of a reply.
type sealedItems struct {
	List  []string
	index []int // of each, in the reply
	bytes int
	many  bool // there were too many: none is kept
}

// These bound the encrypted items that are kept of a reply.
const (
	maxSealedItems = 16
	maxSealedBytes = 256 << 10
)

// keepSealed keeps an item that comes before everything that the reply says. An item may
// come twice: as it begins, and whole.
func (r *Reading) keepSealed(f wire.Event) {
	s := &r.Sealed
	at := slices.Index(s.index, f.Index)
	if _, said := r.Given(); !r.Remembers || s.many || at < 0 && (said > 0 || len(r.Calls.List) > 0) {
		return
	}
	grown := len(f.Raw)
	if at >= 0 {
		grown -= len(s.List[at])
	}
	if s.bytes+grown > maxSealedBytes || at < 0 && len(s.List) == maxSealedItems {
		r.Weight -= s.bytes
		*s = sealedItems{many: true}
		return
	}
	if at < 0 {
		at = len(s.List)
		s.List, s.index = append(s.List, ""), append(s.index, f.Index)
	}
	s.List[at] = strings.Clone(f.Raw)
	s.bytes += grown
	r.Weight += grown
}
