package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/wire"
)

// A chatListener reads a chat completion.
type chatListener struct {
	*heard
	pieces []*chatCall
	part   *thinking // the last part of the content, if it is reasoning

	details    map[string]*detail
	order      []*detail
	detailForm detailForm
}

// A chatCall is a call that is being received.
type chatCall struct {
	*calling
	index int // as the server numbers it; -1 if it does not
}

func (l *chatListener) frame(root gjson.Result) (done bool, err error) {
	if root.Str == string(doneMark) {
		l.finished = true
		return true, nil
	}
	choice := firstChoice(root)
	finish := choice.Get("finish_reason")
	if fault := root.Get("error"); says(fault) && (!choice.Exists() || finish.Str == "error") || root.Get("object").Str == "error" {
		return false, said(0, []byte(root.Raw))
	}
	if name := root.Get("model"); l.model == "" && name.Str != "" {
		l.model = short(str(name))
	}
	if u := root.Get("usage"); u.IsObject() {
		l.usage = Usage{
			Input: u.Get("prompt_tokens").Int(), Output: u.Get("completion_tokens").Int(),
			Reasoning: u.Get("completion_tokens_details.reasoning_tokens").Int(),
		}
	}
	at := choice.Get("delta")
	if !at.IsObject() {
		at = choice.Get("message")
	}
	if err := l.delta(at); err != nil {
		return false, err
	}
	if finish.Type == gjson.String && finish.Str != "" {
		l.heard.finish, l.heard.end, l.finished = short(str(finish)), endOf(finish.Str), true
	}
	return false, nil
}

// firstChoice returns the choice of a frame that was asked for.
func firstChoice(root gjson.Result) (first gjson.Result) {
	list := root.Get("choices")
	if !list.IsArray() {
		return first
	}
	list.ForEach(func(_, c gjson.Result) bool {
		if c.Get("index").Int() == 0 {
			first = c
		}
		return !first.Exists()
	})
	return first
}

func (l *chatListener) delta(o gjson.Result) error {
	var content, refusal, calls, details gjson.Result
	native := map[string]gjson.Result{}
	o.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "content":
			content = v
		case "refusal":
			refusal = v
		case "tool_calls":
			calls = v
		case "reasoning_details":
			details = v
		default:
			if v.Type == gjson.String && v.Str != "" && wire.IsNativeField(key.Str) {
				native[key.Str] = v
			}
		}
		return true
	})
	if err := l.native(native, details); err != nil {
		return err
	}
	if err := l.content(content); err != nil {
		return err
	}
	if err := l.say(str(refusal)); err != nil { // it comes instead of content, never beside it
		return err
	}
	return each(calls, l.call)
}

// native reads reasoning in a member. It takes the first that is not empty: a
// server that has several sends the same in each.
func (l *chatListener) native(members map[string]gjson.Result, details gjson.Result) error {
	field, plain := "", ""
	for _, name := range wire.NativeFields() {
		if v, ok := members[name]; ok {
			field, plain = name, str(v)
			break
		}
	}
	told, err := l.detailed(details, plain)
	if err != nil {
		return err
	}
	if plain == "" {
		field, plain = "reasoning_details", told
	}
	if plain == "" {
		return nil
	}
	t := l.inMember()
	if t == nil {
		if t, err = l.begin(field); err != nil {
			return err
		}
	}
	return l.think(t, plain)
}

// inMember returns the thought of a member of the message, or nil.
func (l *chatListener) inMember() *thinking {
	i := slices.IndexFunc(l.thoughts, func(t *thinking) bool { return t.Raw == nil })
	if i < 0 {
		return nil
	}
	return l.thoughts[i]
}

// content reads a string, or typed parts.
func (l *chatListener) content(v gjson.Result) error {
	if v.Type == gjson.String {
		if v.Str != "" {
			l.part = nil
		}
		return l.say(str(v))
	}
	return each(v, func(p gjson.Result) error {
		switch kind := p.Get("type").Str; kind {
		case "text", "output_text":
			l.part = nil
			return l.say(str(p.Get("text")))
		case "thinking", "reasoning":
			return l.thinkingPart(strings.Clone(kind), p)
		}
		return nil
	})
}

// thinkingPart reads a part that is reasoning. Consecutive parts form one thought.
func (l *chatListener) thinkingPart(kind string, p gjson.Result) (err error) {
	if l.part == nil {
		if l.part, err = l.begin(kind); err != nil {
			return err
		}
		l.part.Raw = partOf(kind, "", "")
	}
	signature := str(p.Get("signature"))
	l.part.Sealed = l.part.Sealed || signature != ""
	if err := l.think(l.part, partText(p)); err != nil {
		return err
	}
	l.part.seal.WriteString(signature)
	return l.grow(len(signature))
}

func partText(p gjson.Result) string {
	for _, key := range []string{"thinking", "text", "reasoning"} {
		switch v := p.Get(key); {
		case v.Type == gjson.String:
			return str(v)
		case v.IsArray():
			var all strings.Builder
			_ = each(v, func(e gjson.Result) error {
				all.WriteString(str(e.Get("text")))
				return nil
			})
			return all.String()
		}
	}
	return ""
}

// partOf returns a part of reasoning, as it goes back.
func partOf(kind, said, signature string) []byte {
	var o object
	o.add("type", kind)
	o.add(kind, []any{map[string]any{"type": "text", "text": text(said)}})
	if signature != "" {
		o.add("signature", text(signature))
	}
	return o.close()
}

// maxName is far above the length of any tool's name.
const maxName = 4 << 10

// call reads a piece of a call, or a complete one.
func (l *chatListener) call(v gjson.Result) error {
	c, err := l.callOf(v)
	if err != nil {
		return err
	}
	before := len(c.ID) + len(c.Name)
	if id := v.Get("id"); id.Str != "" {
		c.ID = str(id)
	}
	f := v.Get("function")
	if name := f.Get("name"); name.Str != "" && c.Name != name.Str {
		c.Name += str(name)
	}
	if len(c.Name) > maxName {
		return fmt.Errorf("%w: a tool's name of more than %d bytes", ErrTooLarge, maxName)
	}
	if err := l.grow(max(0, len(c.ID)+len(c.Name)-before)); err != nil {
		return err
	}
	switch a := f.Get("arguments"); {
	case a.Type == gjson.String:
		err = l.argue(c, str(a))
	case a.IsObject():
		err = l.argue(c, a.Raw)
	}
	if err != nil {
		return err
	}
	return l.addExtra(c, v)
}

// callOf returns the call that a piece belongs to. It is the call of its index,
// unless the piece has an id of its own (some servers number every call 0). Without
// an index it is the call of its id, or the last call if it has none.
func (l *chatListener) callOf(v gjson.Result) (*calling, error) {
	id, index := str(v.Get("id")), -1
	if i := v.Get("index"); i.Type == gjson.Number {
		index = int(i.Int())
	}
	for _, c := range slices.Backward(l.pieces) {
		switch {
		case index >= 0 && c.index != index:
		case id == "" && (index >= 0 || v.Get("function.name").Str == ""), id != "" && (c.ID == id || c.ID == "" && index >= 0):
			return c.calling, nil
		}
	}
	c, err := l.newCall()
	if err == nil {
		l.pieces = append(l.pieces, &chatCall{c, index})
	}
	return c, err
}

func (l *chatListener) end() error {
	for _, t := range l.thoughts {
		if t.Raw != nil {
			t.Raw = partOf(t.Field, t.text.String(), t.seal.String())
		}
	}
	if len(l.order) == 0 {
		return nil
	}
	t := l.inMember()
	if t == nil {
		var err error
		if t, err = l.begin("reasoning_details"); err != nil {
			return err
		}
	}
	t.Field, t.Raw = "reasoning_details", l.detailsJSON()
	t.Sealed = slices.ContainsFunc(l.order, (*detail).sealed)
	return nil
}
