package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/ndjson"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
	wireshown "github.com/sotto-llm/sotto/wire/shown"
)

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
func (e *engine) readResults(r *http.Request, from *target, resp *http.Response, hold *budget.Charge) error {
	lines := &resultLines{engine: e, hides: e.config.hides(), credential: access.Key(r), from: from, charge: hold}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		if x := lines.reader(); x != nil {
			x.charge = hold
			return x.refused(resp)
		}
		return nil
	}
	if err := bodies.Decompress(resp); err != nil {
		return err
	}
	lines.ReadCloser, resp.Body = resp.Body, lines
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
	hides      bool
	credential string
	from       *target
	charge     *budget.Charge // the memory reserved for the exchange
	codec      wire.Codec     // of the last reply; nil before
	model      string         // of the last reply
	errors     *exchange      // reads errors as that reply was read; nil until one comes
	lines      int

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
		if l.readLine(line.Raw); l.err != nil {
			return
		}
		rest = rest[len(line.Raw):]
	}
	if l.in = l.in[:copy(l.in, rest)]; len(l.in) == 0 && cap(l.in) > bodies.LargeBuffer {
		l.in = nil
	}
	limit := l.engine.config.Limits.Frame
	switch {
	case err != nil && errors.Is(err, io.EOF):
		l.readLine(l.in)
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

// reserve takes the memory of the lines that are held until the next of them come.
func (l *resultLines) reserve() {
	if err := l.charge.Stream(int64(cap(l.in) + cap(l.out))); err != nil && l.err == nil {
		l.err = err
	}
}

// readLine reads a line, in memory that is reserved for it.
func (l *resultLines) readLine(raw []byte) {
	l.err = l.charge.Use(budget.ParsedCost(raw)+budget.ReadCost(jsonedit.StringOf(raw)), func() error {
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
	l.lines++
	out, ok := l.result(data)
	switch {
	case ok:
		dst = append(dst, out...)
		return append(dst, raw[bytes.LastIndexByte(raw, data[len(data)-1])+1:]...)
	case l.hides:
		return l.unread(dst, data)
	}
	return append(dst, raw...)
}

// unread appends a line in place of one that is not shown where reasoning is hidden. It
// says which request it belongs to.
func (l *resultLines) unread(dst, data []byte) []byte {
	name, id := "custom_id", "null"
	if (foreignjson.Limits{Members: foreignjson.ReplyMembers}).Check(data) == nil {
		for _, member := range resultIDs {
			if v := jsonedit.Parse(data).Get(member); v.Type == gjson.String {
				name, id = member, string(jsontext.AppendVerbatim(nil, l.text("", []byte(v.Str), false)))
				break
			}
		}
	}
	return fmt.Appendf(dst, `{"%s":%s,"error":{"code":"unread","message":"the gateway hides reasoning, and cannot read the form of line %d of this file"}}`+"\n", name, id, l.lines)
}

// text returns what is shown of a text of a line where reasoning is hidden, such as the id
// of its request: an upstream can write anything into it.
func (l *resultLines) text(_ string, text []byte, _ bool) []byte {
	x := l.reader()
	if x == nil {
		return nil
	}
	return x.errorTexts(true).Text(text)
}

// resultIDs are the members by which a line names its request.
var resultIDs = []string{"custom_id", "key"}

// shownLine is what is shown of a line where reasoning is hidden, once the reply in it
// was read. Where the reply is the response itself, wholeLine is.
var (
	shownLine = wireshown.Object("id", wireshown.Members{
		"custom_id": wireshown.Text, "key": wireshown.Text, "error": wireshown.Fault,
		"response": wireshown.Object("status_code request_id", wireshown.Members{"body": wireshown.Opaque}),
		"result": wireshown.Object("type", wireshown.Members{
			"message": wireshown.Opaque, "error": wireshown.Object("type request_id", wireshown.Members{"error": wireshown.Fault}),
		}),
	})
	wholeLine = wireshown.Object("id", wireshown.Members{
		"custom_id": wireshown.Text, "key": wireshown.Text, "error": wireshown.Fault, "response": wireshown.Opaque,
	})
)

// batches are the forms in which providers write the results of batches. A line is read by
// its own form, whatever the endpoint: a proxy may serve the results of one provider at
// the path of another.
var batches = func() (list []*wire.Batch) {
	for _, p := range providers.All() {
		if p.Batch != nil {
			list = append(list, p.Batch)
		}
	}
	return list
}()

// repliesIn returns the replies in a line, and where the last one is.
func repliesIn(line gjson.Result) (replies []gjson.Result, at string) {
	for _, b := range batches {
		inner := slices.ContainsFunc(batches, func(o *wire.Batch) bool {
			return strings.HasPrefix(o.Reply, b.Reply+".") && line.Get(o.Reply).Exists()
		})
		if v := line.Get(b.Reply); !inner && v.Exists() && v.Type != gjson.Null {
			replies, at = append(replies, v), b.Reply
		}
	}
	return replies, at
}

// result returns what the client gets of the result of a request. ok is false if the
// line is not one, or if it is one in two forms at once.
func (l *resultLines) result(data []byte) (out []byte, ok bool) {
	if (foreignjson.Limits{Members: foreignjson.ReplyMembers}).Check(data) != nil {
		return nil, false
	}
	root := jsonedit.Parse(data)
	if !root.IsObject() || !slices.ContainsFunc(resultIDs, func(name string) bool { return root.Get(name).Exists() }) {
		return nil, false
	}
	var edits []jsonedit.Edit
	replies, at := repliesIn(root)
	for _, reply := range replies {
		if l.hides && (!reply.IsObject() || len(replies) > 1) {
			return nil, false
		}
		if !reply.IsObject() {
			continue
		}
		with, ok := l.reply(reply)
		if !ok {
			return nil, false
		}
		edits = append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(reply), With: with})
	}
	slices.SortFunc(edits, func(a, b jsonedit.Edit) int { return a.Start - b.Start })
	if data = l.fault(jsonedit.Splice(nil, data, edits)); !l.hides {
		return data, true
	}
	shows := shownLine
	if at == "response" {
		shows = wholeLine
	}
	out, ok, err := shows.Read(data, l.text)
	return out, ok && err == nil
}

// fault returns a line without the thoughts in the errors of its request.
func (l *resultLines) fault(data []byte) []byte {
	root := jsonedit.Parse(data)
	list := []gjson.Result{root.Get("error"), root.Get("result.error")}
	if !slices.ContainsFunc(list, func(v gjson.Result) bool { return v.Type != gjson.Null }) {
		return data
	}
	x := l.reader()
	if x == nil || x.route.Display == routing.DisplayKeep {
		return data
	}
	return x.errorTexts(l.hides).Values(data, list...)
}

// reader returns an exchange that reads what names no model: as the reply before it, or
// as that of a request without a model. It is nil if there is none.
func (l *resultLines) reader() *exchange {
	if l.codec == nil {
		l.codec = batches[0].Codecs[0].Codec
	}
	if l.errors == nil {
		if x, err := l.exchange(l.codec, l.model, false); err == nil {
			l.errors = x
		}
	}
	return l.errors
}

// exchange returns one that reads the reply of a model; json says that JSON was asked for.
func (l *resultLines) exchange(c wire.Codec, model string, json bool) (*exchange, error) {
	x := &exchange{
		engine: l.engine, codec: c, stored: true, after: -1, request: &wire.Request{},
		credential: l.credential, Activity: bodies.Activity{Began: time.Now()}, to: l.from,
	}
	x.key.Upstream = l.from.facts
	return x, x.identify(model, json)
}

// reply rewrites a reply by the codec that it fits. Where reasoning is hidden, a reply
// that none fits must be one that a model does not write, or an error.
func (l *resultLines) reply(reply gjson.Result) (out []byte, ok bool) {
	body := jsonedit.BytesOf(reply.Raw)
	for _, b := range batches {
		for _, c := range b.Codecs {
			if !reply.Get(c.Has).Exists() {
				continue
			}
			x, err := l.exchange(c.Codec, reply.Get("model").Str, chatjson.WantsJSON(reply))
			if err != nil {
				return nil, false
			}
			if l.codec == nil || l.codec.Name() != x.codec.Name() || l.model != x.model { // not x itself, which holds what it read
				l.codec, l.model, l.errors = x.codec, strings.Clone(x.model), nil
			}
			out = x.reply.Whole(nil, body, &x.reading)
			if x.route.Display == routing.DisplayKeep {
				out = body
			}
			return out, x.reading.Failure == nil || !l.hides
		}
	}
	for _, p := range plainReplies {
		if reply.Get(p.has).Exists() {
			if l.hides {
				return p.shows.Of(body)
			}
			return body, true
		}
	}
	return l.refusal(body)
}

// A plainReply is a reply without a text of a model, which has a member.
type plainReply struct {
	has   string
	shows *wireshown.Value
}

// vector is a list of numbers, or their bytes in Base64.
var vector = wireshown.Or(wireshown.List(wireshown.Number), wireshown.Sealed)

// plainReplies are those that batches have: vectors, and judgements of moderation.
var plainReplies = []plainReply{
	{"data.0.embedding", wireshown.Object("object id model", wireshown.Members{
		"data": wireshown.List(wireshown.Object("object index", wireshown.Members{"embedding": vector})), "usage": wireshown.Counts,
	})},
	{"embedding.values", wireshown.Object("", wireshown.Members{
		"embedding": wireshown.Object("", wireshown.Members{"values": vector}), "usageMetadata": wireshown.Counts,
	})},
	{"results.0.categories", wireshown.Object("id model", wireshown.Members{"results": wireshown.List(wireshown.Object("flagged", wireshown.Members{
		"categories": wireshown.Counts, "category_scores": wireshown.Counts, "category_applied_input_types": wireshown.MapOf(wireshown.List(wireshown.Word)),
	}))})},
}

// refusal returns what is shown of the body of a request that failed.
func (l *resultLines) refusal(body []byte) (out []byte, ok bool) {
	if x := l.reader(); x != nil && x.route.Display != routing.DisplayKeep {
		body = x.errorTexts(l.hides).Body(body)
	}
	if !l.hides {
		return body, true
	}
	out, ok = wireshown.Error(body)
	root := jsonedit.Parse(out)
	return out, ok && (root.Get("error").Exists() || root.Get("message").Exists())
}
