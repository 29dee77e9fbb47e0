package gateway

import (
	"errors"
	"reflect"
	"slices"

	"github.com/sotto-llm/sotto/gateway/internal/places"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// errClosed is the error of a reload that comes too late.
var errClosed = errors.New("the gateway is closed")

// Reload replaces the configuration. A request that has begun keeps the one that it began
// with, to the end of its stream; every later one has the new one. If the new configuration
// is wrong, Reload returns all its faults, and the old one stays.
//
// What the gateway knows stays: learned starts, reasoning to be restored, metrics, and
// what exchanges under way hold of the memory and of the other bounds. If a bound is lowered
// below what is in use, nothing under way ends for it, and new requests are refused until
// enough has ended. A gateway that needed a token needs one after it, too: without any in c,
// it serves nobody.
//
// These parts cannot change, and the values in c are ignored: Data, Shared, SharedSecret, OldSecrets,
// Logger, Observers, Recorder, and of the Limits Learned, Restored, RestoredBytes,
// RestoredFor, Labels and those of conversations. Without a Transport in c, the gateway goes on to use the
// connections that it has.
//
// Reload may be called at any time, also by several goroutines. The gateway closes the idle
// connections of guards and transports that it no longer uses, if they have the method
// CloseIdleConnections.
func (g *Handler) Reload(c Config) error {
	g.reload.Lock()
	defer g.reload.Unlock()
	if g.closed {
		return errClosed
	}
	if faults := c.Check(); len(faults) > 0 {
		return errors.Join(faults...)
	}
	old := g.now().engine
	next := old.with(c)
	g.rules.Store(newRuleset(next))
	next.budget.Bound(next.config.Limits.MemoryBytes)
	next.places.Open.Resize(next.config.Limits.Exchanges)
	next.places.Arrivals.Resize(places.Arriving(next.config.Limits.Exchanges, next.config.Limits.MemoryBytes))
	next.places.Limiter.SetTokens(next.config.tokens())
	old.retire(next)
	return nil
}

// with returns an engine with another configuration that shares what this one knows and
// holds.
func (e *engine) with(c Config) *engine {
	was := &e.config
	c.Data, c.Shared, c.SharedSecret, c.OldSecrets = was.Data, was.Shared, was.SharedSecret, was.OldSecrets
	c.Logger, c.Observers, c.Recorder = was.Logger, was.Observers, was.Recorder
	l := &c.Limits
	l.Conversations, l.ConversationsBytes, l.Conversation, l.ConversationsFor = was.Limits.Conversations, was.Limits.ConversationsBytes, was.Limits.Conversation, was.Limits.ConversationsFor
	l.Learned, l.Restored, l.RestoredBytes, l.RestoredFor, l.Labels = was.Limits.Learned, was.Limits.Restored, was.Limits.RestoredBytes, was.Limits.RestoredFor, was.Limits.Labels
	c.Closed = c.Closed || was.Closed || len(was.tokens()) > 0
	own := c.Transport == nil
	var old map[string]*target // whose connections stay
	if own && e.ownTransport && c.Limits.withDefaults().Header == was.Limits.Header {
		old = e.targets
		if sameServer(c.Upstream, was.Upstream) {
			c.Transport = was.Transport
		}
	}
	c = c.withDefaults()
	next := &engine{
		config: c, ownTransport: own,
		families: families{max: c.Limits.Learned}, asked: askedPrompts{max: c.Limits.Learned}, examined: e.examined.Reopen(),
		learned: e.learned, makers: e.makers, owners: e.owners, kept: e.kept, jobs: e.jobs, slots: e.slots, denied: e.denied, withheld: e.withheld, store: e.store, budget: e.budget, places: e.places, unshare: e.unshare,
		observers: e.observers,
	}
	next.targets = next.targetsOf(&next.config, old)
	if e.recorder != nil {
		next.recorder = e.recorder.With(c.recording())
	}
	return next
}

// An idler has connections that can be closed while nothing uses them.
type idler interface{ CloseIdleConnections() }

// retire closes the idle connections of what the next configuration does not use. Those
// that are in use are closed when their exchanges have ended.
func (e *engine) retire(next *engine) {
	used := next.connecting()
	for _, it := range e.connecting() {
		if !slices.Contains(used, it) {
			it.CloseIdleConnections()
		}
	}
}

// connecting returns what reaches other servers, and may have connections to them. Only
// pointers can be compared safely.
func (e *engine) connecting() (list []idler) {
	c := &e.config
	add := func(v any) {
		if it, ok := v.(idler); ok && reflect.TypeOf(v).Kind() == reflect.Pointer && !slices.Contains(list, it) {
			list = append(list, it)
		}
	}
	add(c.Transport)
	for _, t := range e.targets {
		add(t.transport)
	}
	for _, r := range append([]routing.Route{c.Default}, c.Routes...) {
		add(r.Guard.Guard)
	}
	return list
}
