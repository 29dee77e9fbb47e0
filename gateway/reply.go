package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
)

// replied makes the client's response from the upstream's.
func (x *exchange) replied(resp *http.Response) error {
	if err := x.answer(resp); err != nil {
		return err
	}
	if err := x.keepReply(resp); err != nil {
		return err
	}
	if x.streamed && x.trailers {
		observing.AddTrailer(resp, func() string { return x.report().Figures() })
	}
	return nil
}

// answer turns the upstream's response into the one that the client gets.
func (x *exchange) answer(resp *http.Response) error {
	x.status, x.header = resp.StatusCode, time.Now()
	resp.Header.Set(observing.IDHeader, x.identity.ID)
	if x.share != nil {
		x.engine.places.SetLimits(resp.Header, x.clientCodec(), x.account)
	}
	if resp.StatusCode == http.StatusNotFound && resp.Request != nil {
		x.asked = x.engine.shownModel(resp.Request.URL.Path, []string{x.credential})
	}
	x.engine.observers.Replied(x.identity, x.status, x.header.Sub(x.Began))
	if x.rec != nil {
		x.rec.Overhear(resp)
	}
	if x.engine.config.HistoryDryRun || x.plan.Changed() {
		resp.Header.Set("Sotto-History", x.plan.String())
	}
	x.nameLeftOut(resp)
	if x.switched != nil {
		resp.Header.Set("Sotto-Thinking", x.switched.String())
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return x.refused(resp)
	}
	if err := bodies.Decompress(resp); err != nil {
		return err
	}
	switch form, err := x.form(resp); {
	case err != nil:
		return err
	case form == streamed:
		return x.framed(resp, resp.Body)
	case form == whole:
		return x.whole(resp)
	}
	return nil
}

// nameLeftOut names in a response what was left out between two APIs.
func (x *exchange) nameLeftOut(resp *http.Response) {
	if left := x.bridge.LeftOut(); len(left) > 0 {
		resp.Header.Set(leftOutHeader, strings.Join(left, ", "))
	}
}

// framed turns the response into a stream of frames that are read as they come.
func (x *exchange) framed(resp *http.Response, frames io.ReadCloser) (err error) {
	if x.namedLate() {
		if frames, err = x.identifyStream(frames); err != nil {
			return err
		}
	}
	if x.continues() != "" {
		if frames, err = x.checkContinuedStream(frames); err != nil {
			return err
		}
	}
	x.streamed, x.outgoing = true, x.carried
	if x.bridge != nil {
		var kind string
		x.outgoing, kind = x.bridge.Carriage(x.settings())
		resp.Header.Set("Content-Type", kind)
	}
	resp.Body = x.stream(x.guard(frames))
	if x.stored && x.after >= 0 {
		resp.Body = &resumed{ReadCloser: resp.Body, after: x.after}
	}
	resp.ContentLength = -1
	resp.Header.Del("Content-Length")
	return nil
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
	kind = strings.ToLower(strings.TrimSpace(kind))
	if x.carried = x.carriage(kind, resp); x.carried != nil {
		return streamed, nil
	}
	switch {
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
	case x.request.Stream && firstByte(resp) != '{':
		return streamed, nil
	}
	return whole, nil
}

// firstByte waits for the first byte of a response whose type does not say enough,
// except white space. It is 0 if there is none.
func firstByte(resp *http.Response) byte {
	r := bufio.NewReader(resp.Body)
	resp.Body = &peeked{r, resp.Body}
	for n := 1; ; n++ {
		b, err := r.Peek(n)
		if err != nil {
			return 0
		}
		if c := b[n-1]; !reading.IsWhite(c) || n == 512 {
			return c
		}
	}
}

// A peeked body is one whose first bytes were read ahead.
type peeked struct {
	io.Reader
	io.Closer
}

// beginsLines reports whether a body begins with a line that is an object. A whole
// reply that broke off does not.
func beginsLines(body []byte) bool {
	line, _, more := bytes.Cut(bytes.TrimLeft(body, "\r\n"), []byte("\n"))
	return more && foreignjson.Valid(line) && jsonedit.Parse(line).IsObject()
}

// whole reads the body of a reply that is not streamed and rewrites it.
func (x *exchange) whole(resp *http.Response) error {
	body, err := x.readWhole(resp)
	if err != nil {
		return err
	}
	if x.request.Stream { // a stream was asked for, but the reply is here whole
		x.reading.Beginning = x.beginning(true)
		x.reading.MaxHold = -1
	}
	mended := jsonedit.Mend(body)
	if x.namedLate() {
		if err := x.identifyWhole(mended); err != nil {
			return err
		}
	}
	unread := foreignjson.Limits{Members: foreignjson.ReplyMembers}.Check(mended)
	if unread == nil {
		if err := x.checkContinued(jsonedit.Parse(mended)); err != nil {
			return err
		}
	}
	switch {
	case unread == nil && x.isReply(jsonedit.Parse(mended)):
		if err := x.judgeWhole(mended); err != nil {
			return err
		}
		x.noteParts(mended)
		rewritten, err := x.rewrite(mended)
		if err != nil {
			return err
		}
		if x.route.Display != routing.DisplayKeep || x.writes() {
			body = rewritten
		}
	case x.codec.Framing() == wire.NDJSON && beginsLines(body), bodies.LooksLikeSSE(body): // a stream that is declared as a whole reply
		return x.framed(resp, io.NopCloser(bytes.NewReader(body)))
	case unread != nil && (x.route.Display != routing.DisplayKeep || x.route.Guard.Guard != nil || x.codec.Framing() == wire.NDJSON):
		return fmt.Errorf("%w: the reply %w", wire.ErrUnreadable, unread)
	case x.route.Display != routing.DisplayKeep, x.route.Guard.Guard != nil:
		return wire.ErrUnreadable
	}
	if x.reading.Failure != nil {
		return x.reading.Failure
	}
	x.reading.Finished = true
	x.settle()
	if found := x.reading.Findings(); found != "" {
		resp.Header.Set(diagnosticsHeader, found)
	}
	x.nameLeftOut(resp) // with that of the reply
	resp.Header.Set(observing.FiguresHeader, x.report().Figures())
	bodies.Replace(resp, body)
	if x.bridge != nil {
		resp.Header.Set("Content-Type", "application/json")
	}
	x.complete = true
	resp.Body = bodies.Watch(resp.Body, &x.Activity, false)
	return nil
}

// isReply reports whether JSON has the form of a whole reply.
func (x *exchange) isReply(root gjson.Result) bool {
	return root.IsObject() || root.IsArray() && x.codec.Capabilities().Lists
}

// readWhole reads the body of a whole reply. If there is no memory for it, the
// client is refused, since it has seen nothing of the reply.
func (x *exchange) readWhole(resp *http.Response) ([]byte, error) {
	limit := x.engine.config.Limits.Body
	body, err := x.charge.Read(bodies.Watch(resp.Body, &x.Activity, true), limit, min(resp.ContentLength, limit))
	resp.Body.Close()
	var own *faults.Request
	switch {
	case errors.Is(err, budget.ErrLarge):
		return nil, fmt.Errorf("the upstream's reply is larger than %d bytes", limit)
	case errors.As(err, &own):
		return nil, own
	case err != nil:
		return nil, fmt.Errorf("the upstream's reply broke off: %w", faults.Quiet(err))
	}
	return body, nil
}

// rewrite reads a whole reply and rewrites it.
func (x *exchange) rewrite(reply []byte) (body []byte, err error) {
	cost := budget.ParsedCost(reply) + budget.ReadCost(jsonedit.StringOf(reply))
	if x.rec != nil {
		cost += int64(len(reply)) // its text is kept whole until its thoughts are known
	}
	err = x.charge.Use(cost, func() error {
		body = x.reply.Whole(nil, reply, &x.reading)
		return nil
	})
	if err == nil {
		err = x.charge.Take(int64(cap(body) + x.held()))
	}
	return body, err
}
