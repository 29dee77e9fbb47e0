package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/kept"
	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/gateway/internal/places"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/gateway/internal/recording"
	"github.com/sotto-llm/sotto/gateway/internal/starts"
	"github.com/sotto-llm/sotto/gateway/internal/things"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/base/lograte"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/net/owners"
	"github.com/sotto-llm/sotto/internal/net/sealedslot"
	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/internal/reply/promptshown"
	"github.com/sotto-llm/sotto/wire"
)

// An engine runs exchanges, whoever sends the requests: a [Handler] gets them from
// its clients, a [Transport] from the program around it. It has what all exchanges
// share, and who observes them.
type engine struct {
	config   Config
	learned  *starts.Table
	store    *history.Store
	families families
	asked    askedPrompts
	examined *promptshown.Examined // what sotto doctor kept
	makers   *things.Makers
	owners   *owners.Store
	kept     *kept.Store // of conversations; nil in a transport
	slots    *sealedslot.Keys
	jobs     *jobs // the replies that are under way in the background
	denied   *lograte.Limit
	withheld *lograte.Limit // models of which a reply was withheld
	// below sends a request of the gateway's own to an upstream: it completes the URL
	// and the key. If nil, the gateway makes no requests of its own.
	below     func(out *http.Request, to *target)
	budget    *budget.Budget
	observers observing.Observers
	recorder  *recording.Recorder // nil if nothing is recorded
	places    *places.Places      // of the exchanges under way
	unshare   func()              // ends the connection to the replicas; nil if there is none

	ownTransport bool // the gateway made the transport, not the caller
	targets      map[string]*target
}

// newEngine returns an engine for a configuration with what a caller left open.
func newEngine(c Config) (*engine, error) {
	own := c.Transport == nil
	c = c.withDefaults()
	learned, err := starts.Open(c.Data, c.Limits.Learned)
	if err != nil {
		return nil, err
	}
	examined, err := promptshown.OpenExamined(c.Data, c.Limits.Learned)
	if err != nil {
		return nil, err
	}
	made, err := openOwners(c)
	if err != nil {
		return nil, err
	}
	slots, err := openSlotKeys(c)
	if err != nil {
		return nil, err
	}
	e := &engine{
		config: c, ownTransport: own, owners: made, slots: slots, denied: eachMinute(), withheld: eachMinute(),
		families: families{max: c.Limits.Learned}, asked: askedPrompts{max: c.Limits.Learned},
		examined: examined,
		learned:  learned,
		makers:   things.NewMakers(c.Limits.Learned),
		jobs:     newJobs(),
		store:    history.NewStore(c.Limits.Restored, c.Limits.RestoredBytes, c.Limits.RestoredFor),
		budget:   budget.New(c.Limits.MemoryBytes, c.Logger),
		places: &places.Places{
			Open: access.NewSlots(c.Limits.Exchanges, 0), Arrivals: serving.NewArrivals(places.Arriving(c.Limits.Exchanges, c.Limits.MemoryBytes), 0), Limiter: new(access.Limiter),
		},
		recorder: newRecorder(c),
	}
	e.targets = e.targetsOf(&e.config, nil)
	e.places.Limiter.SetTokens(c.tokens())
	if err := e.share(); err != nil {
		return nil, err
	}
	e.observers, err = e.observe()
	if err != nil {
		e.alone()
	}
	return e, err
}

// alone ends the connection to the replicas.
func (e *engine) alone() {
	if e.unshare != nil {
		e.unshare()
	}
}

// close saves what was learned, closes the idle connections, and waits for the record.
func (e *engine) close() error {
	e.jobs.end()
	for _, it := range e.connecting() {
		it.CloseIdleConnections()
	}
	e.alone()
	if e.recorder != nil {
		e.recorder.Close()
	}
	return errors.Join(e.learned.Flush(), e.owners.Close())
}

// hides reports whether some route hides reasoning.
func (c *Config) hides() bool {
	return c.Default.Display == routing.DisplayHide || slices.ContainsFunc(c.Routes, func(r routing.Route) bool { return r.Display == routing.DisplayHide })
}

// begin begins the exchange of a request: it plans how the reply is read, and what
// earlier reasoning the messages still carry to the upstream. r is the request that
// the body came with. If to is nil, the route decides where the request goes.
func (e *engine) begin(c codec, body []byte, r *http.Request, to *target, hold *budget.Charge) (*exchange, error) {
	x, err := e.open(c, body, r, to, hold)
	if err != nil {
		return nil, err
	}
	if x.route.Display != routing.DisplayKeep && x.beginning(!x.request.Stream).Doubt != reading.NoDoubt {
		x.server = e.serverStart(x, r, hold)
	}
	if err := x.prepare(); err != nil {
		return nil, err
	}
	hold.Parsed(body)
	x.readRequest()
	x.share = places.ShareOf(r.Context())
	x.account = access.Account(r.Context())
	x.share.Spend(x.promptEstimate())
	x.begun(r)
	return x, nil
}

// open reads a request, and writes it in the API of the upstream. Nothing is asked of the upstream.
func (e *engine) open(c codec, body []byte, r *http.Request, to *target, hold *budget.Charge) (*exchange, error) {
	if err := foreignjson.Check(body); err != nil { // a lenient upstream could read what we cannot
		return nil, faults.New(faultname.BodyNotJSON, http.StatusBadRequest, fmt.Errorf("the request's body %w", err))
	}
	if err := hold.Take(budget.ParsedCost(body)); err != nil {
		return nil, err
	}
	q, err := endpoints.ReadRequest(c, r.URL.Path, body)
	if err != nil {
		return nil, faults.New(faultname.RequestUnreadable, http.StatusBadRequest, err)
	}
	if hasMinted(q) {
		body = chatjson.Unsign(nil, body)
	}
	x := &exchange{
		engine: e, identity: observing.IdentityOf(r), codec: c, body: body, charge: hold, request: q, Activity: bodies.Activity{Began: time.Now()},
		caller: access.Caller(r.Context()), credential: access.Key(r),
		inside: access.IsInside(r.Context()), trailers: observing.WantsTrailers(r),
	}
	x.model = e.shownModel(q.Model, access.Keys(r))
	q.Model = modelname.Bounded(q.Model)
	x.compacts = compactionOf(r.Context())
	x.route = e.routeOf(c.Name(), q).forSummary(x.compacts)
	if x.to = to; to == nil {
		x.to = e.targetFor(c.Name(), q)
	}
	if err := x.openSummaries(r); err != nil {
		return nil, err
	}
	if err := x.cross(r); err != nil {
		return nil, err
	}
	c, q = x.codec, x.request
	if err := x.translateSwitch(); err != nil {
		return nil, err
	}
	if x.family, err = e.family(x.route, c.Name(), q.Model); err != nil {
		return nil, err
	}
	x.key = starts.Key{Upstream: x.to.facts, Model: x.model, Switch: q.Switch, Caller: access.Account(r.Context())}
	if x.shown = evidenceOf(x); x.shown.echoes && x.route.Display == routing.DisplayHide {
		return nil, errEcho
	}
	return x, nil
}

// prepare makes the request that the upstream gets: with the reasoning of earlier turns that the model gets back.
func (x *exchange) prepare() error {
	if err := x.openSlots(); err != nil {
		return err
	}
	if err := x.editHistory(); err != nil {
		return err
	}
	return x.checkStranded()
}

// hasMinted reports whether a request has reasoning in a form that Sotto gave it.
func hasMinted(q *wire.Request) bool {
	return slices.ContainsFunc(q.Messages, func(m wire.Message) bool {
		return slices.ContainsFunc(m.Thoughts, func(t wire.Thought) bool { return t.Minted })
	})
}

// assistantTexts are the texts of a history that are read for reasoning.
func assistantTexts(q *wire.Request) []string {
	var texts []string
	for i := range q.Messages {
		if q.Messages[i].Role == "assistant" {
			texts = append(texts, q.Messages[i].Texts...)
		}
	}
	return texts
}
