package agentmodel

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/access"
	"github.com/sotto-llm/sotto/internal/foreignjson"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
	"github.com/sotto-llm/sotto/wire"
)

// An answer is one reply of an agent to a request.
type answer struct {
	of    *Models
	agent *agent.Agent
	codec wire.Codec
	make  func(*answer) form
	form  form
	body  []byte

	request *wire.Request
	usage   bool // a stream ends with the token counts
	id      string
	created time.Time

	to     *io.PipeWriter
	began  chan struct{} // closed when status and kind are set
	begun  bool
	status int
	kind   string

	said, thoughts, narrated strings.Builder
	outcome                  agent.Outcome
	alive                    time.Time // of the last sign of life
}

// A form writes an answer in the form of one API. What it returns are frames of a
// stream, or the body of a whole reply.
type form interface {
	kind() string // of a stream
	first() []byte
	thought(text string) []byte
	text(text string) []byte
	narration(text string) []byte
	alive() []byte
	last() []byte
	fail(message []byte) []byte
	whole() []byte
}

// aliveGap is the time between two signs of life on a stream, at least.
const aliveGap = time.Second

// A refusal is a request that no agent can answer.
type refusal struct{ error }

// serve answers the request.
func (x *answer) serve(ctx context.Context) {
	var failure error
	defer func() {
		if v := recover(); v != nil {
			failure = fmt.Errorf("the agent panicked: %v", v)
			x.log("an agent panicked", "agent", x.agent.Name, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
		x.to.CloseWithError(x.end(failure))
	}()
	c, err := x.read()
	if err != nil {
		failure = refusal{err}
		return
	}
	x.form = x.make(x)
	if x.request.Stream {
		if failure = x.write(http.StatusOK, x.form.kind(), x.form.first()); failure != nil {
			return
		}
	}
	c.Record, c.Run, c.Cycle = x.of.Record, x.id, 1
	c.Start = &record.RunStart{Agent: x.agent.Name, Caller: access.Caller(ctx), Goal: record.Say(c.Messages[len(c.Messages)-1].Text)}
	c.Last = true
	x.outcome, failure = x.agent.Answer(ctx, c, x.on)
	if failure == nil && x.outcome.Status == agent.Failed {
		failure = errors.New("the agent's model could not be asked")
	}
	if failure != nil {
		return
	}
	if x.request.Stream {
		failure = x.write(0, "", x.form.last())
	} else {
		failure = x.write(http.StatusOK, "application/json", x.form.whole())
	}
}

// end tells the client of a failure, if that is still possible. It returns an error
// if the reply is cut off.
func (x *answer) end(failure error) error {
	if failure == nil {
		return nil
	}
	status, text := http.StatusBadGateway, "the agent failed: "+failure.Error()
	if e, ok := errors.AsType[refusal](failure); ok {
		status, text = http.StatusBadRequest, e.Error()
	} else if !errors.Is(failure, context.Canceled) {
		x.log("an agent failed", "agent", x.agent.Name, "error", failure.Error())
		text = "the agent failed; the log of the server says why"
	}
	message := x.codec.Error(status, text)
	if !x.begun {
		return x.write(status, "application/json", message)
	}
	_, err := x.to.Write(x.form.fail(message))
	return err
}

func (x *answer) log(message string, args ...any) {
	if x.of.Log != nil {
		x.of.Log.Warn(message, args...)
	}
}

// write sends a part of the response; with the first part the response begins.
func (x *answer) write(status int, kind string, data []byte) error {
	if !x.begun {
		x.begun, x.status, x.kind = true, status, kind
		close(x.began)
	}
	if len(data) == 0 {
		return nil
	}
	_, err := x.to.Write(data)
	return err
}

// on takes what happens, for a stream or for a whole reply. The form of a whole reply
// writes what nobody reads.
func (x *answer) on(e agent.Event) error {
	var out []byte
	switch e := e.(type) {
	case agent.Visible:
		x.said.WriteString(e.Text)
		out = x.form.text(e.Text)
	case agent.Reasoning:
		x.thoughts.WriteString(e.Text)
		out = x.form.thought(e.Text)
	case agent.Alive:
		now := time.Now()
		if now.Sub(x.alive) < aliveGap {
			return nil
		}
		x.alive, out = now, x.form.alive()
	default:
		text := narrationOf(e)
		x.narrated.WriteString(text)
		out = x.form.narration(text)
	}
	if !x.request.Stream {
		return nil
	}
	return x.write(0, "", out)
}

// narrationOf returns what a client is told of an event: narration, and which tools
// are called. It has nothing of what tools get and give.
func narrationOf(e agent.Event) string {
	switch e := e.(type) {
	case agent.Narration:
		return e.Text
	case agent.ToolStart:
		return "\n" + e.Name + ": started\n"
	case agent.ToolEnd:
		if e.Failed {
			return "\n" + e.Name + ": failed\n"
		}
		return "\n" + e.Name + ": done\n"
	}
	return ""
}

// read reads the request.
func (x *answer) read() (c agent.Conversation, err error) {
	x.created, x.id = time.Now(), x.agent.Name+":"+strings.ToLower(rand.Text()[:16])
	if x.request, err = x.codec.Request(x.body); err != nil {
		return c, err
	}
	root, err := foreignjson.Parse(x.body)
	if err != nil {
		return c, err
	}
	x.usage = root.Get("stream_options.include_usage").Bool()
	switch {
	case root.Get("n").Int() > 1:
		return c, errors.New("n: an agent gives one answer")
	case root.Get("previous_response_id").Str != "" || root.Get("conversation").Exists():
		return c, errors.New("an agent keeps no conversations: send all messages in the request")
	}
	if text := root.Get("instructions").Str; text != "" {
		c.Messages = append(c.Messages, model.Message{Role: model.System, Text: text})
	}
	for _, m := range x.request.Messages {
		if one, ok := messageOf(m); ok {
			c.Messages = append(c.Messages, one)
		}
	}
	if n := len(c.Messages); n == 0 || c.Messages[n-1].Role != model.User || strings.TrimSpace(c.Messages[n-1].Text) == "" {
		return c, errors.New("the last message must be a user's, with a text")
	}
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

// finish returns why the answer ended, in OpenAI's words.
func (x *answer) finish() string {
	if r := x.outcome.Reading; x.outcome.Status == agent.Bounded || r != nil && r.End == sotto.EndCut {
		return "length"
	}
	return "stop"
}

// model is the name of the agent as a model.
func (x *answer) model() string { return Prefix + x.agent.Name }
