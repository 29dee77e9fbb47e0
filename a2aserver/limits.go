package a2aserver

import "time"

// Limits bound everything that a peer can make larger. Zero means the default.
type Limits struct {
	Body        int64         // bytes of a request; 4 MiB
	Answer      int           // bytes of an answer's visible text; 4 MiB
	Requests    int           // of one caller at once, streams among them; 64
	All         int           // requests of all callers at once; 1024
	MemoryBytes int64         // bytes that requests hold at once, half of them of one caller: bodies, and tasks that they answer with; 256 MiB
	Running     int           // tasks at once; 64
	Each        int           // tasks of one caller at once; 16
	Earlier     int           // bytes of earlier messages that a turn gets; 256 KiB
	Messages    int           // that a client may send to one task; 64
	Task        int           // bytes of a task, at which it takes no more messages; twice Body
	Page        int           // bytes of a page of listed tasks, which holds one task at least; 1 MiB
	Waiting     int           // tasks of one caller that wait for an answer; 100
	Tasks       int           // that are kept; 10,000
	Bytes       int64         // of the file of tasks, at which room is made before more is taken in; 1 GiB
	Keep        time.Duration // how long a task is kept that has ended or waits; 7 days
	Pushes      int           // push configurations of a task; 8
	Queue       int           // pushes that wait for one receiver; 64
}

func (l Limits) withDefaults() Limits {
	or(&l.Body, 4<<20)
	or(&l.Answer, 4<<20)
	or(&l.Requests, 64)
	or(&l.All, 1024)
	or(&l.MemoryBytes, 256<<20)
	or(&l.Running, 64)
	or(&l.Each, 16)
	or(&l.Earlier, 256<<10)
	or(&l.Messages, 64)
	or(&l.Task, int(2*l.Body))
	or(&l.Page, 1<<20)
	or(&l.Waiting, 100)
	or(&l.Tasks, 10_000)
	or(&l.Bytes, 1<<30)
	or(&l.Keep, 7*24*time.Hour)
	or(&l.Pushes, 8)
	or(&l.Queue, 64)
	return l
}

// or sets what is zero.
func or[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}
