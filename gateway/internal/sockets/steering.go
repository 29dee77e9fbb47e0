package sockets

import (
	"bytes"
	"crypto/rand"
	"slices"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/wire"
)

// Bounds of what a connection holds of the input that steers its replies.
const (
	maxSteers = 16 // additions that wait
	maxOver   = 64 // ids of replies that have ended
)

// A steering has what the client adds to the conversations of a connection while replies are under way. The
// upstream hears nothing of it before the reply has ended: then a turn follows that has the input. Where the client
// has to give results first, the turn with these has the input before them.
type steering struct {
	mu      sync.Mutex
	replies map[string]*steered // under way, and those that wait for results, by their ids
	over    []string            // ids of replies that have ended, oldest first
	waiting int                 // additions of all replies
	events  int
}

// A steered reply is one that the client may add something after.
type steered struct {
	turn  *wire.Turn
	queue []*steer
	needs []byte // what the client has to give, once the reply has ended
}

// A steer is input that waits, and what it holds of the memory.
type steer struct {
	wire.Steer
	hold *budget.Charge
}

// steer takes a message that steers a reply; it reports false if the message does not. What it keeps holds hold.
func (s *socket) steer(message []byte, hold *budget.Charge) bool {
	codec, ok := s.codec.(wire.SteerCodec)
	if !ok {
		return false
	}
	in, ok, reason := codec.Steer(message)
	if !ok {
		return false
	}
	a := &s.additions
	a.mu.Lock()
	defer a.mu.Unlock()
	fault := &wire.SteerFault{Code: wire.SteerMalformed, Detail: reason}
	lane, to := "", a.replies[in.Reply]
	if to != nil {
		lane = to.turn.Lane
	}
	switch {
	case reason != "":
	case to == nil && slices.Contains(a.over, in.Reply), to != nil && to.needs != nil:
		fault.Code = wire.SteerOver
	case to == nil:
		fault.Code = wire.SteerUnknown
	case to.turn.Fixed:
		fault.Code = wire.SteerFixed
	case a.waiting == maxSteers:
		fault.Code = wire.SteerFull
	default:
		in.ID = "steer_sotto_" + strings.ToLower(rand.Text())
		to.queue = append(to.queue, &steer{in, hold})
		a.waiting++
		s.tell(lane, &in, wire.SteerEvent{}) // before the turn that follows can begin
		return true
	}
	s.tell(lane, &in, wire.SteerEvent{Fault: fault})
	hold.Leave()
	return true
}

// tell tells the client what becomes of an addition. The caller holds the lock of the additions.
func (s *socket) tell(lane string, in *wire.Steer, e wire.SteerEvent) {
	e.Number = s.additions.events
	s.additions.events++
	_ = s.send(lane, s.codec.(wire.SteerCodec).SteerEvent(nil, in, e))
}

// began notes that a reply is under way, so that the client may steer it.
func (a *steering) began(id string, t *wire.Turn) {
	if id == "" || len(id) > maxSteeredID {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.replies == nil {
		a.replies = map[string]*steered{}
	}
	if a.replies[id] == nil { // else a server numbers no replies: the first one stays
		a.replies[id] = &steered{turn: t}
	}
}

// maxSteeredID bounds the id of a reply, in bytes.
const maxSteeredID = 256

// finish ends a reply, and returns what is to be said to the model in a turn that follows at once.
func (s *socket) finish(t *wire.Turn, left *wire.TurnLeft) []*steer {
	a := &s.additions
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.replies[left.ID]
	if r == nil || r.turn != t {
		return nil
	}
	if left.Ended && len(r.queue) > 0 && len(left.Needs) > 0 {
		r.needs = left.Needs
		for _, in := range r.queue {
			s.tell(t.Lane, &in.Steer, wire.SteerEvent{Needs: r.needs})
		}
		return nil
	}
	delete(a.replies, left.ID)
	if len(a.over) == maxOver {
		a.over = slices.Delete(a.over, 0, 1)
	}
	a.over = append(a.over, left.ID)
	if left.Ended {
		return r.queue
	}
	s.giveBack(t.Lane, r.queue, wire.SteerFailed)
	return nil
}

// claim returns what waits for the turn that gives the results which an earlier reply needs.
func (a *steering) claim(t *wire.Turn) []*steer {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.replies[t.Previous]
	if r == nil || r.needs == nil || r.turn.Lane != t.Lane {
		return nil
	}
	delete(a.replies, t.Previous)
	return r.queue
}

// giveBack gives the client what was not said to the model. The caller holds the lock of the additions.
func (s *socket) giveBack(lane string, queue []*steer, why wire.SteerCode) {
	for _, in := range queue {
		s.tell(lane, &in.Steer, wire.SteerEvent{Fault: &wire.SteerFault{Code: why}})
	}
	s.additions.release(queue)
}

// release forgets what waited. The caller holds the lock.
func (a *steering) release(queue []*steer) {
	for _, in := range queue {
		in.hold.Leave()
		a.waiting--
	}
}

// commit notes that the reply which has the input has begun.
func (a *steering) commit(queue []*steer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.release(queue)
}

// refuseSteers gives the client back what the turn did not come to say.
func (s *socket) refuseSteers(lane string, queue []*steer) {
	s.additions.mu.Lock()
	defer s.additions.mu.Unlock()
	s.giveBack(lane, queue, wire.SteerRefused)
}

// steering returns the message of a turn with what waits before its own items.
func (s *socket) steering(t *wire.Turn, reply string, queue []*steer, own []byte) []byte {
	var items [][]byte
	for _, in := range queue {
		items = append(items, in.Items)
	}
	if len(own) > 0 {
		items = append(items, own)
	}
	return s.codec.(wire.SteerCodec).Steered(t, reply, bytes.Join(items, []byte(",")))
}

// forget drops what waits when the connection has ended.
func (a *steering) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.replies {
		a.release(r.queue)
	}
	a.replies = nil
}
