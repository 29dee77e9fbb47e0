package a2aserver

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// An entry is what the server knows about a task without reading it.
type entry struct {
	owner, context string
	state          a2a.TaskState
	status         time.Time // of the status; zero if it has none
	created        time.Time
	updated        time.Time
	size           int // bytes of the row
	said           int // messages of the user
	// unread says that the task waits although its question has an answer: no mind has it yet.
	unread  bool
	version int64
}

// A listed is a task of the index.
type listed struct {
	id a2a.TaskID
	entry
}

// newestFirst orders lists. Task ids order those of one moment.
func newestFirst(a, b *listed) int {
	if c := b.updated.Compare(a.updated); c != 0 {
		return c
	}
	return strings.Compare(string(b.id), string(a.id))
}

// An index holds the entries of all tasks, by id and by owner. The tasks of an
// owner are kept in the order of lists, so that a page of them costs no memory
// for the tasks that are not on it.
type index struct {
	tasks  map[a2a.TaskID]*listed
	owners map[string][]*listed // newest first
}

func newIndex() *index {
	return &index{tasks: map[a2a.TaskID]*listed{}, owners: map[string][]*listed{}}
}

func (x *index) len() int { return len(x.tasks) }

// get returns the entry of a task.
func (x *index) get(id a2a.TaskID) (entry, bool) {
	l, ok := x.tasks[id]
	if !ok {
		return entry{}, false
	}
	return l.entry, true
}

// all returns the tasks in no order. The index may change meanwhile.
func (x *index) all() iter.Seq[*listed] { return maps.Values(x.tasks) }

// of returns the tasks of an owner, newest first.
func (x *index) of(owner string) []*listed { return x.owners[owner] }

// put adds a task, or replaces what is known of it.
func (x *index) put(id a2a.TaskID, e entry) {
	x.drop(id)
	l := &listed{id, e}
	list := x.owners[e.owner]
	i, _ := slices.BinarySearchFunc(list, l, newestFirst)
	x.tasks[id], x.owners[e.owner] = l, slices.Insert(list, i, l)
}

// drop forgets a task.
func (x *index) drop(id a2a.TaskID) {
	l, ok := x.tasks[id]
	if !ok {
		return
	}
	delete(x.tasks, id)
	list := x.owners[l.owner]
	if i, found := slices.BinarySearchFunc(list, l, newestFirst); found {
		list = slices.Delete(list, i, i+1)
	}
	if x.owners[l.owner] = list; len(list) == 0 {
		delete(x.owners, l.owner)
	}
}
