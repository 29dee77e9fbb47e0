// Package turnmemory keeps the replies of a connection that later turns over it continue.
package turnmemory

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/wire"
)

// A Share is the memory that all connections of a gateway may hold for turns that continue
// others.
type Share struct {
	Most int64 // bytes
	kept atomic.Int64
}

// Kept returns how many bytes all connections hold.
func (s *Share) Kept() int64 { return s.kept.Load() }

// A Memory has the replies of one connection that a turn may continue although the
// upstream keeps none of them. What is kept is what the client sent and got: so the
// request of a turn is the one that a client sends that keeps the conversation itself, and
// the history policy edits it like any other.
type Memory struct {
	all    *Share
	budget *budget.Budget
	most   int64 // bytes: a request that is larger is refused anyway

	mu      sync.Mutex
	replies map[string]*keptReply
	lost    []string // ids of replies that were kept and are not any more
	unnamed int      // replies whose id another has taken
	bytes   int64
}

// A keptReply is a reply with what its turn added to the conversation.
type keptReply struct {
	id    string
	after *keptReply // the reply that the turn continued; nil if it began the conversation
	// stored says that the upstream has the reply, with all before it. Then nothing else is
	// kept of it.
	stored bool
	items  []byte
}

const (
	// keptCost is what a kept reply costs besides its items.
	keptCost = 512
	// maxKeptID bounds the id of a reply, in bytes.
	maxKeptID = 256
	// maxLost bounds the list of lost ids.
	maxLost = 256
)

// New returns the memory of one connection. A request has at most body bytes.
func New(all *Share, b *budget.Budget, body int64) *Memory {
	return &Memory{all: all, budget: b, most: min(body, all.Most), replies: map[string]*keptReply{}}
}

// Before returns what comes before a turn: the items that are kept of the conversation,
// and the id of the reply that the upstream is to continue, if it has one.
func (m *Memory) Before(t *wire.Turn, hold *budget.Charge) (items []byte, previous string, err error) {
	if t.Previous == "" {
		return nil, "", nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.replies[t.Previous]
	switch {
	case last == nil && slices.Contains(m.lost, t.Previous):
		return nil, "", &wire.TurnError{Fault: wire.TurnForgotten, Lane: t.Lane, Detail: shorttext.Escape(t.Previous, modelname.Most)}
	case last == nil:
		return nil, t.Previous, nil // the upstream may have it
	}
	chain, previous := last.chain()
	size := 0
	for _, r := range chain {
		size += len(r.items) + 1
	}
	if err := hold.Take(int64(size)); err != nil {
		return nil, "", err
	}
	items = make([]byte, 0, size)
	for _, r := range chain {
		if len(items) > 0 && len(r.items) > 0 {
			items = append(items, ',')
		}
		items = append(items, r.items...)
	}
	return items, previous, nil
}

// chain returns the replies of a conversation from the first that is kept, and the id of
// the reply before them that the upstream has.
func (r *keptReply) chain() (list []*keptReply, stored string) {
	for ; r != nil; r = r.after {
		if r.stored {
			stored = r.id
			break
		}
		list = append(list, r)
	}
	slices.Reverse(list)
	return list, stored
}

// Keep keeps what a turn leaves. If there is no room for it, a turn that continues it
// is told so.
func (m *Memory) Keep(t *wire.Turn, left *wire.TurnLeft) {
	if !left.Ended || left.ID == "" || len(left.ID) > maxKeptID {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &keptReply{id: left.ID, stored: left.Stored && !t.Discards}
	if !r.stored {
		r.items = joinItems(t.Items, left.Items)
		if t.Previous != "" {
			switch r.after = m.replies[t.Previous]; {
			case r.after == nil && slices.Contains(m.lost, t.Previous): // since the turn began
				m.lose(left.ID)
				return
			case r.after == nil:
				r.after = &keptReply{id: strings.Clone(t.Previous), stored: true} // the upstream had it
			}
		}
	}
	n := int64(len(r.items)) + keptCost
	if m.bytes+n > m.most {
		m.dropOthers(r)
	}
	if m.bytes+n > m.most || !m.reserve(n) {
		m.lose(left.ID)
		return
	}
	if old := m.replies[r.id]; old != nil { // of a server that numbers no replies: it stays for those after it
		m.unnamed++
		m.replies["\x00"+strconv.Itoa(m.unnamed)] = old
	}
	m.replies[r.id] = r
}

// joinItems returns a copy of both lists as one.
func joinItems(a, b []byte) []byte {
	items := make([]byte, 0, len(a)+len(b)+1)
	items = append(items, a...)
	if len(a) > 0 && len(b) > 0 {
		items = append(items, ',')
	}
	return append(items, b...)
}

// reserve takes memory, from the share of all connections and from the memory of all
// exchanges.
func (m *Memory) reserve(n int64) bool {
	if m.all.kept.Add(n) > m.all.Most {
		m.all.kept.Add(-n)
		return false
	}
	if !m.budget.Reserve(n) {
		m.all.kept.Add(-n)
		return false
	}
	m.bytes += n
	return true
}

func (m *Memory) give(n int64) {
	m.bytes -= n
	m.all.kept.Add(-n)
	m.budget.Give(n)
}

// dropOthers drops all replies that are not of one conversation.
func (m *Memory) dropOthers(of *keptReply) {
	stays := map[*keptReply]bool{}
	for r := of; r != nil; r = r.after {
		stays[r] = true
	}
	for id, r := range m.replies {
		if !stays[r] {
			delete(m.replies, id)
			m.lose(id)
			m.give(int64(len(r.items)) + keptCost)
		}
	}
}

// lose notes that a reply is not kept.
func (m *Memory) lose(id string) {
	if len(m.lost) == maxLost {
		m.lost = slices.Delete(m.lost, 0, 1)
	}
	m.lost = append(m.lost, strings.Clone(id))
}

// Forget gives back all memory when the connection has ended.
func (m *Memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.give(m.bytes)
	m.replies = nil
}
