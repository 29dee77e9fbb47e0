// Package a2atasks gives a console the tasks of servers of A2A.
package a2atasks

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto/a2aserver"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/data/transact"
)

// tasks are those of the servers of A2A, for the console.
type tasks []*a2aserver.Server

var _ console.Tasks = tasks(nil)

// Of returns the tasks of some servers.
func Of(servers ...*a2aserver.Server) console.Tasks { return tasks(servers) }

// find returns the server that has a task.
func (all tasks) find(owner, id string) (*a2aserver.Server, *a2aserver.Managed, error) {
	for _, s := range all {
		m, err := s.Manage(owner, a2a.TaskID(id))
		if !errors.Is(err, a2a.ErrTaskNotFound) {
			return s, m, forConsole(err)
		}
	}
	return nil, nil, console.ErrNoTask
}

// forConsole makes an error one that the console tells apart.
func forConsole(err error) error {
	_, said := errors.AsType[*a2a.Error](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, transact.ErrUnreachable):
		return fmt.Errorf("%w: %w", conversation.ErrUnreachable, err)
	case errors.Is(err, a2a.ErrTaskNotFound):
		return console.ErrNoTask
	case said, errors.Is(err, a2a.ErrTaskNotCancelable):
		return console.BadRequest{Err: err}
	}
	return err
}

// Task returns a task.
func (all tasks) Task(owner, id string) (*console.Task, error) {
	_, m, err := all.find(owner, id)
	if err != nil {
		return nil, err
	}
	state := m.Task.Status.State
	t := &console.Task{
		ID: id, Owner: owner, Agent: m.Agent, State: stateName(state), Ended: state.Terminal(), Question: m.Question,
		Added: limitsOf(m.Extended), Fixed: m.Fixed, Currency: m.Currency, Spent: m.Spent,
	}
	if l := m.Limits; l != (agent.Limits{}) {
		t.Limits = console.TaskLimits{Replies: l.Invocations, Calls: l.Calls, Tokens: max(l.Tokens, 0), Time: max(l.Time, 0), Cost: max(l.Cost, 0)}
	}
	return t, nil
}

func limitsOf(e agent.Extension) console.TaskLimits {
	return console.TaskLimits{Replies: e.Invocations, Calls: e.Calls, Tokens: e.Tokens, Time: e.Time, Cost: e.Cost}
}

// stateName is a state in a word for people, as the record has it.
func stateName(s a2a.TaskState) string {
	switch s {
	case a2a.TaskStateInputRequired:
		return "input-required"
	case a2a.TaskStateSubmitted:
		return "submitted"
	case a2a.TaskStateWorking:
		return "working"
	case a2a.TaskStateCompleted:
		return "completed"
	case a2a.TaskStateCanceled:
		return "canceled"
	case a2a.TaskStateRejected:
		return "rejected"
	}
	return "failed"
}

// Answer answers the question of a task about a call.
func (all tasks) Answer(ctx context.Context, owner, id string, a consent.Answer) error {
	s, _, err := all.find(owner, id)
	if err != nil {
		return err
	}
	return forConsole(s.AnswerTask(ctx, owner, a2a.TaskID(id), a))
}

// Cancel cancels a task.
func (all tasks) Cancel(ctx context.Context, owner, id string) error {
	s, _, err := all.find(owner, id)
	if err != nil {
		return err
	}
	return forConsole(s.CancelTask(ctx, owner, a2a.TaskID(id)))
}

// Erase removes the conversation of a task, or all tasks of its caller, with whichever agent.
func (all tasks) Erase(ctx context.Context, owner, id string, everything bool) error {
	s, m, err := all.find(owner, id)
	if err != nil {
		return err
	}
	if !everything {
		_, err := s.Erase(ctx, owner, m.Task.ContextID)
		return forConsole(err)
	}
	var list []error
	for _, s := range all {
		_, err := s.Erase(ctx, owner, "")
		list = append(list, forConsole(err))
	}
	return errors.Join(list...)
}

// Extend raises the limits of a task.
func (all tasks) Extend(owner, id string, by console.TaskLimits) error {
	s, _, err := all.find(owner, id)
	if err != nil {
		return err
	}
	return forConsole(s.ExtendTask(owner, a2a.TaskID(id), agent.Extension{Invocations: by.Replies, Calls: by.Calls, Tokens: by.Tokens, Time: by.Time, Cost: by.Cost}))
}
