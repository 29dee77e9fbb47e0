package doctor

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/chatjson"
	"github.com/sotto-llm/sotto/internal/foreignhttp"
	"github.com/sotto-llm/sotto/internal/foreignjson"
	"github.com/sotto-llm/sotto/internal/leak"
	"github.com/sotto-llm/sotto/internal/shorttext"
	"github.com/sotto-llm/sotto/ndjson"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

const (
	maxText   = 1 << 20 // bytes of the texts of a reply that are read
	maxCalls  = 100
	maxFields = 10
)

// A reply is what the model sent, as the codec of the API finds it: with the members
// as the server has them.
type reply struct {
	text, reasoning string
	fields          []string // the members, or the kinds of blocks, that held reasoning
	sealed          bool     // some of it is signed or encrypted
	calls           []call
	finish          string
	end             sotto.End
	complete        bool   // the API said that the reply is complete
	fault           string // an error, or what is wrong with the form
	pieces          int    // frames with text or reasoning
	input, output   int64  // tokens, as the server counts them; -1 if it does not

	said, thought strings.Builder
	texts         bool // the choices of the API are its texts
	frame         bool // the frame that is read has text or reasoning
}

type call struct {
	index               int
	id, name, arguments string
}

// read reads a response of an API.
func read(codec wire.Codec, res *response, stream bool) *reply {
	r := &reply{input: -1, output: -1, texts: codec.Capabilities().Texts}
	w := codec.Reply(wire.Settings{Keep: true, Request: &wire.Request{}})
	switch {
	case stream && isStream(res.kind):
		r.readFrames(codec, w, res.body)
	case stream:
		r.fault = "a stream was asked for, and the reply is " + kindOf(res)
	default:
		f, ok := chatjson.Readable(wire.Frame{Data: res.body})
		if !ok || foreignhttp.Shape.Check(res.body) != nil {
			r.fault = "the reply is not JSON: it is " + kindOf(res)
			break
		}
		w.Whole(nil, f.Data, r)
		r.pieces = 1
	}
	r.text, r.reasoning = r.said.String(), r.thought.String()
	if r.fault == "" && res.broken != nil {
		r.fault = "the reply broke off: " + shorttext.Ellipsis(res.broken.Error(), 200)
	}
	return r
}

// isStream reports whether a media type is one that streams have. Ollama's lines are
// sometimes declared as one object.
func isStream(kind string) bool {
	return kind == "text/event-stream" || kind == "application/x-ndjson" || kind == "application/json" || kind == "application/jsonl"
}

func kindOf(res *response) string {
	switch {
	case strings.HasPrefix(strings.TrimSpace(strings.ToLower(string(res.body[:min(len(res.body), 200)]))), "<"):
		return "a web page"
	case len(res.body) == 0:
		return "empty"
	case res.kind == "":
		return "of no declared type"
	}
	return shorttext.Ellipsis(res.kind, 100)
}

func (r *reply) readFrames(codec wire.Codec, w wire.Reply, data []byte) {
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
	for len(data) > 0 && r.fault == "" {
		f, ok := next()
		if !ok || len(f.Raw) == 0 {
			break
		}
		data = data[len(f.Raw):]
		if len(f.Data) == 0 {
			continue
		}
		if strings.TrimSpace(string(f.Data)) == "[DONE]" {
			r.complete = true
			continue
		}
		if err := foreignhttp.Shape.Check(f.Data); err != nil && len(data) == 0 && !foreignjson.OverLimit(err) {
			r.fault = "the stream broke off in the middle of an event"
			break
		} else if err != nil {
			r.fault = "a part of the stream is not JSON: " + leak.Quote(string(f.Data[:min(len(f.Data), 400)]))
			break
		}
		r.frame = false
		w.Frame(nil, f, r)
		if r.frame {
			r.pieces++
		}
	}
	if r.fault == "" && !r.complete && r.finish == "" {
		r.fault = "the stream broke off: it has no sign of its end"
	}
}

// Found notes what the codec found. It is a method of a wire.Reader that changes
// nothing.
func (r *reply) Found(f wire.Event) []wire.Part {
	switch f.Kind {
	case wire.EventText:
		if f.Choice == 0 || r.texts {
			r.add(&r.said, f.Text)
		}
	case wire.EventThought, wire.EventDetails:
		if f.Again && f.Kind == wire.EventThought {
			break
		}
		r.add(&r.thought, f.Text)
		if f.Name != "" && len(f.Text) > 0 && len(r.fields) < maxFields && !slices.Contains(r.fields, f.Name) {
			r.fields = append(r.fields, shorttext.Ellipsis(strings.Clone(f.Name), 64))
		}
	case wire.EventSealed:
		r.sealed = true
	case wire.EventCall:
		r.call(f)
	case wire.EventUsage:
		r.input, r.output = max(r.input, f.Usage.Input), max(r.output, f.Usage.Output)
	case wire.EventFinish:
		r.finish, r.end = shorttext.Ellipsis(strings.Clone(f.Name), 64), f.End
	case wire.EventFault:
		r.fault = "the reply has an error: " + faultText(f)
	case wire.EventEnd:
		r.complete = true
	}
	return nil
}

func faultText(f wire.Event) string {
	if len(f.Text) > 0 {
		return shorttext.Ellipsis(string(f.Text), 200)
	}
	return shorttext.Ellipsis(f.Raw, 200)
}

func (r *reply) add(to *strings.Builder, text []byte) {
	if len(text) > 0 {
		r.frame = true
	}
	to.Write(text[:min(len(text), maxText-to.Len())])
}

func (r *reply) call(f wire.Event) {
	i := slices.IndexFunc(r.calls, func(c call) bool { return c.index == f.Index })
	if i < 0 {
		if len(r.calls) == maxCalls {
			return
		}
		i, r.calls = len(r.calls), append(r.calls, call{index: f.Index})
	}
	c := &r.calls[i]
	if f.ID != "" {
		c.id = shorttext.Cut(strings.Clone(f.ID), 200)
	}
	if f.Name != "" {
		c.name = shorttext.Cut(strings.Clone(f.Name), 200)
	}
	if f.Whole {
		c.arguments = ""
	}
	c.arguments += string(f.Text[:min(len(f.Text), maxText-len(c.arguments))])
}

// Close, Open, Fail, Finish, Findings and Share are the rest of a wire.Reader.
func (*reply) Close(int, sotto.End) []wire.Part      { return nil }
func (*reply) Open() []int                           { return nil }
func (*reply) Finish(sotto.End) ([]wire.Part, error) { return nil, nil }
func (*reply) Findings() string                      { return "" }
func (*reply) Share() (reasoning, all int)           { return 0, 0 }
func (r *reply) Fail(err error) {
	if r.fault == "" {
		r.fault = shorttext.Ellipsis(err.Error(), 200)
	}
}

var _ wire.Reader = (*reply)(nil)

// message is the reply as the finder of leaks takes it.
func (r *reply) message() *leak.Message {
	m := &leak.Message{Text: r.text, Reasoning: r.reasoning}
	for _, c := range r.calls {
		m.Arguments = append(m.Arguments, c.arguments)
	}
	return m
}

// rawOr returns the arguments of a call as JSON, or an empty object.
func rawOr(arguments string) any {
	if v, err := foreignjson.Parse([]byte(arguments)); err == nil && v.IsObject() {
		return json.RawMessage(arguments)
	}
	return object{}
}
