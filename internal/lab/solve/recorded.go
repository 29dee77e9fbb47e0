package solve

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/model"
)

// ErrNoReply is the error of a recorded model for a problem without replies, or
// whose replies are used up.
var ErrNoReply = errors.New("no reply to this problem is left")

// A Recorded model plays logged replies. It returns the replies to each problem in
// their order, so that you can judge a stream without a model. It is safe for
// concurrent use.
type Recorded struct {
	name string
	task answer.Task

	mu      sync.Mutex
	replies map[string][]logged // by canonical query
	next    map[string]int
}

type logged struct {
	id, raw string
	end     sotto.Ending
}

// NewRecorded returns a model without replies.
func NewRecorded(name string, t answer.Task) *Recorded {
	return &Recorded{name: name, task: t, replies: map[string][]logged{}, next: map[string]int{}}
}

// Add adds a reply to a problem. If a problem of the stream has the reply's ID, it
// gets this reply. Any other problem gets the next reply to its query.
func (m *Recorded) Add(p Problem, raw string, end sotto.Ending) {
	m.mu.Lock()
	defer m.mu.Unlock()
	query := metagraph.Query(m.task, p.Problem)
	m.replies[query] = append(m.replies[query], logged{p.ID, raw, end})
}

// Shuffle puts the replies to each problem into another order, which depends on the
// seed and the problem alone. Call it before the first Reply.
func (m *Recorded) Shuffle(seed uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for query, list := range m.replies {
		h := fnv.New64a()
		h.Write([]byte(query))
		Shuffle(list, seed^h.Sum64())
	}
}

// Name returns the name.
func (m *Recorded) Name() string { return m.name }

// Invoke returns an error, because a recorded model must know the problem.
func (m *Recorded) Invoke(context.Context, model.Request, func(model.Delta) error) (model.Reply, error) {
	return model.Reply{End: sotto.EndAborted}, errors.New("a recorded model answers problems, not requests")
}

// Reply returns the next logged reply.
func (m *Recorded) Reply(ctx context.Context, p Problem, attempt int, _ model.Request) (model.Reply, error) {
	if err := ctx.Err(); err != nil {
		return model.Reply{End: sotto.EndAborted}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	query := metagraph.Query(m.task, p.Problem)
	list := m.replies[query]
	if own := m.own(list, p.ID); own >= 0 {
		if attempt > 1 {
			return model.Reply{End: sotto.EndAborted}, fmt.Errorf("%w: %s", ErrNoReply, shorttext.Ellipsis(p.ID, 100))
		}
		return m.reply(list[own]), nil
	}
	i := m.next[query]
	if i >= len(list) {
		return model.Reply{End: sotto.EndAborted}, fmt.Errorf("%w: %s", ErrNoReply, shorttext.Ellipsis(query, 100))
	}
	m.next[query]++
	return m.reply(list[i]), nil
}

func (m *Recorded) reply(l logged) model.Reply {
	return model.Reply{Model: m.name, Raw: l.raw, End: l.end}
}

func (m *Recorded) own(list []logged, id string) int {
	for i, l := range list {
		if l.id == id && id != "" {
			return i
		}
	}
	return -1
}

// Skip skips replies that an earlier run has used.
func (m *Recorded) Skip(p Problem, attempts int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	query := metagraph.Query(m.task, p.Problem)
	if m.own(m.replies[query], p.ID) < 0 {
		m.next[query] = min(m.next[query]+attempts, len(m.replies[query]))
	}
}
