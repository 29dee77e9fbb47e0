package talk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/agents/pending"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

// A Kind says what an event is.
type Kind uint8

const (
	Text      Kind = iota // a piece of the answer
	Thought               // a piece of a thought
	Narration             // a piece of narration
	Call                  // a piece of a call: Name when it begins, and Text of its arguments
	Named                 // the reply has an identifier: Name
	Kinds                 // how many there are
)

// An Event is a piece of a reply.
type Event struct {
	Kind Kind
	Text string
	// Index and Name are of a call; Name is also an identifier.
	Index int
	Name  string
}

// A Reply is a reply when it has ended.
type Reply struct {
	conversation.Reply
	Text    string
	Stopped bool // the reader stopped it, or went away
}

// Ask asks a question and gives the pieces of the reply to a function, as they come. The
// end of the context stops the reply. What came of a reply is returned however it ended;
// Reply.Error says what went wrong.
func (c *Client) Ask(ctx context.Context, q Question, to func(Event)) Reply {
	reader := ctx
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	x := &asking{now: c.Now, to: to, stop: stop, header: http.Header{}, codec: codec().Reply(wire.Settings{})}
	if x.now == nil {
		x.now = time.Now
	}
	x.began = x.now()
	x.out.Model, x.out.FirstThought, x.out.FirstAnswer = q.Model, -1, -1
	body, err := q.body()
	var r *http.Request
	if err == nil {
		if q.Person != nil {
			ctx = pending.With(ctx, q.Person)
		}
		r, err = request(ctx, q.Caller, http.MethodPost, asked, body)
	}
	if err == nil {
		err = c.serve(x, r)
	}
	return x.ended(reader.Err() != nil, err)
}

// asked is the path of the API that the console uses.
const asked = "/v1/chat/completions"

// codec reads the replies of that API.
var codec = sync.OnceValue(func() wire.Codec {
	for _, p := range providers.All() {
		for _, e := range p.Endpoints {
			if e.Path == asked {
				return e.Codec
			}
		}
	}
	panic("talk: no provider has " + asked)
})

// asking is a reply that comes in. To the gateway it is the response's writer, and to
// the codec it is the reader.
type asking struct {
	now    func() time.Time
	began  time.Time
	to     func(Event)
	stop   func()
	header http.Header
	status int

	scan  sse.Scanner
	held  []byte
	codec wire.Reply
	spare []byte // what the codec writes, which nobody reads
	part  [1]wire.Part

	out      Reply
	text     strings.Builder
	calls    []*callPieces
	thought  time.Time // when the first thought came
	last     Kind      // of the events
	finished bool
	err      error
}

type callPieces struct {
	number    int
	name      string
	arguments strings.Builder
}

func (x *asking) Header() http.Header { return x.header }

func (x *asking) WriteHeader(status int) {
	if x.status == 0 && status >= 200 {
		x.status = status
	}
}

// Flush does nothing: what is written has been read.
func (x *asking) Flush() {}

// maxFrame bounds a frame of the stream, and a body that is not a stream.
const maxFrame = 4 << 20

func (x *asking) Write(p []byte) (int, error) {
	x.WriteHeader(http.StatusOK)
	if x.err != nil {
		return 0, x.err
	}
	if len(x.held)+len(p) > maxFrame {
		return 0, x.fail(fmt.Errorf("a frame of the reply is longer than %d bytes", maxFrame))
	}
	x.held = append(x.held, p...)
	if x.streamed() {
		rest := x.held
		for x.err == nil {
			f, ok := x.scan.Next(rest)
			if !ok {
				break
			}
			x.frame(f)
			rest = rest[len(f.Raw):]
		}
		x.held = append(x.held[:0], rest...)
	}
	return len(p), x.err
}

// streamed reports whether the response is a stream of events.
func (x *asking) streamed() bool {
	return x.status == http.StatusOK && strings.HasPrefix(x.header.Get("Content-Type"), "text/event-stream")
}

// fail ends the reply.
func (x *asking) fail(err error) error {
	if x.err == nil {
		x.err = err
		x.stop()
	}
	return x.err
}

func (x *asking) frame(f sse.Frame) {
	if len(f.Data) == 0 {
		return
	}
	x.spare = x.codec.Frame(x.spare[:0], wire.Frame{Raw: f.Raw, Type: f.Type, Data: f.Data, At: f.At}, x)
	if bytes.Contains(f.Data, narrationKey) {
		if root, err := foreignjson.Parse(f.Data); err == nil {
			x.narration(root.Get("choices.0.delta." + chatjson.NarrationField).Str)
		}
	}
}

var narrationKey = []byte(`"` + chatjson.NarrationField + `"`)

// narration takes a piece of narration.
func (x *asking) narration(text string) {
	if text != "" && x.last != Narration && x.out.Narration != "" {
		text = "\n" + text // another one
	}
	if text != "" && len(x.out.Narration)+len(text) <= maxAside {
		x.out.Narration += text
		x.give(Event{Kind: Narration, Text: text})
	}
}

func (x *asking) give(e Event) {
	if x.last = e.Kind; x.err == nil {
		x.to(e)
	}
}

// since returns the time since the question, in milliseconds.
func (x *asking) since() int64 { return x.now().Sub(x.began).Milliseconds() }

// Found takes what the codec found.
func (x *asking) Found(f wire.Event) []wire.Part {
	if f.Choice == 0 && x.err == nil {
		x.show(f)
	}
	switch f.Kind {
	case wire.EventText:
		x.part[0] = wire.Part{Text: f.Text}
	case wire.EventThought, wire.EventDetails:
		x.part[0] = wire.Part{Place: wire.Reasoning, Text: f.Text}
	default:
		return nil
	}
	return x.part[:]
}

func (x *asking) show(f wire.Event) {
	switch f.Kind {
	case wire.EventText, wire.EventRefusal:
		x.said(string(f.Text))
	case wire.EventThought, wire.EventDetails:
		if !f.Again {
			x.thinks(string(f.Text))
		}
	case wire.EventCall:
		x.called(f)
	case wire.EventUsage:
		x.out.Input = max(x.out.Input, int(f.Usage.All()))
		x.out.Output = max(x.out.Output, int(f.Usage.Output))
	case wire.EventModel:
		if f.Name != "" {
			x.out.Model = shorttext.Cut(strings.Clone(f.Name), maxName)
		}
		if f.ID != "" && x.out.Response == "" {
			x.out.Response = shorttext.Cut(strings.Clone(f.ID), maxName)
			x.to(Event{Kind: Named, Name: x.out.Response})
		}
	case wire.EventFinish:
		if f.Name != "" {
			x.finished, x.out.Finish = true, shorttext.Cut(strings.Clone(f.Name), maxName)
		}
	case wire.EventFault:
		_ = x.fail(errors.New(reason([]byte(f.Raw), "the model server reports an error")))
	case wire.EventEnd:
		x.finished = true
	}
}

func (x *asking) said(text string) {
	if text == "" {
		return
	}
	if x.out.FirstAnswer < 0 {
		x.out.FirstAnswer = x.since()
		x.thinking()
	}
	if x.text.Len()+len(text) > maxAnswer {
		_ = x.fail(fmt.Errorf("the answer is longer than %d bytes", maxAnswer))
		return
	}
	x.text.WriteString(text)
	x.give(Event{Kind: Text, Text: text})
}

func (x *asking) thinks(text string) {
	if text == "" {
		return
	}
	if x.out.FirstThought < 0 {
		x.out.FirstThought, x.thought = x.since(), x.now()
	}
	if x.out.Thought += len(text); x.out.Thought > maxThought {
		_ = x.fail(fmt.Errorf("the thought is longer than %d bytes", maxThought))
		return
	}
	x.give(Event{Kind: Thought, Text: text})
}

// thinking notes how long the thought took, once the answer or the end is there.
func (x *asking) thinking() {
	if x.out.FirstThought >= 0 && x.out.ThoughtMillis == 0 {
		x.out.ThoughtMillis = x.now().Sub(x.thought).Milliseconds()
	}
}

func (x *asking) called(f wire.Event) {
	i := 0
	for i < len(x.calls) && x.calls[i].number != f.Index {
		i++
	}
	if i == maxCalls {
		return
	}
	if i == len(x.calls) {
		x.calls = append(x.calls, &callPieces{number: f.Index})
	}
	call, e := x.calls[i], Event{Kind: Call, Index: i}
	if f.Name != "" && call.name == "" {
		call.name = shorttext.Cut(strings.Clone(f.Name), maxName)
		e.Name = call.name
	}
	if call.arguments.Len()+len(f.Text) <= maxAside {
		e.Text = string(f.Text)
		call.arguments.WriteString(e.Text)
	}
	if e.Name != "" || e.Text != "" {
		x.give(e)
	}
}

// ended returns the reply. gone says that the reader stopped it, and err why the gateway
// broke off.
func (x *asking) ended(gone bool, err error) Reply {
	stopped := gone && !x.finished
	if x.streamed() && !stopped && x.err == nil {
		if f, ok := x.scan.Last(x.held); ok {
			x.frame(f)
		}
		if x.err == nil {
			x.spare = x.codec.End(x.spare[:0], nil, x)
		}
	}
	x.thinking()
	out := &x.out
	out.Text, out.Millis, out.Stopped = x.text.String(), x.since(), stopped
	for _, c := range x.calls {
		out.Calls = append(out.Calls, conversation.Call{Name: c.name, Arguments: c.arguments.String()})
	}
	switch {
	case stopped:
	case x.err != nil:
		err = x.err
	case err != nil:
	case !x.streamed():
		err = refusal(x.status, x.held)
	case !x.finished:
		err = errors.New("the model server ended the stream in the middle of the reply")
	}
	if err != nil && !stopped {
		out.Error = shorttext.Escape(err.Error(), 2<<10)
	}
	return *out
}

// The rest of a [wire.Reader]: nothing is separated here, since the gateway has.

func (x *asking) Close(int, sotto.Ending) []wire.Part      { return nil }
func (x *asking) Open() []int                              { return nil }
func (x *asking) Finish(sotto.Ending) ([]wire.Part, error) { return nil, nil }
func (x *asking) Findings() string                         { return "" }
func (x *asking) Share() (reasoning, all int)              { return 0, 0 }
func (x *asking) Fail(err error)                           { _ = x.fail(err) }

var (
	_ http.Flusher = (*asking)(nil)
	_ wire.Reader  = (*asking)(nil)
)
