package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/access"
	"github.com/sotto-llm/sotto/internal/foreignjson"
	"github.com/sotto-llm/sotto/internal/shorttext"
	"github.com/sotto-llm/sotto/wire"
)

// An exchange is one request to a model's route and its reply.
type exchange struct {
	g          *Handler
	codec      codec
	route      Route
	request    *wire.Request
	body       []byte // as sent to the upstream
	model      string // fit to be shown in logs
	caller     string // the name of its token, if there are tokens
	credential string // the client's, to keep clients apart
	key        learnedKey
	plan       history.Plan
	family     *family

	reading reading
	reply   wire.Reply
	rec     *recording // nil if nothing is recorded

	charge *charge // the memory reserved for it

	activity
	status   int
	streamed bool
	err      error // why the exchange failed, if it did
	ctx      context.Context
	cancel   context.CancelCauseFunc
	settled  bool // its starts are learned and its reasoning remembered
	complete bool // all of the reply was read and written
	finished bool
	ended    string // its outcome, once it is finished
	took     time.Duration
}

// shownModel returns a model's name fit for logs, metrics and files. A key that a
// client sent there by mistake is cut out before the name is shortened.
func (g *Handler) shownModel(name string, keys []string) string {
	keys = append(keys, g.config.secrets()...)
	slices.SortFunc(keys, func(a, b string) int { return len(b) - len(a) }) // one may begin with another
	for _, key := range keys {
		if len(key) >= shortestKey {
			name = strings.ReplaceAll(name, key, "[secret]")
		}
	}
	return shorttext.Escape(name, maxName)
}

// shortestKey is the length below which a value is not taken for a key, as in the
// record.
const shortestKey = 4

// exchange plans one exchange: how its reply is read, and what earlier reasoning
// its messages still carry to the upstream. upstream names the server.
func (g *Handler) exchange(c codec, body []byte, upstream string, r *http.Request, hold *charge) (*exchange, error) {
	if err := foreignjson.Check(body); err != nil { // a lenient upstream could read what we cannot
		return nil, &requestError{http.StatusBadRequest, fmt.Errorf("the request's body %w", err)}
	}
	if err := hold.take(parsedCost(body)); err != nil {
		return nil, err
	}
	q, err := c.Request(body)
	if err != nil {
		return nil, &requestError{http.StatusBadRequest, err}
	}
	x := &exchange{g: g, codec: c, body: body, charge: hold, caller: access.Caller(r.Context()), credential: access.Key(r), activity: activity{began: time.Now()}, request: q}
	x.model = g.shownModel(q.Model, access.Keys(r))
	q.Model = modelName(q.Model)
	x.route = g.routeOf(c.Name(), q, r.URL.Path)
	if x.family, err = g.family(x.route, c.Name(), q.Model); err != nil {
		return nil, err
	}
	x.key = learnedKey{Upstream: upstream, Model: x.model, Switch: q.Switch}
	if err := x.editHistory(); err != nil {
		return nil, err
	}
	x.read()
	return x, nil
}

// read sets up how the reply is read.
func (x *exchange) read() {
	start, assumed := x.startOf(!x.request.Stream)
	r := x.route
	narration := r.Narration
	can := x.codec.Capabilities()
	if narration == NarrationField && !can.Members {
		narration = NarrationText
	}
	x.reading = reading{limits: x.g.config.Limits, manner: manner{
		grammar: x.family.grammar, start: start, assumed: assumed, maxHold: x.g.config.Limits.Hold,
		display: r.Display, narration: narration, closes: x.family.closes,
		can: can, remembers: x.remembers(), fixed: r.Start != "",
	}}
	if !x.request.Stream {
		x.reading.maxHold = -1
	}
	settings := wire.Settings{
		Fields: r.ReasoningFields, Request: x.request,
		Hide: r.Display == DisplayHide, Keep: r.Display == DisplayKeep,
	}
	if settings.Keep {
		settings.Fields = nil
	}
	x.reply = x.codec.Reply(settings)
}

// remembers reports whether a later request may have to contain the reply's
// reasoning again.
func (x *exchange) remembers() bool {
	switch rule := x.family.rule; x.route.History {
	case history.Restore:
		return true
	case history.Auto:
		return rule.Demands || rule.Need == history.NeedAll
	}
	return false
}

// editHistory plans which earlier reasoning goes back to the model, and edits the
// body.
func (x *exchange) editHistory() error {
	if !x.g.config.HistoryDryRun && !slices.ContainsFunc(x.request.Messages, func(m wire.Message) bool { return m.Role == "assistant" }) {
		return nil
	}
	k := history.Knowledge{
		Grammar: x.family.grammar, Native: x.g.learned.native(x.key), Fields: x.route.ReasoningFields,
		Tags: x.route.Display == DisplayTags, Recall: x.g.store.For(x.credential, x.request),
	}
	err := x.charge.use(readCost(assistantTexts(x.request)...), func() error {
		x.plan = history.PlanFor(x.request, x.route.History, k, x.codec)
		return nil
	})
	if err != nil || len(x.plan.Changes) == 0 || x.g.config.HistoryDryRun {
		return err
	}
	if err := x.charge.take(int64(len(x.body))); err != nil {
		return err
	}
	body, err := x.codec.Edit(nil, x.body, x.plan.Changes)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	x.body = body
	return nil
}

// held returns how many bytes the reading and the recording of the reply hold.
func (x *exchange) held() int {
	n := x.reading.weight
	if x.rec != nil {
		n += x.g.config.Limits.Recorded - x.rec.room.Left
	}
	return n
}

// finish ends the exchange, once, whichever way it exits. It learns, remembers,
// counts, logs and records.
func (x *exchange) finish() {
	if x.finished {
		return
	}
	x.finished = true
	for _, i := range x.reading.Open() {
		x.reading.Close(i, sotto.EndAborted)
	}
	x.settle()
	x.ended, x.took = x.outcome(), time.Since(x.began)
	x.g.metrics.exchange(x)
	x.log()
	x.record()
}

// settle learns and remembers what the first choice has shown, once that has ended.
// This happens before the client knows of the end, because it may ask again at
// once.
func (x *exchange) settle() {
	choices := x.reading.choices
	if x.settled || len(choices) == 0 || choices[0] == nil || !choices[0].closed {
		return
	}
	x.settled = true
	if x.status < 200 || x.status > 299 || x.err != nil || x.request.Model == "" {
		return
	}
	x.remember()
	x.learn()
}

// outcome says in one word how the exchange ended, for metrics.
func (x *exchange) outcome() string {
	switch {
	case x.complete:
		return "answered"
	case x.err == nil && (x.status < 200 || x.status > 299):
		return "refused"
	case x.gone():
		return "canceled"
	}
	return "failed"
}

// gone reports whether the client left before the end.
func (x *exchange) gone() bool {
	if x.ctx == nil || x.ctx.Err() == nil {
		return false
	}
	cause := context.Cause(x.ctx)
	return !errors.Is(cause, errSilent) && !errors.Is(cause, context.DeadlineExceeded)
}
