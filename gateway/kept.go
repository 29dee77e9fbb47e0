package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/kept"
	"github.com/sotto-llm/sotto/gateway/internal/sockets"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/wire"
)

// Conversations of the Responses API for upstreams that keep none: see package kept.

// keptFolder is the folder of the conversations in the data folder.
const keptFolder = "responses"

// openKept opens what keeps conversations: in the store that replicas share, if that can keep them,
// in the data folder, or in memory.
func openKept(c *Config) (*kept.Store, error) {
	l := c.Limits
	of := &conversation.Store{Limits: conversation.Limits{Number: l.Conversations, Bytes: l.ConversationsBytes, Each: l.Conversation, Keep: l.ConversationsFor}}
	level, shares := c.Shared.(conversation.Level)
	var err error
	switch {
	case shares:
		err = of.Share(level, c.SharedSecret)
	case c.Data != "":
		of.Folder = filepath.Join(c.Data, keptFolder)
	default:
		err = of.KeepInMemory()
	}
	if err != nil {
		return nil, fmt.Errorf("kept conversations: %w", err)
	}
	return kept.New(of), nil
}

// keeper names the caller whose conversations a request may continue. Where callers have no
// tokens of the gateway, each has a key of the upstream's.
func (g *ruleset) keeper(r *http.Request) string {
	if g.access.Guarded() {
		return keeperOf(access.Account(r.Context()))
	}
	return "responses of the key " + access.Key(r)
}

func keeperOf(account string) string { return "responses of " + account }

// keeps reports whether the gateway keeps the conversations of a route's requests: in front of an
// upstream of another API, or because the route says so. Agents keep their own.
func (e *engine) keeps(c codec, q *wire.Request) bool {
	if e.kept == nil || e.config.Separated != nil && e.config.Separated(q.Model) {
		return false
	}
	return keepsFor(c, e.routeOf(c.Name(), q).Route, e.targetFor(c.Name(), q))
}

func keepsFor(c codec, r routing.Route, to *target) bool {
	switch r.Conversations {
	case routing.ConversationsGateway:
		return true
	case routing.ConversationsUpstream:
		return false
	}
	return to != nil && to.api != nil && to.api.Name() != c.Name()
}

// routesOf returns whether the gateway keeps the conversations of each route that takes an API.
func (e *engine) routesOf(c codec) (keeps []bool) {
	for _, r := range append(slices.Clone(e.config.Routes), e.config.Default) {
		if r.TakesAPI(c.Name()) {
			keeps = append(keeps, keepsFor(c, r, e.target(r)))
		}
	}
	return keeps
}

// mayKeep reports whether the gateway keeps conversations of some route, and keepsAll whether it keeps those of
// all.
func (e *engine) mayKeep(c codec) bool  { return slices.Contains(e.routesOf(c), true) }
func (e *engine) keepsAll(c codec) bool { return !slices.Contains(e.routesOf(c), false) }

// continued begins the turn of a request whose conversation the gateway keeps, and returns the request
// with the whole conversation. The turn is nil if the gateway keeps nothing of it.
func (g *ruleset) continued(r *http.Request, e *endpoints.Endpoint, body []byte, hold *budget.Charge) (*kept.Turn, []byte, error) {
	c, ok := e.Codec.(wire.KeptCodec)
	if !ok || g.engine.kept == nil || foreignjson.Check(body) != nil { // which is refused later
		return nil, body, nil
	}
	q, err := endpoints.ReadRequest(c, r.URL.Path, body)
	if err != nil {
		return nil, body, nil // too
	}
	q.Model = modelname.Bounded(q.Model)
	if !g.engine.keeps(c, q) {
		return nil, body, nil
	}
	asked, err := c.Continues(body)
	if err != nil {
		return nil, nil, err
	}
	if asked.Background && sockets.IDs(r.Context()) != nil {
		return nil, nil, &wire.TurnError{Detail: "background: over a WebSocket, somebody waits for each reply: ask over HTTP"}
	}
	cost := int64(0)
	if asked.Previous != "" || asked.Conversation != "" {
		cost = g.engine.kept.Reading()
	}
	var turn *kept.Turn
	var why error
	if err := hold.Use(cost, func() (err error) {
		turn, why, err = g.engine.kept.Begin(g.keeper(r), c, asked)
		return err
	}); err != nil {
		return nil, nil, keptFault(err)
	}
	if why != nil {
		g.engine.unkept(why)
		if asked.Background {
			return nil, nil, keptFault(why) // nobody could ask for the reply
		}
	}
	if body, err = g.whole(turn, c, asked, hold); err != nil {
		turn.Drop()
		return nil, nil, err
	}
	if owner := g.owner(r); owner != "" && turn.ID != "" {
		g.engine.owners.Note("responses", turn.ID, owner) // by which operators find it
	}
	return turn, body, nil
}

// whole returns the body of a turn with the whole conversation, within the bounds of a request.
func (g *ruleset) whole(turn *kept.Turn, c wire.KeptCodec, asked *wire.Turn, hold *budget.Charge) ([]byte, error) {
	size := int64(len(asked.Message) + len(turn.Earlier))
	if limit := g.engine.config.Limits.Body; size > limit {
		return nil, bodies.TooLarge(limit)
	}
	if err := hold.Take(2 * size); err != nil {
		return nil, err
	}
	return c.WholeBody(nil, asked, turn.Earlier), nil
}

// keptFault returns the fault of a request for what is kept.
func keptFault(err error) error {
	if own, ok := errors.AsType[*faults.Request](err); ok {
		return own
	}
	bad, ok := errors.AsType[*wire.TurnError](err)
	switch {
	case ok:
		return bad
	case errors.Is(err, kept.ErrNotFound):
		return faults.New(faultname.NotYours, http.StatusNotFound, errors.New("nothing that this caller made has this id"))
	case errors.Is(err, conversation.ErrBusy):
		return &wire.TurnError{Fault: wire.TurnLocked}
	case errors.Is(err, conversation.ErrFull):
		return faults.New(faultname.ConversationFull, http.StatusBadRequest, fmt.Errorf("%w: begin another one", conversation.ErrFull))
	case errors.Is(err, conversation.ErrNoRoom):
		return faults.New(faultname.ConversationsCrowded, http.StatusServiceUnavailable, err)
	case errors.Is(err, conversation.ErrUnreachable):
		return faults.New(faultname.ConversationsUnreachable, http.StatusServiceUnavailable, errors.New("kept conversations cannot be reached now: ask again later, or send the whole input with store: false"))
	}
	return faults.New(faultname.ConversationUnreadable, http.StatusInternalServerError, errors.New("the conversation cannot be read"))
}

// unkept says in the log that a reply is not kept, once a minute.
func (e *engine) unkept(err error) {
	if text := faults.Plain(err.Error()); e.denied.Now("kept: " + text) {
		e.config.Logger.Warn("a reply could not be kept: a request that continues it gets the error previous_response_not_found", "error", text)
	}
}

// keepReply lets the client's response name where the reply is kept, and keeps it when it ends.
func (x *exchange) keepReply(resp *http.Response) error {
	switch {
	case resp.StatusCode < 200, resp.StatusCode > 299:
		return nil
	case x.compacts != nil:
		return x.compact(resp)
	case x.kept == nil:
		return nil
	}
	if x.streamed {
		resp.Body = x.kept.Stream(resp.Body, x.charge.Take, x.engine.unkept)
		return nil
	}
	err := x.replace(resp, func(reply []byte) ([]byte, error) {
		return x.kept.Whole(reply, x.engine.unkept), nil
	})
	if err != nil {
		return fmt.Errorf("the reply cannot be kept: %w", err)
	}
	return nil
}

// replace makes the body that a client gets from a whole reply.
func (x *exchange) replace(resp *http.Response, with func(reply []byte) ([]byte, error)) error {
	body, err := x.charge.Read(resp.Body, 2*x.engine.config.Limits.Body, resp.ContentLength)
	resp.Body.Close()
	if err == nil {
		err = x.charge.Take(2 * int64(len(body))) // what is made of it, and kept
	}
	if err == nil {
		body, err = with(body)
	}
	if err != nil {
		x.complete = false
		return err
	}
	bodies.Replace(resp, body)
	resp.Body = bodies.Watch(resp.Body, &x.Activity, false)
	return nil
}

// continues returns the reply that the request continues at the upstream; empty if it continues none there.
func (x *exchange) continues() string {
	c, ok := x.codec.(wire.KeptCodec)
	if !ok || x.kept != nil || x.stored || x.bridge != nil || !bytes.Contains(x.body, []byte("previous_response_id")) {
		return ""
	}
	asked, err := c.Continues(x.body)
	if err != nil {
		return "" // the upstream may know what it means
	}
	return asked.Previous
}

// checkContinued returns an error if the upstream says of its reply that it continues none, although the request
// names one: it does not keep conversations, and the model knows nothing of this one. If it says nothing, it may have
// continued it.
func (x *exchange) checkContinued(response gjson.Result) error {
	previous := x.continues()
	said := response.Get("previous_response_id")
	if previous == "" || response.Get("object").Str != "response" || !said.Exists() || said.Type != gjson.Null {
		return nil
	}
	return &wire.TurnError{Fault: wire.TurnForgotten, Detail: shorttext.Escape(previous, modelname.Most)}
}

// checkContinuedStream is checkContinued for a stream, whose first event has the response.
func (x *exchange) checkContinuedStream(frames io.ReadCloser) (io.ReadCloser, error) {
	frames, response, err := x.peekStream(frames, nil)
	if err != nil {
		return nil, err
	}
	return frames, x.checkContinued(response)
}
