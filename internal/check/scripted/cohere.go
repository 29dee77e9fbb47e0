package scripted

import (
	"net/http"
	"strings"
)

// cohereError is Cohere's JSON for an error.
func cohereError(x *exchange, f *fault) object {
	message := f.message
	switch {
	case f.code == "model_not_found":
		message = "model '" + f.message + "' not found, make sure the correct model ID was used and that you have access to the model."
	case f.status == http.StatusTooManyRequests:
		message = "You are past the per minute request limit, please wait and try again later."
	}
	return object{{"id", x.id("", "error", 36)}, {"message", message}}
}

// A cohereRequest holds the relevant parts of a request to /v2/chat.
type cohereRequest struct {
	Model      string          `json:"model"`
	Messages   []cohereMessage `json:"messages"`
	Stream     bool            `json:"stream"`
	MaxTokens  int             `json:"max_tokens"`
	Tools      []chatTool      `json:"tools"`
	ToolChoice any             `json:"tool_choice"`
	thinkSwitch
}

type cohereMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

func (q *cohereRequest) cue() cue {
	c := cue{quiet: q.off(), limit: q.MaxTokens, tools: toolNames(q.Tools, q.ToolChoice)}
	if q.ToolChoice == "NONE" {
		c.tools = nil
	}
	c.rounds = roundsOf(len(q.Messages), func(i int) (asked, results bool) {
		return q.Messages[i].Role == "user", q.Messages[i].Role == "tool"
	})
	switch last := q.Messages[len(q.Messages)-1]; last.Role {
	case "tool":
		c.result = true
	case "assistant":
		c.lead, _ = last.Content.(string)
	}
	return c
}

func serveCohere(x *exchange) error {
	var q cohereRequest
	if err := x.decode(&q); err != nil {
		return err
	}
	if err := x.cast(q.Model); err != nil {
		return err
	}
	if len(q.Messages) == 0 {
		return badRequest("invalid request: messages must be a non-empty list")
	}
	p := x.perform(q.cue(), 0)
	c := &cohereReply{exchange: x, p: &p}
	for _, b := range p.blocks() {
		switch {
		case b.kind == thoughtPart && p.call != nil:
			c.plan = append(c.plan, b.deltas...)
		case b.kind != redactedPart:
			c.parts = append(c.parts, b)
		}
	}
	if q.Stream {
		return c.play()
	}
	return c.answer()
}

// A cohereReply is a message in progress. If the model calls a tool, its thoughts are the
// plan.
type cohereReply struct {
	*exchange
	p     *performance
	parts []block
	plan  []string
}

func (c *cohereReply) reason() string { return c.p.finish("COMPLETE", "MAX_TOKENS", "TOOL_CALL") }

func (c *cohereReply) usage() object {
	tokens := object{{"input_tokens", c.promptTokens()}, {"output_tokens", c.p.wrote}}
	return object{{"billed_units", tokens}, {"tokens", tokens}, {"cached_tokens", 0}}
}

func (c *cohereReply) call(arguments string) object {
	function := object{{"name", c.p.call.Name}, {"arguments", arguments}}
	return object{{"id", c.p.call.Name + "_" + c.id("", "call", 12)}, {"type", "function"}, {"function", function}}
}

// part is a part of the message, which has its text in the member of its kind.
func (c *cohereReply) part(kind partKind, text string) object {
	if kind == thoughtPart {
		return object{{"type", "thinking"}, {"thinking", text}}
	}
	return object{{"type", "text"}, {"text", text}}
}

func (c *cohereReply) answer() error {
	message := object{{"role", "assistant"}}
	if c.p.call != nil {
		message = append(message, member{"tool_calls", array{c.call(c.p.call.Arguments)}})
	}
	if len(c.plan) > 0 {
		message = append(message, member{"tool_plan", strings.Join(c.plan, "")})
	}
	if content := (array{}); len(c.parts) > 0 {
		for _, b := range c.parts {
			content = append(content, c.part(b.kind, b.text()))
		}
		message = append(message, member{"content", content})
	}
	return c.whole(encoder{}, object{
		{"id", c.id("", "reply", 36)}, {"message", message}, {"finish_reason", c.reason()}, {"usage", c.usage()},
	})
}

// A cohereStream is a message being streamed.
type cohereStream struct {
	*cohereReply
	s *sink
}

func (t *cohereStream) event(name string, index int, message object) error {
	o := object{{"type", name}}
	if index >= 0 {
		o = append(o, member{"index", index})
	}
	if message != nil {
		o = append(o, member{"delta", object{{"message", message}}})
	}
	return t.s.event(name, o, 0)
}

// play streams the message, event by event.
func (c *cohereReply) play() error {
	t := &cohereStream{c, c.stream(eventStream)}
	start := object{{"id", c.id("", "reply", 36)}, {"type", "message-start"}, {"delta", object{{"message", object{
		{"role", "assistant"}, {"content", array{}}, {"tool_plan", ""}, {"tool_calls", array{}}, {"citations", array{}},
	}}}}}
	if err := t.s.event("message-start", start, 0); err != nil {
		return err
	}
	for i, b := range c.parts {
		if err := t.playPart(i, b, i == len(c.parts)-1 && c.model.Fault != ""); err != nil {
			return err
		}
	}
	for _, d := range c.plan {
		if err := t.event("tool-plan-delta", -1, object{{"tool_plan", d}}); err != nil {
			return err
		}
	}
	if c.p.call != nil {
		if err := t.playCall(); err != nil {
			return err
		}
	}
	end := func(delta object) error {
		return t.s.event("message-end", object{{"type", "message-end"}, {"id", c.id("", "reply", 36)}, {"delta", delta}}, 0)
	}
	ended, err := t.s.interrupted(func() error { return end(object{{"finish_reason", "ERROR"}, {"error", failure}}) })
	if ended {
		return err
	}
	return end(object{{"finish_reason", c.reason()}, {"usage", c.usage()}})
}

// playPart streams a part. A part that is cut off does not end.
func (t *cohereStream) playPart(i int, b block, cutOff bool) error {
	if err := t.event("content-start", i, object{{"content", t.part(b.kind, "")}}); err != nil {
		return err
	}
	for _, d := range b.deltas {
		if err := t.event("content-delta", i, object{{"content", t.part(b.kind, d)[1:]}}); err != nil {
			return err
		}
	}
	if cutOff {
		return nil
	}
	return t.event("content-end", i, nil)
}

// playCall streams a tool call, with its arguments in pieces.
func (t *cohereStream) playCall() error {
	if err := t.event("tool-call-start", 0, object{{"tool_calls", t.call("")}}); err != nil {
		return err
	}
	for _, bit := range cut(t.p.call.Arguments, 0) {
		function := object{{"arguments", bit}}
		if err := t.event("tool-call-delta", 0, object{{"tool_calls", object{{"function", function}}}}); err != nil {
			return err
		}
	}
	return t.event("tool-call-end", 0, nil)
}
