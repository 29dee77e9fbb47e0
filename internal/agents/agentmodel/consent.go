package agentmodel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/agents/pending"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/turn"
)

// The items of the responses API about a call that waits for consent, and what begins the id of
// the first.
const (
	approvalRequest  = "mcp_approval_request"
	approvalResponse = "mcp_approval_response"
	approvalPrefix   = "mcpr_"
)

// principal is who answers the questions of a request.
func (x *answer) principal(ctx context.Context) consent.Principal {
	if p := pending.From(ctx); p != nil {
		return p.Principal
	}
	return consent.Principal{Name: x.caller, Way: consent.Responses, Scoped: access.May(ctx, access.Consent)}
}

// asks says whom the agent asks about calls, and gives it the answer that the request brings.
func (x *answer) asks(ctx context.Context, c *agent.Conversation) {
	c.Subject = x.caller
	c.Confirmer = agent.PauseToConfirm
	if err := x.nobody(ctx); err != nil {
		c.Confirmer = func(context.Context, agent.Use, consent.Question) (consent.Answer, error) {
			return consent.Answer{}, err
		}
	} else if pending.From(ctx) == nil {
		c.Confirmer = yesOrNo
	}
	own := *x.agent
	if own.Turn.Consents == nil {
		own.Turn.Consents = &x.of.consents
	}
	x.agent = &own
	if x.resumed != nil {
		c.Waiting, c.Consent = &x.waited, &x.consent
	}
}

// yesOrNo asks what an item of the responses API can answer, which has no place for values.
func yesOrNo(ctx context.Context, u agent.Use, q consent.Question) (consent.Answer, error) {
	if err := q.Needs(); err != nil {
		return consent.Answer{}, fmt.Errorf("%w: the question asks for values, and the responses API has a place for yes or no alone: a person can be asked over A2A, or in the console", agent.ErrNobody)
	}
	return agent.PauseToConfirm(ctx, u, q)
}

// nobody says why nobody can be asked; nil if somebody can. A page shows the question also to
// somebody who may not answer it.
func (x *answer) nobody(ctx context.Context) error {
	switch {
	case pending.From(ctx) != nil:
		return nil
	case !x.isResponse():
		return fmt.Errorf("%w: this API has no place for a question: a person can be asked over the responses API or A2A, with a token that lists the scope \"consent\", or in the console", agent.ErrNobody)
	case !x.principal(ctx).May():
		return fmt.Errorf("%w: over the responses API, the caller needs a token that lists the scope \"consent\"", agent.ErrNobody)
	case x.of.Kept == nil:
		return fmt.Errorf("%w: this gateway has no data folder to keep the question in", agent.ErrNobody)
	}
	return nil
}

// paused keeps a turn that waits for a person, and shows the question.
func (x *answer) paused(ctx context.Context, c agent.Conversation) error {
	w := x.outcome.Waiting
	if w == nil || w.Asked == nil {
		return errors.New("the agent paused without a question that can be answered here")
	}
	waiting, err := json.Marshal(w)
	if err != nil {
		return err
	}
	t := pending.Turn{Agent: x.agent.Name, Run: c.Run, Cycle: c.Cycle, Asked: *w.Asked, Waiting: waiting}
	if p := pending.From(ctx); p != nil {
		p.Paused(t)
		return nil
	}
	id, err := pending.Keep(x.of.Kept, x.caller, t)
	if err != nil {
		return err
	}
	out := x.form.question(approvalPrefix+id, *w.Asked)
	if !x.request.Stream {
		return nil
	}
	return x.write(0, "", out)
}

// question writes the question as an item of the response.
func (f *form) question(id string, q consent.Question) []byte {
	raw := string(encode(object{"id": id, "type": approvalRequest, "server_label": f.agent.Name, "name": q.Tool, "arguments": q.Arguments}))
	is := wire.Event{Kind: wire.EventMembers, Name: wire.MembersOfItem, Index: questionIndex, Raw: raw}
	end := is
	end.Whole = true
	if f.says {
		return f.frames(endOfMessage, is, end)
	}
	return f.frames(is, end)
}

// questionIndex is the index of the item of a question among the events of a reply. Texts and
// thoughts have smaller ones.
const questionIndex = 1 << 20

// An approval is an answer to a question, of an item of the responses API.
type approval struct {
	id    string
	agree bool
	said  string
}

// approvalIn returns the answer that the input ends with; nil if it ends otherwise. Earlier
// ones are of what a client sends again.
func approvalIn(messages []turn.Message) (*approval, error) {
	var last []gjson.Result
	for i := range slices.Backward(messages) {
		v := itemOf(&messages[i])
		if v.Get("type").Str != approvalResponse {
			break
		}
		last = append(last, v)
	}
	switch len(last) {
	case 0:
		return nil, nil
	case 1:
	default:
		return nil, refuse("input: an agent asks about one call at a time, and %d answers came", len(last))
	}
	a := &approval{said: last[0].Get("reason").Str}
	id, ok := strings.CutPrefix(last[0].Get("approval_request_id").Str, approvalPrefix)
	if agree := last[0].Get("approve"); ok && id != "" && len(id) <= maxName && agree.IsBool() {
		a.id, a.agree = id, agree.Bool()
		return a, nil
	}
	return nil, refuse("input: an %s needs approval_request_id and approve", approvalResponse)
}

// itemOf returns the item that a message is, if it is of a kind that this package does not read.
func itemOf(m *turn.Message) gjson.Result {
	if len(m.Parts) != 1 || m.Parts[0].Kind != turn.Other || !m.Item {
		return gjson.Result{}
	}
	return jsonedit.Parse([]byte(m.Parts[0].Extra.Whole))
}

// take takes the turn that an answer belongs to.
func (x *answer) take(ctx context.Context, a *approval) error {
	if x.of.Kept == nil {
		return refuse("this gateway keeps no questions, because it has no data folder")
	}
	by := x.principal(ctx)
	if a.agree && !by.May() {
		return refusal{http.StatusForbidden, consent.ErrMayNot}
	}
	t, release, err := pending.Take(x.of.Kept, x.caller, x.agent.Name, a.id, func(q consent.Question) consent.Answer {
		x.consent = q.No(by, a.said)
		if a.agree {
			x.consent = q.Yes(by)
		}
		return x.consent
	}, time.Now())
	switch {
	case errors.Is(err, pending.ErrAnswering), errors.Is(err, pending.ErrLost):
		return refusal{http.StatusConflict, err}
	case errors.Is(err, pending.ErrGone), errors.Is(err, consent.ErrLate):
		return refuse("%s: %w", approvalResponse, err)
	case errors.Is(err, conversation.ErrUnreachable):
		return refusal{http.StatusServiceUnavailable, errors.New("the questions of this gateway cannot be reached now: answer again later")}
	case err != nil:
		return err
	}
	if err := x.resume(t); err != nil {
		release()
		return err
	}
	x.release = release
	return nil
}

// resume takes over a turn that goes on.
func (x *answer) resume(t *pending.Turn) error {
	if err := json.Unmarshal(t.Waiting, &x.waited); err != nil {
		return fmt.Errorf("the turn that waits cannot be parsed: %w", err)
	}
	x.resumed = t
	return nil
}
