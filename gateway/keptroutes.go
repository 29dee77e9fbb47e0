package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/kept"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// Requests for the replies and conversations that the gateway keeps.

// A keptRequest asks for something that the gateway may keep.
type keptRequest struct {
	rules  *ruleset
	store  *kept.Store
	r      *http.Request
	w      http.ResponseWriter
	at     *endpoints.Endpoint
	codec  wire.KeptCodec
	caller string // whose it is
	id     string // of the reply or the conversation
	hold   *budget.Charge
}

// answerKept answers a request for what the gateway keeps, and reports whether it did. What it does not have may be
// the upstream's.
func (g *ruleset) answerKept(w http.ResponseWriter, r *http.Request, e *endpoints.Endpoint) bool {
	if e.Kept == wire.KeptNothing {
		return false
	}
	c, ok := e.Codec.(wire.KeptCodec)
	if !ok || e.Kept == wire.KeptCompact || g.engine.kept == nil || !g.engine.mayKeep(c) {
		return g.barred(w, r, e)
	}
	hold, err := g.engine.budget.Open()
	if err != nil {
		g.refuse(w, r, c, err)
		return true
	}
	defer hold.Leave()
	q := &keptRequest{rules: g, store: g.engine.kept, r: r, w: w, at: e, codec: c, caller: g.keeper(r), hold: hold}
	q.id, _ = e.Thing(r.URL)
	q.ofOthers()
	var body []byte
	err = hold.Use(g.engine.kept.Reading(), func() (err error) {
		body, err = q.answer()
		return err
	})
	switch {
	case errors.Is(err, kept.ErrNotFound) && q.elsewhere():
		return g.barred(w, r, e)
	case err != nil:
		g.refuse(w, r, c, keptFault(err))
	default:
		q.send(body)
	}
	return true
}

// barred refuses a request that may not go to the upstream, and reports whether it did.
func (g *ruleset) barred(w http.ResponseWriter, r *http.Request, e *endpoints.Endpoint) bool {
	if e.Barred != nil {
		g.refuseThing(w, e, e.Barred)
	}
	return e.Barred != nil
}

// ofOthers lets an operator have what others have made.
func (q *keptRequest) ofOthers() {
	g := q.rules
	if !g.access.Guarded() || g.access.Restricted(q.r) {
		return
	}
	if owner := g.engine.owners.Of(q.at.Of, q.id); owner != "" {
		q.caller = keeperOf(owner)
	}
}

// elsewhere reports whether the upstream may have what the gateway does not keep. A new conversation names no
// model: it is made where a request without a model goes.
func (q *keptRequest) elsewhere() bool { return !q.rules.engine.keepsAll(q.codec) }

// answer returns what the client gets.
func (q *keptRequest) answer() ([]byte, error) {
	switch q.at.Kept {
	case wire.KeptReplies:
		if q.r.Method == http.MethodDelete {
			return q.codec.AppendKept(nil, wire.KeptObject{Kind: wire.KeptDeletedReply, ID: q.id}), q.store.Delete(q.caller, q.id)
		}
		return q.store.Reply(q.caller, q.codec, q.id)
	case wire.KeptCancel:
		return q.cancel()
	case wire.KeptInput:
		items, err := q.store.Input(q.caller, q.codec, q.id)
		if err != nil {
			return nil, err
		}
		return q.page(items)
	case wire.KeptConversations, wire.KeptOne, wire.KeptOfOne, wire.KeptItemOfOne:
		return q.conversation()
	}
	return nil, kept.ErrNotFound
}

// The bounds of a page of items, as the API has them.
const (
	usualPage = 20
	maxPage   = 100
)

// page returns the page of a list that a request asks for.
func (q *keptRequest) page(items []wire.KeptItem) ([]byte, error) {
	query, limit := q.r.URL.Query(), usualPage
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxPage {
			return nil, faults.New(faultname.ParameterInvalid, http.StatusBadRequest, fmt.Errorf("limit: want a number from 1 to %d", maxPage))
		}
		limit = n
	}
	switch order := query.Get("order"); order {
	case "", "desc":
		slices.Reverse(items)
	case "asc":
	default:
		return nil, faults.New(faultname.ParameterInvalid, http.StatusBadRequest, errors.New("order: want asc or desc"))
	}
	if after := query.Get("after"); after != "" {
		at := slices.IndexFunc(items, func(it wire.KeptItem) bool { return it.ID == after })
		if at < 0 {
			return nil, faults.New(faultname.ParameterInvalid, http.StatusBadRequest, errors.New("after: no item of the list has this id"))
		}
		items = items[at+1:]
	}
	shown := items[:min(limit, len(items))]
	return q.codec.AppendKept(nil, wire.KeptObject{Kind: wire.KeptList, Items: shown, More: len(items) > len(shown)}), nil
}

// send sends an answer: a reply as the one event of a stream, if the client asks for a stream.
func (q *keptRequest) send(body []byte) {
	h := q.w.Header()
	h.Set("Content-Type", "application/json")
	if q.at.Kept == wire.KeptReplies && q.r.Method == http.MethodGet && q.r.URL.Query().Get("stream") == "true" {
		if event, ok := q.codec.WholeEvent(nil, body); ok {
			h.Set("Content-Type", "text/event-stream; charset=utf-8")
			body = sse.Append(nil, jsonedit.Parse(event).Get("type").Str, event)
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if q.r.Method != http.MethodHead {
		_, _ = q.w.Write(body) // nobody reads it if the client has left
	}
}

// object reads the body of a request, which is a JSON object or empty.
func (q *keptRequest) object() (gjson.Result, error) {
	body, err := bodies.ReadRequest(q.w, q.r, q.rules.engine.config.Limits.Body, q.hold)
	if err != nil {
		return gjson.Result{}, err
	}
	if body = bytes.TrimSpace(body); len(body) == 0 {
		body = []byte("{}")
	}
	if err := foreignjson.Check(body); err != nil {
		return gjson.Result{}, faults.New(faultname.BodyNotJSON, http.StatusBadRequest, fmt.Errorf("the request's body %w", err))
	}
	if err := q.hold.Take(budget.ParsedCost(body)); err != nil {
		return gjson.Result{}, err
	}
	root, err := foreignjson.Parse(body)
	if err == nil && !root.IsObject() {
		err = faults.New(faultname.RequestUnreadable, http.StatusBadRequest, errors.New("the request's body is not a JSON object"))
	}
	return root, err
}
