package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/access"
	"github.com/sotto-llm/sotto/internal/foreignjson"
	"github.com/sotto-llm/sotto/internal/jsonedit"
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

// modelName bounds the model name that a client sends.
func modelName(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxName)], "?") }

// maxName bounds the name of a model.
const maxName = 200

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

// remember keeps the reasoning of the first choice, which is the one that clients
// continue with.
func (x *exchange) remember() {
	if !x.reading.remembers {
		return
	}
	c := x.reading.choices[0]
	said := history.Said{Visible: string(c.kept.visible), Thought: string(c.kept.native), ToolCalls: x.reading.calls.list}
	if !c.native && c.thought > 0 {
		said.Thought, said.Raw = string(c.kept.inline), string(c.kept.raw)
	}
	x.g.store.Remember(x.credential, x.request, said)
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

// A requestError is a fault of the client's request.
type requestError struct {
	status int
	err    error
}

func (e *requestError) Error() string { return e.err.Error() }
func (e *requestError) Unwrap() error { return e.err }

// modify makes the client's response from the upstream's.
func (x *exchange) modify(resp *http.Response) error {
	if err := x.answer(resp); err != nil {
		return err
	}
	if x.route.Display == DisplayHide {
		resp.Header.Del("Trailer")
		resp.Trailer = nil // trailers that were announced
		resp.Body = &untrailed{resp.Body, resp}
	}
	return nil
}

// An untrailed body drops the trailers that an upstream sends after it. No client
// reads reasoning there, and hidden reasoning must not pass.
type untrailed struct {
	io.ReadCloser
	resp *http.Response
}

// Close drops the trailers, which net/http has read by then.
func (b *untrailed) Close() error {
	err := b.ReadCloser.Close()
	b.resp.Trailer = nil
	return err
}

// answer turns the upstream's response into the one that the client gets.
func (x *exchange) answer(resp *http.Response) error {
	x.status = resp.StatusCode
	if x.g.config.HistoryDryRun || len(x.plan.Changes) > 0 {
		resp.Header.Set("Sotto-History", x.plan.String())
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		if x.rec != nil {
			resp.Body = &overheard{resp.Body, x.rec}
		}
		if x.route.Display == DisplayHide {
			return x.hideRefusal(resp)
		}
		return nil
	}
	if err := decompress(resp); err != nil {
		return err
	}
	switch form, err := x.form(resp); {
	case err != nil:
		return err
	case form == streamed:
		x.framed(resp, resp.Body)
		return nil
	case form == whole:
		return x.whole(resp)
	}
	return nil
}

// framed turns the response into a stream of frames that are read as they come.
func (x *exchange) framed(resp *http.Response, frames io.ReadCloser) {
	x.streamed = true
	resp.Body = x.stream(frames)
	resp.ContentLength = -1
	resp.Header.Del("Content-Length")
}

// A form says how a response carries a reply.
type form uint8

const (
	none form = iota // it carries none
	whole
	streamed
)

// form decides by the response's type, not by what was asked: a server may answer a
// request for a stream with a whole reply.
func (x *exchange) form(resp *http.Response) (form, error) {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	switch kind = strings.ToLower(strings.TrimSpace(kind)); {
	case kind == "text/event-stream":
		if x.codec.Framing() != wire.SSE {
			return none, fmt.Errorf("the upstream sent %s where %s has none", kind, x.codec.Name())
		}
		return streamed, nil
	case kind == "application/x-ndjson", kind == "application/ndjson", kind == "application/jsonl":
		if x.codec.Framing() != wire.NDJSON {
			return none, fmt.Errorf("the upstream sent %s where %s has none", kind, x.codec.Name())
		}
		return streamed, nil
	case kind == "application/json", strings.HasSuffix(kind, "+json"):
		return whole, nil
	case x.request.Stream && !beginsJSON(resp):
		return streamed, nil
	}
	return whole, nil
}

// beginsJSON waits for the first byte of a response whose type says nothing.
func beginsJSON(resp *http.Response) bool {
	r := bufio.NewReader(resp.Body)
	resp.Body = &peeked{r, resp.Body}
	for n := 1; ; n++ {
		b, err := r.Peek(n)
		if err != nil {
			return false
		}
		if c := b[n-1]; !isWhite(c) || n == 512 {
			return c == '{'
		}
	}
}

// A peeked body is one whose first bytes were read ahead.
type peeked struct {
	io.Reader
	io.Closer
}

// looksLikeSSE reports whether a body begins as server-sent events do.
func looksLikeSSE(body []byte) bool {
	body = bytes.TrimLeft(body, "\xEF\xBB\xBF\r\n")
	for _, field := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if bytes.HasPrefix(body, []byte(field)) {
			return true
		}
	}
	return false
}

// whole reads the body of a reply that is not streamed and rewrites it.
func (x *exchange) whole(resp *http.Response) error {
	body, err := x.readWhole(resp)
	if err != nil {
		return err
	}
	if x.request.Stream { // a stream was asked for, but the reply is here whole
		x.reading.start, x.reading.assumed = x.startOf(true)
		x.reading.maxHold = -1
	}
	mended := jsonedit.Mend(body)
	unread := foreignjson.Limits{Members: foreignjson.ReplyMembers}.Check(mended)
	switch {
	case unread == nil && jsonedit.Parse(mended).IsObject():
		if body, err = x.rewrite(mended); err != nil {
			return err
		}
	case x.codec.Framing() == wire.NDJSON, looksLikeSSE(body): // a stream that is declared as a whole reply
		x.framed(resp, io.NopCloser(bytes.NewReader(body)))
		return nil
	case x.route.Display != DisplayKeep && unread != nil:
		return fmt.Errorf("%w: the reply %w", wire.ErrUnreadable, unread)
	case x.route.Display != DisplayKeep:
		return wire.ErrUnreadable
	}
	if x.reading.failure != nil {
		return x.reading.failure
	}
	x.settle()
	if found := x.findings(); found != "" {
		resp.Header.Set("Sotto-Diagnostics", found)
	}
	setBody(resp, body)
	x.complete = true
	resp.Body = &moving{resp.Body, &x.activity, false}
	return nil
}

// readWhole reads the body of a whole reply. If there is no memory for it, the
// client is refused, since it has seen nothing of the reply.
func (x *exchange) readWhole(resp *http.Response) ([]byte, error) {
	limit := x.g.config.Limits.Body
	body, err := x.charge.read(&moving{resp.Body, &x.activity, true}, limit, min(resp.ContentLength, limit))
	resp.Body.Close()
	var own *requestError
	switch {
	case errors.Is(err, errLarge):
		return nil, fmt.Errorf("the upstream's reply is larger than %d bytes", limit)
	case errors.As(err, &own):
		return nil, own
	case err != nil:
		return nil, fmt.Errorf("the upstream's reply broke off: %w", quiet(err))
	}
	return body, nil
}

// rewrite reads a whole reply and rewrites it.
func (x *exchange) rewrite(reply []byte) (body []byte, err error) {
	err = x.charge.use(parsedCost(reply)+readCost(jsonedit.StringOf(reply)), func() error {
		body = x.reply.Whole(nil, reply, &x.reading)
		return nil
	})
	if err == nil {
		err = x.charge.take(int64(cap(body) + x.held()))
	}
	return body, err
}

// held returns how many bytes the reading and the recording of the reply hold.
func (x *exchange) held() int {
	n := x.reading.weight
	if x.rec != nil {
		n += x.g.config.Limits.Recorded - x.rec.room.Left
	}
	return n
}

func setBody(resp *http.Response, body []byte) {
	resp.Body = io.NopCloser(strings.NewReader(jsonedit.StringOf(body)))
	resp.ContentLength = int64(len(body))
	resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
	resp.TransferEncoding = nil
	for _, h := range []string{"ETag", "Content-MD5", "Digest", "Content-Digest", "Repr-Digest"} {
		resp.Header.Del(h) // they describe other bytes
	}
}

// findings are the remarks on the reply, for a header: whether reasoning was taken
// out of the content, and what was doubtful.
func (x *exchange) findings() string {
	var words []string
	if x.reading.reasoning > 0 {
		words = append(words, "reasoning_in_content")
	}
	for _, code := range x.reading.findings() {
		words = append(words, string(code))
	}
	if more := x.reading.moreFindings(); more > 0 {
		words = append(words, fmt.Sprintf("more=%d", more))
	}
	return strings.Join(words, ", ")
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

func (x *exchange) learn() {
	native := x.reading.native
	c := x.reading.choices[0] // one reply counts once, however many choices it has
	s, ok := c.shows()
	if !ok {
		s = 0
	}
	if native == "" && !c.native && x.reading.reasoning > 0 {
		native = history.Inline
	}
	if err := x.g.learned.learn(x.key, s, native, c.lessons.unlearned); err != nil {
		x.g.log.Warn("learned starts are not kept", "error", err)
	}
}

func (x *exchange) log() {
	level := x.g.log.Info
	if x.ended == "failed" {
		level = x.g.log.Warn
	}
	fields := []any{
		"api", x.codec.Name(), "model", x.model, "dialect", x.family.dialect, "status", x.status,
		"outcome", x.ended, "stream", x.streamed, "ms", x.took.Milliseconds(),
		"bytes", x.reading.all, "reasoning", x.reading.reasoning, "start", string(x.reading.start),
	}
	if x.caller != "" {
		fields = append(fields, "caller", x.caller)
	}
	if found := x.findings(); found != "" {
		fields = append(fields, "found", found)
	}
	if x.plan.Removed > 0 || x.plan.Restored > 0 || x.g.config.HistoryDryRun {
		fields = append(fields, "history", x.plan.String(), "dry_run", x.g.config.HistoryDryRun)
	}
	if x.err != nil {
		fields = append(fields, "error", plain(x.err.Error()))
	}
	level("exchange", fields...)
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
