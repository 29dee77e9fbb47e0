package model

import (
	"encoding/json"
	"fmt"
	"slices"
)

// thinks are the values of Request.Think.
var thinks = []string{"", "true", "false", "low", "medium", "high"}

// check reports faults that no API would accept.
func (q *Request) check() error {
	switch {
	case len(q.Messages) == 0:
		return fmt.Errorf("request: no messages")
	case !slices.Contains(thinks, q.Think):
		return fmt.Errorf("request: think %q: want true, false, low, medium, high, or nothing", q.Think)
	case q.MaxTokens < 0:
		return fmt.Errorf("request: %d tokens at most", q.MaxTokens)
	}
	for i, m := range q.Messages {
		switch m.Role {
		case System, User, Assistant, ToolRole:
		default:
			return fmt.Errorf("request: message %d: role %q: want system, user, assistant or tool", i, m.Role)
		}
		for _, c := range m.Calls {
			if c.Extra != nil && !isObject(string(c.Extra)) {
				return fmt.Errorf("request: message %d: call of %q: its extra members are not a JSON object", i, c.Name)
			}
		}
	}
	for i, t := range q.Tools {
		if t.Name == "" {
			return fmt.Errorf("request: tool %d has no name", i)
		}
		if t.Schema != nil && !isObject(string(t.Schema)) {
			return fmt.Errorf("request: tool %s: the schema is not a JSON object", t.Name)
		}
	}
	return nil
}

// schema returns what the arguments of a tool are checked against: any object, if
// the tool has no schema.
func (t *Tool) schema() json.RawMessage {
	if t.Schema == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Schema
}

// Limits bound everything that a server can make larger.
type Limits struct {
	// Reply is the maximum number of bytes of texts and calls; if zero, 16 MiB.
	Reply int
	// Frame is the maximum number of bytes of one frame of a stream, and of an
	// answer that is not streamed; if zero, 8 MiB.
	Frame int
	// Calls is the maximum number of tool calls; if zero, 128.
	Calls int
}

func (l Limits) orDefaults() Limits {
	if l.Reply <= 0 {
		l.Reply = 16 << 20
	}
	if l.Frame <= 0 {
		l.Frame = 8 << 20
	}
	if l.Calls <= 0 {
		l.Calls = 128
	}
	return l
}
