// Package modelserver asks a model server, and reads its replies as a client gets them: what a codec
// finds in one, and what is wrong with its form. It separates nothing.
package modelserver

import (
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/net/foreignhttp"
	"github.com/sotto-llm/sotto/internal/reply/leak"
	"github.com/sotto-llm/sotto/ndjson"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/turn"
)

const (
	maxText   = 1 << 20 // bytes of the texts of a reply that are read
	maxCalls  = 100
	maxFields = 10
)

// A Reply is what the model sent, as the codec of the API finds it: with the members
// as the server has them.
type Reply struct {
	Text, Reasoning string
	Fields          []string // the members, or the kinds of blocks, that held reasoning
	Sealed          bool     // some of it is signed or encrypted
	Calls           []Call
	Finish          string
	End             sotto.Ending
	Complete        bool   // the API said that the reply is complete
	Fault           string // an error, or what is wrong with the form
	Pieces          int    // frames with text or reasoning
	Input, Output   int64  // tokens, as the server counts them; -1 if it does not

	said, thought strings.Builder
	texts         bool        // the choices of the API are its texts
	frame         bool        // the frame that is read has text or reasoning
	thoughts      []turn.Part // as they go back
	api           string
}

// A Call is a call of a tool.
type Call struct {
	ID, Name, Arguments string

	index int
	raw   string // its JSON, if that came in one piece
}

// Read reads a response of an API.
func Read(codec wire.Codec, res *Response, stream bool) *Reply {
	r := &Reply{Input: -1, Output: -1, texts: codec.Capabilities().Texts, api: codec.Name()}
	w := codec.Reply(wire.Settings{Keep: true, Request: &wire.Request{}})
	switch {
	case stream && isStream(res.Kind):
		r.readFrames(codec, w, res.Body)
	case stream:
		r.Fault = "a stream was asked for, and the reply is " + KindOf(res)
	default:
		f, ok := chatjson.Readable(wire.Frame{Data: res.Body})
		if !ok || foreignhttp.Shape.Check(res.Body) != nil {
			r.Fault = "the reply is not JSON: it is " + KindOf(res)
			break
		}
		w.Whole(nil, f.Data, reader{r})
		r.Pieces = 1
	}
	r.Text, r.Reasoning = r.said.String(), r.thought.String()
	if r.Fault == "" && res.Broken != nil {
		r.Fault = "the reply broke off: " + shorttext.Ellipsis(res.Broken.Error(), 200)
	}
	return r
}

// isStream reports whether a media type is one that streams have. Ollama's lines are
// sometimes declared as one object.
func isStream(kind string) bool {
	return kind == "text/event-stream" || kind == "application/x-ndjson" || kind == "application/json" || kind == "application/jsonl"
}

// KindOf names the media type of a response, or what else it is.
func KindOf(res *Response) string {
	switch {
	case strings.HasPrefix(strings.TrimSpace(strings.ToLower(string(res.Body[:min(len(res.Body), 200)]))), "<"):
		return "a web page"
	case len(res.Body) == 0:
		return "empty"
	case res.Kind == "":
		return "of no declared type"
	}
	return shorttext.Ellipsis(res.Kind, 100)
}

func (r *Reply) readFrames(codec wire.Codec, w wire.Reply, data []byte) {
	var events sse.Scanner
	var lines ndjson.Scanner
	next := func() (f wire.Frame, ok bool) {
		if codec.Framing() == wire.NDJSON {
			l, ok := lines.Next(data)
			if !ok {
				l, ok = lines.Last(data)
			}
			return wire.Frame{Raw: l.Raw, Data: l.Data, At: l.At}, ok
		}
		e, ok := events.Next(data)
		if !ok {
			e, ok = events.Last(data)
		}
		return wire.Frame{Raw: e.Raw, Type: e.Type, Data: e.Data, At: e.At}, ok
	}
	for len(data) > 0 && r.Fault == "" {
		f, ok := next()
		if !ok || len(f.Raw) == 0 {
			break
		}
		data = data[len(f.Raw):]
		if len(f.Data) == 0 {
			continue
		}
		if strings.TrimSpace(string(f.Data)) == "[DONE]" {
			r.Complete = true
			continue
		}
		if err := foreignhttp.Shape.Check(f.Data); err != nil && len(data) == 0 && !foreignjson.OverLimit(err) {
			r.Fault = "the stream broke off in the middle of an event"
			break
		} else if err != nil {
			r.Fault = "a part of the stream is not JSON: " + leak.Quote(string(f.Data[:min(len(f.Data), 400)]))
			break
		}
		r.frame = false
		w.Frame(nil, f, reader{r})
		if r.frame {
			r.Pieces++
		}
	}
	if r.Fault == "" && !r.Complete && r.Finish == "" {
		r.Fault = "the stream broke off: it has no sign of its end"
	}
}

// A reader is a [wire.Reader] that separates nothing.
type reader struct{ *Reply }

// Found notes what the codec found.
func (r reader) Found(f wire.Event) []wire.Part {
	switch f.Kind {
	case wire.EventText:
		if f.Choice == 0 || r.texts {
			r.append(&r.said, f.Text)
		}
	case wire.EventThought, wire.EventDetails:
		if f.Again && f.Kind == wire.EventThought {
			break
		}
		r.append(&r.thought, f.Text)
		r.keep(f)
		if f.Name != "" && len(f.Text) > 0 && len(r.Fields) < maxFields && !slices.Contains(r.Fields, f.Name) {
			r.Fields = append(r.Fields, shorttext.Ellipsis(strings.Clone(f.Name), 64))
		}
	case wire.EventSealed:
		r.Sealed = true
	case wire.EventCall:
		r.call(f)
	case wire.EventUsage:
		r.Input, r.Output = max(r.Input, f.Usage.Input), max(r.Output, f.Usage.Output)
	case wire.EventFinish:
		r.Reply.Finish, r.End = shorttext.Ellipsis(strings.Clone(f.Name), 64), f.End
	case wire.EventFault:
		r.Fault = "the reply has an error: " + faultText(f)
	case wire.EventEnd:
		r.Complete = true
	}
	return nil
}

// keep keeps a thought in the form in which it goes back. A piece belongs to the thought before it, if
// that has the same name.
func (r *Reply) keep(f wire.Event) {
	if len(r.thoughts) == maxFields || f.Name == "" && f.Raw == "" {
		return
	}
	p := turn.Part{Kind: turn.Thought, Name: strings.Clone(f.Name), Extra: turn.Extra{API: r.api}}
	if n := len(r.thoughts); n > 0 && r.thoughts[n-1].Name == p.Name && r.thoughts[n-1].Extra.Whole == "" && f.Kind == wire.EventThought {
		r.thoughts[n-1].Text += string(f.Text[:min(len(f.Text), maxText-len(r.thoughts[n-1].Text))])
		return
	}
	p.Text = string(f.Text[:min(len(f.Text), maxText)])
	if f.Kind == wire.EventDetails {
		p.Extra.Whole = strings.Clone(f.Raw)
	}
	r.thoughts = append(r.thoughts, p)
}

// Turn is a whole reply as a message of the conversation, with its reasoning.
func (r *Reply) Turn() turn.Message {
	m := turn.Message{Role: turn.Assistant, Parts: slices.Clone(r.thoughts)}
	if r.Text != "" {
		m.Parts = append(m.Parts, turn.Part{Text: r.Text})
	}
	for _, c := range r.Calls {
		m.Parts = append(m.Parts, turn.Part{Kind: turn.Call, ID: c.ID, Name: c.Name, Arguments: c.Arguments, Extra: turn.Extra{API: r.api, Whole: c.raw}})
	}
	return m
}

func faultText(f wire.Event) string {
	if len(f.Text) > 0 {
		return shorttext.Ellipsis(string(f.Text), 200)
	}
	return shorttext.Ellipsis(f.Raw, 200)
}

func (r *Reply) append(to *strings.Builder, text []byte) {
	if len(text) > 0 {
		r.frame = true
	}
	to.Write(text[:min(len(text), maxText-to.Len())])
}

func (r *Reply) call(f wire.Event) {
	i := slices.IndexFunc(r.Calls, func(c Call) bool { return c.index == f.Index })
	if i < 0 {
		if len(r.Calls) == maxCalls {
			return
		}
		i, r.Calls = len(r.Calls), append(r.Calls, Call{index: f.Index})
	}
	c := &r.Calls[i]
	if f.ID != "" {
		c.ID = shorttext.Cut(strings.Clone(f.ID), 200)
	}
	if f.Name != "" {
		c.Name = shorttext.Cut(strings.Clone(f.Name), 200)
	}
	if f.Whole {
		c.Arguments = ""
	}
	if c.raw = ""; c.Arguments == "" { // it may be complete
		c.raw = strings.Clone(f.Raw)
	}
	c.Arguments += string(f.Text[:min(len(f.Text), maxText-len(c.Arguments))])
}

// Close, Open, Fail, Finish, Findings and Share are the rest of a wire.Reader.
func (reader) Close(int, sotto.Ending) []wire.Part      { return nil }
func (reader) Open() []int                              { return nil }
func (reader) Finish(sotto.Ending) ([]wire.Part, error) { return nil, nil }
func (reader) Findings() string                         { return "" }
func (reader) Share() (reasoning, all int)              { return 0, 0 }
func (r reader) Fail(err error) {
	if r.Fault == "" {
		r.Fault = shorttext.Ellipsis(err.Error(), 200)
	}
}

var _ wire.Reader = reader{}

// Message is the reply as the finder of leaks takes it.
func (r *Reply) Message() *leak.Message {
	m := &leak.Message{Text: r.Text, Reasoning: r.Reasoning}
	for _, c := range r.Calls {
		m.Arguments = append(m.Arguments, c.Arguments)
	}
	return m
}
