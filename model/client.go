package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/retry"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/turn"
)

// An api holds what is specific to one provider's API.
type api interface {
	// codec writes the requests, and reads the replies.
	codec() turn.API
	// chat is the path of the API below the URL.
	chat() []string
	// authorize puts the key into a request, and other headers that the API wants.
	authorize(h http.Header, key string)
	// adjust changes a request to what the server requires.
	adjust(t *turn.Request) error
	// called is told of each piece of a call, and of its JSON.
	called(l *listener, c *calling, piece gjson.Result) error
	// inform asks the server about the model. known says that the server serves it.
	inform(ctx context.Context, c *client) (info Info, known bool, err error)
}

// A client calls a model over HTTP.
type client struct {
	Config
	api  api
	base *url.URL
	http *http.Client
	// seen remembers the reasoning of this client's replies, for messages that come
	// back without it.
	seen *history.Store
}

var _ Model = (*client)(nil)

// Bounds of what is remembered of replies.
const (
	seenReplies = 10_000
	seenBytes   = 64 << 20
	seenAge     = 24 * time.Hour
)

func newClient(c Config, base *url.URL, a api) *client {
	return &client{
		Config: c, api: a, base: base,
		seen: history.NewStore(seenReplies, seenBytes, seenAge),
		http: &http.Client{
			Transport: c.Transport,
			// The conversation and the key are for this server only.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Name returns the model's name.
func (c *client) Name() string { return c.Model }

// Extended implements [Extender].
func (c *client) Extended() json.RawMessage { return c.Extra }

// Invoke asks the server for one reply. It retries as often as the configuration
// allows, as long as nothing of a reply has come.
func (c *client) Invoke(ctx context.Context, q Request, on func(Delta) error) (Reply, error) {
	if err := q.check(); err != nil {
		return Reply{}, err
	}
	if q.MaxTokens == 0 {
		q.MaxTokens = c.MaxTokens
	}
	body, err := c.body(&q)
	if err != nil {
		return Reply{}, fmt.Errorf("request: %w", err)
	}
	body, wq, earlier, err := c.adapt(body)
	if err != nil {
		return Reply{}, err
	}
	var h *accumulator
	err = c.retrying(ctx, func() (bool, error) {
		h = &accumulator{on: on, limits: c.Limits}
		err := c.invoke(ctx, body, h)
		return h.spoke, err
	})
	reply := h.reply(err != nil)
	reply.Earlier = earlier
	if reply.Model == "" {
		reply.Model = c.Model
	}
	if err == nil {
		c.remember(wq, &reply)
	}
	return reply, err
}

// marshal encodes without the escapes that JSON does not need, so tags stay as they
// are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// merge puts the members of an object into another, objects member by member.
func merge(into, from json.RawMessage) (json.RawMessage, error) {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(into, &a) != nil || json.Unmarshal(from, &b) != nil || a == nil || b == nil {
		return from, nil
	}
	for _, key := range slices.Sorted(maps.Keys(b)) {
		v, err := merge(a[key], b[key])
		if err != nil {
			return nil, err
		}
		a[key] = v
	}
	return marshal(a)
}

// adapt changes the reasoning of earlier messages in a request to what the provider
// accepts.
func (c *client) adapt(body []byte) ([]byte, *wire.Request, Earlier, error) {
	codec := c.api.codec()
	wq, err := codec.Request(body)
	if err != nil {
		return nil, nil, Earlier{}, fmt.Errorf("request: %w", err)
	}
	k := history.Knowledge{Recall: c.seen.For("", wq)}
	if a, ok := c.api.(interface{ native(*wire.Request) string }); ok {
		k.Native = a.native(wq)
	}
	plan := history.PlanFor(wq, c.History, k, codec)
	earlier := Earlier{Rule: plan.Rule, Removed: plan.Removed, Restored: plan.Restored}
	if len(plan.Changes) == 0 {
		return body, wq, earlier, nil
	}
	edited, err := codec.Edit(nil, body, plan.Changes)
	if err != nil {
		return nil, nil, Earlier{}, fmt.Errorf("history: %w", err)
	}
	return edited, wq, earlier, nil
}

// remember keeps the native reasoning of a reply, and the signatures on its calls.
func (c *client) remember(wq *wire.Request, r *Reply) {
	said := history.Said{Visible: r.Raw}
	for _, t := range r.Thoughts {
		if !t.Sealed {
			said.Thought += t.Text
		}
	}
	for i, call := range r.Calls {
		said.ToolCalls = append(said.ToolCalls, cmp.Or(call.ID, call.Name))
		said.Called = append(said.Called, call.Name)
		said.Names = said.Names || call.ID == ""
		if signature := chatjson.SignatureOf(jsonedit.Parse(call.Extra)); signature != "" {
			if said.Signatures == nil {
				said.Signatures = map[int]string{}
			}
			said.Signatures[i] = signature
		}
	}
	c.seen.Remember("", wq, said)
}

// retrying calls try until it succeeds, or fails permanently; spoke says that the
// caller has already had part of the answer.
func (c *client) retrying(ctx context.Context, try func() (spoke bool, err error)) error {
	p := retry.Policy{Attempts: c.Retries + 1, First: c.Backoff, Longest: c.MaxWait, Patience: c.MaxWait, Total: c.RetryTime}
	err := p.Do(ctx, func() (retry.Verdict, error) {
		spoke, err := try()
		e, ok := errors.AsType[*Error](err)
		if !ok {
			return retry.Verdict{}, err
		}
		return retry.Verdict{Again: e.Retryable && !spoke, After: e.RetryAfter}, err
	}, func(err error, wait time.Duration) {
		c.Log.WarnContext(ctx, "model request is retried",
			"provider", c.Provider, "model", c.Model, "error", err.Error(), "after", wait)
	})
	if err != nil && err == ctx.Err() { // it ended during a wait
		return cancelled(ctx)
	}
	return err
}

// invoke makes one attempt.
func (c *client) invoke(ctx context.Context, body []byte, h *accumulator) error {
	l := c.listen(h)
	err := c.post(ctx, c.api.chat(), body, func(resp *http.Response, r io.Reader) error {
		return c.accumulate(resp, r, l, h)
	})
	if h.refused != nil {
		return h.refused
	}
	if h.finished && (errors.Is(err, ErrBrokenOff) || errors.Is(err, ErrSilent)) {
		err = nil // what is missing after the end of a reply does no harm
	}
	for _, last := range []func() error{h.rest, l.end} { // also for a reply that broke off
		if lastErr := last(); err == nil {
			err = lastErr
		}
	}
	if err == nil {
		err = h.giveCalls()
	}
	if h.refused != nil {
		return h.refused
	}
	return c.worded(err)
}

// worded makes an *Error from a failure, under the client's name and without its
// key.
func (c *client) worded(err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		for _, own := range []error{ErrTooLarge, ErrUnreadable, ErrBrokenOff, ErrSilent} {
			if errors.Is(err, own) {
				e, ok = &Error{Err: err, Retryable: own == ErrBrokenOff}, true
				break
			}
		}
	}
	if !ok {
		return err
	}
	e.Provider, e.Model = c.Provider, c.Model
	if key := string(c.Key); key != "" {
		for _, s := range []*string{&e.Message, &e.Type, &e.Code} {
			*s = strings.ReplaceAll(*s, key, hidden)
		}
	}
	return e
}
