package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/access"
	"github.com/sotto-llm/sotto/internal/foreignjson"
	"github.com/sotto-llm/sotto/internal/jsonedit"
	"github.com/sotto-llm/sotto/ndjson"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
	wireshown "github.com/sotto-llm/sotto/wire/shown"
)

// batchOf returns how the provider of an endpoint writes the results of batches, or nil.
func batchOf(e *endpoint) *wire.Batch {
	if e.kind != results {
		return nil
	}
	for _, p := range providers.All() {
		if p.Has(e.codec) {
			return p.Batch
		}
	}
	return nil
}

// wholeFile asks for all of a file: a part of it may begin inside a line.
func wholeFile(r *http.Request) {
	for _, name := range []string{"Range", "If-Range"} {
		r.Header.Del(name)
	}
	r.Header.Set("Accept-Encoding", "identity")
}

// readResults makes the body of a response one whose lines are read, each in the dialect
// of the model that its reply names. A file that has no results passes, unless some route
// hides reasoning.
func (e *engine) readResults(r *http.Request, at *endpoint, from *target, resp *http.Response, hold *charge) error {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil
	}
	if err := decompress(resp); err != nil {
		return err
	}
	resp.Body = &resultLines{
		ReadCloser: resp.Body, engine: e, batch: batchOf(at), hides: e.config.hides(),
		credential: access.Key(r), from: from, charge: hold,
	}
	resp.ContentLength = -1
	for _, name := range []string{"Content-Length", "Accept-Ranges", "Content-Range", "ETag", "Content-MD5", "Digest", "Content-Digest", "Repr-Digest"} {
		resp.Header.Del(name)
	}
	return nil
}

// resultLines are the lines of a file, with the replies in them rewritten.
type resultLines struct {
	io.ReadCloser
	engine     *engine
	batch      *wire.Batch
	hides      bool
	credential string
	from       *target
	charge     *charge // the memory reserved for the exchange

	scan ndjson.Scanner
	in   []byte
	out  []byte
	err  error
}

func (l *resultLines) Read(p []byte) (int, error) {
	for len(l.out) == 0 && l.err == nil {
		l.fill()
	}
	n := copy(p, l.out)
	l.out = l.out[n:]
	if n > 0 {
		return n, nil
	}
	return 0, l.err
}

// fill reads from the upstream once, and writes the lines that this completed.
func (l *resultLines) fill() {
	l.in = slices.Grow(l.in, 16<<10)
	n, err := l.ReadCloser.Read(l.in[len(l.in):cap(l.in)])
	l.in = l.in[:len(l.in)+n]
	l.out = l.out[:0]
	defer l.reserve()
	rest := l.in
	for {
		line, ok := l.scan.Next(rest)
		if !ok {
			break
		}
		if l.read(line.Raw); l.err != nil {
			return
		}
		rest = rest[len(line.Raw):]
	}
	if l.in = l.in[:copy(l.in, rest)]; len(l.in) == 0 && cap(l.in) > largeBuffer {
		l.in = nil
	}
	limit := l.engine.config.Limits.Frame
	switch {
	case err != nil && errors.Is(err, io.EOF):
		l.read(l.in)
		l.in = nil
		if l.err == nil {
			l.err = err
		}
	case err != nil:
		l.err = err
	case len(l.in) > limit && l.hides:
		l.err = fmt.Errorf("the upstream sent a line larger than %d bytes", limit)
	case len(l.in) > limit: // a file without lines
		l.out, l.in, l.scan = append(l.out, l.in...), nil, ndjson.Scanner{}
	}
}

// reserve reserves the memory of the lines that are held until the next of them come.
func (l *resultLines) reserve() {
	if err := l.charge.stream(int64(cap(l.in) + cap(l.out))); err != nil && l.err == nil {
		l.err = err
	}
}

// read reads a line, in memory that is reserved for it.
func (l *resultLines) read(raw []byte) {
	l.err = l.charge.use(parsedCost(raw)+readCost(jsonedit.StringOf(raw)), func() error {
		l.out = l.line(l.out, raw)
		return nil
	})
}

// line appends what the client gets of a line.
func (l *resultLines) line(dst, raw []byte) []byte {
	data := bytes.TrimSpace(raw)
	if len(data) == 0 {
		return append(dst, raw...)
	}
	out, ok := l.result(data)
	switch {
	case ok:
		dst = append(dst, out...)
		return append(dst, raw[bytes.LastIndexByte(raw, data[len(data)-1])+1:]...)
	case l.hides:
		return append(dst, unreadLine...)
	}
	return append(dst, raw...)
}

// unreadLine is a line in place of one that is not shown where reasoning is hidden.
const unreadLine = `{"custom_id":null,"error":{"code":"unread","message":"the gateway hides reasoning, and cannot read this line"}}` + "\n"

// shownLine is what is shown of a line where reasoning is hidden, once the reply in it
// was read.
var shownLine = wireshown.Object("id", wireshown.Members{
	"custom_id!": wireshown.Text, "error": wireshown.Fault,
	"response": wireshown.Object("status_code request_id", wireshown.Members{"body": wireshown.Opaque}),
	"result": wireshown.Object("type", wireshown.Members{
		"message": wireshown.Opaque, "error": wireshown.Object("type request_id", wireshown.Members{"error": wireshown.Fault}),
	}),
})

// result returns what the client gets of the result of a request. ok is false if the
// line is not one.
func (l *resultLines) result(data []byte) (out []byte, ok bool) {
	if (foreignjson.Limits{Members: foreignjson.ReplyMembers}).Check(data) != nil {
		return nil, false
	}
	root := jsonedit.Parse(data)
	if !root.IsObject() || !root.Get("custom_id").Exists() {
		return nil, false
	}
	reply := root.Get(l.batch.Reply)
	switch {
	case !reply.IsObject() && l.hides && reply.Exists() && reply.Type != gjson.Null:
		return nil, false
	case reply.IsObject():
		with, ok := l.reply(reply)
		if !ok {
			return nil, false
		}
		data = jsonedit.Splice(nil, data, []jsonedit.Edit{{Span: jsonedit.SpanOf(reply), With: with}})
	}
	if !l.hides {
		return data, true
	}
	return shownLine.Of(data)
}

// reply rewrites a reply by the codec that it fits. Where reasoning is hidden, a reply
// that none fits must be an error.
func (l *resultLines) reply(reply gjson.Result) (out []byte, ok bool) {
	body := jsonedit.BytesOf(reply.Raw)
	for _, c := range l.batch.Codecs {
		if !reply.Get(c.Has).Exists() {
			continue
		}
		x := &exchange{
			engine: l.engine, codec: c.Codec, stored: true, after: -1, request: &wire.Request{},
			credential: l.credential, activity: activity{began: time.Now()}, to: l.from,
		}
		x.key.Upstream = l.from.facts
		if x.identify(reply.Get("model").Str) != nil {
			return nil, false
		}
		out = x.reply.Whole(nil, body, &x.reading)
		if x.route.Display == DisplayKeep {
			out = body
		}
		return out, x.reading.failure == nil || !l.hides
	}
	if l.hides {
		return wireshown.Error(body)
	}
	return body, true
}
