package agentmodel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/agents/pending"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
	"github.com/sotto-llm/sotto/wire/turn"
)

// A refusal is a request that no agent can answer.
type refusal struct {
	status int
	error
}

func refuse(format string, args ...any) error {
	return refusal{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

// conversation reads the request, and begins a turn of a conversation if that is kept.
func (x *answer) conversation(ctx context.Context) (c agent.Conversation, err error) {
	if x.request, err = x.codec.Request(x.body); err != nil {
		return c, refuse("%w", err)
	}
	api, ok := x.codec.(turn.API)
	if !ok {
		return c, refuse("an agent answers conversations, and a request of %s is not a conversation", x.codec.Name())
	}
	q, err := api.ReadTurn(x.body)
	if err != nil {
		return c, refuse("%w", err)
	}
	x.usage = q.Usage != nil && *q.Usage
	if err := unsupported(q); err != nil {
		return c, err
	}
	var system []model.Message
	for i := range q.Messages {
		one, ok, err := messageOf(&q.Messages[i])
		switch {
		case err != nil:
			return c, refuse("%w", err)
		case !ok:
		case one.Role == model.System:
			system = append(system, one)
		default:
			x.news = append(x.news, conversation.Message{Role: one.Role, Text: one.Text})
		}
	}
	approval, err := x.approval(ctx, q)
	if err != nil {
		return c, err
	}
	if n := len(x.news); approval == nil && x.resumed == nil && (n == 0 || x.news[n-1].Role != model.User || strings.TrimSpace(x.news[n-1].Text) == "") {
		return c, refuse("the last message must be a user's, with a text")
	}
	kept, err := x.begin(q, approval != nil)
	if err != nil {
		return c, err
	}
	if approval != nil { // not before: a conversation that is busy must not use up the answer
		if err := x.take(ctx, approval); err != nil {
			if x.turn != nil {
				err = errors.Join(err, x.turn.Close())
			}
			return c, err
		}
	}
	c.Messages = append(system, kept...)
	return c, nil
}

// approval returns the answer to a question that the request brings; nil if it brings none. What
// another server of this process has taken is not asked for again.
func (x *answer) approval(ctx context.Context, q *turn.Request) (*approval, error) {
	if p := pending.From(ctx); p != nil && p.Turn != nil {
		x.consent = p.Answer
		return nil, x.resume(p.Turn)
	}
	if !x.isResponse() {
		return nil, nil
	}
	return approvalIn(q.Messages)
}

// messageOf returns a message for the agent: texts only, and of the assistant only
// what is visible. Results of the client's own tools are left out, since the agent
// did not call them. The error names a part that an agent cannot read.
func messageOf(m *turn.Message) (out model.Message, ok bool, err error) {
	roles := map[turn.Role]model.Role{
		turn.System: model.System, turn.Developer: model.System, turn.User: model.User, turn.Assistant: model.Assistant,
	}
	var texts []string
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case turn.Text:
			texts = append(texts, p.Text)
		case turn.Thought, turn.Call, turn.Result, turn.Refusal:
		case turn.Other:
			kind := jsonedit.Parse([]byte(p.Extra.Whole)).Get("type").Str
			if m.Role == turn.User || kind == "item_reference" {
				return out, false, fmt.Errorf("%s: an agent reads text only, not %s", p.Extra.Path, shorttext.Quote(shorttext.Ellipsis(kind, 40)))
			}
		default:
			if m.Role == turn.User {
				return out, false, fmt.Errorf("%s: an agent reads text only, not %s", p.Extra.Path, p.Kind)
			}
		}
	}
	if out.Role = roles[m.Role]; out.Role == "" {
		return out, false, nil
	}
	if out.Text = strings.Join(texts, "\n"); m.Role == turn.Assistant {
		if out.Text, err = sotto.Default().Strip(out.Text, sotto.BeginOutside); err != nil {
			return out, false, nil
		}
	}
	return out, m.Role == turn.User || strings.TrimSpace(out.Text) != "", nil
}

// unsupported refuses what a client would wait for in vain. Settings that only shape a reply,
// such as a temperature, are not used.
func unsupported(q *turn.Request) error {
	own := func(name string) gjson.Result {
		return jsonedit.Parse([]byte(q.Extra.Member(q.Extra.API, name)))
	}
	several, _ := strconv.Atoi(string(q.Choices))
	switch {
	case several > 1:
		return refuse("n: an agent gives one answer, not %d", several)
	case len(q.Tools) > 0 && q.Choice.Mode != turn.None, own("functions").IsArray():
		return refuse("tools: an agent calls the tools of its own file, and no tools of the client: leave them out")
	case q.Format.Mode != "" && q.Format.Mode != turn.PlainText, own("response_format").IsObject():
		return refuse("an agent's answer is text: leave out the format that the request asks for")
	case own("background").Bool():
		return refuse("background: an agent answers while the client waits")
	case own("prompt").IsObject():
		return refuse("prompt: an agent has no stored prompts")
	case slices.ContainsFunc(own("modalities").Array(), func(v gjson.Result) bool { return v.Str != "text" }):
		return refuse("modalities: an agent writes text only")
	}
	return nil
}

// conversationHeader names a kept conversation in a request, and in its response.
const conversationHeader = "Sotto-Conversation"

// maxName bounds the name of a conversation.
const maxName = 256

// wish returns which conversation the request continues; ok is false if nothing is
// kept of it.
func (x *answer) wish(q *turn.Request) (w conversation.Wish, ok bool, err error) {
	w = conversation.Wish{Caller: x.caller, Agent: x.agent.Name, Name: x.header.Get(conversationHeader)}
	from := conversationHeader
	if x.isResponse() {
		own := func(name string) gjson.Result { return jsonedit.Parse([]byte(q.Extra.Member(q.Extra.API, name))) }
		w.Response = own("previous_response_id").Str
		w.Discard = own("store").Exists() && !own("store").Bool()
		if v := own("conversation"); v.IsObject() || v.Str != "" {
			if w.Name != "" {
				return w, false, refuse("conversation: the header %s names one too: send one of them", conversationHeader)
			}
			if from, w.Name = "conversation", v.Str; v.IsObject() {
				w.Name = v.Get("id").Str
			}
			if w.Name == "" {
				return w, false, refuse("conversation: want an id")
			}
		}
	}
	switch {
	case len(w.Name) > maxName:
		return w, false, refuse("%s: the name has %d bytes: the limit is %d", from, len(w.Name), maxName)
	case w.Name != "" && w.Response != "":
		return w, false, refuse("previous_response_id: a conversation is named too: send one of them")
	case w.Name != "" && w.Discard:
		return w, false, refuse("store: a turn of a named conversation is kept: leave out store or the conversation")
	case x.of.Kept == nil && (w.Name != "" || w.Response != ""):
		return w, false, refuse("this gateway keeps no conversations, because it has no data folder: send all messages in the request")
	}
	return w, x.of.Kept != nil && (w.Name != "" || w.Response != "" || x.isResponse() && !w.Discard), nil
}

// begin begins a turn of the conversation, and returns the messages for the agent: of
// a conversation that is kept, what is kept and what is new in the request. answers says that it
// answers a question.
func (x *answer) begin(q *turn.Request, answers bool) ([]model.Message, error) {
	w, keeps, err := x.wish(q)
	if err != nil {
		return nil, err
	}
	if !keeps {
		return conversation.Prompt(x.news), nil
	}
	x.turn, err = x.of.Kept.Begin(w)
	switch {
	case errors.Is(err, conversation.ErrBusy):
		return nil, refusal{http.StatusConflict, errors.New("another request to this conversation is being answered: ask again when it has ended")}
	case errors.Is(err, conversation.ErrNotFound):
		return nil, refuse("previous_response_id: no response of this agent with that id is kept for you: it may be too old, or have been stored for someone else")
	case errors.Is(err, conversation.ErrFull):
		return nil, refuse("%w: begin another one", err)
	case errors.Is(err, conversation.ErrNoRoom):
		return nil, refusal{http.StatusServiceUnavailable, err}
	case errors.Is(err, conversation.ErrUnreachable):
		x.log("a conversation cannot be continued", "agent", x.agent.Name, "error", err.Error())
		return nil, refusal{http.StatusServiceUnavailable, errors.New("the conversations of this gateway cannot be reached now: ask again later, or send the whole conversation without a name, with store: false")}
	case err != nil:
		return nil, fmt.Errorf("the conversation cannot be opened: %w", err)
	}
	switch {
	case x.turn.Number > 1 && answers: // the turn that goes on has them
		x.news = nil
	case x.turn.Number > 1:
		x.news = newest(x.news)
	}
	return x.turn.Prompt(x.news), nil
}

// newest returns the messages after the last one of the assistant. Those before it are
// kept already: many clients send the whole conversation each time.
func newest(list []conversation.Message) []conversation.Message {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Role == model.Assistant {
			return list[i+1:]
		}
	}
	return list
}

// keep keeps the turn with its answer. The answer is finished, so whatever happens to the
// conversation, the client gets it, and is told if the turn is not kept.
func (x *answer) keep(memory *agent.Memory) {
	if x.turn == nil {
		return
	}
	values := x.turn.Memory
	if memory != nil {
		values = memory.Values()
	}
	said := append(slices.Clip(x.news), conversation.Message{Role: model.Assistant, Text: x.said.String()})
	err := x.turn.Commit(said, values)
	if err == nil {
		return
	}
	x.log("a turn is not kept", "agent", x.agent.Name, "error", err.Error())
	x.unkept = unkept(err)
	if x.of.Record == nil {
		return
	}
	e := record.Event{Run: x.run, Cycle: x.turn.Number, Payload: record.Advisory{Code: "turn_unkept", Text: record.Say(x.unkept)}}
	if _, err := x.of.Record.Append(context.Background(), e); err != nil {
		x.log("that a turn is not kept cannot be recorded", "agent", x.agent.Name, "error", err.Error())
	}
}

// unkept says to the client why a turn is not kept.
func unkept(err error) string {
	why := "the conversation cannot be written"
	switch {
	case errors.Is(err, conversation.ErrLost):
		why = "another request has changed the conversation meanwhile, or it was lost"
	case errors.Is(err, conversation.ErrFull), errors.Is(err, conversation.ErrNoRoom):
		why = err.Error()
	case errors.Is(err, conversation.ErrUnreachable):
		why = "the conversations of this gateway cannot be reached now"
	}
	return "this answer is not part of the conversation: " + why
}
