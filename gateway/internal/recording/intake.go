package recording

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sotto-llm/sotto/gateway/internal/backlog"
	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/record"
)

// A Sink takes the events of exchanges: see [record.Writer].
type Sink interface {
	Enqueue(e record.Event) bool
	Dropped() uint64
}

// An intake is the way to the record, whatever the configuration. It counts the events
// that are lost, and reports them.
type intake struct {
	to      Sink
	log     *slog.Logger
	backlog *backlog.Backlog

	truncated  atomic.Int64  // exchanges of which not all is recorded
	unsearched atomic.Int64  // secrets that were not searched for
	lost       atomic.Uint64 // events for which the backlog had no room
	unreported atomic.Uint64 // lost events that the record does not mention yet

	mu     sync.Mutex
	seen   uint64 // lost events that the log has mentioned
	losing bool
	last   time.Time // when a loss was last seen
}

// completeAfter is how long no event may be lost before the record counts as complete
// again. So a disk that fails now and then gives one line in the log.
const completeAfter = 10 * time.Second

// backlogShare is the share of the memory for exchanges that may be held by those
// that wait to be recorded.
const backlogShare = 8

// later records an event after the client has its reply, because making one takes
// time, most of all the search for credentials. event makes it. size is how many
// bytes are held for it until then. done is called after that.
func (r *intake) later(size int64, event func() record.Event, done func()) {
	if r.backlog.Add(size, func() { r.record(event()) }, done) {
		return
	}
	r.lose()
	if done != nil {
		done()
	}
}

// lose counts an event that is not recorded.
func (r *intake) lose() {
	r.lost.Add(1)
	r.unreported.Add(1)
	r.tell()
}

// fault handles an event that could not be made.
func (r *intake) fault(err error) {
	r.log.Error("an exchange is not recorded", "error", err)
	r.lose()
}

// dropped returns how many events are not in the record.
func (r *intake) dropped() uint64 { return r.to.Dropped() + r.lost.Load() }

// Losses are what the record lacks.
func (r *intake) Losses() observing.Losses {
	return observing.Losses{Truncated: uint64(r.truncated.Load()), Unsearched: uint64(r.unsearched.Load()), Dropped: r.dropped()}
}

// record hands an event to the record, and before it how many were lost.
func (r *intake) record(e record.Event) {
	if n := r.unreported.Load(); n > 0 && r.to.Enqueue(record.Event{Payload: record.Failure{Code: "dropped", Count: n}}) {
		r.unreported.Add(-n)
	}
	r.to.Enqueue(e)
	r.unsearched.Add(int64(e.Secrets.Unsearched()))
	r.tell()
}

// tell logs when events begin to be lost, and when that is over.
func (r *intake) tell() {
	lost, now := r.dropped(), time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case lost > r.seen:
		if !r.losing {
			r.log.Error("events are lost: the disk of the record is full, slow or gone", "lost", lost)
		}
		r.seen, r.losing, r.last = lost, true, now
	case r.losing && now.Sub(r.last) >= completeAfter:
		r.losing = false
		r.log.Info("events are recorded again", "lost", lost)
	}
}
