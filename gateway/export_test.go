package gateway

import (
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/internal/account"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/headers"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai"
)

// A Manner is how a reply is read without a gateway around it.
type Manner struct {
	Grammar   *sotto.Grammar
	Start     sotto.Beginning
	Assumed   bool
	MaxHold   int
	Display   routing.Display
	Narration routing.Narration
	Remembers bool
	Recorded  int  // bytes of the reply that are recorded
	JSON      bool // the request asked for JSON
	Calls     bool // the API is one whose calls are remembered
}

// NewReading returns the reader of one reply.
func NewReading(m Manner) Reading {
	if m.Display == "" {
		m.Display = routing.DisplayField
	}
	if m.Narration == "" {
		m.Narration = routing.NarrationText
	}
	r := &reading.Reading{Limits: boundsOf(Limits{}.withDefaults()), Manner: reading.Manner{
		Grammar: m.Grammar, Beginning: reading.Beginning{Start: m.Start, Learned: m.Assumed, Plain: true, ByRule: true}, MaxHold: m.MaxHold,
		Display: m.Display, Narration: m.Narration, Closes: reading.ClosesOf(m.Grammar.Dialect()), Remembers: m.Remembers, JSON: m.JSON, Can: wire.Capabilities{Members: m.Calls},
	}}
	if m.Recorded > 0 {
		r.Room = &account.Room{Left: m.Recorded}
	}
	return Reading{r}
}

// A Reading is a reader of one reply.
type Reading struct{ *reading.Reading }

// Text and Native read a text and a piece of reasoning.
func (r Reading) Text(choice int, text []byte) []wire.Part {
	return r.Found(wire.Event{Kind: wire.EventText, Choice: choice, Text: text})
}

func (r Reading) Native(choice int, text []byte) []wire.Part {
	return r.Found(wire.Event{Kind: wire.EventThought, Choice: choice, Text: text})
}

// CallIDs are the ids of the calls.
func (r Reading) CallIDs() []string { return r.Calls.List }

// An Endpoint is a row of the table of endpoints.
type Endpoint struct {
	Methods, Path, Kind string
	Codec               wire.Codec // may be nil
}

// Endpoints returns the table.
func Endpoints() []Endpoint {
	kinds := map[endpoints.Kind]string{endpoints.Replies: "replies", endpoints.Harmless: "harmless", endpoints.Local: "local", endpoints.Unread: "unread", endpoints.Stored: "stored", endpoints.Results: "results", endpoints.Audio: "audio", endpoints.Own: "own", endpoints.Probe: "probe"}
	var list []Endpoint
	for _, e := range endpoints.All {
		list = append(list, Endpoint{e.Methods, e.Path, kinds[e.Kind], e.Codec})
	}
	return list
}

// HandOver waits until what the handler has to record is handed over.
func (g *Handler) HandOver() { g.now().engine.handOver() }

// Held is how many bytes the handler holds for exchanges.
func (g *Handler) Held() int64 { return held(g.now().engine.budget) }

// Arriving returns how many bodies are on their way.
func (g *Handler) Arriving() int { _, n := g.now().engine.places.Arrivals.Held(); return n }

// HandOver waits until what the transport has to record is handed over.
func (t *Transport) HandOver() { t.engine.handOver() }

// Held is how many bytes the transport holds for exchanges.
func (t *Transport) Held() int64 { return held(t.engine.budget) }

func (e *engine) handOver() {
	if e.recorder != nil {
		e.recorder.Wait()
	}
}

// SocketMemory returns how many bytes the WebSocket connections of a gateway keep.
func SocketMemory(g *Handler) int64 { return g.sockets.Kept() }

// SocketLife sets the age at which the WebSocket connections of a gateway end.
func SocketLife(g *Handler, d time.Duration) { g.sockets.Life = d }

// Sockets returns how many WebSocket connections a gateway has.
func Sockets(g *Handler) int { return g.sockets.Open() }

// Used returns how many bytes are reserved for exchanges.
func Used(g *Handler) int64 { return held(g.now().engine.budget) }

// SocketsRetire reports whether some WebSocket connection takes no more turns.
func SocketsRetire(g *Handler) bool { return g.sockets.Retires() }

// A ListedHeaders is a group of headers that pass: their names, why, and the form that
// their values must have where reasoning is hidden.
type ListedHeaders struct{ Names, Why, Hidden string }

// ListedHeaderGroups are all of them.
func ListedHeaderGroups() (list []ListedHeaders) {
	for _, g := range headers.Groups {
		list = append(list, ListedHeaders{g.Names, g.Why, g.Hidden.Says})
	}
	return list
}

// ServerStart asks the upstream of a chat completion where its reply begins.
func ServerStart(g *Handler, body string, header http.Header) (start sotto.Beginning, mayOpen, separates bool, err error) {
	e := g.now().engine
	r := httptest.NewRequest("POST", "/v1/chat/completions", nil)
	r.Header = header
	hold, err := e.budget.Open()
	if err != nil {
		return "", false, false, err
	}
	defer hold.Leave()
	q, err := endpoints.ReadRequest(openai.Chat, r.URL.Path, []byte(body))
	if err != nil {
		return "", false, false, err
	}
	x := &exchange{engine: e, codec: openai.Chat, body: []byte(body), request: q, to: e.targetFor(openai.Chat.Name(), q)}
	x.route = e.routeOf(openai.Chat.Name(), q)
	if x.family, err = e.family(x.route, openai.Chat.Name(), q.Model); err != nil {
		return "", false, false, err
	}
	got := e.serverStart(x, r, hold)
	return got.start, got.mayOpen, got.separates, nil
}

// PromptsAsked is how many answers about prompts a gateway keeps.
func PromptsAsked(g *Handler) int {
	a := &g.now().engine.asked
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.kept)
}

// AgePrompts makes all answers about prompts older.
func AgePrompts(g *Handler, by time.Duration) {
	a := &g.now().engine.asked
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, it := range a.kept {
		it.until = it.until.Add(-by)
	}
}

func held(b *budget.Budget) int64 {
	used, _, _ := b.State()
	return used
}
