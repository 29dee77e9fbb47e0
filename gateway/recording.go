package gateway

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sotto-llm/sotto/gateway/internal/account"
	"github.com/sotto-llm/sotto/gateway/internal/backlog"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/record"
)

// A Recorder takes the events of exchanges. A [*record.Writer] is one.
type Recorder interface {
	// Enqueue takes an event and never waits. It reports false if the event is
	// lost.
	Enqueue(e record.Event) bool
	// Dropped is how many events were lost so far, including those that Enqueue had
	// accepted.
	Dropped() uint64
}

var _ Recorder = (*record.Writer)(nil)

// A recorder hands the exchanges of one configuration to the record.
type recorder struct {
	*intake
	secrets []string // of the configuration
	headers []string // that hold identifiers
}

// An intake is the way to the record, whatever the configuration. It counts the events
// that are lost, and reports them.
type intake struct {
	to      Recorder
	log     *slog.Logger
	backlog *backlog.Backlog

	truncated  atomic.Int64  // exchanges of which not all is recorded
	unsearched atomic.Int64  // secrets that were not searched for
	lost       atomic.Uint64 // events for which the backlog had no room
	unreported atomic.Uint64 // lost events that the record does not mention yet

	mu     sync.Mutex
	seen   uint64 // lost events that the log has mentioned
	losing bool
	last   time.Time // when a loss was last seen
}

// newRecorder returns nil if nothing is recorded.
func newRecorder(c Config) *recorder {
	if c.Recorder == nil {
		return nil
	}
	in := &intake{to: c.Recorder, log: c.Logger}
	in.backlog = backlog.New(c.Limits.MemoryBytes/backlogShare, in.fault)
	return in.recorder(c)
}

// recorder returns the recorder of a configuration.
func (r *intake) recorder(c Config) *recorder {
	return &recorder{r, c.secrets(), slices.Concat(record.SessionHeaders(), c.RecordHeaders)}
}

// observer records every exchange, and every request that was refused.
func (r *recorder) observer() observer {
	return observer{
		begun: r.begin, replied: overhear, ended: (*exchange).record, refused: r.refused,
		close: func() error { r.backlog.Close(); return nil },
	}
}

// completeAfter is how long no event may be lost before the record counts as complete
// again. So a disk that fails now and then gives one line in the log.
const completeAfter = 10 * time.Second

// backlogShare is the share of the memory for exchanges that may be held by those
// that wait to be recorded.
const backlogShare = 8

// later records an event after the client has its reply, because making one takes
// time, most of all the search for credentials. event makes it. size is how many
// bytes are held for it until then. done is called after that.
func (r *intake) later(size int64, event func() record.Event, done func()) {
	if r.backlog.Add(size, func() { r.add(event()) }, done) {
		return
	}
	r.lose()
	if done != nil {
		done()
	}
}

// lose counts an event that is not recorded.
func (r *intake) lose() {
	r.lost.Add(1)
	r.unreported.Add(1)
	r.tell()
}

// fault handles an event that could not be made.
func (r *intake) fault(err error) {
	r.log.Error("an exchange is not recorded", "error", err)
	r.lose()
}

// dropped returns how many events are not in the record.
func (r *intake) dropped() uint64 { return r.to.Dropped() + r.lost.Load() }

// add hands an event to the record, and before it how many were lost.
func (r *intake) add(e record.Event) {
	if n := r.unreported.Load(); n > 0 && r.to.Enqueue(record.Event{Payload: record.Failure{Code: "dropped", Count: n}}) {
		r.unreported.Add(-n)
	}
	r.to.Enqueue(e)
	r.unsearched.Add(int64(e.Secrets.Unsearched()))
	r.tell()
}

// tell logs when events begin to be lost, and when that is over.
func (r *intake) tell() {
	lost, now := r.dropped(), time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case lost > r.seen:
		if !r.losing {
			r.log.Error("events are lost: the disk of the record is full, slow or gone", "lost", lost)
		}
		r.seen, r.losing, r.last = lost, true, now
	case r.losing && now.Sub(r.last) >= completeAfter:
		r.losing = false
		r.log.Info("events are recorded again", "lost", lost)
	}
}

// secretsOf returns the secrets of a request that must not be recorded of its
// exchange.
func (r *recorder) secretsOf(q *http.Request) *record.Secrets {
	if slices.ContainsFunc(r.headers, func(name string) bool { return q.Header.Get(name) != "" }) { // a session's id would be taken for a credential
		c := *q
		c.Header = q.Header.Clone()
		for _, name := range r.headers {
			c.Header.Del(name)
		}
		q = &c
	}
	s := record.RequestSecrets(q)
	s.Add(r.secrets...)
	return s
}

// addHeaders adds the identifiers in the headers of a request to others.
func (r *recorder) addHeaders(ids map[string]string, h http.Header) map[string]string {
	for _, name := range r.headers {
		ids = account.HeaderID(ids, name, h.Get(name))
	}
	return account.Trace(ids, h.Get("traceparent"))
}

// A recording collects what the record keeps of an exchange, while it lasts.
type recording struct {
	to             *recorder
	secrets        *record.Secrets
	path, upstream string
	ids            map[string]string // of the headers
	room           account.Room      // for the reply
	account        *account.Account
	refusal        []byte // what the upstream sent in place of a reply
}

// begin begins the recording of an exchange.
func (r *recorder) begin(x *exchange, q *http.Request, upstream *url.URL) {
	rec := &recording{
		to: r, secrets: r.secretsOf(q), path: pathOf(q.URL), upstream: upstreamOf(upstream), ids: r.addHeaders(nil, q.Header),
		room: account.Room{Left: x.engine.config.Limits.Recorded},
	}
	if t := turnOf(q.Context()); t != nil {
		rec.ids = account.HeaderID(account.HeaderID(rec.ids, idSocket, t.socket), idPrevious, t.previous)
	}
	if x.span != "" {
		rec.ids = account.HeaderID(account.HeaderID(rec.ids, record.IDTrace, x.trace), record.IDSpan, x.span)
	}
	rec.account = account.New(x.codec.Capabilities(), &rec.room)
	x.rec, x.reading.Room, x.reading.Account, x.reading.Notes = rec, &rec.room, rec.account, true
}

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

// record passes an exchange that has ended to the record. Its memory stays reserved
// until it is recorded.
func (x *exchange) record() {
	x.charge.Keep()
	x.rec.to.later(x.charge.Held(), x.event, x.charge.Leave)
}

// event returns the event of an exchange, as it is recorded.
func (x *exchange) event() record.Event {
	rec := x.rec
	asked := account.Room{Left: x.engine.config.Limits.Recorded}
	e := record.Exchange{
		ID: x.exchange, API: x.codec.Name(), Model: x.model, Caller: x.caller, Path: rec.path, Upstream: rec.upstream,
		Status: x.status, Streamed: x.streamed, Outcome: x.ended, Millis: millis(x.took),
		FirstThought: millis(x.since(x.reading.FirstThought)), FirstAnswer: millis(x.since(x.reading.FirstAnswer)),
		ResponseID: rec.account.ID(), IDs: account.IDs(x.body, &asked),
		Usage: x.usage(), Messages: account.Messages(x.codec, x.body, &asked),
	}
	replies, where := x.replies()
	e.Guard = x.judgements.recorded()
	failed := !x.streamed && (x.err != nil || x.reading.Failure != nil) // the client got an error
	e.Replies, e.Delivered = replies, x.reading.Delivery(where, x.judgements.verdict(), failed)
	e.Switch = x.recordedSwitch(&asked)
	e.LeakBytes = x.reading.Reasoning
	if e.Leak = x.leak(); e.Leak == leakCorrected {
		e.Leak = cmp.Or(e.Thought(-1), record.ThoughtHidden)
	}
	if x.route.Name != defaultRoute {
		e.Route = x.route.Name
	}
	if x.to.name != defaultUpstream {
		e.UpstreamName = x.to.name
	}
	e.Retries = x.retries
	if done := historyDone(x); done != historyFirst {
		e.HistoryDone = done
	}
	e.Revisions = x.revisions(e.Messages, &asked)
	e.Parameters, e.Tools = account.Settings(x.body, &asked)
	if e.IDs == nil {
		e.IDs = rec.ids
	} else {
		maps.Copy(e.IDs, rec.ids)
	}
	if x.plan.Changed() && !x.engine.config.HistoryDryRun {
		e.History = x.plan.String()
	}
	e.Error = x.remarks(asked.Cut, omitted(e.Replies))
	if asked.Cut || rec.room.Cut {
		rec.to.truncated.Add(1)
	}
	return record.Event{Payload: e, Secrets: rec.secrets}
}

// revisions are what the history policy did to the messages of the client. If not all
// of the messages are recorded, the rest is not compared.
func (x *exchange) revisions(sent []record.Message, room *account.Room) []record.Revision {
	if x.original == nil || room.Cut {
		return nil
	}
	client := account.Messages(x.codec, x.original, &account.Room{Left: math.MaxInt})
	return account.Revisions(client, sent, x.codec.Capabilities().Items, room)
}

// omitted is how many bytes of replies are left out because of the limit.
func omitted(replies []record.Reply) (n int) {
	add := func(c record.Content) { n += c.Len() - len(c.Text) }
	for i := range replies {
		r := &replies[i]
		add(r.Raw)
		add(r.Refusal)
		for _, t := range r.Reasoning {
			add(t.Text)
		}
		for _, c := range r.ToolCalls {
			add(c.Arguments)
		}
	}
	return n
}

// remarks say what went wrong, and what is not recorded. gone is how many bytes of the reply
// that is.
func (x *exchange) remarks(cut bool, gone int) string {
	rec := x.rec
	var list []string
	switch {
	case x.err != nil:
		list = append(list, faults.Plain(x.err.Error()))
	case x.ended == "refused":
		list = append(list, fmt.Sprintf("the upstream answered %d", x.status))
	}
	if x.reading.Cut {
		list = append(list, fmt.Sprintf("the gateway ended the reply (%s), and its finish reason is the gateway's", x.reading.StopCause()))
	}
	rec.account.Refused(rec.refusal)
	if fault := rec.account.Fault(); fault != "" {
		list = append(list, fault)
	}
	if cut {
		list = append(list, "the request is recorded only in part: it is larger than limits.recorded")
	}
	switch {
	case gone > 0:
		list = append(list, fmt.Sprintf("the reply is recorded without %d bytes of it: it is larger than limits.recorded", gone))
	case rec.room.Cut:
		list = append(list, "the reply is recorded only in part: it is larger than limits.recorded")
	}
	return strings.Join(list, "; ")
}

// refusalCost is the size of an event about a refused exchange: a path, an error,
// and the credentials of a header.
const refusalCost = 64 << 10

// refused records an exchange that ended before it began.
func (r *recorder) refused(q *http.Request, c codec, upstream *url.URL, status int, err error) {
	e := record.Event{Secrets: r.secretsOf(q), Payload: record.Exchange{
		ID: identityOf(q).exchange, API: c.Name(), Caller: access.Caller(q.Context()), Path: pathOf(q.URL), Upstream: upstreamOf(upstream), Status: status, Outcome: "refused", Error: faults.Plain(err.Error()),
		IDs: r.addHeaders(nil, q.Header),
	}}
	r.later(refusalCost, func() record.Event { return e }, nil)
}

// said is the reading of all that the upstream sent, also of what a guard kept from the
// client.
func (x *exchange) said() *reading.Reading {
	if x.ahead != nil {
		return x.ahead
	}
	return &x.reading
}

// usage returns the tokens that the provider counted. If it does not count
// reasoning, that is estimated from the bytes, as it is for the client.
func (x *exchange) usage() *record.Usage {
	said := x.said()
	u := said.Tokens.Usage()
	if u == nil || u.Reasoning > 0 || said.Reasoning == 0 {
		return u
	}
	u.Reasoning = int64(math.Round(float64(u.Output) * float64(said.Reasoning) / float64(said.All)))
	u.Estimated = true
	return u
}

// replies are the choices as they came and as they were read. If an API does not
// number its choices, each text of the reply is one choice. What the account has is
// recorded with the text that it belongs to.
func (x *exchange) replies() ([]record.Reply, *reading.Whereabouts) {
	a, said := x.rec.account, x.said()
	spoken := said.Spoken()
	numbers, own := spoken, func(_, choice int) int { return choice }
	if said.Can.Texts {
		if len(numbers) == 0 && len(a.Choices()) > 0 {
			numbers = []int{0}
		}
		own = func(i, _ int) int { return i }
	} else {
		numbers = slices.Concat(numbers, a.Choices())
		slices.Sort(numbers)
		numbers = slices.Compact(numbers)
	}
	list := make([]record.Reply, 0, len(numbers))
	where := &reading.Whereabouts{Choices: numbers, Parts: make([]map[int]int, len(numbers))}
	for i, n := range numbers {
		r := said.Recorded(n)
		r.Dialect = x.family.dialect
		belongs, last := own(i, n), i == len(numbers)-1
		where.Parts[i] = map[int]int{}
		r.Reasoning, r.ToolCalls = a.Of(func(choice int) bool {
			return choice == belongs || said.Can.Texts && last && choice > belongs
		}, where.Parts[i])
		r.Refusal = a.Refusal(func(choice int) bool { return choice == belongs })
		list = append(list, r)
	}
	return list, where
}

// millis rounds up, so that a short time does not count as none.
func millis(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// maxRefusal bounds how much of an upstream's error is read.
const maxRefusal = 4 << 10

// overhear keeps the beginning of a response that is not a reply.
func overhear(x *exchange, resp *http.Response) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		resp.Body = &recordedBody{resp.Body, x.rec}
	}
}

// A recordedBody is the body of an upstream's error on its way to the client.
type recordedBody struct {
	io.ReadCloser
	rec *recording
}

func (o *recordedBody) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	room := maxRefusal - len(o.rec.refusal)
	o.rec.refusal = append(o.rec.refusal, p[:min(n, room)]...)
	return n, err
}
