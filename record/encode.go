package record

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// An item is an event that is being recorded.
type item struct {
	body     []byte // the line from run to payload
	facts    facts
	run      string
	cycle    int
	typ      Type
	replies  []Digest
	done     chan error // of capacity 1
	waits    bool       // somebody receives from done
	speaksOf uint64     // how many lost events it reports
	seq      uint64
	time     time.Time
	home     *sync.Pool
	guard    guard // what it was encoded with
}

// newItem makes an item; home is the pool that it returns to when it is free.
func newItem(home *sync.Pool) *item {
	return &item{done: make(chan error, 1), home: home}
}

// free returns an item to its pool. Nobody else may hold it.
func (it *item) free() {
	if cap(it.body) > 1<<20 {
		return
	}
	*it = item{body: it.body[:0], done: it.done, home: it.home}
	it.home.Put(it)
}

// encode fills the item with an event. It keeps nothing that the guard or the
// secrets withhold.
func (it *item) encode(e *Event, g *guard) error {
	g = g.with(e.Secrets.needles())
	if _, ok := e.Payload.(Unknown); ok && g.withholds() {
		return ErrUnknownPayload
	}
	p := e.Payload.guarded(g)
	it.run, it.cycle, it.typ, it.facts = g.secrets.scrubName(e.Run), e.Cycle, p.Type(), p.facts()
	it.facts.asWritten()
	it.replies = digestsOf(p)
	b := append(it.body[:0], `"run":"`...)
	b = append(b, it.run...)
	b = append(b, `","cycle":`...)
	b = strconv.AppendInt(b, int64(e.Cycle), 10)
	if !e.Happened.IsZero() {
		b = append(e.Happened.UTC().AppendFormat(append(b, `,"happened":"`...), time.RFC3339Nano), '"')
	}
	if g.secrets != nil && g.secrets.unsearched > 0 {
		b = append(b, `,"unsearched":`...)
		b = strconv.AppendInt(b, int64(g.secrets.unsearched), 10)
	}
	b = append(b, `,"type":"`...)
	b = append(b, it.typ...)
	b = append(b, `","payload":`...)
	from := len(b)
	var err error
	if it.body, err = appendJSON(b, p); err != nil {
		return err
	}
	if err := it.scrub(from, g.secrets); err != nil {
		return err
	}
	if _, ok := p.(Unknown); ok { // what a reader will see in it
		it.facts = factsIn(it.typ, slices.Concat([]byte("{"), it.body, []byte("}")))
	}
	return nil
}

// scrub is a second check after the guard: no string of the payload keeps a secret,
// whatever member it is in.
func (it *item) scrub(from int, n *needles) error {
	if n == nil {
		return nil
	}
	payload := it.body[from:]
	if _, ours := payloadReaders[it.typ]; ours && !n.touches(payload) {
		return nil
	}
	clean, err := scrubJSON(nil, payload, n)
	if err != nil {
		return err
	}
	it.body = append(it.body[:from], clean...)
	for _, s := range it.facts.strings() {
		*s = n.scrub(*s)
	}
	return nil
}

// scrubName is scrub for a run's name, which must not contain brackets.
func (n *needles) scrubName(name string) string {
	if len(n.find(name)) > 0 {
		return "secret"
	}
	return name
}

// scrubJSON copies JSON and scrubs every string in it.
func scrubJSON(dst, src []byte, n *needles) ([]byte, error) {
	for len(src) > 0 {
		i := bytes.IndexByte(src, '"')
		if i < 0 {
			return append(dst, src...), nil
		}
		dst = append(dst, src[:i]...)
		end := i + 1
		for end < len(src) && src[end] != '"' {
			if src[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(src))
		literal := src[i:end]
		var err error
		if dst, err = n.appendScrubbed(dst, literal); err != nil {
			return dst, err
		}
		src = src[end:]
	}
	return dst, nil
}

// appendScrubbed appends one string of JSON.
func (n *needles) appendScrubbed(dst, literal []byte) ([]byte, error) {
	var text Text
	if err := json.Unmarshal(literal, &text); err != nil { // base64 that is not valid
		var s string
		if err := json.Unmarshal(literal, &s); err != nil {
			return dst, err
		}
		text = Text(s)
	}
	clean := Text(n.scrub(string(text)))
	if clean == text {
		return append(dst, literal...), nil
	}
	coded, _ := clean.MarshalText()
	return jsontext.AppendString(dst, string(coded)), nil
}

func digestsOf(p Payload) []Digest {
	var replies []Reply
	switch x := p.(type) {
	case Exchange:
		replies = x.Replies
	case Invocation:
		replies = x.Replies
	}
	var list []Digest
	for _, r := range replies {
		list = append(list, r.Digest)
	}
	return list
}
