package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
)

// A messagesListener reads a message.
type messagesListener struct {
	*heard
	open []*block
}

// A block is a block of a message as it comes. A block of an unknown kind is
// skipped.
type block struct {
	index   int
	kind    string
	thought *thinking
	call    *calling
	start   string // the input that a call began with
}

func (l *messagesListener) frame(root gjson.Result) (done bool, err error) {
	switch root.Get("type").Str {
	case "error":
		return false, said(0, []byte(root.Raw))
	case "message_start":
		m := root.Get("message")
		l.model = short(str(m.Get("model")))
		l.count(m.Get("usage"))
	case "message": // a complete one
		return true, l.whole(root)
	case "content_block_start":
		return false, l.start(int(root.Get("index").Int()), root.Get("content_block"))
	case "content_block_delta":
		return false, l.delta(int(root.Get("index").Int()), root.Get("delta"))
	case "content_block_stop":
		return false, l.stop(int(root.Get("index").Int()))
	case "message_delta":
		l.ends(root.Get("delta.stop_reason"))
		l.count(root.Get("usage"))
	case "message_stop":
		l.finished = true
		return true, nil
	}
	return false, nil
}

func (l *messagesListener) whole(root gjson.Result) error {
	l.model = short(str(root.Get("model")))
	i := 0
	err := each(root.Get("content"), func(b gjson.Result) error {
		defer func() { i++ }()
		if err := l.start(i, b); err != nil {
			return err
		}
		return l.stop(i)
	})
	if err != nil {
		return err
	}
	l.ends(root.Get("stop_reason"))
	l.count(root.Get("usage"))
	l.finished = true
	return nil
}

// count reads a usage. Members that it leaves out keep their values. The input
// includes what was read from the cache, or written to it.
func (l *messagesListener) count(u gjson.Result) {
	input := u.Get("input_tokens").Int() + u.Get("cache_creation_input_tokens").Int() + u.Get("cache_read_input_tokens").Int()
	l.usage.Input = max(l.usage.Input, input)
	l.usage.Output = max(l.usage.Output, u.Get("output_tokens").Int())
}

// ends reads a stop reason.
func (l *messagesListener) ends(reason gjson.Result) {
	if reason.Str == "" {
		return
	}
	l.finish, l.finished = short(str(reason)), true
	switch l.finish {
	case "max_tokens", "model_context_window_exceeded", "pause_turn":
		l.heard.end = sotto.EndCut
	case "refusal":
		l.heard.end = sotto.EndAborted
	default:
		l.heard.end = sotto.EndStopped
	}
}

// maxOpen is how many blocks may be open at once; servers send one after the other.
const maxOpen = 1000

func (l *messagesListener) start(index int, v gjson.Result) (err error) {
	b := &block{index: index, kind: v.Get("type").Str}
	switch b.kind {
	case "text":
		err = l.say(str(v.Get("text")))
	case "thinking":
		if b.thought, err = l.begin("thinking"); err != nil {
			return err
		}
		b.thought.Raw = json.RawMessage("{}") // until it is complete
		b.thought.signs = v.Get("signature").Exists()
		b.thought.seal.WriteString(str(v.Get("signature")))
		err = l.think(b.thought, str(v.Get("thinking")))
	case "redacted_thinking":
		if b.thought, err = l.begin("redacted_thinking"); err != nil {
			return err
		}
		b.thought.Raw, b.thought.Sealed = json.RawMessage(strings.Clone(v.Raw)), true
		err = l.grow(len(v.Raw))
	case "tool_use":
		if b.call, err = l.newCall(); err != nil {
			return err
		}
		b.call.ID, b.call.Name = str(v.Get("id")), str(v.Get("name"))
		b.start = strings.Clone(v.Get("input").Raw)
		err = l.grow(len(v.Raw))
	default:
		return nil
	}
	if err != nil {
		return err
	}
	if len(l.open) >= maxOpen {
		return fmt.Errorf("%w: more than %d blocks at once", ErrTooLarge, maxOpen)
	}
	b.kind = strings.Clone(b.kind)
	l.open = append(l.open, b)
	return l.grow(overhead)
}

// block returns the open block of an index, or nil.
func (l *messagesListener) block(index int) *block {
	for _, b := range l.open {
		if b.index == index {
			return b
		}
	}
	return nil
}

func (l *messagesListener) delta(index int, d gjson.Result) error {
	b := l.block(index)
	if b == nil {
		return nil
	}
	switch kind := d.Get("type").Str; {
	case kind == "text_delta" && b.kind == "text":
		return l.say(str(d.Get("text")))
	case kind == "thinking_delta" && b.kind == "thinking":
		return l.think(b.thought, str(d.Get("thinking")))
	case kind == "signature_delta" && b.kind == "thinking":
		piece := str(d.Get("signature"))
		b.thought.signs = true
		b.thought.seal.WriteString(piece)
		return l.grow(len(piece))
	case kind == "input_json_delta" && b.call != nil:
		return l.argue(b.call, str(d.Get("partial_json")))
	}
	return nil
}

func (l *messagesListener) stop(index int) error {
	b := l.block(index)
	if b == nil {
		return nil
	}
	l.open = slices.DeleteFunc(l.open, func(of *block) bool { return of == b })
	if b.call != nil && b.call.arguments.Len() == 0 { // it has none, or they stood in the block's start
		return l.argue(b.call, cmp.Or(b.start, "{}"))
	}
	return nil
}

// end puts the thoughts into the form in which they go back.
func (l *messagesListener) end() error {
	for _, t := range l.thoughts {
		if t.Field != "thinking" {
			continue
		}
		t.Sealed = t.seal.Len() > 0
		var o object
		o.add("type", "thinking")
		o.add("thinking", text(t.text.String()))
		if t.signs {
			o.add("signature", text(t.seal.String()))
		}
		t.Raw = o.close()
	}
	return nil
}
