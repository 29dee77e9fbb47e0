package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/bridging"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/kept"
	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/gateway/internal/recording"
	"github.com/sotto-llm/sotto/gateway/internal/starts"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

// An exchange is one request to a model's route and its reply.
type exchange struct {
	engine     *engine
	identity   observing.Identity
	codec      codec            // of the API that the upstream speaks
	bridge     *bridging.Bridge // nil if the client speaks it too
	route      chosen
	request    *wire.Request
	body       []byte // as sent to the upstream
	original   []byte // the body of the client, if history was edited and is recorded
	model      string // fit to be shown in logs
	caller     string // the name of its token, if there are tokens
	account    string // the name of the token whose limits it counts against
	share      *access.Share
	credential string // the client's, to keep clients apart
	inside     bool   // the caller is another server of this process
	key        starts.Key
	to         *target // where the request goes
	plan       history.Plan
	opened     bool             // the client had sealed copies of thoughts
	unopened   int              // … and so many of them do not open
	switched   *switches.Result // nil if the request's control of thinking was not translated
	family     *family
	shown      requestEvidence
	server     serverEvidence

	trailers bool // the client reads trailers

	heard   []func(*observing.Report) // who is told of the end
	outward http.Header               // what listeners send to the upstream

	client http.ResponseWriter // nil in a transport, whose caller reads the reply

	reading  reading.Reading
	reply    wire.Reply
	carried  wire.Carriage        // of a stream in another form than the codec's framing
	outgoing wire.Carriage        // … of the client's
	carrier  *wire.Carrier        // … and the form; nil if there is none
	rec      *recording.Recording // nil if nothing is recorded

	// If a guard judges the reply, ahead reads it before the client, and has what is
	// recorded of it; nil if none does.
	ahead      *reading.Reading
	guarded    *watch // of a streamed reply
	judgements *observing.Judgements

	asked    string      // the path at the upstream, fit to be shown
	kept     *kept.Turn  // of a conversation that the gateway keeps; nil if it keeps none
	compacts *compaction // the reply is a summary; nil if it is not
	stored   bool        // the reply was made earlier, and is fetched
	after    int         // if stored: the last event that the client has, or -1

	charge *budget.Charge // the memory reserved for it

	bodies.Activity
	status    int
	retries   int       // how often the request was sent again
	header    time.Time // when the header of the upstream's response came
	streamed  bool
	err       error // why the exchange failed, if it did
	ctx       context.Context
	cancel    context.CancelCauseFunc
	noted     bool   // what it made at the upstream is noted
	owner     string // the caller whose things are noted; empty if the gateway does not know its callers
	settled   bool   // its starts are learned and its reasoning remembered
	delivered bool   // the client of a stream has the API's own sign that the reply is complete
	complete  bool   // all of the reply was read and written
	ended     string // its outcome, once it is finished
	took      time.Duration
}

// shownModel returns a model's name fit for logs, metrics and files. A key that a
// client sent there by mistake is cut out before the name is shortened.
func (e *engine) shownModel(name string, keys []string) string {
	keys = append(keys, e.config.secrets()...)
	slices.SortFunc(keys, func(a, b string) int { return len(b) - len(a) }) // one may begin with another
	for _, key := range keys {
		if len(key) >= shortestKey {
			name = strings.ReplaceAll(name, key, "[secret]")
		}
	}
	return shorttext.Escape(name, modelname.Most)
}

// shortestKey is the length below which a value is not taken for a key, as in the
// record.
const shortestKey = 4

// readRequest sets up how the reply is read.
func (x *exchange) readRequest() {
	r := x.route
	narration := r.Narration
	can := x.codec.Capabilities()
	if x.bridge != nil {
		can = x.bridge.Capabilities()
	}
	if narration == routing.NarrationText && x.inside {
		narration = routing.NarrationField // a page of this program shows it apart
	}
	if narration == routing.NarrationField && !can.Members {
		narration = routing.NarrationText
	}
	x.reading = reading.Reading{Limits: boundsOf(x.engine.config.Limits), Manner: reading.Manner{
		Grammar: x.family.grammar, Beginning: x.beginning(!x.request.Stream), MaxHold: x.engine.config.Limits.Hold,
		Display: x.display(), Narration: narration, Closes: x.family.closes,
		Can: can, Bridged: x.bridge != nil, Remembers: x.remembers(), Fixed: r.Start != "", JSON: x.request.JSON, OnNoAnswer: r.OnNoAnswer, Rules: reading.ThinkingOf(&r.Route),
	}}
	x.reading.Tools, x.reading.Callable = x.toolset(), x.callable()
	if codec, ok := x.codec.(wire.BlockCodec); ok && (x.reading.Remembers || x.copies()) {
		x.reading.Turn = turn.NewCollector(codec, x.engine.config.Limits.Frame)
	}
	if _, ok := x.codec.(wire.ListCodec); ok && x.returnsList() {
		x.reading.Returned = reading.NewReturned(x.engine.config.Limits.Frame)
	}
	if r.Display == routing.DisplayHide {
		x.reading.Besides = func(text []byte) []byte { return x.errorTexts(true).Text(text) }
	}
	if !x.request.Stream {
		x.reading.MaxHold = -1
	}
	x.reply = x.newReply()
}

// display says where the reasoning of the reply goes. A client that asked for JSON parses the text,
// so no tags may stand in it: the thought goes to the API's own place.
func (x *exchange) display() routing.Display {
	if x.route.Display == routing.DisplayTags && x.request.JSON {
		return routing.DisplayField
	}
	return x.route.Display
}

// callable returns the names of the tools that the request lets the model call. A stored
// reply has none: its request is not known, and a thought may mention any tool.
func (x *exchange) callable() []string {
	names := make([]string, 0, len(x.request.Declared))
	if !x.request.NoCalls {
		for _, t := range x.request.Declared {
			names = append(names, t.Name)
		}
	}
	return names
}

// newReply returns the writer of the reply.
func (x *exchange) newReply() wire.Reply {
	s := x.settings()
	if x.bridge != nil {
		s.Writer = x.bridge.Writer(s, x.copyThoughts())
	}
	return x.readingErrors(x.codec.Reply(s))
}

// settings say in what form the client wants the reply.
func (x *exchange) settings() wire.Settings {
	r := x.route
	settings := wire.Settings{
		Fields: r.ReasoningFields, Request: x.request,
		Cuts: reading.ThinkingOf(&r.Route).Stops() || r.Guard.Guard != nil,
		Hide: r.Display == routing.DisplayHide, Keep: r.Display == routing.DisplayKeep,
		Inline:  x.display() == routing.DisplayTags,
		Quiet:   r.Narration == routing.NarrationDrop,
		Summary: r.ResponsesReasoning == routing.ReasoningSummary || x.request.Summary,
		Sign:    r.ThinkingSignature == routing.SignatureSotto && r.Display != routing.DisplayKeep,
		Slot:    x.slot(),
	}
	if settings.Keep {
		settings.Fields = nil
	}
	settings.Written = x.bridge != nil || x.engine.config.Exact.writes(settings)
	return settings
}

// remembers reports whether a later request may have to contain the reply's
// reasoning again.
func (x *exchange) remembers() bool {
	if x.copies() {
		return true
	}
	rule := x.family.rule
	if _, blocks := x.codec.(wire.BlockCodec); blocks && (x.route.History != history.StripAll || rule.Binds) {
		return true // a client may give a thought back in another form than its provider's
	}
	// Some clients send only a part of a thought back, which then needs the whole, or have it as text,
	// where only memory tells it from what the model said.
	parts := x.route.Display != routing.DisplayHide
	switch x.route.History {
	case history.Restore:
		return true
	case history.Auto:
		return rule.Demands || rule.Signs || rule.Need == history.NeedAll || x.request.Tools || parts
	case history.Strip:
		return rule.Signs || x.seals() || parts && x.request.Tools
	case history.StripAll:
		return rule.Signs || x.seals()
	}
	return false
}

// seals reports whether the reply may have encrypted items that a call of it needs back.
func (x *exchange) seals() bool { return x.codec.Capabilities().Items && x.request.Tools }

// editHistory plans which earlier reasoning goes back to the model, and edits the
// body.
func (x *exchange) editHistory() error {
	if !x.engine.config.HistoryDryRun && !slices.ContainsFunc(x.request.Messages, func(m wire.Message) bool { return m.Role == "assistant" }) {
		x.plan.Foreign = x.unopened
		return nil
	}
	k := history.Knowledge{
		Grammar: x.family.grammar, Native: x.engine.learned.Native(x.key, x.codec.Name()), Fields: x.route.ReasoningFields,
		Protocol: x.family.protocol,
		Tags:     x.route.Display == routing.DisplayTags, Recall: x.engine.store.For(x.rememberedFor(), x.request),
		Bridged: x.bridge != nil,
	}
	if x.opened { // the copies say where the upstream has its thoughts
		k.Native = cmp.Or(x.bridgedNative(), x.codec.Capabilities().Kind)
	}
	request, body, err := x.request, x.body, error(nil)
	var put history.Originals
	foreign, renamed := 0, []wire.Change(nil)
	if !x.engine.config.HistoryDryRun {
		if request, body, foreign, err = x.withoutForeign(request, body); err != nil {
			return err
		}
		k.Recall = x.engine.store.For(x.rememberedFor(), request)
		if request, body, renamed, err = x.putIDs(request, body, k.Recall); err != nil {
			return err
		}
		if request, body, put, err = x.putBack(request, body, k); err != nil {
			return err
		}
		recall := k.Recall
		if put.Body != nil {
			recall = x.engine.store.For(x.rememberedFor(), request)
		}
		k.Recall = func(m int) (history.Remembered, bool) {
			if put.Messages[m] {
				return history.Remembered{}, false
			}
			return recall(m)
		}
	}
	err = x.charge.Use(budget.ReadCost(assistantTexts(request)...), func() error {
		x.plan = history.PlanFor(request, x.route.History, k, x.codec).After(put).Renamed(renamed)
		x.plan.Foreign = foreign + x.unopened
		return nil
	})
	if err != nil || !x.plan.Changed() || x.engine.config.HistoryDryRun {
		return err
	}
	if n := len(x.plan.Changes); n > 0 {
		if x.plan.Changes[n-1].Message == len(request.Messages)-1 {
			x.shown.doubt() // it was shown by a message that the upstream does not get
		}
		if err := x.charge.Take(int64(len(body))); err != nil {
			return err
		}
		if body, err = x.codec.Edit(nil, body, x.plan.Changes); err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	if x.engine.recorder != nil {
		x.original = x.body // its memory stays reserved
	}
	x.body = body
	return nil
}

// withoutForeign leaves out reasoning that another upstream has signed or encrypted.
func (x *exchange) withoutForeign(request *wire.Request, body []byte) (*wire.Request, []byte, int, error) {
	if len(x.engine.config.Upstreams) == 0 {
		return request, body, 0, nil
	}
	changes, thoughts := history.Foreign(request, x.credential, x.issuer(), x.engine.store)
	if thoughts == 0 {
		return request, body, 0, nil
	}
	request, body, err := x.edited(request, body, changes)
	return request, body, thoughts, err
}

// edited returns a request and its body after changes.
func (x *exchange) edited(request *wire.Request, body []byte, changes []wire.Change) (*wire.Request, []byte, error) {
	if err := x.charge.Take(int64(len(body))); err != nil {
		return nil, nil, err
	}
	body, err := x.codec.Edit(nil, body, changes)
	if err == nil {
		request, err = x.reread(request, body)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("history: %w", err)
	}
	return request, body, nil
}

// putIDs puts the provider's ids back into the calls and results of a client that has made ids of its own.
func (x *exchange) putIDs(request *wire.Request, body []byte, recall func(int) (history.Remembered, bool)) (*wire.Request, []byte, []wire.Change, error) {
	changes := history.CallIDs(body, request, recall, x.codec)
	if len(changes) == 0 {
		return request, body, nil, nil
	}
	request, body, err := x.edited(request, body, changes)
	return request, body, changes, err
}

// putBack puts messages back as their provider sent them. It returns the request and its body as they
// are then.
func (x *exchange) putBack(request *wire.Request, body []byte, k history.Knowledge) (*wire.Request, []byte, history.Originals, error) {
	put := history.Original(body, request, x.route.History, k, x.codec)
	if put.Body == nil {
		return request, body, put, nil
	}
	if err := x.charge.Take(int64(len(put.Body))); err != nil {
		return nil, nil, put, err
	}
	again, err := x.reread(request, put.Body)
	if err != nil {
		return nil, nil, put, fmt.Errorf("history: %w", err)
	}
	return again, put.Body, put, nil
}

// reread returns a request with the messages of a body. What the client sent stays the conversation that
// the reply belongs to.
func (x *exchange) reread(request *wire.Request, body []byte) (*wire.Request, error) {
	again, err := x.codec.Request(body)
	if err != nil {
		return nil, err
	}
	now := *request
	now.Messages = again.Messages
	return &now, nil
}

// issuer names the upstream as the one that signs and encrypts reasoning.
func (x *exchange) issuer() string { return "upstream " + x.to.memory }

// rememberedFor names whose replies are remembered together: those of one caller from one
// upstream. The reasoning of one upstream's model is not restored for another upstream.
func (x *exchange) rememberedFor() string {
	if x.to.memory == "" {
		return x.credential
	}
	return x.credential + "\x00" + x.to.memory
}

// held returns how many bytes the codec, the reading and the recording of the reply hold.
func (x *exchange) held() int {
	n := x.reading.Weight + x.guarded.size() + wire.Held(x.reply)
	if x.reading.Turn != nil {
		n += x.reading.Turn.Size()
	}
	n += x.reading.Returned.Size()
	if x.rec != nil {
		n += x.rec.Held()
	}
	return n
}

// start puts the exchange under a watch: its context ends if nothing moves for too
// long, and then unblock frees a write that waits for the client. end ends the
// exchange, once, before its context ends, which would look as if the client had
// left.
func (x *exchange) start(ctx context.Context, unblock func()) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	x.ctx, x.cancel = ctx, cancel
	stop := x.Watch(x.to.silence, cancel, unblock)
	return ctx, sync.OnceFunc(func() {
		stop()
		x.finish()
		cancel(nil)
	})
}

// finish ends the exchange, whichever way it exits.
func (x *exchange) finish() {
	for _, i := range x.reading.Open() {
		x.reading.Close(i, sotto.EndAborted)
	}
	x.reading.Finished = true
	x.settle()
	x.ended, x.took = x.outcome(), time.Since(x.Began)
	x.closeKept()
	if spent := x.spent(); x.share != nil {
		x.share.Spend(spent.Input + spent.Output)
	}
	x.reportEnd()
}

// settle learns from the first choice when that has ended, if it ended well. If
// the choices are the texts of one reply, calls may follow the first, so the reply must
// have ended. This happens before the client knows of the end, because it may ask
// again at once.
func (x *exchange) settle() {
	x.noteMade()
	if x.settled || !x.reading.FirstEnded() {
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
	case x.complete, x.err == nil && x.left():
		return "answered"
	case x.err == nil && (x.status < 200 || x.status > 299):
		return "refused"
	case x.gone():
		return "canceled"
	}
	return "failed"
}

// left reports whether the client left because it has the whole reply: many read no
// further than the API's own sign of the end, and need not wait for the upstream to close.
func (x *exchange) left() bool { return x.delivered && x.gone() }

// gone reports whether the client left before the end.
func (x *exchange) gone() bool {
	if x.ctx == nil || x.ctx.Err() == nil {
		return false
	}
	cause := context.Cause(x.ctx)
	return !errors.Is(cause, bodies.ErrSilent) && !errors.Is(cause, ErrShutdown) && !errors.Is(cause, context.DeadlineExceeded)
}
