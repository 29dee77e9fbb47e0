package scripted

// A messageStream is a message being streamed.
type messageStream struct {
	*message
	s      *sink
	events int
}

// play streams the message, event by event.
func (m *message) play() error {
	t := &messageStream{message: m, s: m.stream(eventStream)}
	if err := t.event("message_start", object{{"message", m.envelope(array{}, nil, 1)}}); err != nil {
		return err
	}
	blocks := m.p.blocks()
	for i, b := range blocks {
		if err := t.playBlock(i, b, i == len(blocks)-1 && m.model.Fault != ""); err != nil {
			return err
		}
	}
	if m.p.call != nil {
		if err := t.playToolUse(len(blocks)); err != nil {
			return err
		}
	}
	fail := func() error {
		return t.s.event("error", object{{"type", "error"}, {"error", object{
			{"type", "overloaded_error"}, {"message", "Overloaded"},
		}}}, 0)
	}
	if ended, err := t.s.interrupted(fail); ended {
		return err
	}
	delta := object{{"stop_reason", m.stopReason()}, {"stop_sequence", nil}}
	if err := t.event("message_delta", object{{"delta", delta}, {"usage", object{{"output_tokens", m.p.wrote}}}}); err != nil {
		return err
	}
	return t.event("message_stop", nil)
}

// event sends an event: its type, then the members. Anthropic pads its events with
// spaces, without a visible rule.
func (t *messageStream) event(name string, members object) error {
	t.events++
	return t.s.event(name, append(object{{"type", name}}, members...), t.events*7%17)
}

func (t *messageStream) start(i int, b object) error {
	if err := t.event("content_block_start", object{{"index", i}, {"content_block", b}}); err != nil || i > 0 {
		return err
	}
	return t.s.text("event: ping\ndata: {\"type\": \"ping\"}\n\n")
}

func (t *messageStream) delta(i int, kind, field, text string) error {
	return t.event("content_block_delta", object{{"index", i}, {"delta", object{{"type", kind}, {field, text}}}})
}

func (t *messageStream) stop(i int) error {
	return t.event("content_block_stop", object{{"index", i}})
}

// playBlock streams a block. A block that is cut off does not end.
func (t *messageStream) playBlock(i int, b block, cutOff bool) error {
	if b.kind == redactedPart {
		if err := t.start(i, t.block(b.kind, b.text())); err != nil {
			return err
		}
		return t.stop(i)
	}
	if err := t.start(i, t.block(b.kind, "")); err != nil {
		return err
	}
	kind, field := "text_delta", "text"
	if b.kind == thoughtPart {
		kind, field = "thinking_delta", "thinking"
	}
	for _, d := range b.deltas {
		if err := t.delta(i, kind, field, d); err != nil {
			return err
		}
	}
	if cutOff {
		return nil
	}
	if signature := t.signature(b.text()); b.kind == thoughtPart && signature != "" {
		if err := t.delta(i, "signature_delta", "signature", signature); err != nil {
			return err
		}
	}
	return t.stop(i)
}

// playToolUse streams a tool call, with its arguments in pieces. The first piece is
// empty.
func (t *messageStream) playToolUse(i int) error {
	if err := t.start(i, t.toolUse(object{})); err != nil {
		return err
	}
	for _, bit := range append([]string{""}, cut(t.p.call.Arguments, 0)...) {
		if err := t.delta(i, "input_json_delta", "partial_json", bit); err != nil {
			return err
		}
	}
	return t.stop(i)
}
