package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/data/transact"
	"github.com/sotto-llm/sotto/record"
)

// A page for people acts on the tasks of any caller, whichever process works on them: it answers
// their questions, cancels them, and raises their limits. Who may do that is for the page to
// check.

// extensionsBucket has by how much the limits of tasks were raised: task id → agent.Extension
var extensionsBucket = []byte("extensions")

// A Managed is a task as somebody sees it who may manage it.
type Managed struct {
	Task  *a2a.Task
	Agent string
	// Question is what it waits for, if that is a person's consent.
	Question *consent.Question
	// Limits are those in force for the message that is being answered, with what was added to
	// them. Fixed says why they cannot be raised; "" if they can.
	Limits   agent.Limits
	Extended agent.Extension
	Fixed    string
	// Spent is what the task took, as far as it has said; nil if it has not.
	Spent    *record.Spent
	Currency string
}

// Why limits cannot be raised.
const (
	fixedEnded  = "the task has ended"
	fixedLimits = "a model that answers alone has no limits of its own"
)

// limited is a mind with limits that can be raised.
type limited interface {
	limits() (agent.Limits, string)
}

// Manage returns a task of a caller. The error is [a2a.ErrTaskNotFound] if there is none.
func (s *Server) Manage(owner string, id a2a.TaskID) (*Managed, error) {
	m := &Managed{Agent: s.card.Name}
	err := s.store.view(owner, func(t tx) error {
		r, err := rowOf(t, owner, id)
		if err != nil {
			return err
		}
		m.Task = r.Task
		m.Extended, err = extensionIn(t, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	if m.Task.Status.State == a2a.TaskStateInputRequired {
		if m.Question, err = questionIn(m.Task.Status.Message); err != nil {
			return nil, err
		}
	}
	if m.Spent = spentIn(m.Task.Metadata); m.Spent == nil && m.Task.Status.Message != nil {
		m.Spent = spentIn(m.Task.Status.Message.Metadata)
	}
	l, ok := s.mind.(limited)
	if ok {
		m.Limits, m.Currency = l.limits()
		m.Limits = m.Extended.Limits(m.Limits)
	}
	switch {
	case m.Task.Status.State.Terminal():
		m.Fixed = fixedEnded
	case !ok:
		m.Fixed = fixedLimits
	}
	return m, nil
}

// managing is the context of what a page does with the tasks of a caller.
func managing(ctx context.Context, owner string, by consent.Principal) context.Context {
	return visit{caller: owner, principal: by}.in(ctx)
}

// AnswerTask answers the question of a task about a call, as a message of its caller does: the
// answer counts if its principal has the caller's name and may consent. It returns when the task
// has taken the answer.
func (s *Server) AnswerTask(ctx context.Context, owner string, id a2a.TaskID, a consent.Answer) error {
	if a.By.Name != owner { // the server takes who sends a message for its caller
		return a2a.NewError(a2a.ErrUnauthorized, consent.ErrSubject.Error())
	}
	word := "no"
	if a.Agree {
		word = "yes"
	}
	m := a2a.NewMessage(a2a.MessageRoleUser, dataPart(answerPart{AnswerType, a}), a2a.NewTextPart(word))
	m.ID, m.TaskID = "answer-"+a.Question, id // so that the same answer counts once
	_, err := s.handling.SendMessage(managing(ctx, owner, a.By), &a2a.SendMessageRequest{Message: m, Config: &a2a.SendMessageConfig{ReturnImmediately: true}})
	return err
}

// CancelTask cancels a task of a caller, wherever it is worked on.
func (s *Server) CancelTask(ctx context.Context, owner string, id a2a.TaskID) error {
	_, err := s.handling.CancelTask(managing(ctx, owner, consent.Principal{}), &a2a.CancelTaskRequest{ID: id})
	return err
}

// What may be added to the limits of a task, in all.
var mostExtended = agent.Extension{Invocations: 1000, Calls: 10_000, Tokens: 1 << 40, Time: 30 * 24 * time.Hour, Cost: 1e6}

// ExtendTask raises the limits of a task that has not ended. The answer that is under way learns
// it when it reaches a limit, in whatever process. The error says what cannot be raised, and why.
func (s *Server) ExtendTask(owner string, id a2a.TaskID, by agent.Extension) error {
	l, ok := s.mind.(limited)
	if !ok {
		return a2a.NewError(a2a.ErrUnsupportedOperation, fixedLimits)
	}
	limits, _ := l.limits()
	if err := raises(by, limits); err != nil {
		return a2a.NewError(a2a.ErrInvalidParams, err.Error())
	}
	return s.store.update(owner, func(t tx) error {
		r, err := rowOf(t, owner, id)
		if err != nil {
			return err
		}
		if r.Task.Status.State.Terminal() {
			return a2a.NewError(a2a.ErrUnsupportedOperation, fixedEnded)
		}
		e, err := extensionIn(t, id)
		if err != nil {
			return err
		}
		if e = e.Plus(by); exceeds(e, mostExtended) {
			return a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf("more than can be added to the limits of a task: %d replies, %d calls, %d tokens, %v and a cost of %.0f", mostExtended.Invocations, mostExtended.Calls, mostExtended.Tokens, mostExtended.Time, mostExtended.Cost))
		}
		data, err := json.Marshal(e)
		if err != nil {
			return err
		}
		return t.put(extensionsBucket, []byte(id), data)
	})
}

// raises reports why an extension does not raise limits.
func raises(by agent.Extension, l agent.Limits) error {
	switch {
	case by == agent.Extension{}:
		return errors.New("nothing is added to any limit")
	case exceeds(agent.Extension{}, by) || !(by.Cost >= 0):
		return errors.New("a limit can be raised, and not lowered")
	case by.Tokens > 0 && l.Tokens <= 0:
		return errors.New("tokens: the agent's file does not limit them")
	case by.Time > 0 && l.Time <= 0:
		return errors.New("time: the agent's file does not limit it")
	case by.Cost > 0 && l.Cost <= 0:
		return errors.New("cost: the agent's file does not limit it")
	}
	return nil
}

// exceeds reports whether one of the values of an extension is greater than that of another.
func exceeds(a, b agent.Extension) bool {
	return a.Invocations > b.Invocations || a.Calls > b.Calls || a.Tokens > b.Tokens || a.Time > b.Time || a.Cost > b.Cost
}

// rowOf returns a task if it is the owner's: a file has those of all owners.
func rowOf(t tx, owner string, id a2a.TaskID) (*row, error) {
	r, err := rowIn(t, id)
	if err == nil && r.Owner != owner {
		return nil, a2a.ErrTaskNotFound
	}
	return r, err
}

func extensionIn(t tx, id a2a.TaskID) (e agent.Extension, err error) {
	if data := t.get(extensionsBucket, []byte(id)); data != nil {
		err = json.Unmarshal(data, &e)
	}
	return e, err
}

// extensionOf returns what was added to the limits of a task so far, for its mind. While the
// store cannot be reached, it is what was known before.
func (s *store) extensionOf(owner string, id a2a.TaskID) func() agent.Extension {
	var known agent.Extension
	return func() agent.Extension {
		var e agent.Extension
		err := s.view(owner, func(t tx) (err error) {
			e, err = extensionIn(t, id)
			return err
		})
		if err == nil {
			known = e
		} else if !errors.Is(err, transact.ErrUnreachable) {
			s.log.Error("what was added to the limits of a task cannot be read", "task", string(id), "error", err)
		}
		return known
	}
}
