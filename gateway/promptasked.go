package gateway

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/headers"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/reply/promptshown"
)

// A reply without markers does not show whether it is a thought that the prompt began.
// The server that renders the prompt knows: it is asked, once for each upstream, model
// and switch.

// Bounds of asking: the time that a request waits for all answers, the bytes of one, how
// long an upstream that did not answer is not asked again, and how long an answer counts.
// A server may be started again with another model or template under the same name.
const (
	promptTime  = 2 * time.Second
	promptBytes = 4 << 20
	promptAgain = time.Minute
	promptKept  = 10 * time.Minute
)

// An Asking says which upstreams are asked how they render a prompt.
type Asking string

const (
	AskAuto   Asking = "auto" // those on this machine, and those without TLS, as model servers of a local network are
	AskNever  Asking = "never"
	AskAlways Asking = "always"
)

// Askings lists the values of [Config.AskUpstream].
func Askings() []Asking { return []Asking{AskAuto, AskNever, AskAlways} }

// allows reports whether an upstream is asked.
func (a Asking) allows(u *url.URL) bool {
	switch a {
	case AskNever:
		return false
	case AskAlways:
		return true
	}
	return reachable(u)
}

// reachable reports whether an upstream is on this machine, or without TLS. Hosted APIs
// are neither, and do not show how they render prompts.
func reachable(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// serverEvidence is what an upstream shows about where the reply to a request begins.
type serverEvidence struct {
	start     sotto.Beginning // outside or inside:NAME; empty if nothing shows it
	mayOpen   bool            // the prompt opens a block in some case
	separates bool            // the server takes thoughts out of the text under this switch
}

func shownBy(e promptshown.Evidence) serverEvidence {
	return serverEvidence{e.Start, e.MayOpen, e.Separates}
}

// serverStart says where the reply begins as the upstream's own rendering of a prompt
// shows. What this upstream answers takes precedence over what sotto doctor kept.
func (e *engine) serverStart(x *exchange, r *http.Request, hold *budget.Charge) serverEvidence {
	q := x.request
	if e.below == nil || q.Model == "" || q.Prompt != "" || q.Prefill != "" || x.route.Start != "" || e.config.AskUpstream == AskNever {
		return serverEvidence{}
	}
	question := promptshown.QuestionOf(x.codec.Name(), q, jsonedit.Parse(x.body))
	if e.config.AskUpstream.allows(x.to.url) {
		if got := e.askOnce(x, question, r, hold); got != (serverEvidence{}) {
			return got
		}
	}
	return shownBy(e.examined.Lookup(x.family.grammar, x.to.url, question, time.Now()))
}

// askedPrompts are the answers of upstreams. Clients choose the models, so when there are
// too many, all are dropped.
type askedPrompts struct {
	mu   sync.Mutex
	max  int
	kept map[askedKey]*askedPrompt
	ways map[string]string // in which each upstream answered last
}

// An askedKey is what the requests have in common that share an answer.
type askedKey struct {
	upstream string
	grammar  *sotto.Grammar
	question promptshown.Question
}

type askedPrompt struct {
	ready chan struct{} // closed when the answer is there
	shown serverEvidence
	until time.Time // then it is asked again
}

// askOnce returns the answer to a question. The first request asks; those that come
// meanwhile wait for its answer.
func (e *engine) askOnce(x *exchange, question promptshown.Question, r *http.Request, hold *budget.Charge) serverEvidence {
	it, mine := e.asked.at(askedKey{x.to.facts, x.family.grammar, question})
	if mine {
		defer close(it.ready)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), promptTime)
		defer cancel()
		it.until = time.Now().Add(promptAgain)
		shown, ok := e.ask(ctx, x, question, r, hold)
		if ok {
			it.until = time.Now().Add(promptKept)
		}
		it.shown = shown
		return it.shown
	}
	wait := time.NewTimer(promptTime)
	defer wait.Stop()
	select {
	case <-it.ready:
		return it.shown
	case <-wait.C:
	case <-r.Context().Done():
	}
	return serverEvidence{}
}

// at returns the answer with a key. mine says that the caller must ask.
func (a *askedPrompts) at(key askedKey) (it *askedPrompt, mine bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if it = a.kept[key]; it != nil && !it.stale() {
		return it, false
	}
	if a.kept == nil || len(a.kept) >= a.max {
		a.kept, a.ways = map[askedKey]*askedPrompt{}, map[string]string{}
	}
	it = &askedPrompt{ready: make(chan struct{})}
	a.kept[key] = it
	return it, true
}

// stale reports whether an answer is to be asked for again.
func (it *askedPrompt) stale() bool {
	select {
	case <-it.ready:
		return time.Now().After(it.until)
	default:
		return false
	}
}

// way returns in which way an upstream answered last.
func (a *askedPrompts) way(upstream string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ways[upstream]
}

// note notes in which way an upstream answered, if it did. A model that it does not have
// says nothing about the others.
func (a *askedPrompts) note(upstream, way string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if way != "" {
		a.ways[upstream] = way
	}
}

// ask asks the upstream. ok is false if it may answer later.
func (e *engine) ask(ctx context.Context, x *exchange, question promptshown.Question, client *http.Request, hold *budget.Charge) (shown serverEvidence, ok bool) {
	key := client.Header.Get("Authorization")
	if x.bridge != nil {
		key = "" // it is for another API
	}
	send := func(method, path string, body []byte, read func(gjson.Result)) (int, error) {
		return e.askBelow(ctx, x.to, key, hold, method, path, body, read)
	}
	got, from, ok := promptshown.Ask(x.family.grammar, question, send, e.asked.way(x.to.facts))
	e.asked.note(x.to.facts, from)
	return shownBy(got), ok
}

// askBelow sends a request of the gateway's own to an upstream.
func (e *engine) askBelow(ctx context.Context, to *target, key string, hold *budget.Charge, method, path string, body []byte, read func(gjson.Result)) (status int, err error) {
	out, err := http.NewRequestWithContext(ctx, method, "http://upstream"+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	if len(body) > 0 {
		out.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		out.Header.Set("Authorization", key)
	}
	out.Header.Set("Accept-Encoding", "identity")
	e.below(out, to)
	resp, err := headers.Quietly{RoundTripper: to.transport, Header: e.config.Limits.Header}.RoundTrip(out)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, nil
	}
	data, err := hold.Read(resp.Body, promptBytes, resp.ContentLength)
	if err != nil {
		return resp.StatusCode, ctx.Err()
	}
	defer hold.Give(int64(cap(data)))
	if root, err := foreignjson.Parse(data); err == nil {
		read(root)
	}
	return resp.StatusCode, nil
}
