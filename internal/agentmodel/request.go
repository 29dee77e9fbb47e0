package agentmodel

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/chatjson"
	"github.com/sotto-llm/sotto/internal/conversation"
	"github.com/sotto-llm/sotto/internal/foreignjson"
	"github.com/sotto-llm/sotto/internal/shorttext"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/wire"
)

// A refusal is a request that no agent can answer.
type refusal struct {
	status int
	error
}

func refuse(format string, args ...any) error {
	return refusal{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

// read reads the request, and begins a turn of a conversation if that is kept.
func (x *answer) read() (c agent.Conversation, err error) {
	if x.request, err = x.codec.Request(x.body); err != nil {
		return c, refuse("%w", err)
	}
	root, err := foreignjson.Parse(x.body)
	if err != nil {
		return c, refuse("%w", err)
	}
	x.usage = root.Get("stream_options.include_usage").Bool()
	if err := unsupported(root); err != nil {
		return c, err
	}
	var system []model.Message
	if text := root.Get("instructions").Str; text != "" {
		system = append(system, model.Message{Role: model.System, Text: text})
	}
	for _, m := range x.request.Messages {
		one, ok := messageOf(m)
		switch {
		case !ok:
		case one.Role == model.System:
			system = append(system, one)
		default:
			x.news = append(x.news, conversation.Message{Role: one.Role, Text: one.Text})
		}
	}
	if n := len(x.news); n == 0 || x.news[n-1].Role != model.User || strings.TrimSpace(x.news[n-1].Text) == "" {
		return c, refuse("the last message must be a user's, with a text")
	}
	kept, err := x.begin(root)
	if err != nil {
		return c, err
	}
	c.Messages = append(system, kept...)
	return c, nil
}

// messageOf returns a message for the agent: texts only, and of the assistant only
// what is visible. Results of the client's own tools are left out, since the agent
// did not call them.
func messageOf(m wire.Message) (model.Message, bool) {
	out := model.Message{Role: model.User, Text: strings.Join(m.Texts, "\n")}
	switch m.Role {
	case "system", "developer":
		out.Role = model.System
	case "assistant":
		out.Role = model.Assistant
		text, err := sotto.Default().Strip(out.Text, sotto.StartOutside)
		if err != nil {
			return out, false
		}
		out.Text = text
	case "user", "":
	default:
		return out, false
	}
	return out, m.Role == "user" || strings.TrimSpace(out.Text) != ""
}

// unsupported refuses what a client would wait for in vain: parts of messages that an
// agent cannot read, and what it cannot give. Settings that only shape a reply, such
// as a temperature, are not used.
func unsupported(root gjson.Result) error {
	switch {
	case root.Get("n").Int() > 1:
		return refuse("n: an agent gives one answer")
	case chatjson.OffersTools(root) && root.Get("tool_choice").Str != "none":
		return refuse("tools: an agent calls the tools of its own file, and no tools of the client: leave them out")
	case chatjson.WantsJSON(root):
		return refuse("an agent's answer is text: leave out the format that the request asks for")
	case root.Get("background").Bool():
		return refuse("background: an agent answers while the client waits")
	case root.Get("prompt").IsObject():
		return refuse("prompt: an agent has no stored prompts")
	case slices.ContainsFunc(root.Get("modalities").Array(), func(v gjson.Result) bool { return v.Str != "text" }):
		return refuse("modalities: an agent writes text only")
	}
	for _, list := range []string{"messages", "input"} {
		for i, m := range root.Get(list).Array() {
			if kind := unreadable(m); kind != "" {
				return refuse("%s[%d]: an agent reads text only, not %s", list, i, shorttext.Quote(shorttext.Ellipsis(kind, 40)))
			}
		}
	}
	return nil
}

// unreadable returns the kind of a part of a message that an agent cannot read, or "".
func unreadable(m gjson.Result) string {
	if len(m.Get("images").Array()) > 0 {
		return "images"
	}
	if m.Get("type").Str == "item_reference" {
		return "item_reference"
	}
	if m.Get("role").Str != "user" {
		return ""
	}
	for _, part := range m.Get("content").Array() {
		switch kind := part.Get("type").Str; {
		case !part.IsObject(), kind == "text", kind == "input_text":
		case kind == "":
			return "a part without a type"
		default:
			return kind
		}
	}
	return ""
}

// conversationHeader names a kept conversation in a request, and in its response.
const conversationHeader = "Sotto-Conversation"

// maxName bounds the name of a conversation.
const maxName = 256

// wish returns which conversation the request continues; ok is false if nothing is
// kept of it.
func (x *answer) wish(root gjson.Result) (w conversation.Wish, ok bool, err error) {
	w = conversation.Wish{Caller: x.caller, Agent: x.agent.Name, Name: x.header.Get(conversationHeader)}
	from := conversationHeader
	if x.isResponse() {
		w.Response = root.Get("previous_response_id").Str
		w.Discard = root.Get("store").Exists() && !root.Get("store").Bool()
		if v := root.Get("conversation"); v.IsObject() || v.Str != "" {
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
// a conversation that is kept, what is kept and what is new in the request.
func (x *answer) begin(root gjson.Result) ([]model.Message, error) {
	w, keeps, err := x.wish(root)
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
	if x.turn.Number > 1 {
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

// keep keeps the turn with its answer.
func (x *answer) keep(memory *agent.Memory) error {
	if x.turn == nil {
		return nil
	}
	values := x.turn.Memory
	if memory != nil {
		values = memory.Values()
	}
	said := append(slices.Clip(x.news), conversation.Message{Role: model.Assistant, Text: x.said.String()})
	err := x.turn.Commit(said, values)
	switch {
	case errors.Is(err, conversation.ErrLost):
		return refusal{http.StatusConflict, errors.New("the turn is not kept: another request has changed the conversation, or the conversation is lost: ask again")}
	case errors.Is(err, conversation.ErrFull):
		return refuse("the turn is not kept: %w", err)
	case errors.Is(err, conversation.ErrNoRoom):
		return refusal{http.StatusServiceUnavailable, err}
	case errors.Is(err, conversation.ErrUnreachable):
		x.log("a turn is not kept", "agent", x.agent.Name, "error", err.Error())
		return refusal{http.StatusServiceUnavailable, errors.New("the turn is not kept: the conversations of this gateway cannot be reached now: ask again later")}
	}
	return err
}
