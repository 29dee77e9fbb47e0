package a2aserver

import (
	"context"
	"errors"
	"maps"
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
	held map[transact.Job]context.CancelCauseFunc // nil for mail
}

func newLeases(s *Server, space *transact.Space) *leases {
	if space == nil {
		return nil
	}
	return &leases{s: s, space: space, held: map[transact.Job]context.CancelCauseFunc{}}
}

func workOn(owner string, id a2a.TaskID) transact.Job {
	return transact.Job{Owner: owner, Kind: jobWork, ID: string(id)}
}

// work renews the lease of the work on a task until it is dropped. The context ends with errLost
// when the task is no longer this process's.
func (l *leases) work(ctx context.Context, owner string, id a2a.TaskID) context.Context {
	if l == nil {
		return ctx
	}
	ctx, cancel := context.WithCancelCause(ctx)
	l.hold(workOn(owner, id), cancel)
	return ctx
}

// release gives the lease of a job back.
func (l *leases) release(j transact.Job) {
	l.drop(j)
	l.space.Release([]transact.Job{j})
}

func (l *leases) hold(j transact.Job, cancel context.CancelCauseFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[j] = cancel
}

// drop no longer renews the lease of a job.
func (l *leases) drop(j transact.Job) {
	if l == nil {
		return
	}
	l.mu.Lock()
	cancel := l.held[j]
	delete(l.held, j)
	l.mu.Unlock()
	if cancel != nil {
		cancel(context.Canceled)
	}
}

// works reports whether this process works on a task.
func (l *leases) works(owner string, id a2a.TaskID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.held[workOn(owner, id)]
	return ok
}

func (l *leases) all() []transact.Job {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.held))
}

// mail renews the lease of the pushes of a task until they have been sent.
func (l *leases) mail(owner string, id a2a.TaskID) {
	if l != nil {
		l.hold(transact.Job{Owner: owner, Kind: jobMail, ID: string(id)}, nil)
	}
}

// run renews leases and claims jobs until the server is closed.
func (l *leases) run() {
	tick := time.NewTicker(l.space.Heartbeat() / 2)
	defer tick.Stop()
	for n := 0; ; n++ {
		if n%2 == 0 {
			l.beat()
		}
		l.claim()
		select {
		case <-tick.C:
		case <-l.s.closing.Done():
			return
		}
	}
}

// beat renews the leases. Whoever works on a task that is no longer this process's is stopped.
func (l *leases) beat() {
	jobs := l.all()
	states, err := l.space.Beat(jobs)
	if err != nil {
		return // while the store cannot be reached, nobody claims the jobs
	}
	for i, j := range jobs {
		if states[i] == transact.Held {
			continue
		}
		l.mu.Lock()
		cancel := l.held[j]
		l.mu.Unlock()
		if cancel != nil {
			cancel(errLost) // before drop, whose reason it must not get
		}
		l.drop(j)
	}
}

// claim takes over jobs whose process has ended.
func (l *leases) claim() {
	jobs, err := l.space.Idle(maxClaims)
	if err != nil {
		return // the store says when it can be reached again
	}
	for _, j := range jobs {
		l.mu.Lock()
		_, held := l.held[j]
		l.mu.Unlock()
		switch {
		case held: // its lease ended while the store could not be reached
		case j.Kind == jobMail && l.s.push != nil:
			l.claimMail(j)
		case j.Kind == jobWork:
			l.claimWork(j)
		}
	}
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
	l.s.tasks.Go(func() {
		defer place.GiveBack()
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
		l.space.Release(l.all())
	}
}
