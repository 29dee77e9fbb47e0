package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// beginStored begins the exchange of a request that fetches a reply made earlier.
// The request has no body and names no model, so [exchange.identify] plans how the
// reply is read when its model is known. Such a reply teaches nothing: it was
// counted when it was made.
func (e *engine) beginStored(c codec, r *http.Request, to *target, hold *budget.Charge) (*exchange, error) {
	query := r.URL.Query()
	after, err := startingAfter(query)
	if err != nil {
		return nil, faults.New(faultname.ParameterInvalid, http.StatusBadRequest, err)
	}
	x := &exchange{
		engine: e, identity: observing.IdentityOf(r), codec: c, charge: hold, Activity: bodies.Activity{Began: time.Now()}, stored: true, after: after, to: to,
		request: &wire.Request{Stream: query.Get("stream") == "true"}, caller: access.Caller(r.Context()), credential: access.Key(r), trailers: observing.WantsTrailers(r),
	}
	x.key.Upstream = to.facts
	if err := x.identify("", false); err != nil {
		return nil, err
	}
	x.begun(r)
	return x, nil
}

// startingAfter returns the number of the last event of a stream that the client has
// already, or -1.
func startingAfter(query url.Values) (int, error) {
	text := query.Get("starting_after")
	if text == "" {
		return -1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, errors.New("starting_after is not the number of an event")
	}
	return n, nil
}

// identify plans how the reply of a model is read that the request did not name, and whether JSON was asked for.
func (x *exchange) identify(model string, json bool) (err error) {
	x.request.JSON = json
	x.model = x.engine.shownModel(model, []string{x.credential})
	model = modelname.Bounded(model)
	x.key.Model = x.model
	x.route = x.engine.unnamedRoute(x.codec.Name(), model)
	if x.family, err = x.engine.family(x.route, x.codec.Name(), model); err != nil {
		return err
	}
	room, account := x.reading.Room, x.reading.Account
	x.readRequest()
	x.reading.Remembers = false
	x.reading.Room, x.reading.Account = room, account
	return nil
}

// namedLate reports whether only the reply says which model answers.
func (x *exchange) namedLate() bool { return x.stored || x.unnamed() != nil }

// unnamed returns the codec of a request that does not name the model that answers; nil if it names it.
func (x *exchange) unnamed() wire.ModelNamer {
	if c, ok := x.codec.(wire.ModelNamer); ok && (x.stored || x.request.Unnamed) {
		return c
	}
	return nil
}

// identifyWhole identifies the model of a whole reply.
func (x *exchange) identifyWhole(reply []byte) error {
	if c := x.unnamed(); c != nil {
		model, _ := c.ModelIn(reply)
		return x.identify(model, x.request.JSON)
	}
	root := jsonedit.Parse(reply)
	return x.identify(root.Get("model").Str, chatjson.WantsJSON(root))
}

// identifyStream identifies the model of a stream by its first event, which tells the
// state of the response, or by the first that names one. It returns the stream with what was read of it.
func (x *exchange) identifyStream(src io.ReadCloser) (io.ReadCloser, error) {
	if c := x.unnamed(); c != nil {
		model, later := "", true
		src, _, err := x.peekStream(src, func(event []byte) bool {
			if foreignjson.Valid(event) {
				model, later = c.ModelIn(event)
			}
			return later
		})
		if err != nil {
			return nil, err
		}
		return src, x.identify(model, x.request.JSON)
	}
	src, response, err := x.peekStream(src, nil)
	if err != nil {
		return nil, err
	}
	return src, x.identify(response.Get("model").Str, chatjson.WantsJSON(response))
}

// peekStream returns the response in the first event of a stream that is not to be passed over, and the stream with what
// was read of it.
func (x *exchange) peekStream(src io.ReadCloser, over func(event []byte) bool) (_ io.ReadCloser, response gjson.Result, err error) {
	var head []byte
	var scan sse.Scanner
	var first sse.Frame
	buffer := make([]byte, 4<<10)
	for at := 0; first.Data == nil && err == nil && len(head) < x.engine.config.Limits.Frame; {
		var n int
		n, err = src.Read(buffer)
		x.Moved(true)
		head = append(head, buffer[:n]...)
		for ok := true; ok && first.Data == nil; at += len(first.Raw) {
			if first, ok = scan.Next(head[at:]); first.Data != nil && over != nil && over(first.Data) {
				first.Data = nil
			}
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, response, fmt.Errorf("the upstream's reply broke off: %w", faults.Quiet(err))
	}
	root := jsonedit.Parse(first.Data)
	if response := root.Get("response"); response.IsObject() {
		root = response
	}
	return &peeked{io.MultiReader(bytes.NewReader(head), src), src}, root, nil
}

// withoutStart makes the request for a stream one for all of it. A reply can be read
// only from its beginning, and the client counts the events that it got from us.
func withoutStart(u *url.URL) {
	query := u.Query()
	if query.Has("starting_after") {
		query.Del("starting_after")
		u.RawQuery = query.Encode()
	}
}

// A resumed stream leaves out the events that the client has already.
type resumed struct {
	io.ReadCloser
	after int
	scan  sse.Scanner
	in    []byte
	out   []byte
	err   error
}

func (r *resumed) Read(p []byte) (int, error) {
	for len(r.out) == 0 && r.err == nil {
		n, err := r.ReadCloser.Read(p)
		r.in, r.err = append(r.in, p[:n]...), err
		r.sift()
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	if n > 0 {
		return n, nil
	}
	return 0, r.err
}

// sift moves complete events that are new from in to out, and at the end the rest.
func (r *resumed) sift() {
	for {
		f, ok := r.scan.Next(r.in)
		if !ok {
			break
		}
		if number := jsonedit.Parse(f.Data).Get("sequence_number"); !number.Exists() || number.Int() > int64(r.after) {
			r.out = append(r.out, f.Raw...)
		}
		r.in = r.in[len(f.Raw):]
	}
	if r.err != nil {
		r.out, r.in = append(r.out, r.in...), nil
	}
}
