// Package responses has the codec of OpenAI's responses API. A reply is a list of
// output items. Reasoning in the text of a message becomes a separate item.
package responses

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai/internal/schema"
	"github.com/sotto-llm/sotto/wire/turn"
	"github.com/sotto-llm/sotto/wire/written"
)

// Codec is the codec of the API.
var Codec turn.API = codec{}

type codec struct{}

// apiName is the codec's name.
const apiName = "openai.responses"

func (codec) Name() string          { return apiName }
func (codec) Framing() wire.Framing { return wire.SSE }

func (codec) Capabilities() wire.Capabilities {
	return wire.Capabilities{Kind: "reasoning", Texts: true, Items: true, Kept: "responses", Calls: true, FreeCalls: true, Pictures: true}
}

// SetLimits implements [wire.LimitHeaders].
func (codec) SetLimits(h http.Header, left []wire.LimitLeft) { schema.SetLimits(h, left) }

var _ wire.LimitHeaders = codec{}

func (codec) Error(status int, message string) []byte { return schema.Error(status, message) }

// TooLong implements [wire.LengthCodec].
func (codec) TooLong(message string) []byte { return schema.TooLong(message) }

// FaultKind implements [wire.FaultCodec].
func (codec) FaultKind(_, raw string) (status int, tooLong bool) { return schema.FaultKind(raw) }

func (codec) Reply(s wire.Settings) wire.Reply {
	if s.Written {
		return written.Reply(&reader{set: written.Settings(s)}, codec{}.Writer(s), s)
	}
	return &reply{set: s, summary: summaries(s)}
}

// summaries reports whether reasoning is summary text.
func summaries(s wire.Settings) bool { return s.Summary && !s.Hide && !s.Inline && !s.Keep }

// Request has a message for each item of the input.
func (codec) Request(body []byte) (*wire.Request, error) {
	root, err := chatjson.ReadRequest(body)
	if err != nil {
		return nil, err
	}
	items, err := inputsOf(root)
	if err != nil {
		return nil, err
	}
	q := &wire.Request{Model: root.Get("model").Str, Stream: root.Get("stream").Bool(), Items: true}
	if q.Fallbacks, err = chatjson.FallbacksOf(root); err != nil {
		return nil, err
	}
	for _, it := range items {
		q.Messages = append(q.Messages, it.Message)
	}
	q.Switch = chatjson.SwitchOf(root, q.Messages)
	q.JSON = chatjson.WantsJSON(root)
	chatjson.ReadTools(q, root)
	q.Summary = asksSummary(root.Get("reasoning"))
	q.Stores = root.Get("store").Type != gjson.False
	q.Sealed = root.Get("store").Type == gjson.False || asksSealed(root.Get("include"))
	q.Prefill = chatjson.PrefillOf(q.Messages) // some servers go on with it, whatever its status
	return q, nil
}

// asksSealed reports whether a request asks for encrypted reasoning.
func asksSealed(include gjson.Result) (asks bool) {
	include.ForEach(func(_, v gjson.Result) bool {
		asks = v.Str == "reasoning.encrypted_content"
		return !asks
	})
	return asks
}

// asksSummary reports whether a request asks for summaries. generate_summary is the
// older name.
func asksSummary(reasoning gjson.Result) bool {
	for _, key := range []string{"summary", "generate_summary"} {
		if v := reasoning.Get(key); v.Type == gjson.String && v.Str != "" && v.Str != "none" {
			return true
		}
	}
	return false
}

// A inputItem is an item of the input as a message, with the places of its
// texts.
type inputItem struct {
	wire.Message
	texts []jsonedit.Span
	ids   []chatjson.IDPlace // of each of CallIDs
}

func inputsOf(root gjson.Result) ([]inputItem, error) {
	input := root.Get("input")
	switch {
	case input.Type == gjson.String:
		one := inputItem{Message: wire.Message{Role: "user"}}
		one.text(input)
		return []inputItem{one}, nil
	case input.Type == gjson.Null: // a stored prompt, or a conversation's next turn
		return nil, nil
	case !input.IsArray():
		return nil, errors.New("input is not a string or a list")
	}
	var all []inputItem
	for _, item := range input.Array() {
		all = append(all, inputOf(item))
	}
	return all, nil
}

func inputOf(item gjson.Result) (in inputItem) {
	switch kind := item.Get("type").Str; {
	case kind == "message", kind == "" && item.Get("role").Exists():
		in.message(item)
	case kind == "reasoning":
		in.Role = "assistant"
		in.Thoughts = []wire.Thought{thoughtOf(item)}
	case strings.HasSuffix(kind, "_output"):
		in.Role, in.Results = "tool", true
		in.call(item)
	case strings.HasSuffix(kind, "_call"):
		in.Role, in.Calls = "assistant", true
		in.call(item)
		in.Called = append(in.Called, cmp.Or(item.Get("name").Str, strings.TrimSuffix(kind, "_call")))
	default: // item_reference, and kinds to come
		in.Role = item.Get("role").Str
	}
	return in
}

func (in *inputItem) message(item gjson.Result) {
	in.Role = item.Get("role").Str
	if in.Role == "developer" {
		in.Role = "system"
	}
	content := item.Get("content")
	if content.Type == gjson.String {
		in.text(content)
		return
	}
	for _, part := range content.Array() {
		switch part.Get("type").Str {
		case "input_text", "output_text", "text":
			if t := part.Get("text"); t.Type == gjson.String {
				in.text(t)
			}
		}
	}
}

// call notes the id of a call or of its result.
func (in *inputItem) call(item gjson.Result) {
	id, place := item.Get("call_id").Str, chatjson.IDPlace{Of: item, Member: "call_id"}
	if id == "" { // a tool of the provider
		id, place = item.Get("id").Str, chatjson.IDPlace{}
	}
	if id != "" {
		in.CallIDs, in.ids = append(in.CallIDs, id), append(in.ids, place)
	}
}

func (in *inputItem) text(v gjson.Result) {
	in.Texts = append(in.Texts, v.Str)
	in.texts = append(in.texts, jsonedit.SpanOf(v))
}

// thoughtOf reads a reasoning item. If it has an id that is not ours, the
// provider may have stored it, so it is opaque too.
func thoughtOf(item gjson.Result) wire.Thought {
	id := item.Get("id").Str
	ours := strings.HasPrefix(id, thoughtID)
	t := wire.Thought{Name: "item", Minted: ours, Proof: item.Get("encrypted_content").Str}
	t.Sealed = t.Proof != "" || id != "" && !ours
	var texts []string
	for _, list := range []string{"content", "summary"} {
		for _, part := range item.Get(list).Array() {
			texts = append(texts, part.Get("text").Str)
		}
		if len(texts) > 0 {
			break
		}
	}
	t.Text = strings.Join(texts, "\n\n")
	return t
}

// Edit removes a reasoning item whole. A text for a call becomes a message before it.
// Reasoning cannot be added: only the provider makes reasoning items.
func (codec) Edit(dst, body []byte, changes []wire.Change) ([]byte, error) {
	root := jsonedit.Parse(body)
	items, err := inputsOf(root)
	if err != nil {
		return dst, err
	}
	var edits []jsonedit.Edit
	drop := map[int]bool{}
	list := jsonedit.Members(root.Get("input"))
	for _, c := range changes {
		if c.Message < 0 || c.Message >= len(items) {
			return dst, fmt.Errorf("item %d of %d", c.Message, len(items))
		}
		it := &items[c.Message]
		if text, ok := c.Texts[0]; ok && it.Calls && len(it.texts) == 0 {
			edits = append(edits, messageBefore(list[c.Message], text))
			c.Texts = nil
		}
		for _, item := range c.Before {
			at := list[c.Message].At
			edits = append(edits, jsonedit.Edit{Span: jsonedit.Span{Start: at, End: at}, With: append([]byte(item), ',')})
		}
		if c.Field == "reasoning" {
			edits = append(edits, thoughtBefore(list[c.Message], c.Add))
			c.Field = ""
		}
		if edits, err = it.edits(edits, c); err != nil {
			return dst, fmt.Errorf("item %d: %w", c.Message, err)
		}
		if len(c.Drop) > 0 {
			drop[c.Message] = true
		}
	}
	if len(drop) > 0 {
		edits = jsonedit.Cut(edits, list, func(i int) bool { return drop[i] })
	}
	return jsonedit.Splice(dst, body, edits), nil
}

// messageBefore puts a message of the assistant before an item.
func messageBefore(item jsonedit.Member, text string) jsonedit.Edit {
	with := []byte(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":`)
	with = jsontext.AppendVerbatim(with, jsonedit.BytesOf(text))
	return jsonedit.Edit{Span: jsonedit.Span{Start: item.At, End: item.At}, With: append(with, "}]},"...)}
}

// thoughtBefore puts an item of reasoning before an item.
func thoughtBefore(item jsonedit.Member, text string) jsonedit.Edit {
	with := []byte(`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":`)
	with = jsontext.AppendVerbatim(with, jsonedit.BytesOf(text))
	return jsonedit.Edit{Span: jsonedit.Span{Start: item.At, End: item.At}, With: append(with, "}]},"...)}
}

func (in *inputItem) edits(edits []jsonedit.Edit, c wire.Change) ([]jsonedit.Edit, error) {
	if c.Field != "" {
		return edits, errors.New("reasoning cannot be added to an item")
	}
	for _, t := range c.Drop {
		if t < 0 || t >= len(in.Thoughts) {
			return edits, fmt.Errorf("thought %d of %d", t, len(in.Thoughts))
		}
	}
	for i, text := range c.Texts {
		if i < 0 || i >= len(in.texts) {
			return edits, fmt.Errorf("text %d of %d", i, len(in.texts))
		}
		edits = append(edits, jsonedit.Edit{Span: in.texts[i], With: jsontext.AppendVerbatim(nil, jsonedit.BytesOf(text))})
	}
	return chatjson.EditIDs(edits, in.ids, c.IDs)
}
