package chatjson

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/wire"
)

// Bounds of the calls of a reply: how many have an entry of their own, and how
// many of the latest a piece may continue.
const (
	maxCalls  = 4096
	callReach = 256
)

// calls number the calls of a reply, which come in pieces.
type calls struct {
	list   []call
	old    map[int]int // by choice, one more than the number of its function_call
	number int
}

type call struct {
	choice, index, number int // index as the server numbers it; -1 if it does not
	id                    string
}

// read reports calls, or pieces of them.
func (c *calls) read(choice int, list gjson.Result, r wire.Reader) {
	list.ForEach(func(_, v gjson.Result) bool {
		fn := v.Get("function")
		f := wire.Event{Kind: wire.EventCall, Choice: choice, ID: v.Get("id").Str, Name: fn.Get("name").Str, Text: ValueText(fn.Get("arguments")), Raw: v.Raw, Signature: SignatureOf(v)}
		if custom := v.Get("custom"); custom.IsObject() {
			f.Name, f.Text = custom.Get("name").Str, ValueText(custom.Get("input"))
		}
		f.Index = c.of(choice, f.ID, f.Name, v.Get("index"))
		r.Found(f)
		return true
	})
}

// legacy reports a function_call: older servers have one for each choice.
func (c *calls) legacy(choice int, v gjson.Result, r wire.Reader) {
	if c.old[choice] == 0 && len(c.old) < maxCalls {
		if c.old == nil {
			c.old = map[int]int{}
		}
		c.number++
		c.old[choice] = c.number
	}
	r.Found(wire.Event{Kind: wire.EventCall, Choice: choice, Index: c.old[choice] - 1, Member: true, Name: v.Get("name").Str, Text: ValueText(v.Get("arguments"))})
}

// of returns the number of the call that a piece belongs to. It is the call of its
// index, unless the piece has an id of its own: some servers number every call 0.
// Without an index it is the call of its id, or the last call if it has none.
func (c *calls) of(choice int, id, name string, at gjson.Result) int {
	index := -1
	if at.Type == gjson.Number {
		index = int(at.Int())
	}
	for i := range slices.Backward(c.list[max(len(c.list)-callReach, 0):]) {
		q := &c.list[max(len(c.list)-callReach, 0)+i]
		switch {
		case q.choice != choice, index >= 0 && q.index != index:
		case id == "" && (index >= 0 || name == ""), id != "" && (q.id == id || q.id == "" && index >= 0):
			if q.id == "" {
				q.id = strings.Clone(id)
			}
			return q.number
		}
	}
	c.number++
	if len(c.list) < maxCalls {
		c.list = append(c.list, call{choice, index, c.number - 1, strings.Clone(id)})
	}
	return c.number - 1
}

// OffersTools reports whether a request offers the model tools.
func OffersTools(root gjson.Result) bool {
	for _, list := range pick(root, []string{"tools", "functions"}) {
		if list.IsArray() && list.Get("0").Exists() {
			return true
		}
	}
	return false
}

// ReadTools reads what a request says about its tools into q.
func ReadTools(q *wire.Request, root gjson.Result) {
	q.Tools = OffersTools(root)
	if !q.Tools {
		return
	}
	choice := root.Get("tool_choice")
	q.NoCalls = strings.EqualFold(choice.Str, "none") || choice.Get("type").Str == "none"
	root.Get("tools").ForEach(func(_, v gjson.Result) bool {
		if f := v.Get("function"); f.IsObject() {
			v = f
		} else if v.Get("type").Str == "custom" && !v.Get("input_schema").Exists() {
			return true // OpenAI's: its input is a text
		}
		if name := v.Get("name").Str; name != "" {
			q.Declared = append(q.Declared, wire.Tool{Name: name, Schema: schemaOf(v)})
		}
		return true
	})
}

// schemaOf returns the schema of a tool's arguments.
func schemaOf(tool gjson.Result) string {
	for _, key := range []string{"parameters", "input_schema"} {
		if v := tool.Get(key); v.IsObject() {
			return v.Raw
		}
	}
	return ""
}
