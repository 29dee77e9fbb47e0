package gateway

import (
	"cmp"
	"net/http"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/things"
	"github.com/sotto-llm/sotto/internal/base/lograte"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/net/owners"
)

// asker returns who sends a request.
func (g *ruleset) asker(r *http.Request) *things.Asker {
	if !g.access.Restricted(r) {
		return nil
	}
	return &things.Asker{Caller: access.Account(r.Context()), Owners: g.engine.owners, Log: g.engine.config.Logger, Denied: g.engine.denied}
}

// owner returns the name under which the gateway notes what a request makes; empty if
// the gateway does not know its callers.
func (g *ruleset) owner(r *http.Request) string {
	if !g.access.Guarded() {
		return ""
	}
	return access.Account(r.Context())
}

// made notes what the response to a request that passes says that an upstream made,
// before the client has all of it. With several upstreams it notes which one did, and for
// an owner whose it is.
func (e *engine) made(r *http.Request, at *endpoints.Endpoint, from *target, owner string, resp *http.Response) {
	if !e.several() && owner == "" || !things.MayBeMade(r, at, resp) {
		return
	}
	things.Read(resp, func(root gjson.Result) {
		if owner != "" {
			things.Note(e.owners, r, at, owner, root)
		}
		if !e.several() {
			return
		}
		for _, id := range things.Given(root) {
			e.noteMade(id, from)
		}
	})
}

// noteMade remembers that an upstream made something, unless requests for it would go
// there anyway.
func (e *engine) noteMade(id string, by *target) {
	usual := e.unnamed(nil) == by
	for _, c := range codecs {
		usual = usual && e.unnamed(c) == by
	}
	if !usual {
		e.makers.Note(id, by.name)
	}
}

// noteMade notes that the upstream has a reply that later requests may name.
func (x *exchange) noteMade() {
	if x.noted || x.stored || x.reading.ID == "" || !x.engine.several() && x.owner == "" {
		return
	}
	x.noted = true
	if !x.isStored() {
		return
	}
	if x.engine.several() {
		x.engine.noteMade(x.reading.ID, x.to)
	}
	if x.owner != "" {
		x.engine.owners.Note(x.repliesAre(), x.reading.ID, x.owner)
	}
}

// isStored reports whether the upstream keeps the reply.
func (x *exchange) isStored() bool { return x.request.Stores }

// repliesAre is the kind of the replies that an upstream keeps.
func (x *exchange) repliesAre() string {
	return cmp.Or(x.codec.Capabilities().Kept, "completions")
}

// noteParts notes whose the parts of a reply are that later requests may name.
func (x *exchange) noteParts(data []byte) {
	if x.owner != "" && !x.stored {
		things.NoteParts(x.engine.owners, x.owner, func() bool { return x.codec.Capabilities().Kept != "" && x.isStored() }, data)
	}
}

// refuseThing answers a request for what is not the caller's.
func (g *ruleset) refuseThing(w http.ResponseWriter, e *endpoints.Endpoint, err error) {
	name, status, text := failure(err)
	faults.Refuse(w, e.Codec, name, status, text)
}

// eachMinute lets the log say the same thing once a minute.
func eachMinute() *lograte.Limit { return &lograte.Limit{Every: time.Minute, Most: 256} }

// openOwners opens the store of owners.
func openOwners(c Config) (*owners.Store, error) {
	limit := lograte.Limit{Every: time.Minute, Most: 16}
	return owners.Open(c.Data, owners.Most, func(err error) {
		if text := faults.Plain(err.Error()); limit.Now(text) {
			c.Logger.Warn("what callers made could not be noted: after a restart it needs the scope operator", "error", text)
		}
	})
}
