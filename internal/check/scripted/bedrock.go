package scripted

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"net/http"
	"slices"
	"strings"
)

// bedrockError is the JSON of Amazon Bedrock for an error, whose type is in a header.
func bedrockError(x *exchange, f *fault) object {
	kind, message := "ValidationException", f.message
	switch f.status {
	case http.StatusNotFound:
		kind = "ResourceNotFoundException"
		if f.code == "model_not_found" {
			f.status, kind, message = http.StatusBadRequest, "ValidationException", "The provided model identifier is invalid."
		}
	case http.StatusTooManyRequests:
		kind, message = "ThrottlingException", "Too many requests, please wait before trying again."
	case http.StatusInternalServerError:
		kind = "InternalServerException"
	}
	x.w.Header().Set("X-Amzn-Errortype", kind)
	return object{{"message", message}}
}

// A bedrockRequest holds the relevant parts of a request to converse.
type bedrockRequest struct {
	Messages []bedrockMessage `json:"messages"`
	Config   struct {
		MaxTokens int `json:"maxTokens"`
	} `json:"inferenceConfig"`
	Tools struct {
		Tools []struct {
			Spec struct {
				Name string `json:"name"`
			} `json:"toolSpec"`
		} `json:"tools"`
	} `json:"toolConfig"`
	More struct {
		thinkSwitch
		Config struct {
			Type string `json:"type"`
		} `json:"reasoning_config"`
	} `json:"additionalModelRequestFields"`
}

type bedrockMessage struct {
	Role    string         `json:"role"`
	Content []bedrockBlock `json:"content"`
}

type bedrockBlock struct {
	Text      string            `json:"text"`
	Reasoning *bedrockReasoning `json:"reasoningContent"`
	Call      json.RawMessage   `json:"toolUse"`
	Result    json.RawMessage   `json:"toolResult"`
}

type bedrockReasoning struct {
	Text struct {
		Text      string  `json:"text"`
		Signature *string `json:"signature"`
	} `json:"reasoningText"`
	Redacted string `json:"redactedContent"`
}

func (q *bedrockRequest) off() bool { return q.More.off() || q.More.Config.Type == "disabled" }

func (q *bedrockRequest) cue() cue {
	c := cue{quiet: q.off(), limit: q.Config.MaxTokens}
	for _, t := range q.Tools.Tools {
		c.tools = append(c.tools, t.Spec.Name)
	}
	c.rounds = roundsOf(len(q.Messages), func(i int) (asked, results bool) {
		results = slices.ContainsFunc(q.Messages[i].Content, func(b bedrockBlock) bool { return b.Result != nil })
		return q.Messages[i].Role == "user" && !results, results
	})
	last := q.Messages[len(q.Messages)-1]
	for _, b := range last.Content {
		c.result = c.result || b.Result != nil
		if last.Role == "assistant" {
			c.lead = b.Text
		}
	}
	return c
}

// asAnthropic is the history as the API of the models that sign their thoughts has it.
func (q *bedrockRequest) asAnthropic() *messagesRequest {
	out := &messagesRequest{}
	if q.off() {
		out.Thinking.Type = "disabled"
	}
	for _, m := range q.Messages {
		content := anthropicContents{}
		for _, b := range m.Content {
			switch {
			case b.Reasoning != nil && b.Reasoning.Redacted != "":
				content = append(content, anthropicContent{Type: "redacted_thinking", Data: b.Reasoning.Redacted})
			case b.Reasoning != nil:
				content = append(content, anthropicContent{Type: "thinking", Thinking: b.Reasoning.Text.Text, Signature: b.Reasoning.Text.Signature})
			case b.Call != nil:
				content = append(content, anthropicContent{Type: "tool_use"})
			case b.Result != nil:
				content = append(content, anthropicContent{Type: "tool_result"})
			default:
				content = append(content, anthropicContent{Type: "text", Text: b.Text})
			}
		}
		out.Messages = append(out.Messages, anthropicMessage{Role: m.Role, Content: content})
	}
	return out
}

// bedrockHistory checks what a request returns. A text may not be blank.
func bedrockHistory(m *Model, q *bedrockRequest) *fault {
	for i, message := range q.Messages {
		for j, b := range message.Content {
			if b.Reasoning == nil && b.Call == nil && b.Result == nil && strings.TrimSpace(b.Text) == "" {
				return badRequest("The text field in the ContentBlock object at messages.%d.content.%d is blank. Add text to the text field, and try again.", i, j)
			}
		}
	}
	if f := anthropicHistory(m, q.asAnthropic()); f != nil {
		f.message = "The model returned the following errors: " + f.message
		return f
	}
	return nil
}

// serveBedrock serves what a path asks of a model: MODEL/VERB.
func serveBedrock(x *exchange) error {
	call := x.r.PathValue("call")
	slash := max(strings.LastIndexByte(call, '/'), 0)
	name, verb := call[:slash], strings.TrimPrefix(call[slash:], "/")
	var q bedrockRequest
	if err := x.decode(&q); err != nil {
		return err
	}
	stream := verb == "converse-stream"
	if !stream && verb != "converse" {
		return &fault{status: http.StatusNotFound, message: "Requested entity was not found."}
	}
	if err := x.cast(name); err != nil {
		return err
	}
	if len(q.Messages) == 0 {
		return badRequest("A conversation must start with a user message. Try again with a conversation that starts with a user message.")
	}
	if f := bedrockHistory(x.model, &q); f != nil {
		return f
	}
	p := x.perform(q.cue(), 0)
	c := &converse{exchange: x, p: &p}
	if stream {
		return c.play()
	}
	return x.whole(encoder{}, c.object())
}

// A converse is a message in progress.
type converse struct {
	*exchange
	p *performance
}

func (c *converse) object() object {
	content := array{}
	for _, b := range c.p.blocks() {
		content = append(content, c.block(b.kind, b.text()))
	}
	if c.p.call != nil {
		content = append(content, object{{"toolUse", append(c.toolUse(), member{"input", json.RawMessage(c.p.call.Arguments)})}})
	}
	return object{
		{"metrics", object{{"latencyMs", 500}}},
		{"output", object{{"message", object{{"content", content}, {"role", "assistant"}}}}},
		{"stopReason", c.stopReason()}, {"usage", c.usage()},
	}
}

func (c *converse) stopReason() string { return c.p.finish("end_turn", "max_tokens", "tool_use") }

func (c *converse) usage() object {
	return object{{"inputTokens", c.promptTokens()}, {"outputTokens", c.p.wrote}, {"totalTokens", c.promptTokens() + c.p.wrote}}
}

func (c *converse) toolUse() object {
	return object{{"name", c.p.call.Name}, {"toolUseId", c.exchange.id("tooluse_", "call", 22)}}
}

// block returns a block of a whole message.
func (c *converse) block(kind partKind, text string) object {
	switch kind {
	case thoughtPart:
		said := object{{"text", text}}
		if signs(c.model) && text != "" {
			said = object{{"signature", sign(c.model.Name, text)}, {"text", text}}
		}
		return object{{"reasoningContent", object{{"reasoningText", said}}}}
	case redactedPart:
		return object{{"reasoningContent", object{{"redactedContent", text}}}}
	}
	return object{{"text", text}}
}

// A converseStream is a message being streamed, as messages of Amazon's event stream.
type converseStream struct {
	*converse
	s *sink
}

// message sends a message of a kind: an event or an exception. Its padding hides how
// long its text is.
func (t *converseStream) message(kind, name string, payload object) error {
	body := encoder{}.encode(nil, append(payload, member{"p", "abcdefghijklmnopqrstuvwxyz"[:1+len(payload)%3*4]}))
	var headers []byte
	for _, h := range [][2]string{{":" + kind + "-type", name}, {":content-type", "application/json"}, {":message-type", kind}} {
		headers = append(append(headers, byte(len(h[0]))), h[0]...)
		headers = append(binary.BigEndian.AppendUint16(append(headers, 7), uint16(len(h[1]))), h[1]...) // 7: a string
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(12+len(headers)+len(body)+4))
	b = binary.BigEndian.AppendUint32(b, uint32(len(headers)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, headers...), body...)
	return t.s.send(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

func (t *converseStream) event(name string, payload object) error {
	return t.message("event", name, payload)
}

func (t *converseStream) delta(i int, delta object) error {
	return t.event("contentBlockDelta", object{{"contentBlockIndex", i}, {"delta", delta}})
}

func (t *converseStream) stop(i int) error {
	return t.event("contentBlockStop", object{{"contentBlockIndex", i}})
}

// play streams the message, event by event.
func (c *converse) play() error {
	t := &converseStream{c, c.stream("application/vnd.amazon.eventstream")}
	if err := t.event("messageStart", object{{"role", "assistant"}}); err != nil {
		return err
	}
	blocks := c.p.blocks()
	for i, b := range blocks {
		if err := t.playBlock(i, b, i == len(blocks)-1 && c.model.Fault != ""); err != nil {
			return err
		}
	}
	if c.p.call != nil {
		if err := t.playToolUse(len(blocks)); err != nil {
			return err
		}
	}
	ended, err := t.s.interrupted(func() error {
		return t.message("exception", "internalServerException", object{{"message", failure}})
	})
	if ended {
		return err
	}
	if err := t.event("messageStop", object{{"stopReason", c.stopReason()}}); err != nil {
		return err
	}
	return t.event("metadata", object{{"metrics", object{{"latencyMs", 500}}}, {"usage", c.usage()}})
}

// playBlock streams a block, which has no start. A block that is cut off does not end.
func (t *converseStream) playBlock(i int, b block, cutOff bool) error {
	for _, d := range b.deltas {
		delta := object{{"text", d}}
		switch b.kind {
		case thoughtPart:
			delta = object{{"reasoningContent", object{{"text", d}}}}
		case redactedPart:
			delta = object{{"reasoningContent", object{{"redactedContent", d}}}}
		}
		if err := t.delta(i, delta); err != nil {
			return err
		}
	}
	if cutOff {
		return nil
	}
	if b.kind == thoughtPart && signs(t.model) && b.text() != "" {
		if err := t.delta(i, object{{"reasoningContent", object{{"signature", sign(t.model.Name, b.text())}}}}); err != nil {
			return err
		}
	}
	return t.stop(i)
}

// playToolUse streams a tool call, with its arguments in pieces.
func (t *converseStream) playToolUse(i int) error {
	if err := t.event("contentBlockStart", object{{"contentBlockIndex", i}, {"start", object{{"toolUse", t.toolUse()}}}}); err != nil {
		return err
	}
	for _, bit := range cut(t.p.call.Arguments, 0) {
		if err := t.delta(i, object{{"toolUse", object{{"input", bit}}}}); err != nil {
			return err
		}
	}
	return t.stop(i)
}
