package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/testing/redisserver"
)

// A simpleTask is a task as the simple model of a store has it.
type simpleTask struct {
	id      a2a.TaskID
	version int64
	state   a2a.TaskState
	unread  bool // its question has an answer that nobody works on yet
	working bool // this process is its worker
	context string
	said    int
	memos   map[int]string // by the turn
	configs map[string]bool
	sent    string // the id of the message that began it; "" if it is forgotten
	more    agent.Extension
}

// A simpleStore is what a store has of an owner.
type simpleStore map[a2a.TaskID]*simpleTask

// A law is a store beside its simple model.
type law struct {
	t      *testing.T
	store  *store
	again  func() *store // after a restart of what keeps it
	shared bool
	rnd    *rand.Rand
	simple map[string]simpleStore
	step   int
	did    map[string]int // how often something had an effect
}

var lawOwners = []string{"", "ann", "bob"}

// TestStoreLaws: whatever is done with tasks, in whatever order, the file and the store that replicas
// share have what a simple model has, for each owner apart. What keeps them is restarted meanwhile.
func TestStoreLaws(t *testing.T) {
	limits := Limits{}.withDefaults()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("file ", seed), func(t *testing.T) {
			name := file(t)
			open := func() *store {
				s, err := openStore(name, limits)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			l := &law{t: t, store: open(), rnd: rand.New(rand.NewPCG(seed, 1))}
			l.again = func() *store {
				if err := l.store.close(); err != nil {
					t.Fatal(err)
				}
				return open()
			}
			l.holds(150)
			if err := l.store.close(); err != nil {
				t.Error(err)
			}
		})
		t.Run(fmt.Sprint("shared ", seed), func(t *testing.T) {
			r := redisserver.RunPersistent(t)
			k := &sharedKeeper{spaceIn(t, r), limits}
			l := &law{t: t, store: newStore(k, limits), shared: true, rnd: rand.New(rand.NewPCG(seed, 1))}
			l.again = func() *store {
				r.Kill()
				r.Start()
				return newStore(k, limits)
			}
			l.holds(150)
			for owner, tasks := range l.simple {
				for _, x := range tasks { // whatever it is, it can be dropped
					x.state = a2a.TaskStateCompleted
					if err := l.store.update(owner, func(tx tx) error {
						row, err := rowIn(tx, x.id)
						if err != nil {
							return err
						}
						row.Task.Status.State = x.state
						return putRow(tx, row, nil)
					}); err != nil {
						t.Fatal(err)
					}
				}
				if err := l.store.dropAll(owner); err != nil {
					t.Fatal(err)
				}
				if n, bytes, err := l.store.space.Size(owner); n != 0 || bytes != 0 || err != nil {
					t.Errorf("%q: %d rows and %d bytes are left of nothing, %v", owner, n, bytes, err)
				}
			}
		})
	}
}

// holds makes random steps.
func (l *law) holds(steps int) {
	l.simple, l.did = map[string]simpleStore{}, map[string]int{}
	for _, o := range lawOwners {
		l.simple[o] = simpleStore{}
	}
	ops := []struct {
		name string
		do   func(owner string, x *simpleTask)
	}{
		{"create", l.create}, {"create", l.create}, {"work", l.work}, {"work", l.work}, {"work", l.work}, {"answer", l.answer}, {"stale", l.stale},
		{"memo", l.memo}, {"config", l.config}, {"extend", l.extend}, {"drop", l.drop},
	}
	for l.step = range steps {
		owner := lawOwners[l.rnd.IntN(len(lawOwners))]
		var x *simpleTask
		if ids := slices.Sorted(maps.Keys(l.simple[owner])); len(ids) > 0 {
			x = l.simple[owner][ids[l.rnd.IntN(len(ids))]]
		}
		op := ops[l.rnd.IntN(len(ops))]
		if x != nil || op.name == "create" {
			op.do(owner, x)
		}
		if l.step%30 == 29 {
			l.store = l.again()
			l.restarted()
		}
		l.compare(op.name)
	}
	for _, op := range ops {
		if l.did[op.name] == 0 {
			l.t.Errorf("%s never had an effect", op.name)
		}
	}
}

// restarted: a file has no other process that goes on with an answer, so its task asks again.
func (l *law) restarted() {
	for _, tasks := range l.simple {
		for _, x := range tasks {
			if x.unread && !l.shared {
				x.unread, x.said = false, x.said-1
			}
		}
	}
}

func (l *law) in(owner string) context.Context { return visit{caller: owner}.in(l.t.Context()) }

// effect notes whether a step had the effect that it should have had.
func (l *law) effect(name string, err, want error) bool {
	l.t.Helper()
	if !errors.Is(err, want) || want == nil && err != nil {
		l.t.Fatalf("step %d, %s: %v, want %v", l.step, name, err, want)
	}
	if err == nil {
		l.did[name]++
	}
	return err == nil
}

func (l *law) create(owner string, x *simpleTask) {
	id, want := a2a.TaskID(fmt.Sprint(owner, "-", l.step)), error(nil)
	if x != nil && l.rnd.IntN(4) == 0 {
		id, want = x.id, taskstore.ErrTaskAlreadyExists
	}
	m := named("m"+string(id), "Hi", "").Message
	task := a2a.NewSubmittedTask(a2a.TaskInfo{TaskID: id, ContextID: fmt.Sprint("c", l.rnd.IntN(2))}, m)
	ctx := visit{caller: owner, message: sendingOf(owner, m)}.in(l.t.Context())
	if _, err := l.store.Create(ctx, task); l.effect("create", err, want) {
		l.simple[owner][id] = &simpleTask{
			id: id, version: 1, state: task.Status.State, working: true, context: task.ContextID, said: 1,
			memos: map[int]string{}, configs: map[string]bool{}, sent: m.ID,
		}
	}
}

// task returns the task as the server has it.
func (l *law) task(owner string, x *simpleTask) *a2a.Task {
	l.t.Helper()
	st, err := l.store.Get(l.in(owner), x.id)
	if err != nil {
		l.t.Fatalf("step %d: %v", l.step, err)
	}
	return st.Task
}

// mayWork is the error of a change by a worker.
func (l *law) mayWork(x *simpleTask) error {
	switch {
	case x.state.Terminal():
		return taskstore.ErrConcurrentModification
	case l.shared && !x.working:
		return errLost
	}
	return nil
}

func (l *law) work(owner string, x *simpleTask) {
	task := l.task(owner, x)
	states := []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateInputRequired, a2a.TaskStateCompleted, a2a.TaskStateRejected, a2a.TaskStateFailed}
	e := a2a.NewStatusUpdateEvent(task, states[l.rnd.IntN(len(states))], nil)
	if e.Status.State == a2a.TaskStateInputRequired {
		e.Status.Message = a2a.NewMessageForTask(a2a.MessageRoleAgent, task, a2a.NewTextPart("Which?"))
	}
	task.Status = e.Status
	_, err := l.store.Update(l.in(owner), &taskstore.UpdateRequest{Task: task, Event: e, PrevVersion: taskstore.TaskVersion(x.version)})
	if l.effect("work", err, l.mayWork(x)) {
		x.version, x.state, x.unread = x.version+1, e.Status.State, false
		if resting(x.state) {
			x.working = false
		}
		if x.state.Terminal() {
			clear(x.memos)
		}
		if x.state == a2a.TaskStateRejected {
			x.sent = ""
		}
	}
}

func (l *law) answer(owner string, x *simpleTask) {
	for _, id := range slices.Sorted(maps.Keys(l.simple[owner])) {
		if other := l.simple[owner][id]; other.state == a2a.TaskStateInputRequired && !other.unread {
			x = other
		}
	}
	if x.state != a2a.TaskStateInputRequired || x.unread {
		return
	}
	task := l.task(owner, x)
	m := named(fmt.Sprint("a", l.step), "red", x.id).Message
	task.History = append(task.History, m)
	_, err := l.store.Update(l.in(owner), &taskstore.UpdateRequest{Task: task, Event: m, PrevVersion: taskstore.TaskVersion(x.version)})
	if l.effect("answer", err, nil) {
		x.version, x.unread, x.working, x.said = x.version+1, true, true, x.said+1
	}
}

// stale is a change by somebody who has not seen the last one.
func (l *law) stale(owner string, x *simpleTask) {
	task := l.task(owner, x)
	e := a2a.NewStatusUpdateEvent(task, a2a.TaskStateCanceled, nil)
	task.Status = e.Status
	_, err := l.store.Update(l.in(owner), &taskstore.UpdateRequest{Task: task, Event: e, PrevVersion: taskstore.TaskVersion(x.version + 1)})
	l.effect("stale", err, taskstore.ErrConcurrentModification)
	if l.shared { // in a file the gatekeeper sees to that
		_, err = l.store.Update(l.in(owner+"x"), &taskstore.UpdateRequest{Task: task, Event: e, PrevVersion: taskstore.TaskVersion(x.version)})
		l.effect("stale", err, a2a.ErrTaskNotFound)
	}
	l.did["stale"]++
}

func (l *law) memo(owner string, x *simpleTask) {
	text := fmt.Sprint("memo ", l.step)
	want := error(nil)
	if l.shared && !x.working {
		want = errLost
	}
	if x.state.Terminal() {
		return // no mind works on it
	}
	if l.effect("memo", l.store.keepMemo(owner, x.id, x.said, []byte(text)), want) {
		if !l.shared {
			clear(x.memos)
		}
		delete(x.memos, x.said-2)
		x.memos[x.said] = text
	}
}

func (l *law) config(owner string, x *simpleTask) {
	id := fmt.Sprint("c", l.rnd.IntN(3))
	err := l.store.update(owner, func(t tx) error {
		if x.configs[id] {
			return t.delete(configsBucket, configKey(x.id, id))
		}
		return t.put(configsBucket, configKey(x.id, id), []byte(`{"config":{"url":"https://example.org","id":"`+id+`"}}`))
	})
	if l.effect("config", err, nil) {
		if x.configs[id] {
			delete(x.configs, id)
		} else {
			x.configs[id] = true
		}
	}
}

func (l *law) extend(owner string, x *simpleTask) {
	x.more.Calls++
	data, err := json.Marshal(x.more)
	if err == nil {
		err = l.store.update(owner, func(t tx) error { return t.put(extensionsBucket, []byte(x.id), data) })
	}
	l.effect("extend", err, nil)
}

func (l *law) drop(owner string, x *simpleTask) {
	if l.effect("drop", l.store.drop([]*listed{{x.id, entry{owner: owner}}}), nil) && resting(x.state) {
		delete(l.simple[owner], x.id)
	}
}

// compare compares what the store has with what it should have.
func (l *law) compare(after string) {
	l.t.Helper()
	for owner, tasks := range l.simple {
		all, err := l.store.entries(owner)
		if err != nil || len(all) != len(tasks) || !slices.IsSortedFunc(all, newestFirst) {
			l.t.Fatalf("step %d, %s: %q has %d tasks, want %d, %v", l.step, after, owner, len(all), len(tasks), err)
		}
		for _, e := range all {
			x := tasks[e.id]
			if x == nil {
				l.t.Fatalf("step %d, %s: %q has %s", l.step, after, owner, e.id)
			}
			st, err := l.store.Get(l.in(owner), x.id)
			if err != nil || int64(st.Version) != x.version || st.Task.Status.State != x.state || st.Task.ContextID != x.context || messagesOf(st.Task) != x.said ||
				e.version != x.version && l.shared || e.state != x.state || e.said != x.said {
				l.t.Fatalf("step %d, %s: %+v is %+v, %v; it is listed as %+v", l.step, after, x, st, err, e)
			}
			if _, err := l.store.Get(l.in(owner+"x"), x.id); !errors.Is(err, a2a.ErrTaskNotFound) {
				l.t.Fatalf("step %d: another owner gets %s: %v", l.step, x.id, err)
			}
			l.beside(owner, x, after)
		}
	}
}

// beside compares what a task has beside it.
func (l *law) beside(owner string, x *simpleTask, after string) {
	l.t.Helper()
	configs, more, memos := 0, agent.Extension{}, map[int]string{}
	err := l.store.view(owner, func(t tx) (err error) {
		configs = len(configsOf(t, x.id))
		more, err = extensionIn(t, x.id)
		return err
	})
	for turn := 1; turn <= x.said+1 && err == nil; turn++ {
		var memo []byte
		if memo, err = l.store.memo(owner, x.id, turn); memo != nil && (l.shared || x.memos[turn] != "") {
			memos[turn] = string(memo)
		}
	}
	if err != nil || configs != len(x.configs) || more != x.more || !maps.Equal(memos, x.memos) {
		l.t.Fatalf("step %d, %s: %s has %d configurations, %+v and %v, want %d, %+v and %v, %v", l.step, after, x.id, configs, more, memos, len(x.configs), x.more, x.memos, err)
	}
	if m := sendingOf(owner, named("m"+string(x.id), "Hi", "").Message); true {
		id, err := l.store.taker(m)
		if want := map[bool]a2a.TaskID{true: x.id}[x.sent != ""]; err != nil || id != want {
			l.t.Fatalf("step %d, %s: the message is of %q, want %q, %v", l.step, after, id, want, err)
		}
	}
}
