package telemetry

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/internal/recorded/otlp"
	"github.com/sotto-llm/sotto/record"
)

// Bounds of texts, if they are sent.
const (
	mostContent  = 32 << 10         // bytes of the messages of a request, and as many of a reply, as JSON
	mostWaiting  = 512              // spans that wait for their texts, or to be sent
	mostTogether = 128              // spans in a request
	contentWait  = 30 * time.Second // after which a span is sent without its texts
)

// contents joins the texts of exchanges to their spans. The gateway makes the texts of an
// exchange for its record, after the client has its reply and after the span was to end, so
// the span waits for them.
type contents struct {
	mu      sync.Mutex
	waiting map[string]waiting // by the exchange
}

type waiting struct {
	since time.Time
	end   func(texts ...attribute.KeyValue)
}

// lost is the attribute of a span that is sent without its texts.
var lost = attribute.Bool("sotto.content.lost", true)

// wait calls end when the texts of an exchange come, or when they take too long.
func (c *contents) wait(exchange string, end func(...attribute.KeyValue)) {
	now := time.Now()
	c.mu.Lock()
	late := c.late(now)
	c.waiting[exchange] = waiting{now, end}
	c.mu.Unlock()
	for _, w := range late {
		w.end(lost)
	}
}

// late takes those that have waited for too long, or all if there are too many.
func (c *contents) late(now time.Time) (list []waiting) {
	for id, w := range c.waiting {
		if len(c.waiting) >= mostWaiting || now.Sub(w.since) > contentWait {
			list = append(list, w)
			delete(c.waiting, id)
		}
	}
	return list
}

// attributes gives the texts of an exchange to its span.
func (c *contents) attributes(x record.Exchange, clean func(string) string) {
	c.mu.Lock()
	w, ok := c.waiting[x.ID]
	delete(c.waiting, x.ID)
	c.mu.Unlock()
	if ok { // else nobody asks, such as for a trace that is not sampled
		w.end(textsOf(x, clean)...)
	}
}

// close ends the spans that still wait.
func (c *contents) close() {
	c.mu.Lock()
	all := c.waiting
	c.waiting = map[string]waiting{}
	c.mu.Unlock()
	for _, w := range all {
		w.end(lost)
	}
}

// Recorder returns what the gateway must record to, so that spans have texts. Events go on to
// next, which may be nil. secrets are searched for in texts, in addition to those of each
// request.
func (t *Telemetry) Recorder(next gateway.Recorder, secrets *record.Secrets) gateway.Recorder {
	return &tee{next, t.contents, secrets}
}

type tee struct {
	next    gateway.Recorder // may be nil
	to      *contents
	secrets *record.Secrets
}

// Enqueue takes an event of the record. It never waits.
func (r *tee) Enqueue(e record.Event) bool {
	if x, ok := e.Payload.(record.Exchange); ok {
		r.to.attributes(x, func(s string) string { return r.secrets.Redact(e.Secrets.Redact(s)) })
	}
	return r.next == nil || r.next.Enqueue(e)
}

// Dropped is how many events the record has lost.
func (r *tee) Dropped() uint64 {
	if r.next == nil {
		return 0
	}
	return r.next.Dropped()
}

// textsOf are the attributes with the texts of an exchange, without credentials. A reply of
// which a guard kept something from the client has none.
func textsOf(x record.Exchange, clean func(string) string) []attribute.KeyValue {
	var list []attribute.KeyValue
	add := func(key string, messages []otlp.Message, newest bool) {
		text, cut := fitted(messages, newest, clean)
		if text != "" {
			list = append(list, attribute.String(key, text))
		}
		if cut {
			list = append(list, attribute.Bool(key+".cut", true))
		}
	}
	add(otlp.GenAIInputMessages, otlp.InputMessages(x.Messages), true)
	if g := x.Guard; g != nil && slices.ContainsFunc(g.Judgements, func(j record.Judgement) bool { return j.Action != string(guard.Pass) }) {
		return append(list, attribute.String("sotto.content.withheld", "guard"))
	}
	add(otlp.GenAIOutputMessages, otlp.OutputMessages(x.Replies), false)
	return list
}

// fitted returns messages as JSON that is at most mostContent long, and whether something
// had to be left out. The first ones have room first, or the newest ones, which are the last.
func fitted(messages []otlp.Message, newest bool, clean func(string) string) (text string, cut bool) {
	if len(messages) == 0 {
		return "", false
	}
	if newest {
		slices.Reverse(messages)
	}
	for i := range messages {
		cleaned(&messages[i], clean)
	}
	for room := mostContent; room > 0; room /= 2 { // as JSON a character may take six bytes
		r := &roomOf{left: room}
		kept := r.messages(messages)
		if newest {
			slices.Reverse(kept)
		}
		if text, err := otlp.CompactJSON(kept); err == nil && len(text) <= mostContent {
			return text, r.cut
		}
	}
	return "", true
}

// cleaned replaces credentials in a message.
func cleaned(m *otlp.Message, clean func(string) string) {
	m.Role = clean(m.Role)
	for i := range m.Parts {
		p := &m.Parts[i]
		p.Content, p.ID, p.Name, p.Response = clean(p.Content), clean(p.ID), clean(p.Name), clean(p.Response)
		if len(p.Arguments) == 0 {
			continue
		}
		if p.Arguments = json.RawMessage(clean(string(p.Arguments))); !json.Valid(p.Arguments) {
			p.Arguments, _ = json.Marshal(string(p.Arguments))
		}
	}
}

// A roomOf is how many bytes may still be sent.
type roomOf struct {
	left int
	cut  bool
}

// partCost is what a part or a message takes in addition to its text.
const partCost = 64

// messages returns those for which there is room.
func (r *roomOf) messages(list []otlp.Message) []otlp.Message {
	var out []otlp.Message
	for _, m := range list {
		if r.left < partCost {
			r.cut = true
			break
		}
		r.left -= partCost
		m.Role = r.bounded(m.Role)
		parts := make([]otlp.Part, 0, len(m.Parts))
		for _, p := range m.Parts {
			if r.left < partCost {
				r.cut = true
				break
			}
			r.left -= partCost
			p.ID, p.Name = r.bounded(p.ID), r.bounded(p.Name)
			p.Content, p.Response = r.bounded(p.Content), r.bounded(p.Response)
			if n := len(p.Arguments); n > r.left { // a part of it would not be JSON
				p.Arguments, r.cut = nil, true
			} else {
				r.left -= n
			}
			parts = append(parts, p)
		}
		m.Parts = parts
		out = append(out, m)
	}
	return out
}

// bounded returns the beginning of a text, cut between characters.
func (r *roomOf) bounded(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= r.left {
		r.left -= len(text)
		return text
	}
	n := r.left
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	r.left, r.cut = 0, true
	return text[:n]
}
