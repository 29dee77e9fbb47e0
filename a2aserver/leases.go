package a2aserver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto/internal/data/transact"
)

// maxClaims bounds how many idle jobs a server looks at in one go.
const maxClaims = 16

// leases are those that this process has on the jobs of a store that replicas share. It renews
// them, and claims jobs whose process has ended. A nil one has none.
type leases struct {
	s     *Server
	space *transact.Space

	mu   sync.Mutex
	held map[transact.Job]*holding
}

// A holding is why this process renews the lease of a job, and does not claim it. For work on a task
// it lives as long as the execution of the SDK, so it is there before the task is. From the
// commit on that opens the job, the lease is renewed.
type holding struct {
	opened bool                    // the commit that opens the job has returned
	lost   bool                    // the work must not change the task any more
	cancel context.CancelCauseFunc // ends the work; nil before it begins
}

func newLeases(s *Server, space *transact.Space) *leases {
	if space == nil {
		return nil
	}
	return &leases{s: s, space: space, held: map[transact.Job]*holding{}}
}

func workOn(owner string, id a2a.TaskID) transact.Job {
	return transact.Job{Owner: owner, Kind: jobWork, ID: string(id)}
}

func (l *leases) hold(j transact.Job, h *holding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[j] = h
}

// drop ends a holding, unless another one has replaced it.
func (l *leases) drop(j transact.Job, h *holding) {
	l.mu.Lock()
	if l.held[j] == h {
		delete(l.held, j)
	}
	l.mu.Unlock()
}

// end ends the holding of a job.
func (l *leases) end(j transact.Job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.held[j]; h != nil && h.cancel != nil {
		h.cancel(context.Canceled)
	}
	delete(l.held, j)
}

// opened says that the store has it that this process works on a task.
func (l *leases) opened(owner string, id a2a.TaskID) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.held[workOn(owner, id)]; h != nil {
		h.opened = true
	}
}

// work begins the work on a task. Its context ends with errLost when the task is no longer this
// process's.
func (l *leases) work(ctx context.Context, owner string, id a2a.TaskID) context.Context {
	if l == nil {
		return ctx
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[workOn(owner, id)]
	if h == nil {
		return ctx
	}
	ctx, h.cancel = context.WithCancelCause(ctx)
	if h.lost {
		h.cancel(errLost)
	}
	return ctx
}

// lose ends the work of this process on a task: nothing that it does counts from now on.
func (l *leases) lose(owner string, id a2a.TaskID) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.held[workOn(owner, id)]; h != nil {
		h.lose()
	}
}

func (h *holding) lose() {
	h.lost = true
	if h.cancel != nil {
		h.cancel(errLost)
	}
}

// isLost reports whether this process works on a task and has lost it.
func (l *leases) isLost(owner string, id a2a.TaskID) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[workOn(owner, id)]
	return h != nil && h.lost
}

// works reports whether this process works on a task.
func (l *leases) works(owner string, id a2a.TaskID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[workOn(owner, id)]
	return h != nil && !h.lost
}

// A renewal is a holding, and whether its job was open before its lease was renewed.
type renewal struct {
	*holding
	opened bool
}

func (l *leases) renewals() (jobs []transact.Job, of []renewal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for j, h := range l.held {
		if !h.lost {
			jobs, of = append(jobs, j), append(of, renewal{h, h.opened})
		}
	}
	return jobs, of
}

// mail renews the lease of the pushes of a task until they have been sent.
func (l *leases) mail(owner string, id a2a.TaskID) {
	if l != nil {
		l.hold(transact.Job{Owner: owner, Kind: jobMail, ID: string(id)}, &holding{opened: true})
	}
}

// claimGap is the time between two looks for jobs to claim, at least.
const claimGap = 20 * time.Millisecond

// run renews leases and claims jobs until the server is closed. It looks for jobs twice in a
// heartbeat, and when a lease ends: so a job does not wait for the next look.
func (l *leases) run() {
	beat := time.NewTicker(l.space.Heartbeat())
	defer beat.Stop()
	l.beat()
	for {
		wait := l.space.Heartbeat() / 2
		if ends := l.claim(); ends >= 0 {
			wait = min(wait, max(ends+time.Millisecond, claimGap))
		}
		select {
		case <-time.After(wait):
		case <-beat.C:
			l.beat()
		case <-l.s.closing.Done():
			return
		}
	}
}

// beat renews the leases. Whoever works on a task that is no longer this process's is stopped. A job
// that was not opened yet when it was asked for cannot be lost.
func (l *leases) beat() {
	jobs, of := l.renewals()
	states, err := l.space.Beat(jobs)
	if err != nil {
		return // while the store cannot be reached, nobody claims the jobs
	}
	for i, j := range jobs {
		switch {
		case states[i] == transact.Held || !of[i].opened:
		case j.Kind == jobMail:
			l.drop(j, of[i].holding)
		default:
			l.mu.Lock()
			of[i].lose()
			l.mu.Unlock()
		}
	}
}

// claim takes over jobs whose process has ended, and returns after what time the next lease may
// end; less than zero if that is not known.
func (l *leases) claim() time.Duration {
	jobs, ends, err := l.space.Idle(maxClaims)
	if err != nil {
		return -1 // the store says when it can be reached again
	}
	for _, j := range jobs {
		l.mu.Lock()
		_, held := l.held[j]
		l.mu.Unlock()
		switch {
		case held: // its lease ended while the store could not be reached, or it was left a moment ago
		case j.Kind == jobMail && l.s.push != nil:
			l.claimMail(j)
		case j.Kind == jobWork:
			l.claimWork(j)
		}
	}
	return ends
}

func (l *leases) claimMail(j transact.Job) {
	if mine, err := l.space.Claim(j); err != nil || !mine {
		return
	}
	left, err := l.s.store.unsent(j.Owner, a2a.TaskID(j.ID))
	if err != nil {
		l.s.log.Error("the pushes of a task cannot be read", "task", j.ID, "error", err)
		return
	}
	for _, letter := range left {
		l.s.push.post(letter)
	}
}

// claimWork goes on with a task, if its caller may have another one running here.
func (l *leases) claimWork(j transact.Job) {
	place, err := l.s.running.Take(j.Owner)
	if err != nil {
		return // somebody else may, or later
	}
	if mine, err := l.space.Claim(j); err != nil || !mine {
		place.GiveBack()
		return
	}
	h := &holding{opened: true} // until the execution has its own
	l.mu.Lock()
	if l.held[j] == nil {
		l.held[j] = h
	}
	l.mu.Unlock()
	l.s.tasks.Go(func() {
		defer place.GiveBack()
		defer l.drop(j, h)
		v := visit{caller: j.Owner, place: place, resumes: true}
		if err := l.s.goOn(v, a2a.TaskID(j.ID)); err != nil && !errors.Is(err, errMoved) && !errors.Is(err, a2a.ErrTaskNotFound) {
			l.s.log.Error("a task of a process that has ended cannot be taken over", "task", j.ID, "error", err)
		}
	})
}

// goOn goes on with a task whose process has ended, with its last message.
func (s *Server) goOn(v visit, id a2a.TaskID) error {
	r, w, err := s.store.takeOver(v.caller, id)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(r.Task.History, func(m *a2a.Message) bool { return m != nil && m.Role == a2a.MessageRoleUser })
	for i, m := range r.Task.History {
		if m != nil && m.Role == a2a.MessageRoleUser {
			at = i
		}
	}
	if _, ok := s.mind.(resumer); !ok || at < 0 {
		_, err := s.store.change(v.caller, id, nil, func(_ tx, r *row) error { fail(r.Task, Interrupted, interruptedMessage); return nil })
		return err
	}
	s.log.Info("a task of a process that has ended goes on here", "task", string(id))
	v.principal = w.Principal
	m := *r.Task.History[at]
	m.TaskID, m.ContextID = id, r.Task.ContextID
	_, err = s.sdk.SendMessage(v.in(context.Background()), &a2a.SendMessageRequest{Message: &m, Config: &a2a.SendMessageConfig{ReturnImmediately: true}})
	if errors.Is(err, errLost) {
		return nil
	}
	return err
}

// A resumer is a mind that can answer a message again whose turn was cut off, by [Turn.Log].
type resumer interface{ resumes() }

// close gives the leases back, so that others go on at once.
func (l *leases) close() {
	if l != nil {
		jobs, _ := l.renewals()
		l.space.Release(jobs)
	}
}
