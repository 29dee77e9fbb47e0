package gateway

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/foreignjson"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

// If nothing is known of a model, its first two streams would be read as if they began
// outside of reasoning, and its thoughts would leak if its chat template opens the
// block. So the template is read from the upstream, once for each model.

// Bounds of reading a template: the time that a request waits for it, the bytes of a
// response, and how long an upstream that did not answer is not asked again.
const (
	templateTime  = 2 * time.Second
	templateBytes = 4 << 20
	templateAgain = time.Minute
)

// templates are what was read, by upstream and model. Clients choose the models, so
// when there are too many, all are dropped.
type templates struct {
	mu   sync.Mutex
	max  int
	kept map[templateKey]*template
}

type templateKey struct{ upstream, model string }

type template struct {
	ready chan struct{} // closed when it was read
	opens bool
	until time.Time // if not zero, it could not be read, and is read again after this time
}

// opens reports whether the chat template of an exchange's model may open a reasoning
// block. It asks only if nothing else is known: the reply will be streamed, no dialect
// has the model's name, and no earlier reply showed how it begins.
func (e *engine) opens(x *exchange, r *http.Request, hold *charge) bool {
	q := x.request
	if e.below == nil || !q.Stream || q.Model == "" || q.Prompt != "" || q.Prefill != "" ||
		x.family.named || x.route.Start != "" || !reachable(x.to.url) {
		return false
	}
	if native := e.learned.native(x.key, x.codec.Name()); native != "" && native != history.Inline {
		return false // the upstream itself separates reasoning
	}
	if e.learned.says(x.key).began != 0 {
		return false
	}
	t, mine := e.templates.at(templateKey{x.to.facts, q.Model})
	if mine {
		defer close(t.ready)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), templateTime)
		defer cancel()
		var ok bool
		if t.opens, ok = e.readTemplate(ctx, x.family.grammar, r, q.Model, x.to, hold); !ok {
			t.until = time.Now().Add(templateAgain)
		}
		return t.opens
	}
	wait := time.NewTimer(templateTime)
	defer wait.Stop()
	select {
	case <-t.ready:
		return t.opens
	case <-wait.C:
	case <-r.Context().Done():
	}
	return false
}

// at returns the template of a model. mine says that the caller must read it.
func (all *templates) at(key templateKey) (t *template, mine bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if t = all.kept[key]; t != nil && !t.stale() {
		return t, false
	}
	if all.kept == nil || len(all.kept) >= all.max {
		all.kept = map[templateKey]*template{}
	}
	t = &template{ready: make(chan struct{})}
	all.kept[key] = t
	return t, true
}

// stale reports whether a template is to be read again.
func (t *template) stale() bool {
	select {
	case <-t.ready:
		return !t.until.IsZero() && time.Now().After(t.until)
	default:
		return false
	}
}

// reachable reports whether an upstream is asked for templates: one on this machine, or
// one without TLS, as model servers of a local network are. Hosted APIs have none.
func reachable(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// readTemplate asks the upstream in the ways of all providers, until one has an
// answer. ok is false if the upstream could not be reached.
func (e *engine) readTemplate(ctx context.Context, g *sotto.Grammar, client *http.Request, model string, to *target, hold *charge) (opens, ok bool) {
	for _, p := range providers.All() {
		if p.Template == nil {
			continue
		}
		text, reached := e.askTemplate(ctx, p.Template, client, model, to, hold)
		ok = ok || reached
		if text != "" {
			return g.TemplateOpens(text), true
		}
	}
	return false, ok
}

func (e *engine) askTemplate(ctx context.Context, t *wire.Template, client *http.Request, model string, to *target, hold *charge) (text string, reached bool) {
	var body []byte
	if t.Body != nil {
		body = t.Body(model)
	}
	out, err := http.NewRequestWithContext(ctx, t.Method, "http://upstream"+t.Path, bytes.NewReader(body))
	if err != nil {
		return "", false
	}
	if len(body) > 0 {
		out.Header.Set("Content-Type", "application/json")
	}
	if key := client.Header.Get("Authorization"); key != "" {
		out.Header.Set("Authorization", key)
	}
	out.Header.Set("Accept-Encoding", "identity")
	e.below(out, to)
	resp, err := quietly{to.transport, e.config.Limits.Header}.RoundTrip(out)
	if err != nil {
		return "", false
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", resp.StatusCode < 500
	}
	data, err := hold.read(resp.Body, templateBytes, resp.ContentLength)
	if err != nil {
		return "", true
	}
	defer hold.give(int64(cap(data)))
	root, err := foreignjson.Parse(data)
	if err != nil {
		return "", true
	}
	return root.Get(t.Member).Str, true
}
