// Package pending keeps turns of agents that wait for a person's consent to a call, among
// the conversations of a store. A turn is taken once: whoever takes it holds it until the
// answer has ended, in every process that shares the store. A turn that was taken by a
// process that was killed stays taken, since nobody knows how far it came.
package pending

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
)

// Why a turn cannot be taken.
var (
	// ErrGone is the error of a question that is not kept: it was answered, or is too old,
	// or is another caller's or another agent's.
	ErrGone = errors.New("no call waits for this answer: it was answered before, or is no longer kept")
	// ErrAnswering is the error of a question whose answer is at work.
	ErrAnswering = errors.New("the question was answered before, and the agent is at work")
	// ErrLost is the error of a question whose answer was at work in a process that ended.
	ErrLost = errors.New("the question was answered before, and the gateway ended while the agent was at work: whether the call took effect is not known")
)

// A Turn is one that waits.
type Turn struct {
	Agent string `json:"agent"`
	// Run and Cycle are where the record has it.
	Run   string `json:"run"`
	Cycle int    `json:"cycle"`
	// Asked is what it asks, and Waiting what its agent needs to go on.
	Asked   consent.Question `json:"asked"`
	Waiting json.RawMessage  `json:"waiting"`
}

// taken is the entry that says that a turn was taken.
const taken = `{"taken":true}`

// ownerOf is whose conversations the turns of an owner are, who alone can take them. It cannot be
// the name of a token.
func ownerOf(owner string) string { return "pending/" + owner }

// kind stands for the agent in the names of conversations that are turns.
const kind = "pending"

func wish(owner, id string) conversation.Wish {
	return conversation.Wish{Caller: ownerOf(owner), Agent: kind, Name: id}
}

// Keep keeps a turn, and returns the id by which it is taken.
func Keep(s *conversation.Store, owner string, t Turn) (id string, err error) {
	data, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	id = rand.Text()
	kept, err := s.Begin(wish(owner, id))
	if err != nil {
		return "", fmt.Errorf("the question cannot be kept: %w", err)
	}
	err = kept.CommitEntries(string(data))
	if err = errors.Join(err, kept.Close()); err != nil {
		return "", fmt.Errorf("the question cannot be kept: %w", err)
	}
	return id, nil
}

// Take takes the turn of a question, if an answer to it counts. release ends that: call it
// when the answer has ended.
func Take(s *conversation.Store, owner, agent, id string, answer func(consent.Question) consent.Answer, now time.Time) (_ *Turn, release func(), err error) {
	if !known(s, owner, id) {
		return nil, nil, ErrGone
	}
	kept, err := s.Begin(wish(owner, id))
	switch {
	case errors.Is(err, conversation.ErrBusy):
		return nil, nil, ErrAnswering
	case err != nil:
		return nil, nil, err
	}
	t, err := read(kept.Entries)
	if err == nil && t.Agent != agent {
		err = ErrGone // another agent asked that
	}
	if err == nil {
		q := t.Asked
		a := answer(q) // its agent checks that it is by its caller
		err = q.Counts(a, consent.Occasion{Digest: q.Digest, For: a.By.Name, Now: now})
		if err == nil && !now.Before(q.Until) {
			err = consent.ErrLate // also for a refusal: the turn has ended
		}
	}
	if err == nil {
		err = kept.CommitEntries(taken)
	}
	if err != nil {
		return nil, nil, errors.Join(err, kept.Close())
	}
	return t, func() {
		_ = kept.Close()
		_ = s.Remove(ownerOf(owner), conversation.KeyOfName(kind, id)) // otherwise it stays taken until it is old
	}, nil
}

// Mark marks a turn as taken, as a process does that is killed after it took it.
func Mark(s *conversation.Store, owner, id string) error {
	kept, err := s.Begin(wish(owner, id))
	if err != nil {
		return err
	}
	return errors.Join(kept.CommitEntries(taken), kept.Close())
}

// known reports whether there is a turn: to begin one that there is not would make it.
func known(s *conversation.Store, owner, id string) bool {
	_, err := s.Get(ownerOf(owner), conversation.KeyOfName(kind, id))
	return err == nil
}

// read returns the turn that entries are.
func read(entries []string) (*Turn, error) {
	switch {
	case len(entries) == 0:
		return nil, ErrGone
	case len(entries) > 1:
		return nil, ErrLost
	}
	var t Turn
	if err := json.Unmarshal([]byte(entries[0]), &t); err != nil {
		return nil, fmt.Errorf("the turn that waits cannot be parsed: %w", err)
	}
	return &t, nil
}

// State reports why the turn of a question could not be taken now; nil if it waits.
func State(s *conversation.Store, owner, id string) error {
	f, err := s.Get(ownerOf(owner), conversation.KeyOfName(kind, id))
	switch {
	case errors.Is(err, conversation.ErrNotFound):
		return ErrGone
	case err != nil:
		return err
	}
	if _, err = read(f.Entries); !errors.Is(err, ErrLost) {
		return err
	}
	kept, busy := s.Begin(wish(owner, id))
	if busy != nil {
		return ErrAnswering
	}
	defer kept.Close()
	if len(kept.Entries) == 0 {
		return ErrGone // its answer has ended just now
	}
	return err
}

// Forget removes a turn that waits.
func Forget(s *conversation.Store, owner, id string) error {
	err := s.Remove(ownerOf(owner), conversation.KeyOfName(kind, id))
	if errors.Is(err, conversation.ErrNotFound) {
		return nil
	}
	return err
}

// A Person is somebody whom another server of this process has admitted, and who asks an
// agent through the gateway: see [With].
type Person struct {
	Principal consent.Principal
	// Paused gets a turn that waits for the person.
	Paused func(Turn)
	// Turn, if set, is a turn that goes on with an answer, which the server has taken.
	Turn   *Turn
	Answer consent.Answer
}

type personKey struct{}

// With returns the context of a request that is made for a person. No request from a network
// has such a context.
func With(ctx context.Context, p *Person) context.Context {
	return context.WithValue(ctx, personKey{}, p)
}

// From returns the person for whom a request is made; nil if the request does not say.
func From(ctx context.Context) *Person {
	p, _ := ctx.Value(personKey{}).(*Person)
	return p
}
