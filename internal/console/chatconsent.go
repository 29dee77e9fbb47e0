package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/agents/pending"
	"github.com/sotto-llm/sotto/internal/base/visible"
)

// errNoConsent is the error of a caller who may not agree to calls of agents.
var errNoConsent = errors.New("this token does not have the scope consent")

// principalOf is a viewer as somebody who answers questions. Its name is that by which the
// gateway knows it.
func principalOf(v viewer) consent.Principal {
	return consent.Principal{Name: callerOf(v), Way: consent.Page, Scoped: v.Consents}
}

// An askCard is the question of an agent on the page.
type askCard struct {
	N     int    `json:"n"`
	State string `json:"state"` // a word of askStates
	// By and At are of the answer, if there is one, and Agreed says what it was.
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Agreed bool      `json:"agreed,omitempty"`
	// May says that the viewer may answer.
	May bool `json:"may"`

	Tool      string     `json:"-"`
	Through   []string   `json:"-"`
	Arguments string     `json:"-"`
	For       string     `json:"-"`
	Until     time.Time  `json:"-"`
	Fields    []askField `json:"-"`
	Question  string     `json:"-"`
	Digest    string     `json:"-"`
}

// The states of a question.
const (
	askOpen     = "open"
	askLate     = "late"     // nobody answered in time
	askAnswered = "answered" // and the agent went on
	askAtWork   = "work"     // answered, and the agent is at work
	askLost     = "lost"     // answered, and the process ended while the agent was at work
	askGone     = "gone"     // not kept any more
)

// Says are the words for the state.
func (a *askCard) Says() string {
	switch a.State {
	case askAnswered:
		if a.Agreed {
			return Word("ask.allowed")
		}
		return Word("ask.refused")
	case askAtWork:
		return Word("ask.work")
	case askLost:
		return Word("ask.lost")
	case askGone:
		return Word("ask.gone")
	case askLate:
		return Word("ask.late")
	}
	return Word("ask.open")
}

// Open reports whether the question can be answered now.
func (a *askCard) Open() bool { return a.State == askOpen }

// askCard returns the card of the question of a message; nil if it has none.
func (c *Console) askCard(v viewer, id string, all []conversation.Message, n int) *askCard {
	m := all[n-1]
	if m.Reply == nil || m.Reply.Asks == nil {
		return nil
	}
	q := m.Reply.Asks
	a := &askCard{
		N: n, May: v.Talks && v.Consents, Tool: visible.Line(q.Tool), Arguments: shownArguments(q.Arguments),
		For: visible.Line(q.For), Until: q.Until, Question: q.ID, Digest: q.Digest, State: askOpen, Fields: askFields(consent.Question(q.Question)),
	}
	if q.Through != "" {
		a.Through = strings.Split(visible.Line(q.Through), " > ")
	}
	for i, other := range slices.Backward(all) {
		if other.Parent == n && other.Reply != nil && other.Reply.Answers != nil && i >= n {
			x := other.Reply.Answers
			a.State, a.By, a.At, a.Agreed = askAnswered, visible.Line(x.By), x.At, x.Agree
			return a
		}
	}
	switch err := pending.State(c.config.Chat.Kept, keeper(v), q.Turn); {
	case c.talks.writing.has(question{keeper(v), id, n}), errors.Is(err, pending.ErrAnswering):
		a.State = askAtWork
	case errors.Is(err, pending.ErrLost):
		a.State = askLost
	case errors.Is(err, pending.ErrGone):
		a.State = askGone
	case !c.config.Now().Before(q.Until):
		a.State = askLate
	}
	return a
}

// shownArguments are arguments for people: one member on each line, if they are JSON. No
// character in them hides or reorders others.
func shownArguments(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") == nil {
		text = b.String()
	}
	return visible.Text(text)
}

// An answered question is what the page sends.
type answered struct {
	ID string `json:"id"` // of the conversation
	At int    `json:"at"` // the message with the question
	// Question and Digest are those of the question that the person saw.
	Question string `json:"question"`
	Digest   string `json:"digest"`
	// Agree and Dismiss are its answer, and Values what it has in the fields.
	Agree   bool                `json:"agree"`
	Dismiss bool                `json:"dismiss,omitempty"`
	Values  map[string][]string `json:"values,omitempty"`
}

// answer is the answer to the question that the page showed, whatever the turn asks now.
func (s *answered) answer(asked conversation.Question, by consent.Principal) (consent.Answer, error) {
	word := "refuse"
	switch {
	case s.Agree:
		word = "allow"
	case s.Dismiss:
		word = "dismiss"
	}
	q := consent.Question{ID: s.Question, Digest: s.Digest, Schema: asked.Schema}
	return answerOf(q, by, word, func(name string) []string { return s.Values[name] })
}

// chatConsent takes a person's answer to the question of an agent, and streams what the agent
// says then.
func (c *Console) chatConsent(w http.ResponseWriter, r *http.Request) {
	v := viewerOf(r)
	var s answered
	m, all, err := c.waitingMessage(r, v, &s)
	if err != nil {
		c.refuseSend(w, r, err)
		return
	}
	slot, err := c.talks.slots.Take(callerOf(v))
	if err != nil {
		w.Header().Set("Retry-After", "5")
		writeJSON(w, http.StatusServiceUnavailable, errorJSON(err.Error()))
		return
	}
	defer slot.GiveBack()
	asked := m.Reply.Asks
	agent := strings.TrimPrefix(m.Reply.Model, agentPrefix)
	answer, err := s.answer(asked.Question, principalOf(v))
	if err != nil {
		c.refuseSend(w, r, BadRequest{err})
		return
	}
	turn, release, err := pending.Take(c.config.Chat.Kept, keeper(v), agent, asked.Turn, func(consent.Question) consent.Answer { return answer }, c.config.Now())
	switch {
	case errors.Is(err, pending.ErrGone), errors.Is(err, pending.ErrAnswering), errors.Is(err, pending.ErrLost), errors.Is(err, consent.ErrLate):
		writeJSON(w, http.StatusConflict, errorJSON(err.Error()))
		return
	case errors.Is(err, consent.ErrOther), errors.Is(err, consent.ErrChanged), errors.Is(err, consent.ErrValues):
		err = BadRequest{err}
	}
	if err != nil {
		c.refuseSend(w, r, err)
		return
	}
	defer release()
	c.reply(w, r, &sent{ID: s.ID, Model: m.Reply.Model}, all, s.At, &pending.Person{Turn: turn, Answer: answer})
}

// waitingMessage reads the request, and returns the message with the question.
func (c *Console) waitingMessage(r *http.Request, v viewer, s *answered) (*conversation.Message, []conversation.Message, error) {
	err := readJSON(r, s)
	switch {
	case !v.Talks:
		return nil, nil, errNoTalk
	case !v.Consents:
		return nil, nil, errNoConsent
	case err != nil:
		return nil, nil, err
	}
	f, err := c.config.Chat.Kept.Get(keeper(v), s.ID)
	if err != nil {
		return nil, nil, err
	}
	if s.At < 1 || s.At > len(f.Messages) || f.Messages[s.At-1].Reply == nil || f.Messages[s.At-1].Reply.Asks == nil {
		return nil, nil, BadRequest{errors.New("at: no message of this conversation with a question")}
	}
	return &f.Messages[s.At-1], f.Messages, nil
}

// person completes the person for whom a reply is made. waits returns the turn that waits for
// that person, when the reply has ended.
func (v viewer) person(p *pending.Person) (_ *pending.Person, waits func() *pending.Turn) {
	if p == nil {
		p = &pending.Person{}
	}
	var turn atomic.Pointer[pending.Turn]
	p.Principal, p.Paused = principalOf(v), func(t pending.Turn) { turn.Store(&t) }
	return p, turn.Load
}

// keepTurn keeps a turn that waits, and adds its question to the reply.
func (c *Console) keepTurn(v viewer, t *pending.Turn, to *conversation.Reply) {
	id, err := pending.Keep(c.config.Chat.Kept, keeper(v), *t)
	if err != nil {
		to.Error = err.Error()
		return
	}
	to.Asks = &conversation.Asks{Question: conversation.Question(t.Asked), Turn: id}
}

// forget removes the turns that wait with the questions of a conversation.
func (c *Console) forget(owner, id string) error {
	f, err := c.config.Chat.Kept.Get(owner, id)
	if err != nil {
		return err
	}
	for _, m := range f.Messages {
		if m.Reply != nil && m.Reply.Asks != nil {
			if err := pending.Forget(c.config.Chat.Kept, owner, m.Reply.Asks.Turn); err != nil {
				return err
			}
		}
	}
	return nil
}
