package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/sotto-llm/sotto/internal/check/checks"
)

// A life checks the life of tasks over one interface.
type life struct {
	*prober
	ctx    context.Context
	c      *a2aclient.Client
	legacy bool
	task   *a2a.Task // the task that was sent, if it has ended
}

func (l *life) limited() (context.Context, context.CancelFunc) {
	return context.WithTimeout(l.ctx, l.Time)
}

func (l *life) message() *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(l.Message))}
}

// send sends a message and waits for the answer. It reports whether the result is a
// task that has ended.
func (l *life) send() bool {
	ctx, cancel := l.limited()
	defer cancel()
	res, err := l.c.SendMessage(ctx, l.message())
	if err != nil {
		l.note("send", Finding, "a message was refused: "+checks.Plain(err))
		return false
	}
	if m, ok := res.(*a2a.Message); ok {
		l.note("send", OK, "answered with a message, without a task")
		l.report.Delivered(l.at, "message leak", true, leakIn(m.Parts), "")
		return false
	}
	task, ok := res.(*a2a.Task)
	for ok && !rests(task.Status.State) {
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			l.note("send", Finding, fmt.Sprintf("the task is still %s after %s", task.Status.State, l.Time))
			return false
		}
		if task, err = l.c.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID}); err != nil {
			l.note("send", Finding, "the running task cannot be fetched: "+checks.Plain(err))
			return false
		}
	}
	l.expect("send", task.ID != "" && task.ContextID != "", "the task lacks an id or a context id")
	l.checkTask(task)
	if !task.Status.State.Terminal() {
		return false
	}
	l.task = task
	return true
}

func rests(s a2a.TaskState) bool {
	return s.Terminal() || s == a2a.TaskStateInputRequired || s == a2a.TaskStateAuthRequired
}

// checkTask checks what a task delivers.
func (l *life) checkTask(t *a2a.Task) {
	leak, answered := "", false
	empty := len(t.Artifacts) == 0 && t.Status.Message == nil
	for _, a := range t.Artifacts {
		if a == nil {
			continue
		}
		if found := leakIn(a.Parts); found != "" {
			leak = found
		}
		empty = empty || len(a.Parts) == 0
		answered = answered || len(a.Parts) > 0
	}
	l.answer("artifact leak", answered, leak, t.Status.State)
	if t.Status.State == a2a.TaskStateCompleted {
		l.expect("outcome", !empty, "the task is completed, but has no answer or an empty artifact")
	}
	l.clean("message leak", inMessages(t))
}

// answer adds a check of what was delivered as the answer.
func (l *life) answer(name string, came bool, leak string, state a2a.TaskState) {
	l.report.Delivered(l.at, name, came, leak, fmt.Sprintf("no answer came: the task is %s", state))
}

// inMessages checks what the agent said outside artifacts.
func inMessages(t *a2a.Task) string {
	for _, m := range append(slices.Clone(t.History), t.Status.Message) {
		if m == nil || m.Role != a2a.MessageRoleAgent {
			continue
		}
		if found := leakBeside(m.Parts); found != "" {
			return found
		}
	}
	return ""
}

func (l *life) clean(name, leak string) { l.expect(name, leak == "", "%s", leak) }

// after checks what can still be done with a task that has ended.
func (l *life) after() {
	ctx, cancel := l.limited()
	defer cancel()
	got, err := l.c.GetTask(ctx, &a2a.GetTaskRequest{ID: l.task.ID})
	switch {
	case err != nil:
		l.note("get", Finding, "a task that has ended cannot be fetched: "+checks.Plain(err))
	default:
		l.expect("get", got.ID == l.task.ID && got.Status.State == l.task.Status.State && text(got) == text(l.task),
			"the fetched task is not the one that was sent: %s, not %s", got.Status.State, l.task.Status.State)
	}
	if !l.legacy {
		l.list(ctx)
	}
	_, err = l.c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: l.task.ID})
	l.expect("cancel, over", err != nil, "a task that had ended was cancelled")
	follow := l.message()
	follow.Message.TaskID, follow.Message.ContextID = l.task.ID, l.task.ContextID
	res, err := l.c.SendMessage(ctx, follow)
	if m, ok := res.(*a2a.Message); err == nil && ok && m != nil {
		l.note("message, over", Skipped, "answered with a message")
		return
	}
	l.expect("message, over", err != nil, "a task that had ended accepted another message")
}

func (l *life) list(ctx context.Context) {
	res, err := l.c.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: l.task.ContextID, PageSize: 10})
	if err != nil {
		l.note("list", Finding, "tasks cannot be listed: "+checks.Plain(err))
		return
	}
	found := false
	for _, t := range res.Tasks {
		found = found || t != nil && t.ID == l.task.ID
	}
	l.expect("list", found, "the list of the context's tasks lacks the task")
}

// text returns the text of a task's artifacts.
func text(t *a2a.Task) string {
	var all strings.Builder
	for _, a := range t.Artifacts {
		if a == nil {
			continue
		}
		for _, p := range a.Parts {
			all.WriteString(said(p))
		}
	}
	return all.String()
}

// unknown asks for things that do not exist.
func (l *life) unknown() {
	ctx, cancel := l.limited()
	defer cancel()
	id := a2a.NewTaskID()
	_, get := l.c.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
	l.refused("get, unknown", get, a2a.ErrTaskNotFound)
	_, err := l.c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id})
	l.refused("cancel, unknown", err, a2a.ErrTaskNotFound)
	if !l.card.Capabilities.Streaming {
		return
	}
	subscribed := false // an error that comes without a stream is lost in the client
	for _, err := range l.c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}) {
		subscribed = err == nil
		break
	}
	l.expect("subscribe, unknown", !subscribed, "a subscription to a task that does not exist was accepted")
}

// refused expects an error of a kind. Clients of 0.3 cannot distinguish kinds over
// every binding.
func (l *life) refused(name string, err, want error) {
	switch {
	case err == nil:
		l.note(name, Finding, "it was not refused")
	case errors.Is(err, want), l.legacy:
		l.note(name, OK, "")
	default:
		l.note(name, Finding, fmt.Sprintf("refused as %q, not as %q", checks.Plain(err), want))
	}
}

// push compares the declaration of pushes with what happens, and tries to send one
// to an internal address.
func (l *life) push() {
	if l.task == nil {
		l.note("push", Skipped, "no task to check this with")
		return
	}
	ctx, cancel := l.limited()
	defer cancel()
	_, err := l.c.CreateTaskPushConfig(ctx, &a2a.PushConfig{TaskID: l.task.ID, URL: "http://169.254.169.254/latest/"})
	if l.card.Capabilities.PushNotifications {
		l.expect("push, inward", err != nil, "a push URL that points into the server's own network, %s, was accepted", "http://169.254.169.254/latest/")
		return
	}
	l.expect("push, undeclared", err != nil, "the card declares no push notifications, but a configuration was accepted")
}

// extended compares the declaration of the extended card with what happens.
func (l *life) extended() {
	if !l.card.Capabilities.ExtendedAgentCard {
		l.note("extended card", Skipped, "the card declares none")
		return
	}
	if l.Token == "" {
		l.note("extended card", Skipped, "it needs a token")
		return
	}
	ctx, cancel := l.limited()
	defer cancel()
	card, err := l.c.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{})
	l.expect("extended card", err == nil && card != nil && card.Name != "", "the card declares it, but it cannot be read: %v", err)
}
