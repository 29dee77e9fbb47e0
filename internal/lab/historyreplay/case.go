package historyreplay

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

// A Case is one recorded request, with all that the model had thought before it.
type Case struct {
	Event        string // its name in the record
	Conversation string
	Provider     string // ollama, openai or anthropic
	Model        string
	Request      model.Request
	// Extra are further members of the request, a JSON object or nil.
	Extra json.RawMessage
	// Answer is the visible text of the recorded reply.
	Answer string
}

// Why an exchange is not replayed.
var (
	errOutcome   = errors.New("it has no answer")
	errPrompt    = errors.New("its API takes a prompt, which has no earlier messages")
	errThoughts  = errors.New("nothing is known of earlier reasoning")
	errWhole     = errors.New("not all of it was recorded")
	errTools     = errors.New("a tool cannot be offered again: its definition is not recorded, or the provider runs it")
	errParameter = errors.New("its parameters are not JSON")
)

// A Collector makes cases of the exchanges of a record, in their order.
type Collector struct {
	// Provider is the API to ask by; if empty, that of the exchange.
	Provider string
	// Model is the model to ask; if empty, that of the exchange.
	Model string

	Exchanges int
	Skipped   map[string]int // exchanges by why they are no case

	turns turns
}

// Case returns the case of an exchange; ok is false if the exchange is not replayed.
func (c *Collector) Case(event string, x *record.Exchange) (one Case, ok bool) {
	if c.Skipped == nil {
		c.Skipped, c.turns.max = map[string]int{}, maxTurns
	}
	c.Exchanges++
	one, err := c.caseOf(event, x)
	if err != nil {
		c.Skipped[err.Error()]++
	}
	c.turns.count(x)
	return one, err == nil
}

// Lost is how many replies were dropped before a later request could need them,
// because there were too many to keep.
func (c *Collector) Lost() int { return c.turns.lost }

func (c *Collector) caseOf(event string, x *record.Exchange) (Case, error) {
	one := Case{Event: event, Provider: cmp.Or(c.Provider, providerOf(x.ModelAPI())), Model: cmp.Or(c.Model, x.Model)}
	switch {
	case x.Outcome != "answered" || len(x.Replies) == 0:
		return one, errOutcome
	case len(x.Messages) == 0 || one.Provider == "" || slices.ContainsFunc(x.Messages, func(m record.Message) bool { return m.Role == "prompt" }):
		return one, errPrompt
	}
	answer, visible, ok := turnOf(x.Replies, capabilities(x.ModelAPI()).Texts)
	if !ok || answer == nil {
		return one, errWhole
	}
	one.Answer = strings.TrimSpace(visible)
	if err := one.ask(x, &c.turns); err != nil {
		return one, err
	}
	if err := one.set(x); err != nil {
		return one, err
	}
	one.Conversation = conversationOf(x)
	return one, nil
}

// ask makes the messages of the request.
func (one *Case) ask(x *record.Exchange, t *turns) error {
	asked, err := clientMessages(x)
	if err != nil {
		return err
	}
	thinks := false
	for i := range asked {
		m := &asked[i]
		if m.Role != "assistant" {
			continue
		}
		var before *record.Message
		if i > 0 {
			before = &asked[i-1]
		}
		if said := t.find(before, m); said != nil {
			m.Text, m.Reasoning, m.ToolCalls = record.Say(said.text), said.thoughts, said.calls
		}
		thinks = thinks || len(m.Reasoning) > 0 || marked(one.Model, string(m.Text.Text))
	}
	if !thinks {
		return errThoughts
	}
	for i := range asked {
		m, err := messageOf(&asked[i])
		if err != nil {
			return err
		}
		one.Request.Messages = join(one.Request.Messages, m)
	}
	return nil
}

// marked reports whether a text has reasoning in the markers of a model.
func marked(model, text string) bool {
	g, _ := sotto.ForModel(model)
	r, err := g.Parse(text, sotto.BeginOutside, sotto.EndStopped)
	return err == nil && len(r.Reasoning()) > 0
}

// join adds a message. Items of one reply, such as a thought and a call, become one
// message.
func join(list []model.Message, m model.Message) []model.Message {
	last := len(list) - 1
	if m.Role != model.Assistant || last < 0 || list[last].Role != model.Assistant {
		return append(list, m)
	}
	to := &list[last]
	to.Text += m.Text
	to.Thoughts = append(to.Thoughts, m.Thoughts...)
	to.Calls = append(to.Calls, m.Calls...)
	return list
}

func messageOf(m *record.Message) (out model.Message, err error) {
	if !m.Text.Whole() || !wholeThoughts(m.Reasoning) || !wholeCalls(m.ToolCalls) {
		return out, errWhole
	}
	out = model.Message{Role: model.Role(m.Role), Text: string(m.Text.Text), CallID: m.CallID}
	switch m.Role {
	case "developer":
		out.Role = model.System
	case "system", "user", "assistant", "tool":
	default:
		out.Role = model.User
	}
	for _, t := range m.Reasoning {
		if t.Sealed && len(t.Raw.Text) == 0 {
			continue // its signature is not recorded, so it cannot go back
		}
		o := model.Thought{Field: t.Field, Text: string(t.Text.Text), Sealed: t.Sealed, At: t.At}
		if t.Raw.Text != "" {
			o.Raw = json.RawMessage(t.Raw.Text)
		}
		out.Thoughts = append(out.Thoughts, o)
	}
	for _, call := range m.ToolCalls {
		o := model.Call{ID: call.ID, Name: call.Name, Arguments: string(call.Arguments.Text)}
		if call.Extra.Text != "" {
			o.Extra = json.RawMessage(call.Extra.Text)
		}
		out.Calls = append(out.Calls, o)
	}
	return out, nil
}

// clientMessages are the messages as the client sent them, before the history policy
// changed them.
func clientMessages(x *record.Exchange) ([]record.Message, error) {
	list := slices.Clone(x.Messages)
	undo := slices.Clone(x.Revisions)
	slices.SortStableFunc(undo, func(a, b record.Revision) int { // from the end, so that offsets stay true
		return cmp.Or(b.Message-a.Message, b.At-a.At)
	})
	for _, v := range undo {
		if v.Message < 0 || v.Message > len(list) || v.Role == "" && v.Message == len(list) || v.Added < 0 || v.At < 0 || !v.Removed.Whole() {
			return nil, errWhole
		}
		switch {
		case v.Role != "":
			list = slices.Insert(list, v.Message, record.Message{Role: v.Role, Reasoning: []record.Thought{{Field: v.Field, Text: v.Removed}}})
		case v.Field != "":
			m := &list[v.Message]
			m.Reasoning = slices.DeleteFunc(slices.Clone(m.Reasoning), func(t record.Thought) bool { return v.Added > 0 && t.Field == v.Field && t.Text.Len() == v.Added })
			if v.Removed.Text != "" {
				m.Reasoning = append(m.Reasoning, record.Thought{Field: v.Field, Text: v.Removed})
			}
		default:
			text := list[v.Message].Text
			if !text.Whole() || v.At > len(text.Text) || v.Added > len(text.Text)-v.At {
				return nil, errWhole
			}
			list[v.Message].Text = record.Content{Text: text.Text[:v.At] + v.Removed.Text + text.Text[v.At+v.Added:]}
		}
	}
	return list, nil
}

// set takes over the tools and the parameters of the request.
func (one *Case) set(x *record.Exchange) error {
	for _, t := range x.Tools {
		definition := []byte(t.Definition.Text)
		if len(definition) == 0 || !t.Definition.Whole() || !foreignjson.Valid(definition) {
			return errTools
		}
		d := jsonedit.Parse(definition)
		if f := d.Get("function"); f.IsObject() {
			d = f
		}
		schema := cmp.Or(d.Get("parameters").Raw, d.Get("input_schema").Raw)
		if schema == "" && d.Get("type").Exists() && d.Get("type").Str != "function" && d.Get("type").Str != "custom" {
			return errTools
		}
		tool := model.Tool{Name: t.Name, Description: d.Get("description").Str}
		if schema != "" && schema != "null" {
			tool.Schema = json.RawMessage(schema)
		}
		one.Request.Tools = append(one.Request.Tools, tool)
	}
	if x.Parameters.Text == "" {
		return nil
	}
	set := []byte(x.Parameters.Text)
	if !x.Parameters.Whole() {
		return errWhole
	}
	if !foreignjson.Valid(set) || !jsonedit.Parse(set).IsObject() {
		return errParameter
	}
	one.Extra = parameters(jsonedit.Parse(set), one.Provider == providerOf(x.ModelAPI()) && !capabilities(x.ModelAPI()).Items)
	return nil
}

// left are parameters that are not sent again: they concern how the reply came, or
// keep something at the provider.
var left = []string{"stream", "stream_options", "n", "store", "background", "stream_tool_calls"}

// common are parameters that have the same name and meaning in several APIs.
var common = []string{"temperature", "top_p", "seed", "presence_penalty", "frequency_penalty"}

// parameters returns the members to be sent again, or nil. same says that the request
// goes to the API that it came by.
func parameters(set gjson.Result, same bool) json.RawMessage {
	var out []byte
	set.ForEach(func(name, v gjson.Result) bool {
		if slices.Contains(left, name.Str) || !same && !slices.Contains(common, name.Str) {
			return true
		}
		if out != nil {
			out = append(out, ',')
		}
		out = append(append(append(out, name.Raw...), ':'), v.Raw...)
		return true
	})
	if out == nil {
		return nil
	}
	return json.RawMessage("{" + string(out) + "}")
}

// conversationOf names what cases belong to: the client's own identifier, or how the
// conversation began.
func conversationOf(x *record.Exchange) string {
	if _, id := x.Session(); id != "" {
		return id
	}
	h := newDigest()
	for _, m := range x.Messages {
		h.part(m.Role)
		h.part(string(m.Text.Text))
		if m.Role == "user" {
			break
		}
	}
	sum := h.sum()
	return hex.EncodeToString(sum[:8])
}

// providerOf returns the provider of package model that speaks an API, or "".
func providerOf(api string) string {
	family, _, _ := strings.Cut(api, ".")
	if model.API(family) == "" || strings.HasSuffix(api, ".completions") || strings.HasSuffix(api, ".generate") {
		return ""
	}
	return family
}

// capabilities are those of an API, by its codec's name.
func capabilities(api string) wire.Capabilities {
	for _, p := range providers.All() {
		for _, e := range p.Endpoints {
			if e.Codec != nil && e.Codec.Name() == api {
				return e.Codec.Capabilities()
			}
		}
	}
	return wire.Capabilities{}
}
