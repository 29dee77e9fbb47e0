// Package recording makes the events of a record from exchanges: what was asked, what came,
// what was thought and said, and what the client got of it. It makes them after the client has
// its reply, and counts what is lost.
package recording

import (
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	"github.com/sotto-llm/sotto/gateway/internal/account"
	"github.com/sotto-llm/sotto/gateway/internal/backlog"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/record"
	"github.com/sotto-llm/sotto/wire"
)

// A Recorder hands the exchanges of one configuration to the record.
type Recorder struct {
	*intake
	Config
}

// A Config is what a configuration says of the record.
type Config struct {
	Secrets  []string // of the configuration
	Headers  []string // that hold identifiers
	Recorded int      // the setting limits.recorded
	// The names of the route and of the upstream that the record does not mention.
	Route, Upstream string
}

// New returns a recorder. memory is that for exchanges, of which those that wait to be
// recorded may hold a share.
func New(to Sink, log *slog.Logger, memory int64, c Config) *Recorder {
	in := &intake{to: to, log: log}
	in.backlog = backlog.New(memory/backlogShare, in.fault)
	return in.With(c)
}

// With returns the recorder of another configuration, to the same record.
func (r *intake) With(c Config) *Recorder {
	c.Headers = slices.Concat(record.SessionHeaders(), c.Headers)
	return &Recorder{r, c}
}

// Close waits until all is recorded.
func (r *Recorder) Close() { r.backlog.Close() }

// Wait waits until what was handed over is recorded.
func (r *Recorder) Wait() { r.backlog.Wait() }

// secretsOf returns the secrets of a request that must not be recorded of its
// exchange.
func (r *Recorder) secretsOf(q *http.Request) *record.Secrets {
	if slices.ContainsFunc(r.Headers, func(name string) bool { return q.Header.Get(name) != "" }) { // a session's id would be taken for a credential
		c := *q
		c.Header = q.Header.Clone()
		for _, name := range r.Headers {
			c.Header.Del(name)
		}
		q = &c
	}
	s := record.RequestSecrets(q)
	s.Add(r.Secrets...)
	return s
}

// addHeaders adds the identifiers in the headers of a request to others.
func (r *Recorder) addHeaders(ids map[string]string, h http.Header) map[string]string {
	for _, name := range r.Headers {
		ids = account.HeaderID(ids, name, h.Get(name))
	}
	return account.Trace(ids, h.Get("traceparent"))
}

// A Recording collects what the record keeps of an exchange, while it lasts.
type Recording struct {
	to             *Recorder
	secrets        *record.Secrets
	path, upstream string
	ids            map[string]string // of the headers
	room           account.Room      // for the reply
	account        *account.Account
	refusal        []byte // what the upstream sent in place of a reply
}

// Begin begins the recording of an exchange, whose reply is read by reads. ids are identifiers
// that no header has, as pairs of a name and a value.
func (r *Recorder) Begin(x *observing.Exchange, q *http.Request, reads *reading.Reading, ids ...[2]string) *Recording {
	rec := &Recording{
		to: r, secrets: r.secretsOf(q), path: pathOf(q.URL), upstream: upstreamOf(x.Address), ids: r.addHeaders(nil, q.Header),
		room: account.Room{Left: r.Recorded},
	}
	for _, id := range ids {
		rec.ids = account.HeaderID(rec.ids, id[0], id[1])
	}
	if x.Span != "" {
		rec.ids = account.HeaderID(account.HeaderID(rec.ids, record.IDTrace, x.Trace), record.IDSpan, x.Span)
	}
	rec.account = account.New(reads.Can, &rec.room)
	reads.Room, reads.Account, reads.Notes = &rec.room, rec.account, true
	return rec
}

// Held returns how many bytes it keeps of the reply.
func (rec *Recording) Held() int { return rec.to.Recorded - rec.room.Left }

// pathOf returns a path that a client asked for, fit to be shown.
func pathOf(u *url.URL) string { return shorttext.Escape(u.Path, access.MaxPath) }

// upstreamOf names a server, without anything that may be a credential. It is empty for a
// request of which nobody has decided where it goes.
func upstreamOf(u *url.URL) string {
	if u == nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// A Source is an exchange that has ended, with the texts that the record has of it.
type Source struct {
	*observing.Report
	Codec      wire.Codec
	Body       []byte           // as sent to the upstream
	Original   []byte           // the body before the history was edited, if it was
	Client     wire.Codec       // of the client, if it speaks another API than the upstream; else nil
	Asked      []byte           // … and its body
	Given      *reading.Reading // what the client got
	Said       *reading.Reading // all that the upstream sent, also what a guard kept from the client
	Judgements *observing.Judgements
	Switch     []byte // the members that controlled thinking, as the client sent them, if they were translated
	Charge     *budget.Charge
}

// End passes an exchange that has ended to the record. Its memory stays reserved until it is
// recorded.
func (rec *Recording) End(x Source) {
	x.Charge.Keep()
	rec.to.later(x.Charge.Held(), func() record.Event { return rec.event(&x) }, x.Charge.Leave)
}

// refusalCost is the size of an event about a refused exchange: a path, an error,
// and the credentials of a header.
const refusalCost = 64 << 10

// Refused records an exchange that ended before it began. The upstream is nil if nobody has
// decided where the request goes.
func (r *Recorder) Refused(q *http.Request, upstream *url.URL, f observing.Refusal) {
	e := record.Event{Secrets: r.secretsOf(q), Payload: record.Exchange{
		ID: f.ID, API: f.API, Caller: f.Caller, Path: pathOf(q.URL), Upstream: upstreamOf(upstream), Status: f.Status, Outcome: "refused", Error: faults.Plain(f.Err.Error()),
		IDs: r.addHeaders(nil, q.Header),
	}}
	r.later(refusalCost, func() record.Event { return e }, nil)
}

// maxRefusal bounds how much of an upstream's error is read.
const maxRefusal = 4 << 10

// Overhear keeps the beginning of a response that is not a reply.
func (rec *Recording) Overhear(resp *http.Response) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		resp.Body = &recordedBody{resp.Body, rec}
	}
}

// A recordedBody is the body of an upstream's error on its way to the client.
type recordedBody struct {
	io.ReadCloser
	rec *Recording
}

func (o *recordedBody) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	room := maxRefusal - len(o.rec.refusal)
	o.rec.refusal = append(o.rec.refusal, p[:min(n, room)]...)
	return n, err
}
