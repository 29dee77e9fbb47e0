package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/net/sealedslot"
	"github.com/sotto-llm/sotto/wire"
)

// Where the gateway keeps conversations, it makes them shorter too: it asks the upstream's model for a summary, by an
// exchange like any other, and seals what that wrote. The client sends the sealed summary back, and the model gets
// its text.

// summaryInstruction asks a model for a summary. It is the last message of the conversation.
const summaryInstruction = "Summarize this conversation so that you can continue it from your summary alone. " +
	"Keep what was asked for, what was decided and done, the facts, names, numbers, paths and results that still matter, and what is open. " +
	"The user's messages are kept word for word, so do not repeat them. Do not call tools. Answer with the summary and nothing else."

// summaryLabel stands before a summary that a model gets. The message is the user's: a model wrote the text, perhaps
// about pages of others, so it must not have the weight of the developer's instructions. It also stays where
// it stands, while many APIs move instructions to the beginning.
const summaryLabel = "Summary of the earlier conversation. A model wrote it in place of earlier replies and results of tools:\n\n"

// A compaction is what an exchange needs whose reply is a summary.
type compaction struct {
	codec wire.CompactCodec
	users []byte // the user's messages
}

// compactionKey is the context key of a request's compaction.
type compactionKey struct{}

func compactionOf(ctx context.Context) *compaction {
	s, _ := ctx.Value(compactionKey{}).(*compaction)
	return s
}

// compacting turns a request to make a conversation shorter into the turn that asks for the summary, if the gateway
// keeps the conversations of its route. Otherwise the request stays. If it is refused, ok is false. done must be
// called when the request has ended.
func (g *ruleset) compacting(w http.ResponseWriter, r *http.Request, e *endpoints.Endpoint) (_ *http.Request, done func(), ok bool) {
	c, compacts := e.Codec.(wire.CompactCodec)
	if e.Kept != wire.KeptCompact || !compacts || g.engine.kept == nil || !g.engine.mayKeep(c) {
		return r, func() {}, true
	}
	hold, err := g.engine.budget.Open()
	if err != nil {
		g.refuse(w, r, c, err)
		return r, func() {}, false
	}
	body, err := bodies.ReadRequest(w, r, g.engine.config.Limits.Body, hold)
	if err == nil {
		err = hold.Take(budget.ParsedCost(body) + int64(len(body)))
	}
	if err == nil {
		r, err = g.summaryRequest(r, e, c, body)
	}
	if err != nil {
		g.refuse(w, r, c, err)
	}
	return r, hold.Leave, err == nil
}

// summaryRequest returns the request for a summary, or the request as it came if its conversation is the
// upstream's.
func (g *ruleset) summaryRequest(r *http.Request, e *endpoints.Endpoint, c wire.CompactCodec, body []byte) (*http.Request, error) {
	var q *wire.Request
	err := foreignjson.Check(body)
	if err == nil {
		q, err = endpoints.ReadRequest(c, r.URL.Path, body)
	}
	keeps := g.engine.keepsAll(c)
	if err == nil {
		q.Model = modelname.Bounded(q.Model)
		keeps = g.engine.keeps(c, q)
	}
	switch {
	case !keeps:
		return withBody(r, body), nil
	case err != nil:
		return r, faults.New(faultname.BodyNotJSON, http.StatusBadRequest, fmt.Errorf("the request's body %w", err))
	}
	if body, err = c.SummaryBody(nil, body, summaryInstruction); err != nil {
		return r, err
	}
	const suffix = "/compact"
	e.Path, e.Kind, e.Kept, e.Barred = strings.TrimSuffix(e.Path, suffix), endpoints.Replies, wire.KeptNothing, nil
	turn := withBody(r.WithContext(context.WithValue(r.Context(), compactionKey{}, &compaction{codec: c})), body)
	u := *r.URL
	u.Path, u.RawPath = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), suffix), ""
	turn.URL = &u
	return turn, nil
}

// keepUsers keeps the user's messages of the whole conversation for the answer.
func (s *compaction) keepUsers(body []byte, hold *budget.Charge) error {
	if s == nil {
		return nil
	}
	if err := hold.Take(2 * int64(len(body))); err != nil { // they stand in the answer too
		return err
	}
	return hold.Use(budget.ParsedCost(body), func() error {
		s.users = s.codec.UserItems(body)
		return nil
	})
}

// forSummary returns the route of an exchange whose reply is a summary. Whatever the route's display, its text has
// neither a thought nor what the model says between calls.
func (r chosen) forSummary(s *compaction) chosen {
	if s == nil {
		return r
	}
	if r.Display != routing.DisplayHide {
		r.Display = routing.DisplayField
	}
	r.OnNoAnswer, r.Narration = routing.NoAnswerEmpty, routing.NarrationDrop
	return r
}

// summaryName says to whom a sealed summary belongs.
func (x *exchange) summaryName() sealedslot.Name {
	return sealedslot.Name{Caller: x.credential, Upstream: x.to.facts, Model: x.request.Model, API: "summary in " + x.clientCodec().Name()}
}

// compact makes the answer from the reply that has the summary.
func (x *exchange) compact(resp *http.Response) error {
	if x.streamed {
		return errors.New("the summary was not asked for as a stream, but came as one")
	}
	return x.replace(resp, func(reply []byte) ([]byte, error) {
		if err := (foreignjson.Limits{Members: foreignjson.ReplyMembers}).Check(reply); err != nil {
			return nil, fmt.Errorf("%w: the reply %w", wire.ErrUnreadable, err)
		}
		text, err := x.compacts.codec.SummaryOf(reply)
		if err != nil {
			return nil, err
		}
		sealed := x.engine.slots.Seal(x.summaryName(), text)
		if sealed == "" {
			return nil, fmt.Errorf("the model's summary is larger than %d KiB", sealedslot.Most>>10)
		}
		resp.Header.Set("Content-Type", "application/json")
		return x.compacts.codec.Compacted(nil, reply, x.compacts.users, sealed), nil
	})
}

// openSummaries puts messages in the place of the summaries that the gateway has sealed.
func (x *exchange) openSummaries(r *http.Request) error {
	c, ok := x.codec.(wire.CompactCodec)
	if !ok || !bytes.Contains(x.body, []byte(sealedslot.Prefix)) {
		return nil
	}
	if err := x.charge.Take(int64(len(x.body))); err != nil {
		return err
	}
	name, opened := x.summaryName(), false
	body, err := c.OpenSummaries(nil, x.body, func(at, sealed string) (string, bool, error) {
		if !sealedslot.Is(sealed) {
			return "", false, nil // the upstream may know it
		}
		text, ok := x.engine.slots.Open(name, sealed)
		if !ok {
			return "", false, faults.New(faultname.CompactionSealed, http.StatusBadRequest, fmt.Errorf("%s: %w", at, errSummary))
		}
		opened = true
		return summaryLabel + text, true, x.charge.Take(int64(len(text)))
	})
	if err != nil || !opened {
		return err
	}
	q, err := endpoints.ReadRequest(c, r.URL.Path, body)
	if err != nil {
		return faults.New(faultname.RequestUnreadable, http.StatusBadRequest, err)
	}
	q.Model = x.request.Model
	x.request, x.body = q, body
	return nil
}

var errSummary = errors.New("this compaction item cannot be opened: it was made for another caller, upstream or model, or by another gateway, or was changed. " +
	"Send the conversation itself in its place, or have it compacted again")
