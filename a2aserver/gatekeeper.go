package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// A gatekeeper checks every call before it is carried out: its version, the owner
// of the task, and what the card declares.
type gatekeeper struct {
	a2asrv.PassthroughCallInterceptor
	s *Server
}

// Before implements [a2asrv.CallInterceptor].
func (g gatekeeper) Before(ctx context.Context, call *a2asrv.CallContext, req *a2asrv.Request) (context.Context, any, error) {
	v := visitFrom(ctx)
	call.User = v.user()
	if v.resumes {
		return ctx, nil, nil // it was checked when it came
	}
	if err := checkVersion(call, v.legacy); err != nil {
		return ctx, nil, err
	}
	task := taskOf(req.Payload)
	var known entry
	if task != "" {
		var err error
		if known, err = g.s.store.known(ctx, task); err != nil {
			return ctx, nil, err
		}
	}
	switch p := req.Payload.(type) {
	case *a2a.SendMessageRequest:
		if err := g.s.checkMessage(p, v.caller, known); err != nil {
			return ctx, nil, err
		}
		return ctx, nil, g.s.checkConsent(p.Message, v)
	case *a2a.PushConfig:
		if known.state.Terminal() {
			return ctx, nil, a2a.NewError(a2a.ErrUnsupportedOperation, "the task has ended: it sends no more notifications")
		}
		return ctx, nil, g.s.store.admit(v.caller, task)
	}
	return ctx, nil, nil
}

// checkVersion accepts 1.x where 1.0 is served, and calls that name no version.
func checkVersion(call *a2asrv.CallContext, legacy bool) error {
	list, _ := call.ServiceParams().Get(a2a.SvcParamVersion)
	for _, version := range list {
		ok := version == "" || version == "1" || strings.HasPrefix(version, "1.")
		if legacy {
			ok = version == "" || strings.HasPrefix(version, "0.")
		}
		if !ok {
			return a2a.NewError(a2a.ErrVersionNotSupported, fmt.Sprintf("version %.16q is not supported: use 1.0, or 0.3 at the URL that the card has for it", version))
		}
	}
	return nil
}

// taskOf returns the task that a call names.
func taskOf(payload any) a2a.TaskID {
	switch p := payload.(type) {
	case *a2a.SendMessageRequest:
		if p.Message != nil {
			return p.Message.TaskID
		}
	case *a2a.GetTaskRequest:
		return p.ID
	case *a2a.CancelTaskRequest:
		return p.ID
	case *a2a.SubscribeToTaskRequest:
		return p.ID
	case *a2a.PushConfig:
		return p.TaskID
	case *a2a.GetTaskPushConfigRequest:
		return p.TaskID
	case *a2a.ListTaskPushConfigRequest:
		return p.TaskID
	case *a2a.DeleteTaskPushConfigRequest:
		return p.TaskID
	}
	return ""
}

// checkMessage checks a message against what the card declares, and the limits.
func (s *Server) checkMessage(req *a2a.SendMessageRequest, caller string, task entry) error {
	m := req.Message
	if m == nil {
		return nil // the SDK reports it
	}
	if err := checkForm(req); err != nil {
		return err
	}
	if err := s.checkSize(m, task); err != nil || m.TaskID == "" {
		return err
	}
	switch {
	case task.state.Terminal():
		return a2a.NewError(a2a.ErrUnsupportedOperation, "the task has ended: begin another in the same context")
	case task.state != a2a.TaskStateInputRequired:
		return a2a.NewError(a2a.ErrUnsupportedOperation, "the task is still running: subscribe to it, or cancel it first")
	case task.said >= s.limits.Messages:
		return a2a.NewError(a2a.ErrUnsupportedOperation, fmt.Sprintf("the task has had %d messages, which is the limit: begin another in the same context", task.said))
	}
	return s.store.admit(caller, m.TaskID)
}

// checkForm checks what a request says, whatever its task is.
func checkForm(req *a2a.SendMessageRequest) error {
	m := req.Message
	if m.Role != a2a.MessageRoleUser {
		return a2a.NewError(a2a.ErrInvalidParams, "the role of a message to an agent must be ROLE_USER")
	}
	if err := checkParts(m.Parts); err != nil {
		return err
	}
	if c := req.Config; c != nil && len(c.AcceptedOutputModes) > 0 && !slices.ContainsFunc(c.AcceptedOutputModes, takesText) {
		return a2a.NewError(a2a.ErrUnsupportedContentType, "this agent answers in "+textMode+", which is not among the accepted output modes")
	}
	return nil
}

// checkParts takes text, and a person's answer to a question about a call.
func checkParts(parts []*a2a.Part) error {
	answers := false
	for i, p := range parts {
		if p == nil {
			return a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf("part %d of the message is empty", i+1))
		}
		if typeOf(p) == AnswerType {
			answers = true
			continue
		}
		if _, ok := p.Content.(a2a.Text); !ok {
			return a2a.NewError(a2a.ErrUnsupportedContentType, fmt.Sprintf("part %d of the message is not text, and this agent reads text only", i+1))
		}
	}
	if len(parts) > 0 && !answers && blank(VisibleText(parts)) {
		return a2a.NewError(a2a.ErrInvalidParams, "the message has no text")
	}
	return nil
}

// maxID bounds the names that a client may choose: of messages, contexts, tasks,
// extensions.
const maxID = 256

// checkSize bounds what a message makes the server keep. Names may appear in logs,
// keys and URLs, so they must not hold control characters.
func (s *Server) checkSize(m *a2a.Message, task entry) error {
	names := slices.Concat([]string{m.ID, m.ContextID, string(m.TaskID)}, m.Extensions)
	for _, id := range m.ReferenceTasks {
		names = append(names, string(id))
	}
	for _, name := range names {
		if len(name) > maxID || strings.ContainsFunc(name, unicode.IsControl) {
			return a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf("an id of the message, or the name of an extension, has more than %d bytes or holds a control character", maxID))
		}
	}
	data, err := json.Marshal(m)
	if err != nil {
		return a2a.NewError(a2a.ErrInvalidParams, "the message cannot be written as JSON")
	}
	if len(data)+task.size > s.limits.Task {
		return a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf("with this message the task would hold %d bytes, and %d is the limit: send less, or begin another task", len(data)+task.size, s.limits.Task))
	}
	return nil
}

func takesText(mode string) bool {
	mode, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(mode)), ";")
	return slices.Contains([]string{textMode, "text/*", "text", "*/*", "*"}, mode)
}

// A handler adds to the SDK's handler what a server needs around a call.
type handler struct {
	a2asrv.RequestHandler
	s *Server
}

// reserve takes a place for the task that a message may start.
func (h *handler) reserve(ctx context.Context) (context.Context, func(), error) {
	v := visitFrom(ctx)
	place, err := h.s.running.Take(v.caller)
	if err != nil {
		return ctx, nil, a2a.NewError(a2a.ErrServerError, err.Error())
	}
	v.place = place
	return v.in(ctx), place.GiveBack, nil
}

// SendMessage implements [a2asrv.RequestHandler].
func (h *handler) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	for try := 1; ; try++ {
		res, err := h.sendMessage(ctx, req)
		if !errors.Is(err, errTaken) && !h.leaves(ctx, req, err, try) {
			return res, err
		}
	}
}

// leaves reports whether the SDK refused a message only because it has not yet left the work
// that made the task wait for this message, and waits for a moment. A client can see the task
// waiting before that.
func (h *handler) leaves(ctx context.Context, req *a2a.SendMessageRequest, err error, try int) bool {
	if err == nil || try == tries || req.Message == nil || req.Message.TaskID == "" || !strings.Contains(err.Error(), "execution is already in progress") {
		return false
	}
	known, getErr := h.s.store.known(ctx, req.Message.TaskID)
	if getErr != nil {
		return false
	}
	if !known.resting() || known.unread {
		m := sendingOf(visitFrom(ctx).caller, req.Message)
		if m == nil {
			return false
		}
		if id, err := h.s.store.taker(m); err != nil || id == "" { // another message runs
			return false
		}
	}
	return pause(ctx)
}

// pause waits for a moment, and reports false if ctx ends before.
func pause(ctx context.Context) bool {
	select {
	case <-time.After(10 * time.Millisecond):
		return true
	case <-ctx.Done():
		return false
	}
}

func (h *handler) sendMessage(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	ctx, id, release, err := h.once(ctx, req)
	if err != nil {
		return nil, err
	}
	if id != "" {
		return h.again(ctx, id, req)
	}
	defer release()
	ctx, back, err := h.reserve(ctx)
	if err != nil {
		return nil, err
	}
	defer back()
	res, err := h.RequestHandler.SendMessage(ctx, req)
	if id, ok := h.elsewhere(ctx, err); ok {
		return h.again(ctx, id, req)
	}
	if t, ok := res.(*a2a.Task); ok && req.Config != nil {
		cutHistory(t, req.Config.HistoryLength)
	}
	return res, bare(err)
}

// elsewhere returns the task that has taken the message of a call if another process goes on with
// it, or has ended it.
func (h *handler) elsewhere(ctx context.Context, err error) (a2a.TaskID, bool) {
	m := visitFrom(ctx).message
	if !errors.Is(err, errLost) || m == nil || h.s.closing.Err() != nil {
		return "", false
	}
	id, err := h.s.store.taker(m)
	return id, err == nil && id != ""
}

// bare returns this package's own description of a fault, without what the SDK puts
// before it: its steps, and the push configuration with its token.
func bare(err error) error {
	if own, ok := errors.AsType[*a2a.Error](err); ok {
		return own
	}
	return err
}

// cutHistory keeps as many of the last messages as were asked for. The SDK does
// that for tasks that a client gets, but not for those that a message returns.
func cutHistory(t *a2a.Task, length *int) {
	if length != nil && *length >= 0 && *length < len(t.History) {
		t.History = t.History[len(t.History)-*length:]
	}
}

// SendStreamingMessage implements [a2asrv.RequestHandler].
func (h *handler) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		for try := 1; h.stream(ctx, req, yield, try); try++ {
		}
	}
}

// stream reports whether to send the message again, since another request has sent it meanwhile
// or the work on the task has not been left, and nothing was yielded.
func (h *handler) stream(ctx context.Context, req *a2a.SendMessageRequest, yield func(a2a.Event, error) bool, try int) (again bool) {
	ctx, id, release, err := h.once(ctx, req)
	if err != nil {
		yield(nil, err)
		return false
	}
	if id != "" {
		h.streamAgain(ctx, id, yield)
		return false
	}
	defer release()
	ctx, back, err := h.reserve(ctx)
	if err != nil {
		yield(nil, err)
		return false
	}
	defer back()
	for e, err := range h.RequestHandler.SendStreamingMessage(ctx, req) {
		if errors.Is(err, errTaken) || h.leaves(ctx, req, err, try) {
			return true
		}
		if id, ok := h.elsewhere(ctx, err); ok {
			h.streamAgain(ctx, id, yield)
			return false
		}
		if !yield(e, bare(err)) {
			return false
		}
	}
	return false
}

// CancelTask implements [a2asrv.RequestHandler]. If the work pauses or ends at the same
// moment, the SDK gives up. A task that pauses must still be canceled, and of a task that
// has ended the SDK says so when it is asked again.
func (h *handler) CancelTask(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	for try := 1; ; try++ {
		task, err := h.RequestHandler.CancelTask(ctx, req)
		if err == nil || errors.Is(err, a2a.ErrTaskNotCancelable) || try == tries {
			return task, err
		}
		if _, getErr := h.s.store.known(ctx, req.ID); getErr != nil {
			return task, err
		}
		if !pause(ctx) {
			return task, err
		}
	}
}

// tries bounds how often a call is repeated that met the end of a task's work.
const tries = 20

// GetTask implements [a2asrv.RequestHandler].
func (h *handler) GetTask(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	if err := h.s.holdTask(ctx, req.ID); err != nil {
		return nil, err
	}
	return h.RequestHandler.GetTask(ctx, req)
}

// ListTasks implements [a2asrv.RequestHandler].
func (h *handler) ListTasks(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	if err := hold(ctx, h.s.limits.Page); err != nil {
		return nil, err
	}
	return h.RequestHandler.ListTasks(ctx, req)
}

// holdTask counts the memory of a task with which a request will be answered.
func (s *Server) holdTask(ctx context.Context, id a2a.TaskID) error {
	known, err := s.store.known(ctx, id)
	if err != nil {
		return nil // the SDK reports it
	}
	return hold(ctx, known.size)
}

// hold counts memory to a request.
func hold(ctx context.Context, n int) error {
	l := visitFrom(ctx).load
	if l == nil {
		return nil
	}
	if err := l.Add(int64(copies * n)); err != nil {
		return a2a.NewError(a2a.ErrServerError, err.Error())
	}
	return nil
}

// letGo gives back memory that counted to a request.
func letGo(ctx context.Context, n int) {
	if l := visitFrom(ctx).load; l != nil {
		l.Free(int64(copies * n))
	}
}

// SubscribeToTask implements [a2asrv.RequestHandler]. For a task that waits for a
// message, only its state is sent.
func (h *handler) SubscribeToTask(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		known, err := h.s.store.known(ctx, req.ID)
		if err == nil {
			err = hold(ctx, known.size)
		}
		switch {
		case errors.Is(err, a2a.ErrServerError):
			yield(nil, err)
			return
		case err != nil: // the SDK reports it
		case known.state.Terminal():
			yield(nil, a2a.NewError(a2a.ErrUnsupportedOperation, "the task has ended: get it instead"))
			return
		case known.state == a2a.TaskStateInputRequired:
			if st, err := h.s.store.Get(ctx, req.ID); err == nil {
				yield(st.Task, nil)
				return
			}
		}
		if h.s.leases != nil && !h.s.leases.works(visitFrom(ctx).caller, req.ID) && err == nil {
			h.follow(ctx, req.ID, yield)
			return
		}
		h.RequestHandler.SubscribeToTask(ctx, req)(yield)
	}
}
