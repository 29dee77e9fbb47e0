package a2aserver

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/eventqueue"
)

// executions are the event queues of the SDK. It makes a writer before it begins to execute a
// message, and destroys the queue after the last change of the task. In between, this process
// holds the work on the task.
type executions struct {
	eventqueue.Manager
	leases *leases
}

// CreateWriter implements [eventqueue.Manager].
func (e executions) CreateWriter(ctx context.Context, id a2a.TaskID) (eventqueue.Writer, error) {
	v := visitFrom(ctx)
	e.leases.hold(workOn(v.caller, id), &holding{opened: v.resumes})
	return e.Manager.CreateWriter(ctx, id)
}

// Destroy implements [eventqueue.Manager].
func (e executions) Destroy(ctx context.Context, id a2a.TaskID) error {
	e.leases.end(workOn(visitFrom(ctx).caller, id))
	return e.Manager.Destroy(ctx, id)
}
