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
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/agents/pending"
	"github.com/sotto-llm/sotto/internal/base/tracecontext"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/record"
	"github.com/sotto-llm/sotto/wire"
)

// An answer is one reply of an agent to a request.
type answer struct {
	of    *Models
	agent *agent.Agent
	codec wire.Codec
	form  *form
	body  []byte

	header http.Header // of the request
	caller string
	turn   *conversation.Turn     // nil if nothing is kept of this
	news   []conversation.Message // of the request

	request *wire.Request
	usage   bool   // a stream ends with the token counts
	run     string // in the record
	id      string // of the reply
	created time.Time

	to     *io.PipeWriter
	began  chan struct{} // closed when status and kind are set
	begun  bool
	status int
	kind   string

	resumed *pending.Turn  // the turn that goes on with an answer to its question
	waited  agent.Waiting  // … as its agent left it
	consent consent.Answer // … and the answer
	release func()         // ends that it is taken; nil if there is nothing to end

	said    strings.Builder
	outcome agent.Outcome
	unkept  string    // why the turn is not kept, for the client; "" if it is, or is not to be
	alive   time.Time // of the last sign of life
}

// aliveGap is the time between two signs of life on a stream, at least.
const aliveGap = time.Second

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
	failure = x.answer(ctx)
}

// answer lets the agent answer, and writes the response.
func (x *answer) answer(ctx context.Context) error {
	x.created, x.caller = time.Now(), access.Caller(ctx)
	ctx = tracecontext.With(ctx, tracecontext.ReadHeader(x.header))
	c, err := x.conversation(ctx)
	if err != nil {
		return err
	}
	if x.turn != nil {
		defer x.turn.Close()
	}
	if x.release != nil {
		defer x.release()
	}
	if err := x.name(&c); err != nil {
		return err
	}
	x.form = newForm(x)
	if first := x.form.first(); x.request.Stream {
		if err := x.write(http.StatusOK, x.form.contentType(), first); err != nil {
			return err
		}
	}
	conversation.Point("answering")
	x.asks(ctx, &c)
	if x.outcome, err = x.agent.Answer(ctx, c, x.on); err != nil {
		return err
	}
	switch x.outcome.Status {
	case agent.Failed:
		return errors.New("the agent's model could not be asked")
	case agent.Paused:
		if err := x.paused(ctx, c); err != nil {
			return err
		}
	}
	x.keep(c.Memory)
	conversation.Point("kept")
	if x.request.Stream {
		return x.write(0, "", x.form.last())
	}
	return x.write(http.StatusOK, "application/json", x.form.body())
}

// name gives the answer its identity in the record and for the client. A conversation
// that is kept is a run, and a turn of it is a cycle.
func (x *answer) name(c *agent.Conversation) error {
	start := record.RunStart{Agent: x.agent.Name, Caller: x.caller}
	if n := len(c.Messages); n > 0 {
		start.Goal = record.Say(c.Messages[n-1].Text)
	}
	c.Record, c.Start = x.of.Record, &start
	if p := x.resumed; p != nil && x.turn == nil {
		x.run, x.id = p.Run, fmt.Sprintf("%s.%d", p.Run, p.Cycle+1)
		c.Run, c.Cycle, c.Last = p.Run, p.Cycle+1, true
		return nil
	}
	if x.turn == nil {
		x.run = x.agent.Name + ":" + strings.ToLower(rand.Text()[:16])
		x.id, c.Run, c.Cycle, c.Last = x.run, x.run, 1, true
		return nil
	}
	x.run = x.turn.Run
	x.id = fmt.Sprintf("%s.%d", x.run, x.turn.Number)
	c.Run, c.Cycle, c.Memory = x.run, x.turn.Number, agent.MemoryOf(x.turn.Memory)
	if name := x.turn.Name; name != "" {
		start.IDs = map[string]string{"conversation": name}
	}
	if c.Record == nil || !x.turn.Begins(x.of.Record.ID()) || c.Cycle == 1 {
		return nil
	}
	// A run that continues another conversation does not begin with its first cycle, nor
	// does one whose earlier turns are in the record of another replica.
	start.Model = x.agent.Turn.Model.Name()
	if _, err := c.Record.Append(context.Background(), record.Event{Run: c.Run, Payload: start}); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// end tells the client of a failure, if that is still possible. It returns an error
// if the reply is cut off.
func (x *answer) end(failure error) error {
	if failure == nil {
		return nil
	}
	status, text := http.StatusBadGateway, "the agent failed: "+failure.Error()
	if e, ok := errors.AsType[refusal](failure); ok {
		status, text = e.status, e.Error()
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

// on takes what happens, for a stream or for a whole reply.
func (x *answer) on(e agent.Event) error {
	var out []byte
	switch e := e.(type) {
	case agent.Visible:
		x.said.WriteString(e.Text)
		out = x.form.text(e.Text)
	case agent.Reasoning:
		out = x.form.thought(e.Text)
	case agent.Alive:
		now := time.Now()
		if now.Sub(x.alive) < aliveGap {
			return nil
		}
		x.alive, out = now, x.form.alive()
	default:
		out = x.form.narration(x.narrationOf(e))
	}
	if !x.request.Stream {
		return nil
	}
	return x.write(0, "", out)
}

// narrationOf returns what a client is told of an event: narration, which tools are
// called, and if the agent's file says so, what they get and give.
func (x *answer) narrationOf(e agent.Event) string {
	name, word, preview := "", "started", ""
	switch e := e.(type) {
	case agent.Narration:
		return e.Text
	case agent.ToolStart:
		name, preview = e.Name, e.Arguments
	case agent.ToolEnd:
		name, word, preview = e.Name, "done", e.Result
		if e.Failed {
			word = "failed"
		}
	default:
		return ""
	}
	if x.agent.Previews && preview != "" {
		word += " " + preview
	}
	return "\n" + name + ": " + word + "\n"
}

// cut reports whether the answer ended at a bound.
func (x *answer) cut() bool {
	r := x.outcome.Reading
	return x.outcome.Status == agent.Bounded || r != nil && r.End == sotto.EndCut
}

// tokens are the token counts of the answer.
func (x *answer) tokens() wire.Usage {
	u := x.outcome.Usage
	if x.resumed != nil {
		u = u.Since(x.waited.Usage) // less that of the turn before
	}
	return wire.Usage{Input: u.Input, Output: u.Output, Reasoning: u.Reasoning, CacheRead: -1, CacheWrite: -1, Estimated: u.Estimated}
}

// model is the name of the agent as a model.
func (x *answer) model() string { return Prefix + x.agent.Name }
