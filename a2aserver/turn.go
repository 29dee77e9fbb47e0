package a2aserver

import (
	"context"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// turn makes the Turn that a mind gets from a message.
func (s *Server) turn(ctx context.Context, ec *a2asrv.ExecutorContext) (Turn, error) {
	v := visitFrom(ctx)
	caller := v.caller
	t := Turn{
		Task: string(ec.TaskID), Context: ec.ContextID, Caller: caller, Principal: v.principal, ByAgent: fromAgent(ec.Message),
		Allowance: allowanceIn(ec.Message), Extended: s.store.extensionOf(caller, ec.TaskID),
		Text: VisibleText(ec.Message.Parts), Run: string(ec.TaskID), Cycle: 1,
	}
	var err error
	if t.Consent, err = consentIn(ec.Message); err != nil {
		return t, err
	}
	if t.Consent != nil {
		t.Consent.By = v.principal
	}
	if s.leases != nil {
		if t.Log, t.begins, err = s.store.turnOf(caller, ec.TaskID); err != nil {
			return t, err
		}
	}
	var now []Said
	if task := ec.StoredTask; task != nil {
		t.Cycle = messagesOf(task)
		now = saidIn(before(task.History, ec.Message))
		for len(now) > 0 && !now[len(now)-1].ByAgent { // an answer that a crash lost: this message replaces it
			now = now[:len(now)-1]
		}
		if n := len(now); n > 0 {
			t.Question = now[n-1].Text
		}
		if t.Memo, err = s.store.memo(caller, ec.TaskID, t.Cycle-1); err != nil {
			return t, err
		}
	}
	earlier, err := s.store.conversation(caller, ec.ContextID, ec.TaskID, s.limits.Earlier)
	if err != nil {
		return t, err
	}
	t.Earlier = append(earlier, now...)
	return t, nil
}

// before returns the messages before one that a task has taken. It is the last one, unless another
// process has begun to answer it.
func before(history []*a2a.Message, m *a2a.Message) []*a2a.Message {
	for i, other := range slices.Backward(history) {
		if other != nil && other.Role == a2a.MessageRoleUser && other.ID == m.ID {
			return history[:i]
		}
	}
	return history
}

// maxEarlier is how many earlier tasks of a context are looked at for a turn.
const maxEarlier = 100

// answeredIn returns the last of some tasks that belong to a context and have an answer, in the
// order in which they began, the latest first.
func answeredIn(all []*listed, id string) (found []*listed) {
	for _, l := range all {
		if l.context == id && l.state == a2a.TaskStateCompleted {
			found = append(found, l)
		}
		if len(found) == maxEarlier {
			break
		}
	}
	slices.SortFunc(found, func(a, b *listed) int { return b.created.Compare(a.created) })
	return found
}

// conversation returns the messages of the finished tasks of a context, oldest
// first. It takes as many of the latest tasks as fit.
func (s *store) conversation(caller, id string, but a2a.TaskID, limit int) ([]Said, error) {
	all, err := s.entries(caller)
	if err != nil {
		return nil, err
	}
	var tasks [][]Said
	err = s.view(caller, func(t tx) error {
		for _, l := range answeredIn(all, id) {
			r, err := rowIn(t, l.id)
			if err != nil || l.id == but {
				continue // dropped meanwhile
			}
			said := saidIn(r.Task.History)
			for _, a := range r.Task.Artifacts {
				if text := VisibleText(a.Parts); !blank(text) {
					said = append(said, Said{ByAgent: true, Text: text})
				}
			}
			for _, m := range said {
				limit -= len(m.Text)
			}
			if limit < 0 {
				return nil
			}
			tasks = append(tasks, said)
		}
		return nil
	})
	slices.Reverse(tasks)
	return slices.Concat(tasks...), err
}

// saidIn returns the texts of messages, without those that only report progress.
func saidIn(messages []*a2a.Message) []Said {
	var said []Said
	for _, m := range messages {
		if m == nil || m.Metadata[ProgressKey] == true {
			continue
		}
		if text := VisibleText(m.Parts); !blank(text) {
			said = append(said, Said{ByAgent: m.Role == a2a.MessageRoleAgent, Text: text})
		}
	}
	return said
}
