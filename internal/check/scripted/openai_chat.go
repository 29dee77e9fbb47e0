package scripted

import (
	"encoding/json"
)

// A chatRequest holds the relevant parts of a request for a chat completion.
type chatRequest struct {
	Model               string        `json:"model"`
	Messages            []chatMessage `json:"messages"`
	Stream              bool          `json:"stream"`
	StreamOptions       streamOptions `json:"stream_options"`
	N                   int           `json:"n"`
	MaxTokens           int           `json:"max_tokens"`
	MaxCompletionTokens int           `json:"max_completion_tokens"`
	Tools               []chatTool    `json:"tools"`
	ToolChoice          any           `json:"tool_choice"`
	thinkSwitch
}

type chatMessage struct {
	Role             string         `json:"role"`
	Content          any            `json:"content"`
	ReasoningContent *string        `json:"reasoning_content"`
	Details          []chatDetail   `json:"reasoning_details"`
	ToolCalls        []chatToolCall `json:"tool_calls"`
}

type chatDetail struct {
	Type, Text, Signature string
	Index                 int
}

type chatToolCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string; an object in Ollama's API
	} `json:"function"`
	Extra struct {
		Google struct {
			Signature string `json:"thought_signature"`
		} `json:"google"`
	} `json:"extra_content"`
}

type chatTool struct {
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

func (q *chatRequest) cue() cue {
	c := cue{
		tools: toolNames(q.Tools, q.ToolChoice),
		quiet: q.off(),
		limit: max(q.MaxTokens, q.MaxCompletionTokens),
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

func toolNames(tools []chatTool, choice any) []string {
	if choice == "none" {
		return nil
	}
	var names []string
	for _, t := range tools {
		if t.Function.Name != "" {
			names = append(names, t.Function.Name)
		}
	}
	return names
}

func serveChat(x *exchange) error {
	var q chatRequest
	if err := x.decode(&q); err != nil {
		return err
	}
	if err := x.cast(q.Model); err != nil {
		return err
	}
	if len(q.Messages) == 0 {
		return badRequest("Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	n, err := checkChoices(q.N)
	if err != nil {
		return err
	}
	if check := histories[x.model.Wire]; check != nil {
		if f := check(x.model, &q); f != nil {
			return f
		}
	}
	c := &chat{exchange: x, wire: wires[x.model.Wire], usage: q.StreamOptions.IncludeUsage}
	for i := range n {
		c.choices = append(c.choices, x.perform(q.cue(), i))
	}
	if q.Stream {
		return c.play()
	}
	return c.answer()
}

// A chat is a chat completion in progress.
type chat struct {
	*exchange
	wire    *chatWire
	choices []performance
	usage   bool // the stream ends with a usage frame
}

// answer returns the whole reply.
func (c *chat) answer() error {
	var choices array
	for i := range c.choices {
		p := &c.choices[i]
		body := c.wire.message(c, p, c.calls(i))
		choices = append(choices, c.wire.choice(i, "message", body, p.finish("stop", "length", "tool_calls")))
	}
	v := c.wire.frame(c, "chat.completion", choices)
	return c.whole(encoder{}, append(v, member{"usage", openaiUsage(c.exchange, c.choices)}))
}

// play streams the choices, one frame of each in turn.
func (c *chat) play() error {
	s := c.stream(eventStream)
	if c.wire.comment != "" {
		if err := s.text(c.wire.comment); err != nil {
			return err
		}
	}
	streams := make([][]chatDelta, len(c.choices))
	longest := 0
	for i := range c.choices {
		streams[i] = c.deltas(i)
		longest = max(longest, len(streams[i]))
	}
	for k := range longest {
		if c.wire.comment != "" && k == longest/2 {
			if err := s.text(c.wire.comment); err != nil {
				return err
			}
		}
		for i, deltas := range streams {
			if k >= len(deltas) {
				continue
			}
			if err := s.data(c.chunk(i, deltas[k])); err != nil {
				return err
			}
		}
	}
	if ended, err := s.interrupted(s.failOpenAI); ended {
		return err
	}
	if c.usage {
		v := c.wire.frame(c, "chat.completion.chunk", array{})
		if err := s.data(append(v, member{"usage", openaiUsage(c.exchange, c.choices)})); err != nil {
			return err
		}
	}
	return s.text("data: [DONE]\n\n")
}

// A chatDelta is the contents of one frame for one choice.
type chatDelta struct {
	body   object
	finish any // a string in the last delta
}

// deltas returns the frames of a choice.
func (c *chat) deltas(i int) []chatDelta {
	p := &c.choices[i]
	var deltas []chatDelta
	say := func(body object) {
		if body != nil {
			deltas = append(deltas, chatDelta{body: body})
		}
	}
	say(c.wire.first)
	for i, d := range p.parts {
		if i > 0 && c.wire.seal != nil && d.kind != thoughtPart && p.parts[i-1].kind == thoughtPart {
			say(c.wire.seal(c.model.Name, p.text(thoughtPart)))
		}
		switch d.kind {
		case textPart:
			say(c.wire.text(d.text))
		case thoughtPart:
			say(c.wire.thought(d.text))
		}
	}
	if n := len(p.parts); n > 0 && c.wire.seal != nil && p.parts[n-1].kind == thoughtPart {
		say(c.wire.seal(c.model.Name, p.text(thoughtPart)))
	}
	for _, d := range c.callDeltas(i) {
		say(d)
	}
	if c.model.Fault == "" {
		deltas = append(deltas, chatDelta{c.wire.last, p.finish("stop", "length", "tool_calls")})
	}
	return deltas
}

// callDeltas returns the frames of a choice's tool call: whole, or with its
// arguments in pieces.
func (c *chat) callDeltas(i int) []object {
	call := c.choices[i].call
	if call == nil {
		return nil
	}
	if c.wire.wholeCalls {
		return []object{{{"role", "assistant"}, {"content", c.wire.noText}, {"tool_calls", c.calls(i)}}}
	}
	of := func(o object) object { return object{{"tool_calls", array{o}}} }
	frames := []object{of(object{{"index", 0}, {"id", c.callID(i)}, {"type", "function"},
		{"function", object{{"name", call.Name}, {"arguments", ""}}}})}
	for _, bit := range cut(call.Arguments, 0) {
		frames = append(frames, of(object{{"index", 0}, {"function", object{{"arguments", bit}}}}))
	}
	return frames
}

// calls returns the tool_calls of a choice, or nil if there are none.
func (c *chat) calls(i int) array {
	call := c.choices[i].call
	if call == nil {
		return nil
	}
	function := object{{"name", call.Name}, {"arguments", call.Arguments}}
	if c.model.Wire == "google" {
		extra := object{{"google", object{{"thought_signature", signCall(c.model.Name, call.Arguments)}}}}
		return array{object{{"extra_content", extra}, {"function", function}, {"id", c.callID(i)}, {"index", 0}, {"type", "function"}}}
	}
	return array{object{{"index", 0}, {"id", c.callID(i)}, {"type", "function"}, {"function", function}}}
}

func (c *chat) callID(i int) string {
	return c.id(c.wire.callPrefix, "call "+string(rune('0'+i)), 24)
}

// chunk returns the frame of a delta.
func (c *chat) chunk(i int, d chatDelta) object {
	v := c.wire.frame(c, "chat.completion.chunk", array{c.wire.choice(i, "delta", d.body, d.finish)})
	if c.usage {
		v = append(v, member{"usage", nil})
	}
	return v
}
