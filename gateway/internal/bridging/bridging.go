// Package bridging brings a request of a client to an upstream that speaks another API: the
// conversation is written in the upstream's API, and the reply goes back in the client's.
//
//	client's body → ReadTurn → copies of thoughts are opened → For → WriteTurn → upstream's body
//	upstream's frame → codec → Reader → written.Reply → Writer → client's frame
//
// A pair of APIs has no code of its own: each API has a reader and a writer.
package bridging

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/data/leftout"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

// A Bridge is between the client and the upstream of one exchange.
type Bridge struct {
	Client, Upstream turn.API
	// Asked is what the client's codec found in its request, and Said is its body.
	Asked *wire.Request
	Said  []byte
	// Path is where the request goes at the upstream, with its query.
	Path *url.URL
	// Left are the members of the request that the upstream's API has no counterpart for and
	// on which the answer does not depend.
	Left []string
	// Opened is how many copies of thoughts came back, and Native is where the upstream has the thoughts
	// of the last one. Foreign are the payloads that are not this upstream's, and were left out.
	Opened int
	Native string
	// They are named in the words of the client's API, or "".
	Foreign []string
	// Unthinking says that the client turns thinking off.
	Unthinking bool
	// Stranded are those of Foreign that are of the turn under way.
	Stranded []string
	// Called are the paths of calls: of the first one of each step of the model that has calls. A step is what
	// the model says between two messages of others.
	Called []string

	Stream   bool
	tools    map[string]wire.Origin // by the functions that stand for them
	query    url.Values             // of the client's request
	reply    losses
	referred []string     // the paths of thoughts that the client has only by their ids, or without the seal that they need
	empty    map[int]bool // messages of which nothing is left
}

// ErrNoConversation is the error of a request whose API has no conversations, such as one for the
// completion of a text. It can only go to a server of the same API.
var ErrNoConversation = errors.New("the upstream speaks another API, in which this request cannot be made")

// Cross returns a bridge, and the body for the upstream. asked is what the client's codec found in
// the body.
func Cross(r *http.Request, client, upstream turn.API, asked *wire.Request, body []byte, k Keeper) (*Bridge, []byte, error) {
	q, err := client.ReadTurn(body)
	if err != nil {
		return nil, nil, err
	}
	q.Located = true
	q.Model, q.Stream = asked.Model, asked.Stream // some APIs have them in the path
	b := &Bridge{Client: client, Upstream: upstream, Asked: asked, Said: body, Stream: q.Stream, query: r.URL.Query()}
	b.Unthinking = q.Thinking.Mode == switches.Off
	sealed := history.RuleFor(q.Model, upstream.Name()).Need == history.NeedSealed
	b.restore(q, k.Open, sealed && k.Preserves)
	for _, path := range append(b.referred, b.Foreign...) {
		q.Leave(path, "")
	}
	b.tools = q.Functions(upstream.Capabilities().FreeCalls)
	upstreamIDs(q)
	if n := q.Choices; n != "" && n != "1" { // a bridge brings one reply
		return nil, nil, b.where(&turn.UnsupportedError{What: "more than one reply", API: upstream.Name(), Of: turn.OfChoices}, q)
	}
	if b.Left, err = q.For(upstream.Name()); err != nil {
		return nil, nil, err
	}
	b.drop(q, k.Need)
	if !upstream.Capabilities().Texts {
		joinTexts(q)
	}
	if q.Usage == nil && q.Stream {
		counts := true
		q.Usage = &counts // the client's API always says them
	}
	q.Unkept = true   // the next request has the whole conversation
	q.Sealed = sealed // other models refuse the question
	to, err := upstream.WriteTurn(nil, q)
	if err != nil {
		return nil, nil, b.where(err, q)
	}
	for _, l := range q.Left {
		path := strings.Trim(l.Path+"."+client.Word(l.Of), ".")
		if word, ofRequest := strings.CutPrefix(client.Word(l.Of), "/"); ofRequest {
			path = word
		}
		if path != "" && !slices.Contains(b.Left, path) {
			b.Left = append(b.Left, path)
		}
	}
	if b.Path, err = url.Parse(upstream.Path(q)); err != nil {
		return nil, nil, fmt.Errorf("the model: %w", err)
	}
	return b, to, nil
}

// where adds to an error the member of the client's request that it is about.
func (b *Bridge) where(err error, q *turn.Request) error {
	e, ok := errors.AsType[*turn.UnsupportedError](err)
	if !ok || e.Path != "" {
		return err
	}
	if e.Path = b.Client.Word(e.Of); e.Of == turn.OfThinking && q.Thinking.Extra.Path != "" {
		e.Path = q.Thinking.Extra.Path
	}
	return err
}

// Request makes the client's request one for the upstream's API. None of its headers goes on except
// those of kept.
func (b *Bridge) Request(out *http.Request, kept http.Header) {
	u := *b.Path
	out.URL = &u
	Headers(out, b.Upstream)
	if b.Stream && b.Upstream.Framing() == wire.SSE {
		out.Header.Set("Accept", "text/event-stream")
	}
	for name, values := range kept {
		out.Header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
}

// Headers gives a request the headers of an API's requests, and no others.
func Headers(out *http.Request, api turn.API) {
	out.Header = http.Header{"Content-Type": {"application/json"}, "Accept-Encoding": {"identity"}, "User-Agent": {""}}
	if p := endpoints.Provider(api); p != nil {
		for name, value := range p.Headers {
			out.Header.Set(name, value)
		}
	}
}

// passing are the headers of an upstream's response that say the same in every API.
var passing = []string{"Retry-After", "Date"}

// Response takes the headers of the upstream's API out of a response.
func (b *Bridge) Response(resp *http.Response) {
	h := http.Header{}
	for _, name := range append(passing, "Content-Type", "Content-Encoding", "Content-Length") { // the last three are read before they are replaced
		if v := resp.Header[name]; v != nil {
			h[name] = v
		}
	}
	resp.Header, resp.Trailer = h, nil
}

// Carriage returns the form of the client's stream, and its media type. The form is nil if frames go
// out as they are.
func (b *Bridge) Carriage(s wire.Settings) (form wire.Carriage, mediaType string) {
	if p := endpoints.Provider(b.Client); p != nil {
		for _, c := range p.Carriers {
			if c.Asked(b.query) {
				return c.Begin(s), c.Type
			}
		}
	}
	if b.Client.Framing() == wire.NDJSON {
		return nil, "application/x-ndjson"
	}
	return nil, "text/event-stream; charset=utf-8"
}

// Status returns the status of an upstream's error in the client's API: one that only some provider
// has becomes that of a server that cannot serve now.
func Status(status int) int {
	if status >= 500 && http.StatusText(status) == "" {
		return http.StatusServiceUnavailable
	}
	return status
}

// Capabilities are what the reader of the reply must know: how the upstream divides replies, and what
// the client's API has room for.
func (b *Bridge) Capabilities() wire.Capabilities {
	can, has := b.Upstream.Capabilities(), b.Client.Capabilities()
	can.Members, can.Adjacent, can.NoBlanks, can.NoComments = has.Members, has.Adjacent, has.NoBlanks, has.NoComments
	return can
}

// Writer returns what writes the reply for the client, in the form of its settings.
func (b *Bridge) Writer(s wire.Settings, slot func(Place) string) *wire.Bridge {
	s.Request, s.Slot = b.Asked, nil
	has := b.Client.Capabilities()
	w := &wire.Bridge{
		Writer: b.Client.Writer(s), Texts: has.Texts, FromTexts: b.Upstream.Capabilities().Texts, WholeCalls: has.WholeCalls, ObjectCalls: has.ObjectCalls,
		Pictures: has.Pictures, Model: b.Asked.Model, Tagged: s.Inline, CallID: clientID, Tools: b.tools,
	}
	if c, ok := b.Upstream.(interface{ LeftOut() *leftout.Value }); ok {
		of := c.LeftOut().Reply(has.Pictures)
		w.Left = func(data []byte) error { return b.reply.note(of, data) }
	}
	if c, ok := b.Upstream.(wire.FaultCodec); ok {
		w.FaultKind = c.FaultKind
	}
	if b.HasSlot() {
		w.Slot = func(calls, bytes int) string { return slot(Place{calls, bytes}) }
	}
	return w
}

// HasSlot reports whether the client keeps a copy of thoughts: its API has a place for that which
// clients must return.
func (b *Bridge) HasSlot() bool {
	has := b.Client.Capabilities()
	return has.Kind != "" && (!has.Items || b.Asked.Sealed)
}
